// Kinds of stored precision: outputs that were rounded when they were stored or computed.
//
// Inputs are rounded before the network sees them where they are single or half floats, and kept as doubles
// otherwise.
#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "planted_instance.h"

namespace exhume {
namespace {

double single(double v) { return static_cast<double>(static_cast<float>(v)); }

// To 11 bits, subnormals to multiples of 2^-24.
double half(double v) {
  int exponent = 0;
  (void)std::frexp(v, &exponent);
  const int quantum = std::max(exponent - 11, -24);
  return std::ldexp(std::nearbyint(std::ldexp(v, -quantum)), quantum);
}

double six_digits(double v) { return std::strtod(fmt::format("{:.5e}", v).c_str(), nullptr); }
double six_decimals(double v) { return std::round(v * 1e6) / 1e6; }
double three_decimals(double v) { return std::round(v * 1e3) / 1e3; }

double as_it_is(double v) { return v; }

struct Rounding {
  double (*inputs)(double) = as_it_is;
  double (*outputs)(double) = as_it_is;
  double offset = 0;  // of inputs, and a hundred times it of outputs
};

// Eight inputs, six units, two outputs.
Instance stored(const Rounding& rounding, std::uint64_t seed) {
  Drawn drawn = draw(gaussian(8), 6000, seed);
  drawn.x = RowMatrix((drawn.x.array() + rounding.offset).matrix()).unaryExpr(rounding.inputs).eval();
  drawn.fresh = RowMatrix((drawn.fresh.array() + rounding.offset).matrix()).unaryExpr(rounding.inputs).eval();
  Network network = with_biases_at(random_network(8, 6, 2, 0.6, seed), drawn.x);
  network.c().array() += 100 * rounding.offset;
  Instance out = samples_of(network, std::move(drawn));
  out.y = out.y.unaryExpr(rounding.outputs).eval();
  return out;
}

// Weights, inputs and every sum in single precision.
Instance computed_in_single(std::uint64_t seed) {
  Drawn drawn = draw(gaussian(8), 6000, seed);
  drawn.x = drawn.x.unaryExpr(&single).eval();
  drawn.fresh = drawn.fresh.unaryExpr(&single).eval();
  Network network = with_biases_at(random_network(8, 6, 2, 0.6, seed), drawn.x);
  const Eigen::MatrixXf W = network.W().cast<float>(), A = network.A().cast<float>();
  const Eigen::VectorXf b = network.b().cast<float>(), c = network.c().cast<float>();
  network.W() = W.cast<double>();
  network.A() = A.cast<double>();
  network.b() = b.cast<double>();
  network.c() = c.cast<double>();
  Instance out = samples_of(network, std::move(drawn));
  for (Index i = 0; i < out.x.rows(); ++i) {
    for (Index o = 0; o < A.rows(); ++o) {
      float sum = c(o);
      for (Index j = 0; j < W.rows(); ++j) {
        float z = b(j);
        for (Index a = 0; a < W.cols(); ++a) z += W(j, a) * static_cast<float>(out.x(i, a));
        sum += A(o, j) * std::max(z, 0.0F);
      }
      out.y(i, o) = static_cast<double>(sum);
    }
  }
  return out;
}

// One row in ten 10^11 times as far out as the others, whose noise is plain to see beside themselves only.
Instance giants(std::uint64_t seed) {
  Instance ordinary = planted(6, 5, 1, 0.5, gaussian(6), 6000, seed);
  const Eigen::RowVectorXd sd = 0.1 * spreads(ordinary.y);
  Drawn drawn{ordinary.x, ordinary.fresh_x};
  for (Index i = 0; i < drawn.x.rows(); i += 10) drawn.x.row(i) *= 1e11;
  for (Index i = 0; i < drawn.fresh.rows(); i += 10) drawn.fresh.row(i) *= 1e11;
  Instance out = samples_of(ordinary.teacher, std::move(drawn));
  out.y += normals_like(out.y, seed, "noise") * sd.asDiagonal();
  return out;
}

}  // namespace

std::vector<Kind> stored_kinds() {
  std::vector<Kind> list;
  const auto add = [&](const char* name, const Rounding& rounding) {
    list.push_back({name, Truth::kExact, true, [rounding](std::uint64_t s) { return stored(rounding, s); }});
  };
  add("stored as float32", {.inputs = single, .outputs = single});
  list.push_back({"computed in float32", Truth::kExact, true, computed_in_single});
  add("stored as float32, far from zero", {.inputs = single, .outputs = single, .offset = 5});
  add("stored as float16", {.inputs = half, .outputs = half});
  add("6 digits", {.outputs = six_digits});
  add("6 decimals", {.outputs = six_decimals});
  add("3 decimals", {.outputs = three_decimals});
  list.push_back({"one row in ten times 10^11, noise 10%", Truth::kNoise, false, giants});
  return list;
}

}  // namespace exhume
