#include "fit/output_mixing.h"

#include <Eigen/Dense>
#include <algorithm>

namespace exhume {

OutputMixing unit_noise(const Matrix& covariance) {
  constexpr double kLeast = 1e-24;
  const double floor = std::max(kLeast * covariance.diagonal().mean(), kTiny);
  // Each output at unit variance first: outputs of very different sizes would cost each other digits.
  const Vector scale = covariance.diagonal().cwiseMax(floor).cwiseSqrt();
  const Matrix correlation =
      scale.cwiseInverse().asDiagonal() * covariance * scale.cwiseInverse().asDiagonal();
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(correlation);
  const Vector roots = eigen.eigenvalues().cwiseMax(kLeast).cwiseSqrt();
  const Matrix& U = eigen.eigenvectors();
  OutputMixing out;
  out.Q = U * roots.cwiseInverse().asDiagonal() * U.transpose() * scale.cwiseInverse().asDiagonal();
  out.back = scale.asDiagonal() * U * roots.asDiagonal() * U.transpose();
  return out;
}

SamplePtr mixed_outputs(const SamplePtr& samples, const OutputMixing& mixing) {
  const Matrix right = mixing.Q.transpose();
  return with_outputs(samples,
                      [right](const Eigen::Ref<const RowMatrix>&, RowMatrix& y) { y = (y * right).eval(); });
}

}  // namespace exhume
