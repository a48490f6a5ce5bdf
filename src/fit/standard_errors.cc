#include "fit/standard_errors.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/blas.h"
#include "base/parallel.h"
#include "fit/normal_sums.h"
#include "linalg/lanczos.h"

namespace exhume {
namespace {

constexpr Index kColumnsAtOnce = 128;

// Few rows in smaller blocks, so that there is work for all threads.
Index block_rows(Index rows) { return std::clamp<Index>(rows / 8, 128, kBlockRows); }

// d(user parameters of a unit) / d(standardised parameters (w', b', a')): (d+1+m) x (d+1+m).
Matrix unit_jacobian(const Vector& w_standard, double b_standard, const Vector& a_standard,
                     const Standardisation& to, const Matrix& unmix) {
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
  J.bottomLeftCorner(m, d) = unmix * a_standard * ds;
  J.bottomRightCorner(m, m) = s * unmix;
  return J;
}

}  // namespace

Curvature::Curvature(const SeparableModel& model, const SampleSource& samples, const Control& control)
    : model_(model), rows_(samples.rows()) {
  const SingleThreadedBlas single;
  const NormalSums sums = normal_sums(model, samples, block_rows(samples.rows()), control);
  covariance_V_ = inverse_scaled(projected_normal_matrix(model, sums));
  FF_inverse_ = inverse_scaled(sums.FF);
  response_ = FF_inverse_ * sums.GF.transpose();
}

// dC_jo = -response_j diag(C_o) dV + an independent part with covariance FF^-1. Row j of that matrix:
Vector Curvature::response_to_V(Index feature, Index o) const {
  const Index width = model_.inputs() + 1;
  Vector row = -response_.row(feature).transpose();
  for (Index j = 0; j < model_.units(); ++j) row.segment(j * width, width) *= model_.C(j, o);
  return row;
}

ErrorEstimate Curvature::errors(double variance, const Standardisation& coordinates,
                                const Matrix& unmix) const {
  const SingleThreadedBlas single;
  const Index k = model_.units(), d = model_.inputs(), width = d + 1, m = model_.C.cols(),
              q = model_.features(), P = k * width;
  ErrorEstimate result;
  result.errors.W().resize(k, d);
  result.errors.b().resize(k);
  result.errors.A().resize(m, k);
  result.errors.c().resize(m);
  const auto deviations = [&](const Matrix& J, const Matrix& covariance) {
    return Vector((J * covariance).cwiseProduct(J).rowwise().sum().cwiseMax(0).cwiseSqrt() *
                  std::sqrt(variance));
  };

  Matrix towards(P, m), carried(P, m);
  for (Index o = 0; o < m; ++o) towards.col(o) = response_to_V(q - 1, o);
  carried.noalias() = covariance_V_ * towards;
  Matrix constants = carried.transpose() * towards;
  constants.diagonal().array() += FF_inverse_(q - 1, q - 1);
  result.errors.c() = deviations(unmix, constants);
  // A unit's own covariance; its row of A meets V and, through the mixing, itself.
  const Index at_once = std::max<Index>(1, kColumnsAtOnce / std::max<Index>(m, 1));
  for (Index first = 0; first < k; first += at_once) {
    const Index units = std::min(at_once, k - first);
    towards.resize(P, units * m);
    for (Index u = 0; u < units; ++u) {
      for (Index o = 0; o < m; ++o) towards.col(u * m + o) = response_to_V(first + u, o);
    }
    carried.resize(P, units * m);
    carried.noalias() = covariance_V_ * towards;
    for (Index u = 0; u < units; ++u) {
      const Index j = first + u;
      Matrix covariance(width + m, width + m);
      covariance.topLeftCorner(width, width) = covariance_V_.block(j * width, j * width, width, width);
      covariance.topRightCorner(width, m) = carried.block(j * width, u * m, width, m);
      covariance.bottomLeftCorner(m, width) = covariance.topRightCorner(width, m).transpose();
      covariance.bottomRightCorner(m, m) =
          carried.middleCols(u * m, m).transpose() * towards.middleCols(u * m, m);
      covariance.bottomRightCorner(m, m).diagonal().array() += FF_inverse_(j, j);
      const Matrix J = unit_jacobian(model_.V.row(j).head(d).transpose(), model_.V(j, d),
                                     model_.C.row(j).transpose(), coordinates, unmix);
      const Vector errors = deviations(J, covariance);
      result.errors.W().row(j) = errors.head(d).transpose();
      result.errors.b()(j) = errors(d);
      result.errors.A().col(j) = errors.tail(m);
    }
  }
  result.largest =
      std::max({k > 0 ? result.errors.W().maxCoeff() : 0.0, k > 0 ? result.errors.b().maxCoeff() : 0.0,
                k > 0 ? result.errors.A().maxCoeff() : 0.0, m > 0 ? result.errors.c().maxCoeff() : 0.0});
  if (P > 0) {
    // The smallest eigenvalue of the projected normal matrix as the largest of its inverse.
    const LanczosResult ends =
        lanczos([&](const Vector& in, Vector& out) { out.noalias() = covariance_V_ * in; },
                Vector::Ones(P).normalized(), {.max_steps = 40, .tolerance = 1e-3});
    if (ends.largest > 0) {
      result.smallest_singular = 1 / std::sqrt(ends.largest * static_cast<double>(std::max<Index>(rows_, 1)));
    }
  }
  return result;
}

Matrix Curvature::of_values(const Eigen::Ref<const RowMatrix>& x) const {
  const SingleThreadedBlas single;
  const ModelRows rows(model_, x, true);
  const Index width = model_.inputs() + 1;
  // df_o = sum_j C_jo (g_j - response^T F)_j dV_j + F dC, the last independent with covariance FF^-1.
  const Matrix projected = rows.gradients() - rows.F * response_;
  const Vector of_C = (rows.F * FF_inverse_).cwiseProduct(rows.F).rowwise().sum();
  Matrix out(x.rows(), model_.C.cols());
  for (Index o = 0; o < out.cols(); ++o) {
    Matrix gradient = projected;
    for (Index j = 0; j < model_.units(); ++j) gradient.middleCols(j * width, width) *= model_.C(j, o);
    out.col(o) = of_C + (gradient * covariance_V_).cwiseProduct(gradient).rowwise().sum();
  }
  return out.cwiseMax(0);
}

ErrorEstimate standard_errors(const SeparableModel& model, const SampleSource& samples, double variance,
                              const Standardisation& coordinates, const Control& control) {
  return Curvature(model, samples, control)
      .errors(variance, coordinates, coordinates.map.D.cwiseInverse().asDiagonal());
}

}  // namespace exhume
