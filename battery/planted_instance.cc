#include "planted_instance.h"

#include <Eigen/Dense>
#include <cmath>
#include <utility>

namespace exhume {

Inputs gaussian(Index d) {
  return [d](Index n, const Stream& stream) {
    RowMatrix x(n, d);
    stream.fill_normal(0, x);
    return x;
  };
}

Inputs mapped(Index d, double (*map)(double)) {
  return [d, map](Index n, const Stream& stream) { return RowMatrix(gaussian(d)(n, stream).unaryExpr(map)); };
}

Inputs uniform(Index d) {
  return mapped(d, [](double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); });
}

Inputs exponential(Index d) {
  return mapped(d, [](double z) { return -std::log(0.5 * std::erfc(-z / std::sqrt(2.0))); });
}

Drawn draw(const Inputs& inputs, Index n, std::uint64_t seed) {
  return {inputs(n, Stream(seed, "x")), inputs(kFreshRows, Stream(seed, "fresh"))};
}

Network random_network(Index d, Index k, Index m, double bias, std::uint64_t seed) {
  Network network;
  network.W() = Stream(seed, "W").normal_matrix(k, d);
  network.W().rowwise().normalize();
  network.b() = Stream(seed, "b").uniform_vector(k, -bias, bias);
  network.A().resize(m, k);
  for (Index i = 0; i < network.A().size(); ++i) {
    const auto [size, sign] = Stream(seed, "A").uniforms(static_cast<std::uint64_t>(i), 0);
    network.A().data()[i] = (sign < 0.5 ? -1 : 1) * (0.5 + size);
  }
  network.c() = Stream(seed, "c").normal_matrix(m, 1).col(0);
  return network;
}

Network with_biases_at(Network network, const RowMatrix& x) {
  const Eigen::RowVectorXd mean = x.colwise().mean();
  const Matrix projected = (x.rowwise() - mean) * network.W().transpose();
  for (Index i = 0; i < network.hidden(); ++i) {
    const double spread = std::sqrt(projected.col(i).squaredNorm() / static_cast<double>(x.rows()));
    network.b()(i) = network.b()(i) * spread - network.W().row(i).dot(mean);
  }
  return network;
}

Instance samples_of(const std::function<RowMatrix(const RowMatrix&)>& f, Drawn inputs) {
  Instance out;
  out.y = f(inputs.x);
  out.fresh_f = f(inputs.fresh);
  out.x = std::move(inputs.x);
  out.fresh_x = std::move(inputs.fresh);
  return out;
}

Instance samples_of(const Network& network, Drawn inputs) {
  Instance out = samples_of([&](const RowMatrix& x) { return evaluate(network, x); }, std::move(inputs));
  out.teacher = network;
  return out;
}

Instance planted(Index d, Index k, Index m, double bias, const Inputs& inputs, Index n, std::uint64_t seed) {
  Drawn drawn = draw(inputs, n, seed);
  const Network network = with_biases_at(random_network(d, k, m, bias, seed), drawn.x);
  return samples_of(network, std::move(drawn));
}

std::function<RowMatrix(const RowMatrix&)> rowwise(std::function<double(const Eigen::RowVectorXd&)> f) {
  return [f = std::move(f)](const RowMatrix& x) {
    RowMatrix y(x.rows(), 1);
    for (Index i = 0; i < x.rows(); ++i) y(i, 0) = f(x.row(i));
    return y;
  };
}

Eigen::RowVectorXd spreads(const RowMatrix& y) {
  const Eigen::RowVectorXd mean = y.colwise().mean();
  return (y.rowwise() - mean).array().square().colwise().mean().sqrt();
}

RowMatrix normals_like(const RowMatrix& y, std::uint64_t seed, std::string_view purpose) {
  RowMatrix e(y.rows(), y.cols());
  Stream(seed, purpose).fill_normal(0, e);
  return e;
}

Instance with_noise(Instance instance, double level, std::uint64_t seed) {
  const Eigen::RowVectorXd sd = level * spreads(instance.y);
  instance.y += normals_like(instance.y, seed, "noise") * sd.asDiagonal();
  return instance;
}

}  // namespace exhume
