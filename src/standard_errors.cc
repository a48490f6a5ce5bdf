#include "exhume/standard_errors.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <vector>

#include "exhume/blas.h"
#include "normal_sums.h"

namespace exhume {
namespace {

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
  const Index k = model.units(), d = model.inputs(), width = d + 1, m = model.C.cols(), q = model.features();
  const NormalSums sums = normal_sums(model, samples, kBlockRows, control);
  const Matrix H = projected_normal_matrix(model, sums);
  const Matrix covariance_V =
      solve_scaled(H, Matrix::Identity(H.rows(), H.cols()));  // of vec(V), times variance
  const Matrix FF_inverse = solve_scaled(sums.FF, Matrix::Identity(q, q));
  const Matrix response =
      FF_inverse * sums.GF.transpose();  // q x k(d+1): how C follows V, before the factor C_j

  ErrorEstimate result;
  result.errors.W.resize(k, d);
  result.errors.b.resize(k);
  result.errors.A.resize(m, k);
  result.errors.c.resize(m);

  // Per output: dC_o = -response diag(C_jo) dV + independent part with covariance FF^-1.
  std::vector<Matrix> cross(static_cast<size_t>(m));  // K_o covariance_V, q x k(d+1)
  std::vector<Matrix> K(static_cast<size_t>(m));
  for (Index o = 0; o < m; ++o) {
    Matrix& Ko = K[static_cast<size_t>(o)];
    Ko = -response;
    for (Index j = 0; j < k; ++j) Ko.middleCols(j * width, width) *= model.C(j, o);
    cross[static_cast<size_t>(o)] = Ko * covariance_V;
    const double constant =
        FF_inverse(q - 1, q - 1) + cross[static_cast<size_t>(o)].row(q - 1).dot(Ko.row(q - 1));
    result.errors.c(o) = std::sqrt(std::max(0.0, variance * constant)) / coordinates.map.D(o);
  }
  for (Index j = 0; j < k; ++j) {
    Matrix covariance = Matrix::Zero(width + m, width + m);
    covariance.topLeftCorner(width, width) = covariance_V.block(j * width, j * width, width, width);
    for (Index o = 0; o < m; ++o) {
      covariance.block(width + o, 0, 1, width) = cross[static_cast<size_t>(o)].block(j, j * width, 1, width);
      for (Index p = 0; p <= o; ++p) {
        double value = cross[static_cast<size_t>(o)].row(j).dot(K[static_cast<size_t>(p)].row(j));
        if (o == p) value += FF_inverse(j, j);
        covariance(width + o, width + p) = covariance(width + p, width + o) = value;
      }
    }
    covariance.topRightCorner(width, m) = covariance.bottomLeftCorner(m, width).transpose();
    const Matrix J = unit_jacobian(model.V.row(j).head(d).transpose(), model.V(j, d),
                                   model.C.row(j).transpose(), coordinates);
    const Vector errors =
        (J * covariance * J.transpose()).diagonal().cwiseMax(0).cwiseSqrt() * std::sqrt(variance);
    result.errors.W.row(j) = errors.head(d).transpose();
    result.errors.b(j) = errors(d);
    result.errors.A.col(j) = errors.tail(m);
  }
  result.largest =
      std::max({k > 0 ? result.errors.W.maxCoeff() : 0.0, k > 0 ? result.errors.b.maxCoeff() : 0.0,
                k > 0 ? result.errors.A.maxCoeff() : 0.0, m > 0 ? result.errors.c.maxCoeff() : 0.0});
  if (H.rows() > 0) {
    const Eigen::SelfAdjointEigenSolver<Matrix> eigen(H, Eigen::EigenvaluesOnly);
    result.smallest_singular = std::sqrt(std::max(0.0, eigen.eigenvalues()(0)) /
                                         static_cast<double>(std::max<Index>(samples.rows(), 1)));
  }
  return result;
}

}  // namespace exhume
