#include "data/smoothed.h"

#include <fmt/format.h>

#include <Eigen/SVD>
#include <cmath>
#include <stdexcept>

#include "base/random.h"
#include "linalg/symmetric_tensor.h"

namespace exhume {

Network perturbed(const Network& network, double tau, std::uint64_t seed) {
  if (!(tau >= 0) || !std::isfinite(tau)) {
    throw std::invalid_argument(fmt::format("perturb is {}, but must be a finite number of at least 0", tau));
  }
  Network out = network;
  if (tau == 0) return out;
  const double scale = tau / std::sqrt(static_cast<double>(network.inputs()));
  out.W() += scale * Stream(seed, "perturbed weights").normal_matrix(network.hidden(), network.inputs());
  for (Index i = 0; i < out.hidden(); ++i) {
    const double norm = out.W().row(i).norm();
    out.W().row(i) /= norm;
    out.b()(i) /= norm;
    out.A().col(i) *= norm;
  }
  return out;
}

Vector khatri_rao_singular_values(const Matrix& W, int power) {
  const Matrix columns = rank_one_tensors(W.rowwise().normalized(), power);
  Vector out = Vector::Zero(W.rows());
  const Vector values = Eigen::JacobiSVD<Matrix>(columns).singularValues();
  out.head(values.size()) = values;
  return out;
}

}  // namespace exhume
