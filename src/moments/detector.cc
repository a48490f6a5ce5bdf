#include "moments/detector.h"

#include <Eigen/QR>
#include <cmath>
#include <limits>

#include "base/blas.h"
#include "data/reduce.h"
#include "linalg/svd.h"
#include "linalg/symmetric_matrix.h"

namespace exhume {
namespace {

// Sums over rows of (w_i.x)(w_j.x) 1{<= 0} and of its products with vech(xx^T); last of all, of vech(xx^T).
struct OppositeSums {
  Matrix quadratic;  // p x k2
  Vector product;    // k2
  Vector xx;         // p
  double count = 0;
  void merge(const OppositeSums& other) {
    quadratic += other.quadratic;
    product += other.product;
    xx += other.xx;
    count += other.count;
  }
};

OppositeSums opposite_sums(const Matrix& W, const SampleSource& samples, const Control& control) {
  const SingleThreadedBlas single;
  const Index k = W.rows(), k2 = k * (k - 1) / 2, p = symmetric_size(W.cols());
  return reduce_blocks(samples, OppositeSums{Matrix::Zero(p, k2), Vector::Zero(k2), Vector::Zero(p)}, control,
                       "distinguishing matrix", [&](OppositeSums& to, const SampleBlock& block) {
                         const Matrix x = block.x(), z = x * W.transpose();
                         Matrix opposite(x.rows(), k2), features(x.rows(), p);
                         quadratic_features(x, features);
                         for (Index j = 1, at = 0; j < k; ++j) {
                           for (Index i = 0; i < j; ++i, ++at) {
                             opposite.col(at) = (z.col(i).array() * z.col(j).array()).cwiseMin(0.0);
                           }
                         }
                         to.quadratic.noalias() += features.transpose() * opposite;
                         to.product += opposite.colwise().sum().transpose();
                         to.xx += features.colwise().sum().transpose();
                         to.count += static_cast<double>(x.rows());
                       });
}

}  // namespace

Matrix pure_neuron_detector(const CrossMoments& moments, const Matrix& Q, const DetectorOptions& options) {
  const Index m = moments.outputs, p = symmetric_size(moments.inputs);
  const double factor = detector_factor(options.leak), root = std::sqrt(2.0);
  const Matrix yq = moments.mean_yqxx(Q);  // p x (m m): column i m + o holds E[y_o (q_i.x) xx^T]
  Matrix T = -moments.mean_yyxx();
  for (Index j = 0; j < m; ++j) {
    for (Index i = 0; i < j; ++i) {
      T.col(symmetric_position(i, j)) += factor / root * (yq.col(i * m + j) + yq.col(j * m + i));
    }
    T.col(symmetric_position(j, j)) += factor * yq.col(j * m + j);
  }
  if (options.cancel_noise) {
    const Matrix crossed = moments.mean_yx() * Q.transpose();  // E[y (Qx)^T]
    const Matrix rest = moments.mean_yy() - factor / 2 * (crossed + crossed.transpose());
    const Vector xx = to_coordinates(moments.mean_xx());
    T.noalias() += xx * to_coordinates(rest).transpose();
  }
  if (p == 0) T.resize(0, symmetric_size(m));
  return T;
}

double NullSpace::gap() const {
  const Index inside = singular_values.size() - basis.cols();
  if (inside <= 0 || basis.cols() == 0) return std::numeric_limits<double>::infinity();
  const double least = singular_values(inside);
  return least > 0 ? singular_values(inside - 1) / least : std::numeric_limits<double>::infinity();
}

NullSpace null_space(const Matrix& T, Index count) {
  Matrix padded = T;
  if (T.rows() < T.cols()) padded.conservativeResizeLike(Matrix::Zero(T.cols(), T.cols()));
  // QR first: the singular vectors wanted are those of the small triangle.
  const Matrix R =
      padded.householderQr().matrixQR().topRows(T.cols()).template triangularView<Eigen::Upper>();
  const Svd svd = thin_svd(R);
  return {svd.V.rightCols(count), svd.values};
}

Matrix distinguishing_matrix(const Matrix& W, const SampleSource& samples, const Control& control) {
  const OppositeSums sums = opposite_sums(W, samples, control);
  return sums.quadratic / sums.count;
}

Vector opposite_products(const Matrix& W, const SampleSource& samples, const Control& control) {
  const OppositeSums sums = opposite_sums(W, samples, control);
  return sums.product / sums.count;
}

Matrix augmented_distinguishing_matrix(const Matrix& W, const SampleSource& samples, const Control& control) {
  const OppositeSums sums = opposite_sums(W, samples, control);
  Matrix M(sums.quadratic.rows(), sums.quadratic.cols() + 1);
  M << sums.quadratic / sums.count, sums.xx / sums.count;
  return M;
}

DistinguishingSummary distinguishing_summary(const Matrix& W, const SampleSource& samples,
                                             const Control& control) {
  const Matrix unit = W.rowwise().norm().cwiseMax(kTiny).cwiseInverse().asDiagonal() * W;
  const Matrix M = augmented_distinguishing_matrix(unit, samples, control);
  DistinguishingSummary out;
  // More columns than rows cannot be independent.
  const auto least = [](const Matrix& of) {
    return of.cols() > of.rows() ? 0.0 : thin_svd(of).values.minCoeff();
  };
  out.least_m = least(M);
  out.largest_m = spectral_norm(M);
  if (M.cols() > 1) {
    out.least_n = least(M.leftCols(M.cols() - 1));
    out.largest_n = spectral_norm(M.leftCols(M.cols() - 1));
  }
  return out;
}

}  // namespace exhume
