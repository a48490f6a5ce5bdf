// The table of activations: slopes against differences, symmetries, canonical forms, files, and what finds
// smooth units.
#include "model/activation_table.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "fit/smooth_search.h"
#include "fit/smooth_student.h"
#include "io/onnx.h"
#include "io/onnx_reader.h"
#include "io/safetensors.h"
#include "io/tensors.h"
#include "temp_dir.h"

namespace exhume::activation_test {
namespace {

Network random_units(const std::string& activation, Index d, Index k, Index m, std::uint64_t seed) {
  Network network(Stream(seed, "W").normal_matrix(k, d), Stream(seed, "b").uniform_vector(k, -1, 1),
                  Stream(seed, "A").normal_matrix(m, k), Stream(seed, "c").uniform_vector(m, -1, 1));
  network.activation = activation;
  return network;
}

RowMatrix inputs(Index rows, Index d, std::uint64_t seed) {
  RowMatrix x(rows, d);
  Stream(seed, "x").fill_normal(0, x);
  return x;
}

double apart(const Network& p, const Network& q) {
  const RowMatrix x = inputs(50, p.inputs(), 9);
  return (evaluate(p, x) - evaluate(q, x)).cwiseAbs().maxCoeff();
}

TEST(Activation, SlopesAreDifferences) {
  for (const ActivationRow& row : activation_table()) {
    for (double z = -4.03; z < 4; z += 0.37) {
      const double h = 1e-5, p = row.parameter;
      EXPECT_NEAR(row.slope(z, p), (row.value(z + h, p) - row.value(z - h, p)) / (2 * h), 1e-9)
          << row.name << z;
      EXPECT_NEAR(row.second(z, p), (row.slope(z + h, p) - row.slope(z - h, p)) / (2 * h), 1e-9)
          << row.name << z;
    }
  }
}

TEST(Activation, SymmetriesAreAsStated) {
  for (const ActivationRow& row : activation_table()) {
    for (double z = 0.1; z < 5; z += 0.3) {
      const double p = row.parameter, f = row.value(z, p), g = row.value(-z, p);
      if (row.symmetry == Symmetry::kOdd) {
        EXPECT_NEAR(f + g, 2 * row.value(0, p), 1e-15) << row.name;
      }
      if (row.symmetry == Symmetry::kEven) {
        EXPECT_EQ(f, g) << row.name;
      }
      if (row.symmetry == Symmetry::kHalf) {
        EXPECT_NEAR(f - g, z, 1e-14) << row.name;
      }
      if (row.degree > 0) {
        EXPECT_NEAR(row.value(3 * z, p), 3 * f, 1e-14) << row.name;
      }
    }
  }
}

TEST(Activation, SinglePrecisionAgreesWithTheTable) {
  for (const ActivationRow& row : activation_table()) {
    for (float z = -6; z < 6; z += 0.37F) {
      float value = 0, slope = 0;
      unit_values(row.name, &z, &value, &slope, 1);
      const auto at = static_cast<double>(z);
      EXPECT_NEAR(value, row.value(at, row.parameter), 2e-6) << row.name << z;
      EXPECT_NEAR(slope, row.slope(at, row.parameter), 2e-6) << row.name << z;
    }
  }
}

TEST(Activation, NamesWithNumbers) {
  EXPECT_EQ(activation_parameter("leaky_relu:0.2"), 0.2);
  EXPECT_EQ(parse_rectifier("leaky_relu:0.2")(-1), -0.2);
  EXPECT_EQ(find_activation("tanh:2"), nullptr);
  EXPECT_THROW((void)parse_rectifier("mish"), std::invalid_argument);
}

TEST(Activation, CanonicalFormIsTheSameFunction) {
  for (const ActivationRow& row : activation_table()) {
    const Network network = random_units(row.name, 4, 5, 2, 3);
    EXPECT_LE(apart(network, canonical(network)), 1e-13) << row.name;
    EXPECT_LE(align(network, canonical(network)).worst_error, 1e-13) << row.name;
  }
}

TEST(Activation, UnitsTurnedAroundAreTheSameNetwork) {
  for (const char* name : {"tanh", "sigmoid", "erf", "sin", "gaussian"}) {
    const Network network = random_units(name, 4, 5, 2, 4);
    const Network turned = with_units_mirrored(network, 0, {1, 3});
    EXPECT_LE(apart(network, turned), 1e-13) << name;
    EXPECT_LE(align(network, turned).worst_error, 1e-13) << name;
  }
}

TEST(Activation, SigmoidsAreTanh) {
  const Network network = random_units("sigmoid", 3, 4, 2, 5), same = in_tanh_units(network);
  EXPECT_EQ(same.activation, "tanh");
  EXPECT_LE(apart(network, same), 1e-14);
  EXPECT_LE(apart(network, in_sigmoid_units(same)), 1e-14);
  EXPECT_LE(align(network, same).worst_error, 1e-13);
  EXPECT_FALSE(align(network, random_units("gelu", 3, 4, 2, 5)).comparable);
}

TEST(Activation, FilesKeepIt) {
  const TempDir dir;
  for (const ActivationRow& row : activation_table()) {
    const Network network = random_units(row.name, 3, 4, 2, 6);
    write_network(dir.path() / "n.safetensors", network);
    const Network read = to_network(read_safetensors(dir.path() / "n.safetensors"), "n.safetensors");
    EXPECT_EQ(read.activation, row.name);
    if (std::string(row.name) == "identity") continue;  // ONNX has no unit there
    const Network back = parse_onnx(onnx_bytes(network), "n.onnx");
    EXPECT_EQ(back.activation, row.name);
    EXPECT_LE(apart(network, back), 1e-13) << row.name;
  }
}

// 3 units, 4 inputs, 1,500 rows: a second.
TEST(Activation, SmoothUnitsAreToldAndFound) {
  for (const char* name : {"tanh", "gelu", "softplus", "elu"}) {
    const Network network = random_units(name, 4, 3, 1, 7);
    const RowMatrix x = inputs(1500, 4, 8);
    RowMatrix y = evaluate(network, x);
    y.rowwise() -= y.colwise().mean().eval();
    y /= std::sqrt(y.squaredNorm() / static_cast<double>(y.rows()));
    const SmoothFound found = search_smooth_units(memory_samples(x, y), {}, Control());
    EXPECT_TRUE(found.exact) << name;
    EXPECT_EQ(found.activation, name);
    EXPECT_EQ(found.fit.model.units(), 3);
    EXPECT_LE(found.fit.relative_mse, 1e-22);
  }
}

TEST(Activation, ReluRowsDoNotLookSmooth) {
  const RowMatrix x = inputs(2000, 5, 8);
  for (const char* name : {"relu", "tanh", "silu"}) {
    RowMatrix y = evaluate(random_units(name, 5, 5, 1, 2), x);
    y.rowwise() -= y.colwise().mean().eval();
    y /= std::sqrt(y.squaredNorm() / static_cast<double>(y.rows()));
    const SmoothScreen seen = screen_units(*memory_samples(x, y), 1, Control());
    EXPECT_EQ(seen.looks_smooth(), std::string(name) != "relu")
        << name << seen.smooth << " " << seen.piecewise;
  }
}

}  // namespace
}  // namespace exhume::activation_test
