// Kinds of noise: a network of ReLUs plus independent noise of one distribution.
#include <fmt/format.h>

#include <Eigen/Dense>
#include <cmath>
#include <string>
#include <utility>

#include "planted_instance.h"

namespace exhume {
namespace {

using Seed = std::uint64_t;

// Normal noise of which `share` of the variance is the same in all outputs.
Instance shared_noise(Seed seed) {
  constexpr double kLevel = 0.1, kShare = 0.8;
  Instance out = planted(8, 6, 4, 0.5, gaussian(8), 8000, seed);
  const Eigen::RowVectorXd sd = kLevel * spreads(out.y);
  const RowMatrix own = normals_like(out.y, seed, "noise");
  const Vector common = normals_like(out.y.leftCols(1), seed, "common noise").col(0);
  const RowMatrix e = (std::sqrt(1 - kShare) * own).colwise() + std::sqrt(kShare) * common;
  out.y += e * sd.asDiagonal();
  return out;
}

Instance one_noisy_output(Seed seed) {
  const Instance exact = planted(8, 6, 3, 0.5, gaussian(8), 8000, seed);
  Instance out = with_noise(exact, 0.1, seed);
  out.y.rightCols(2) = exact.y.rightCols(2);
  return out;
}

Instance tiled(Seed seed) {
  Instance out = with_noise(planted(6, 4, 1, 0.5, gaussian(6), 6000, seed), 0.1, seed);
  out.x = out.x.replicate(10, 1).eval();
  out.y = out.y.replicate(10, 1).eval();
  return out;
}

// Turning all units around changes f by a constant only: sum a_i w_i = 0.
Instance balanced(Seed seed) {
  Network network = random_network(6, 3, 1, 0.5, seed);
  const Eigen::RowVectorXd rest =
      network.A()(0, 0) * network.W().row(0) + network.A()(0, 1) * network.W().row(1);
  network.W().row(2) = rest.normalized();
  network.A()(0, 2) = -rest.norm();
  return with_noise(samples_of(network, draw(gaussian(6), 10000, seed)), 0.1, seed);
}

// The same of two of five units: w and -w, equal amplitudes, each its own bias.
Instance balanced_pair(Seed seed) {
  Network network = random_network(6, 5, 1, 0.5, seed);
  network.W().row(1) = -network.W().row(0);
  network.A()(0, 1) = network.A()(0, 0);
  return with_noise(samples_of(network, draw(gaussian(6), 10000, seed)), 0.1, seed);
}

// The last unit is active where w.x > 3.719: on one row in 10,000.
Instance seldom_active(Seed seed) {
  Network network = random_network(6, 5, 1, 0.5, seed);
  network.b()(4) = -3.719;
  return with_noise(samples_of(network, draw(gaussian(6), 20000, seed)), 0.1, seed);
}

Instance one_too_many(Seed seed) {
  Instance out = with_noise(planted(6, 4, 1, 0.5, gaussian(6), 10000, seed), 0.1, seed);
  out.hidden = 5;
  return out;
}

// Student's t: a normal over the root of the mean square of `freedom` others. One degree is Cauchy's.
Instance student(Index freedom, Seed seed) {
  Instance out = planted(6, 4, 1, 0.5, gaussian(6), 10000, seed);
  const double sd = 0.1 * spreads(out.y)(0);
  RowMatrix e(out.y.rows(), freedom + 1);
  Stream(seed, "noise").fill_normal(0, e);
  const Vector below =
      (e.rightCols(freedom).rowwise().squaredNorm() / static_cast<double>(freedom)).cwiseSqrt();
  out.y.col(0) += sd * e.col(0).cwiseQuotient(below);
  return out;
}

}  // namespace

std::vector<Kind> noise_kinds() {
  std::vector<Kind> list;
  const auto add = [&](std::string name, bool recoverable, auto make) {
    list.push_back({std::move(name), Truth::kNoise, recoverable, make});
  };
  for (const double level : {0.01, 0.1, 0.3}) {
    const auto name = [&](const char* of) { return fmt::format("noise {:.0f}%, {}", 100 * level, of); };
    add(name("one output"), true,
        [level](Seed s) { return with_noise(planted(8, 5, 1, 0.5, gaussian(8), 20000, s), level, s); });
    add(name("many outputs"), true,
        [level](Seed s) { return with_noise(planted(8, 6, 6, 0.5, gaussian(8), 8000, s), level, s); });
    add(name("uniform inputs"), true,
        [level](Seed s) { return with_noise(planted(5, 3, 1, 0.5, uniform(5), 20000, s), level, s); });
  }
  // The uniform inputs' counterpart far from symmetry, at the middle level.
  add("noise 10%, exponential inputs", true,
      [](Seed s) { return with_noise(planted(5, 3, 1, 0.5, exponential(5), 20000, s), 0.1, s); });
  add("noise shared between outputs", true, shared_noise);
  add("noise in one of three outputs", true, one_noisy_output);
  add("noisy rows, each ten times", true, tiled);
  add("sum a_i w_i = 0, noise 10%", false, balanced);
  add("w and -w with equal amplitudes, noise 10%", false, balanced_pair);
  add("a unit active on 1 row in 10,000, noise 10%", false, seldom_active);
  add("one unit more than needed, noise 10%", false, one_too_many);
  add("Student noise, 5 degrees of freedom", false, [](Seed s) { return student(5, s); });
  add("Cauchy noise", false, [](Seed s) { return student(1, s); });
  return list;
}

}  // namespace exhume
