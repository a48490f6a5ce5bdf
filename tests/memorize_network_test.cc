// Quadratic networks: evaluation, forms, files.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>

#include "base/random.h"
#include "certify/verify.h"
#include "exhume/error.h"
#include "exhume/papers/memorize.h"
#include "io/quadratic_files.h"
#include "io/safetensors.h"
#include "onnx_fields.h"
#include "temp_dir.h"

namespace exhume::memorize_network_test {
namespace {

RowMatrix whole_numbers(Index rows, Index cols, const char* purpose) {
  RowMatrix out(rows, cols);
  Stream(3, purpose).fill_uniform(0, out);
  return (out.array() * 7 - 3).floor();
}

QuadraticNetwork planted(bool three_layers) {
  QuadraticNetwork network;
  if (three_layers) {
    network.R = whole_numbers(3, 4, "R");
    network.power = 3;
    network.W = whole_numbers(5, 3, "W");
  } else {
    network.W = whole_numbers(5, 4, "W");
  }
  network.A = whole_numbers(2, 5, "A");
  return network;
}

// Five loops, in whole numbers: the network must agree to the last bit.
TEST(QuadraticNetwork, EvaluatesAsTheLoopsDo) {
  for (const bool three : {false, true}) {
    const QuadraticNetwork network = planted(three);
    const RowMatrix x = whole_numbers(9, 4, "x"), values = evaluate(network, x);
    for (Index s = 0; s < 9; ++s) {
      for (Index o = 0; o < 2; ++o) {
        double sum = 0;
        for (Index i = 0; i < 5; ++i) {
          double h = 0;
          for (Index c = 0; c < network.W.cols(); ++c) {
            double z = 0;
            if (three) {
              for (Index j = 0; j < 4; ++j) z += network.R(c, j) * x(s, j);
              z = z * z * z;
            } else {
              z = x(s, c);
            }
            h += network.W(i, c) * z;
          }
          sum += network.A(o, i) * h * h;
        }
        EXPECT_EQ(values(s, o), sum);
      }
    }
  }
}

TEST(QuadraticNetwork, FormsComeBackFromUnits) {
  std::vector<Matrix> forms;
  for (int o = 0; o < 3; ++o) {
    const Matrix g = Stream(static_cast<std::uint64_t>(o), "form").normal_matrix(6, 6);
    forms.emplace_back(g + g.transpose());
  }
  QuadraticNetwork network;
  set_quadratic_forms(network, forms);
  EXPECT_EQ(network.hidden(), 18);
  EXPECT_EQ(network.outputs(), 3);
  for (Index o = 0; o < 3; ++o) {
    EXPECT_LE((quadratic_form(network, o) - forms[static_cast<std::size_t>(o)]).norm(),
              1e-13 * forms[0].norm());
  }
  EXPECT_TRUE((network.A.array().abs() <= 1).all());
}

TEST(QuadraticNetwork, IdleUnitsAreDropped) {
  const Vector v = Vector::LinSpaced(5, 1, 2);
  QuadraticNetwork network;
  set_quadratic_forms(network, {v * v.transpose()});
  EXPECT_EQ(network.hidden(), 1);
  EXPECT_EQ(network.A(0, 0), 1);
  set_quadratic_forms(network, {Matrix::Zero(5, 5)});
  EXPECT_EQ(network.hidden(), 0);
  EXPECT_EQ(evaluate(network, RowMatrix::Ones(2, 5)).cwiseAbs().maxCoeff(), 0);
}

TEST(QuadraticForms, ValuesAndGramsAreAdjointAndThreadsDoNotMatter) {
  const Index n = 2500, k = 7;
  RowMatrix z(n, k);
  Stream(1, "z").fill_normal(0, z);
  const Matrix v = Stream(2, "v").normal_matrix(n, 2);
  const Matrix g = Stream(3, "g").normal_matrix(k, k), form = g + g.transpose();
  Control three;
  three.threads = 3;
  const std::vector<Matrix> grams = weighted_grams(z, v), same = weighted_grams(z, v, three);
  EXPECT_TRUE((grams[1].array() == same[1].array()).all());
  const Matrix values = form_values(z, {form, g}), again = form_values(z, {form, g}, three);
  EXPECT_TRUE((values.array() == again.array()).all());
  EXPECT_NEAR(values.col(0).dot(v.col(1)), form.cwiseProduct(grams[1]).sum(), 1e-9);
  Vector kv = Vector::Zero(5);
  for (Index i = 0; i < 5; ++i) {
    for (Index j = 0; j < n; ++j) kv(i) += std::pow(z.row(i).dot(z.row(j)), 2) * v(j, 0);
  }
  EXPECT_LE((form_values(z, {grams[0]}).col(0).head(5) - kv).norm(), 1e-10 * kv.norm());
}

// verify shares no code with evaluate; on whole numbers they agree to the last bit.
TEST(QuadraticNetwork, IsVerifiedByPlainLoops) {
  for (const bool three : {false, true}) {
    const QuadraticNetwork network = planted(three);
    const RowMatrix x = whole_numbers(50, 4, "x");
    RowMatrix y = evaluate(network, x);
    EXPECT_EQ(verify(network, *memory_samples(x, y)).worst_error, 0);
    y(17, 1) += 0.5;
    const Verification off = verify(network, *memory_samples(x, y));
    EXPECT_EQ(off.worst_error, 0.5);
    EXPECT_EQ(off.worst_row, 17);
    EXPECT_EQ(off.worst_output, 1);
    EXPECT_THROW((void)verify(network, *memory_samples(x, y.leftCols(1))), std::invalid_argument);
  }
}

TEST(QuadraticNetwork, RefusesShapesThatDoNotFit) {
  QuadraticNetwork network = planted(true);
  network.R = Matrix::Ones(2, 4);
  EXPECT_THROW(network.validate(), std::invalid_argument);
  network = planted(false);
  network.power = 2;
  EXPECT_THROW(network.validate(), std::invalid_argument);
  network = planted(false);
  network.A(0, 0) = std::nan("");
  EXPECT_THROW(network.validate(), std::invalid_argument);
  EXPECT_THROW((void)evaluate(planted(false), RowMatrix::Ones(2, 3)), std::invalid_argument);
}

TEST(QuadraticNetwork, ComesBackFromAFile) {
  const TempDir dir;
  const auto path = dir / "quadratic.safetensors";
  for (const bool three : {false, true}) {
    const QuadraticNetwork network = planted(three);
    write_safetensors(path, to_tensors(network));
    const Tensors tensors = read_safetensors(path);
    EXPECT_EQ(tensors.metadata.at("activation"), "square");
    const QuadraticNetwork back = to_quadratic_network(tensors, "file");
    EXPECT_EQ(back.power, network.power);
    EXPECT_TRUE(back.W == network.W && back.A == network.A);
    EXPECT_EQ(back.R.size(), network.R.size());
    EXPECT_TRUE(!three || back.R == network.R);
  }
}

TEST(QuadraticNetwork, AsOnnxHasAProductForEverySquare) {
  // That the graph computes the network is checked by onnxruntime, where Python has it; here, that its nodes
  // are those of the layers.
  const auto operations = [](const QuadraticNetwork& network) {
    std::vector<std::string> out;
    const auto graph = testing::fields(testing::one(testing::fields(onnx_bytes(network)), 7));
    for (const std::string& node : testing::all(graph, 1)) {
      out.push_back(testing::one(testing::fields(node), 4));
    }
    return out;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(operations(planted(false)), (Names{"Gemm", "Mul", "Gemm"}));
  // Two products for the third power, one for the square.
  EXPECT_EQ(operations(planted(true)), (Names{"Gemm", "Mul", "Mul", "Gemm", "Mul", "Gemm"}));
}

TEST(QuadraticNetwork, AFileThatIsNotOneIsRefused) {
  Tensors tensors = to_tensors(planted(true));
  tensors.metadata["power"] = "two";
  EXPECT_THROW((void)to_quadratic_network(tensors, "f"), DataError);
  tensors.metadata["power"] = "3";
  tensors.add("extra", Vector(Vector::Ones(2)));
  EXPECT_THROW((void)to_quadratic_network(tensors, "f"), DataError);
  tensors = to_tensors(planted(true));
  tensors.metadata.clear();
  EXPECT_THROW((void)to_quadratic_network(tensors, "f"), DataError);
}

}  // namespace
}  // namespace exhume::memorize_network_test
