// Kinds outside the class: functions that no single layer of ReLUs is, and noise that is not independent of
// the inputs.
#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "planted_instance.h"

namespace exhume {
namespace {

using Seed = std::uint64_t;
using Row = Eigen::RowVectorXd;

// The network's outputs are not those that were sampled.
Instance without_teacher(Instance instance) {
  instance.teacher = Network();
  return instance;
}

// A network plus `level` times its spread of a function of unit variance, noise 10%.
Instance deviating(double level, double (*deviation)(const Row&), Seed seed) {
  Instance out = planted(6, 4, 1, 0.5, gaussian(6), 200000, seed);
  const double size = level * spreads(out.y)(0);
  out.y += size * rowwise(deviation)(out.x);
  out.fresh_f += size * rowwise(deviation)(out.fresh_x);
  return without_teacher(with_noise(std::move(out), 0.1, seed));
}

double product_of_three(const Row& x) { return x(0) * x(1) * x(2); }

// E sin^2(2z) = (1 - e^-8) / 2 for a standard normal z.
double product_of_sines(const Row& x) {
  return std::sin(2 * x(0)) * std::sin(2 * x(1)) / (0.5 * (1 - std::exp(-8.0)));
}

// One input, noise 5%.
Instance curve(double (*f)(double), Seed seed) {
  return with_noise(samples_of(rowwise([f](const Row& x) { return f(x(0)); }), draw(gaussian(1), 5000, seed)),
                    0.05, seed);
}

Instance clipped(Seed seed) {
  Instance out = planted(6, 4, 1, 0.5, gaussian(6), 20000, seed);
  std::vector<double> sorted(out.y.data(), out.y.data() + out.y.size());
  std::ranges::sort(sorted);
  const double level = sorted[static_cast<size_t>(0.995 * static_cast<double>(sorted.size()))];
  out.y = out.y.cwiseMin(level).eval();
  out.fresh_f = out.fresh_f.cwiseMin(level).eval();
  return without_teacher(with_noise(std::move(out), 0.1, seed));
}

// The network saw x; given is x + s e. Of that, f is the mean: with x given x + s e normal about r (x + s e),
// r = 1/(1 + s^2), with variance s^2 r,
//
//     E max(z, 0) = mu Phi(mu / tau) + tau phi(mu / tau),     mu = r w.x + b,   tau = s sqrt(r) |w|.
Instance noisy_inputs(Seed seed) {
  constexpr double kNoise = 0.1;
  const double r = 1 / (1 + kNoise * kNoise), tau = kNoise * std::sqrt(r);
  const Network network = random_network(6, 4, 1, 0.5, seed);
  const auto f = [&](const RowMatrix& x) {
    Matrix z = (r * x * network.W().transpose()).rowwise() + network.b().transpose();
    z = z.unaryExpr([tau](double mu) {
           const double t = mu / tau;
           return mu * 0.5 * std::erfc(-t / std::sqrt(2.0)) +
                  tau * std::exp(-0.5 * t * t) / std::sqrt(2 * M_PI);
         }).eval();
    return RowMatrix((z * network.A().transpose()).rowwise() + network.c().transpose());
  };
  Drawn drawn = draw(gaussian(6), 10000, seed);
  const RowMatrix y = evaluate(network, drawn.x);
  drawn.x += kNoise * normals_like(drawn.x, seed, "input noise");
  drawn.fresh /= std::sqrt(r);
  Instance out = samples_of(f, std::move(drawn));
  out.y = y;
  return out;
}

// Noise in proportion to |x_1|.
Instance heteroscedastic(Seed seed) {
  Instance out = planted(6, 4, 1, 0.5, gaussian(6), 10000, seed);
  const double sd = 0.1 * spreads(out.y)(0);
  out.y.col(0) += sd * normals_like(out.y, seed, "noise").col(0).cwiseProduct(out.x.col(0).cwiseAbs());
  return without_teacher(std::move(out));
}

Instance outliers(Seed seed) {
  Instance out = planted(6, 5, 1, 0.5, gaussian(6), 4000, seed);
  const RowMatrix e = normals_like(out.y, seed, "outliers");
  for (Index i = static_cast<Index>(seed % 100); i < out.y.rows(); i += 100) out.y(i, 0) += 50 * e(i, 0);
  return without_teacher(std::move(out));
}

Instance random_labels(Seed seed) {
  Instance out = samples_of([](const RowMatrix& x) { return RowMatrix(RowMatrix::Zero(x.rows(), 1)); },
                            draw(gaussian(6), 4000, seed));
  out.y = normals_like(out.y, seed, "labels");
  return out;
}

// Three levels of comparisons x_a > t, eight values.
Instance tree(Seed seed) {
  const Vector level = Stream(seed, "thresholds").uniform_vector(7, -0.7, 0.7);
  const Matrix value = Stream(seed, "leaves").normal_matrix(8, 1);
  const auto f = [&](const Row& x) {
    Index node = 0;
    for (int depth = 0; depth < 3; ++depth) node = 2 * node + (x(node % x.size()) > level(node) ? 2 : 1);
    return value(node - 7, 0);
  };
  return samples_of(rowwise(f), draw(gaussian(5), 4000, seed));
}

Instance two_hidden_layers(Seed seed) {
  const Network first = random_network(6, 6, 6, 0.5, seed),
                second = random_network(6, 4, 1, 0.5, seed + 1000000);
  const auto f = [&](const RowMatrix& x) { return evaluate(second, evaluate(first, x).cwiseMax(0.0)); };
  return samples_of(f, draw(gaussian(6), 4000, seed));
}

Instance hyperbolic_tangents(Seed seed) {
  const Network network = random_network(6, 4, 1, 0.5, seed);
  const auto f = [&](const RowMatrix& x) {
    const Matrix z = (x * network.W().transpose()).rowwise() + network.b().transpose();
    return RowMatrix(z.array().tanh().matrix() * network.A().transpose());
  };
  return samples_of(f, draw(gaussian(6), 2000, seed));
}

Instance labels(Seed seed) {
  Instance out = planted(6, 4, 1, 0.5, gaussian(6), 2000, seed);
  const double level = out.y.mean();
  const auto above = [level](double v) { return v > level ? 1.0 : 0.0; };
  out.y = out.y.unaryExpr(above).eval();
  out.fresh_f = out.fresh_f.unaryExpr(above).eval();
  return without_teacher(std::move(out));
}

Instance linear(Seed seed) {
  const Vector w = Stream(seed, "w").normal_matrix(6, 1).col(0);
  return with_noise(
      samples_of([&](const RowMatrix& x) { return RowMatrix(x * w); }, draw(gaussian(6), 4000, seed)), 0.1,
      seed);
}

Instance skip_term(Seed seed) {
  Network network = random_network(6, 4, 1, 0.5, seed);
  network.L() = Stream(seed, "L").normal_matrix(1, 6);
  return without_teacher(samples_of(network, draw(gaussian(6), 4000, seed)));
}

}  // namespace

std::vector<Kind> outside_kinds() {
  std::vector<Kind> list;
  const auto add = [&](const char* name, auto make) { list.push_back({name, Truth::kOutside, false, make}); };
  add("0.4% of x1 x2 x3, noise 10%", [](Seed s) { return deviating(0.004, product_of_three, s); });
  add("1.2% of x1 x2 x3, noise 10%", [](Seed s) { return deviating(0.012, product_of_three, s); });
  add("1% of sin 2x1 sin 2x2, noise 10%", [](Seed s) { return deviating(0.01, product_of_sines, s); });
  add("x^2, noise 5%", [](Seed s) { return curve([](double x) { return x * x; }, s); });
  add("sin 3x, noise 5%", [](Seed s) { return curve([](double x) { return std::sin(3 * x); }, s); });
  add("x^3, noise 5%", [](Seed s) { return curve([](double x) { return x * x * x; }, s); });
  add("e^x, noise 5%", [](Seed s) { return curve([](double x) { return std::exp(x); }, s); });
  add("a network clipped above, noise 10%", clipped);
  add("noise in the inputs", noisy_inputs);
  add("noise in proportion to an input", heteroscedastic);
  add("1% gross outliers", outliers);
  add("random labels", random_labels);
  add("a tree", tree);
  add("two hidden layers", two_hidden_layers);
  add("tanh units", hyperbolic_tangents);
  add("the Euclidean norm", [](Seed s) {
    return samples_of(rowwise([](const Row& x) { return x.norm(); }), draw(gaussian(4), 2000, s));
  });
  add("a constant",
      [](Seed s) { return samples_of(rowwise([](const Row&) { return 3.0; }), draw(gaussian(4), 2000, s)); });
  add("labels 0 and 1", labels);
  add("a linear function, noise 10%", linear);
  add("a network and a linear term", skip_term);
  return list;
}

}  // namespace exhume
