#include "papers/depth2/cp_als.h"

#include <Eigen/Dense>
#include <cmath>
#include <utility>

namespace exhume {
namespace {

constexpr double kLeastProgress = 1e-12;  // of the relative residual, a sweep

// Columns to unit norm; the norms become the weights.
void normalise(Matrix& factor, Vector& norms) {
  norms = factor.colwise().norm();
  for (Index i = 0; i < factor.cols(); ++i) {
    if (norms(i) > 0) factor.col(i) /= norms(i);
  }
}

// M G^+ for the Gram matrix G of the two fixed modes.
Matrix solve_right(const Matrix& M, const Matrix& first, const Matrix& second) {
  const Matrix gram = (first.transpose() * first).cwiseProduct(second.transpose() * second);
  return Eigen::CompleteOrthogonalDecomposition<Matrix>(gram).solve(Matrix(M.transpose())).transpose();
}

}  // namespace

RankOneTerms cp_als(const std::vector<Matrix>& slices, RankOneTerms start, int sweeps) {
  RankOneTerms terms = std::move(start);
  if (terms.weights.size() == 0) return terms;
  double before = relative_residual(slices, terms);
  RankOneTerms best = terms;
  best.relative_residual = before;
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    Matrix toward_u = Matrix::Zero(terms.U.rows(), terms.U.cols());
    for (std::size_t k = 0; k < slices.size(); ++k) {
      toward_u += slices[k] * terms.V * terms.W.row(static_cast<Index>(k)).asDiagonal();
    }
    terms.U = solve_right(toward_u, terms.V, terms.W);
    normalise(terms.U, terms.weights);
    Matrix toward_v = Matrix::Zero(terms.V.rows(), terms.V.cols());
    for (std::size_t k = 0; k < slices.size(); ++k) {
      toward_v += slices[k].transpose() * terms.U * terms.W.row(static_cast<Index>(k)).asDiagonal();
    }
    terms.V = solve_right(toward_v, terms.U, terms.W);
    normalise(terms.V, terms.weights);
    Matrix toward_w(terms.W.rows(), terms.W.cols());
    for (std::size_t k = 0; k < slices.size(); ++k) {
      toward_w.row(static_cast<Index>(k)) = terms.U.cwiseProduct(slices[k] * terms.V).colwise().sum();
    }
    terms.W = solve_right(toward_w, terms.U, terms.V);
    normalise(terms.W, terms.weights);
    const double after = relative_residual(slices, terms);
    if (!(after < best.relative_residual)) break;
    best = terms;
    best.relative_residual = after;
    if (before - after < kLeastProgress) break;
    before = after;
  }
  return best;
}

}  // namespace exhume
