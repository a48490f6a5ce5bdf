#include "exhume/papers/rectified.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <stdexcept>

#include "base/random.h"

namespace exhume {
namespace {

// The orthogonal matrix closest to Q.
Matrix decorrelated(const Matrix& Q) {
  const Eigen::JacobiSVD<Matrix> svd(Q, Eigen::ComputeThinU | Eigen::ComputeThinV);
  return svd.matrixU() * svd.matrixV().transpose();
}

}  // namespace

Ica fast_ica(const Matrix& B, const IcaOptions& options, const Control& control) {
  const Index n = B.rows(), k = B.cols();
  if (n == 0 || k == 0) throw std::invalid_argument(fmt::format("fast_ica: the samples are {} x {}", n, k));
  Ica out;
  out.Q = decorrelated(Stream(options.seed, "independent components").normal_matrix(k, k));
  const double rows = static_cast<double>(n);
  while (out.iterations < options.max_iterations && !out.converged) {
    control.check();
    ++out.iterations;
    Matrix S = B * out.Q;
    Vector slope(k);
    if (options.contrast == Contrast::kTanh) {
      S = S.array().tanh();
      slope = (1 - S.array().square()).colwise().mean().transpose();
    } else {
      slope = (3 * S.array().square()).colwise().mean().transpose();
      S = S.array().cube();
    }
    const Matrix next = decorrelated(B.transpose() * S / rows - out.Q * slope.asDiagonal());
    const double turn = 1 - (next.cwiseProduct(out.Q)).colwise().sum().cwiseAbs().minCoeff();
    out.Q = next;
    out.converged = turn < options.tolerance;
  }
  return out;
}

}  // namespace exhume
