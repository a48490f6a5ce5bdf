// Kinds of exact data: the network's outputs to double precision.
#include <Eigen/Dense>
#include <cmath>
#include <string>
#include <utility>

#include "io/npz.h"
#include "planted_instance.h"

namespace exhume {
namespace {

Inputs half_binary(Index d) {
  return [d](Index n, const Stream& stream) {
    RowMatrix x = gaussian(d)(n, stream);
    for (Index a = 0; a < d / 2; ++a)
      x.col(a) = x.col(a).unaryExpr([](double v) { return v > 0 ? 1.0 : 0.0; });
    return x;
  };
}

// (t, t^2, t^3), t uniform on [-1.5, 1.5].
Inputs cubic_curve() {
  return [](Index n, const Stream& stream) {
    const RowMatrix t = (3 * uniform(1)(n, stream)).array() - 1.5;
    RowMatrix x(n, 3);
    x << t, t.array().square().matrix(), t.array().cube().matrix();
    return x;
  };
}

// Columns whose scales are 10^6 apart.
Instance far_columns(std::uint64_t seed) {
  Drawn drawn = draw(gaussian(6), 5000, seed);
  Network network = random_network(6, 6, 2, 0.8, seed);
  for (Index a = 0; a < 6; ++a) {
    const double scale = std::pow(10.0, 1.2 * static_cast<double>(a) - 3);
    drawn.x.col(a) *= scale;
    drawn.fresh.col(a) *= scale;
    network.W().col(a) /= scale;
  }
  network.W().rowwise().normalize();
  network = with_biases_at(network, drawn.x);
  return samples_of(network, std::move(drawn));
}

// Handwritten digits, in eight random mixtures of their pixels. There are no others: the fresh rows are
// these.
Instance digits(std::uint64_t seed) {
  const SamplePtr all = load(*read_samples_npz(std::string(EXHUME_DATA) + "/digits.npz"));
  SampleBlock block;
  all->read(0, all->rows(), block);
  const RowMatrix rows = block.x() * Stream(1, "mixtures").normal_matrix(64, 8) / 16;
  RowMatrix x(rows.rows(), 8);
  for (Index i = 0; i < x.rows(); ++i) x.row(i) = rows.row((i * 7 + static_cast<Index>(seed)) % rows.rows());
  return samples_of(with_biases_at(random_network(8, 5, 1, 0.6, seed), x), {x, x});
}

// k places on [-size, size], evenly spread and then moved by up to a third of their distance.
Vector kinks(Index k, double size, std::uint64_t seed) {
  Vector t = Stream(seed, "kinks").uniform_vector(k, -1.0 / 3, 1.0 / 3);
  for (Index i = 0; i < k; ++i)
    t(i) = size * (2 * (static_cast<double>(i) + 0.5 + t(i)) / static_cast<double>(k) - 1);
  return t;
}

Instance one_input(Index k, std::uint64_t seed) {
  Network network = random_network(1, k, 1, 0, seed);
  network.b() = -network.W().col(0).cwiseProduct(kinks(k, 1.8, seed));
  return samples_of(network, draw(gaussian(1), 3000, seed));
}

// Every unit bends at a place of its own on the curve, and perhaps at two others.
Instance along_curve(std::uint64_t seed) {
  Network network = random_network(3, 4, 1, 0, seed);
  const Vector t = kinks(4, 1.3, seed);
  for (Index i = 0; i < 4; ++i)
    network.b()(i) = -network.W().row(i).dot(Eigen::RowVector3d(t(i), t(i) * t(i), t(i) * t(i) * t(i)));
  return samples_of(network, draw(cubic_curve(), 3000, seed));
}

// The last unit's output weight times its row is what makes sum a_i w_i = 0: turning all units around changes
// f by a constant only.
Instance balanced(std::uint64_t seed) {
  Drawn drawn = draw(gaussian(6), 6000, seed);
  Network network = random_network(6, 3, 1, 0.5, seed);
  const Eigen::RowVectorXd rest =
      network.A()(0, 0) * network.W().row(0) + network.A()(0, 1) * network.W().row(1);
  network.W().row(2) = rest.normalized();
  network.A()(0, 2) = -rest.norm();
  return samples_of(network, std::move(drawn));
}

// Slope 0.1 below zero: as many units again, each the opposite of another. Half of each is a linear function.
Instance leaky(std::uint64_t seed) {
  const Network half = random_network(6, 4, 1, 0.5, seed);
  Network network = half;
  network.W().resize(8, 6);
  network.W() << half.W(), -half.W();
  network.b().resize(8);
  network.b() << half.b(), -half.b();
  network.A().resize(1, 8);
  network.A() << half.A(), -0.1 * half.A();
  return samples_of(network, draw(gaussian(6), 4000, seed));
}

// Five units asked for where there are four.
Instance one_too_many(std::uint64_t seed) {
  Instance out = planted(6, 4, 1, 0.5, gaussian(6), 4000, seed);
  out.hidden = 5;
  return out;
}

}  // namespace

std::vector<Kind> exact_kinds() {
  std::vector<Kind> list;
  const auto add = [&](const char* name, bool recoverable, auto make) {
    list.push_back({name, Truth::kExact, recoverable, make});
  };
  using Seed = std::uint64_t;
  add("Gaussian, many outputs", true, [](Seed s) { return planted(12, 12, 12, 0.5, gaussian(12), 3000, s); });
  add("Gaussian, one output", true, [](Seed s) { return planted(10, 10, 1, 0.8, gaussian(10), 8000, s); });
  add("more units than inputs", true, [](Seed s) { return planted(5, 9, 1, 0.8, gaussian(5), 8000, s); });
  add("few samples", true, [](Seed s) { return planted(8, 8, 1, 0.8, gaussian(8), 500, s); });
  add("half of the columns binary", true,
      [](Seed s) { return planted(8, 6, 1, 0.8, half_binary(8), 4000, s); });
  add("columns 10^6 apart", true, far_columns);
  add("rows of a real data set", true, digits);
  add("one input, 6 units", true, [](Seed s) { return one_input(6, s); });
  add("one input, 12 units", true, [](Seed s) { return one_input(12, s); });
  add("inputs along a cubic curve", true, along_curve);
  add("sum a_i w_i = 0", false, balanced);
  add("one unit more than needed", false, one_too_many);
  add("leaky ReLUs", false, leaky);
  return list;
}

}  // namespace exhume
