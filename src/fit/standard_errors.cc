#include "exhume/fit/standard_errors.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <vector>

#include "exhume/base/blas.h"
#include "exhume/linalg/lanczos.h"
#include "fit/normal_sums.h"

namespace exhume {
namespace {

constexpr Index kColumnsAtOnce = 128;

// Few rows in smaller blocks, so that there is work for all threads.
Index block_rows(Index rows) { return std::clamp<Index>(rows / 8, 128, kBlockRows); }

// d(user parameters of a unit) / d(standardised parameters (w', b', a')): (d+1+m) x (d+1+m).
Matrix unit_jacobian(const Vector& w_standard, double b_standard, const Vector& a_standard,
                     const Standardisation& to) {
  const Index d = w_standard.size(), m = a_standard.size();
  const Matrix& P = to.map.P;
  const Vector w = P.transpose() * w_standard;
  const double s = w.norm();
  const Vector u = w / s;
  const double beta = (b_standard - w.dot(to.map.mu)) / s;
  Matrix J = Matrix::Zero(d + 1 + m, d + 1 + m);
  const Eigen::RowVectorXd ds = u.transpose() * P.transpose();
  J.topLeftCorner(d, d) = (P.transpose() - u * ds) / s;
  J.row(d).head(d) = -(to.map.mu.transpose() * P.transpose()) / s - beta / s * ds;
  J(d, d) = 1 / s;
  J.bottomLeftCorner(m, d) = a_standard.cwiseQuotient(to.map.D) * ds;
  J.bottomRightCorner(m, m) = (s * to.map.D.cwiseInverse()).asDiagonal();
  return J;
}

}  // namespace

ErrorEstimate standard_errors(const SeparableModel& model, const SampleSource& samples, double variance,
                              const Standardisation& coordinates, const Control& control) {
  const SingleThreadedBlas single;
  const Index k = model.units(), d = model.inputs(), width = d + 1, m = model.C.cols(), q = model.features(),
              P = k * width;
  const NormalSums sums = normal_sums(model, samples, block_rows(samples.rows()), control);
  const Matrix H = projected_normal_matrix(model, sums);
  const Matrix covariance_V = inverse_scaled(H);  // of vec(V), times variance
  const Matrix FF_inverse = inverse_scaled(sums.FF);
  const Matrix response =
      FF_inverse * sums.GF.transpose();  // q x k(d+1): how C follows V, before the factor C_j

  ErrorEstimate result;
  result.errors.W.resize(k, d);
  result.errors.b.resize(k);
  result.errors.A.resize(m, k);
  result.errors.c.resize(m);

  // dC_jo = -response_j diag(C_o) dV + an independent part with covariance FF^-1. Row j of that matrix:
  const auto response_to_V = [&](Index feature, Index o) {
    Vector row = -response.row(feature).transpose();
    for (Index j = 0; j < k; ++j) row.segment(j * width, width) *= model.C(j, o);
    return row;
  };
  Matrix towards(P, m), carried(P, m);
  for (Index o = 0; o < m; ++o) towards.col(o) = response_to_V(q - 1, o);
  carried.noalias() = covariance_V * towards;
  for (Index o = 0; o < m; ++o) {
    const double constant = FF_inverse(q - 1, q - 1) + carried.col(o).dot(towards.col(o));
    result.errors.c(o) = std::sqrt(std::max(0.0, variance * constant)) / coordinates.map.D(o);
  }
  // A unit's own covariance; entries of A meet only V and themselves in the user's coordinates.
  const Index at_once = std::max<Index>(1, kColumnsAtOnce / std::max<Index>(m, 1));
  for (Index first = 0; first < k; first += at_once) {
    const Index units = std::min(at_once, k - first);
    towards.resize(P, units * m);
    for (Index u = 0; u < units; ++u) {
      for (Index o = 0; o < m; ++o) towards.col(u * m + o) = response_to_V(first + u, o);
    }
    carried.resize(P, units * m);
    carried.noalias() = covariance_V * towards;
    for (Index u = 0; u < units; ++u) {
      const Index j = first + u;
      Matrix covariance = Matrix::Zero(width + m, width + m);
      covariance.topLeftCorner(width, width) = covariance_V.block(j * width, j * width, width, width);
      for (Index o = 0; o < m; ++o) {
        const Index column = u * m + o;
        covariance.col(width + o).head(width) = carried.col(column).segment(j * width, width);
        covariance(width + o, width + o) = carried.col(column).dot(towards.col(column)) + FF_inverse(j, j);
      }
      covariance.bottomLeftCorner(m, width) = covariance.topRightCorner(width, m).transpose();
      const Matrix J = unit_jacobian(model.V.row(j).head(d).transpose(), model.V(j, d),
                                     model.C.row(j).transpose(), coordinates);
      const Vector errors =
          (J * covariance).cwiseProduct(J).rowwise().sum().cwiseMax(0).cwiseSqrt() * std::sqrt(variance);
      result.errors.W.row(j) = errors.head(d).transpose();
      result.errors.b(j) = errors(d);
      result.errors.A.col(j) = errors.tail(m);
    }
  }
  result.largest =
      std::max({k > 0 ? result.errors.W.maxCoeff() : 0.0, k > 0 ? result.errors.b.maxCoeff() : 0.0,
                k > 0 ? result.errors.A.maxCoeff() : 0.0, m > 0 ? result.errors.c.maxCoeff() : 0.0});
  if (H.rows() > 0) {
    // The smallest eigenvalue of H as the largest of its inverse.
    const LanczosResult ends =
        lanczos([&](const Vector& in, Vector& out) { out.noalias() = covariance_V * in; },
                Vector::Ones(H.rows()).normalized(), {.max_steps = 40, .tolerance = 1e-3});
    if (ends.largest > 0) {
      result.smallest_singular =
          1 / std::sqrt(ends.largest * static_cast<double>(std::max<Index>(samples.rows(), 1)));
    }
  }
  return result;
}

}  // namespace exhume
