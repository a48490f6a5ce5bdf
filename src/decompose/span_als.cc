#include "decompose/span_als.h"

#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <limits>
#include <string>

#include "base/random.h"
#include "linalg/symmetric_matrix.h"

namespace exhume {
namespace {

// A k x k x s tensor, slice t at columns [t k, (t+1) k).
struct Tensor {
  Index k = 0, slices = 0;
  Matrix side;  // k x (k s)
};

// Columns p (x) q for every pair of columns of P and Q: rows of Q run fastest.
Matrix khatri_rao(const Matrix& P, const Matrix& Q) {
  Matrix out(P.rows() * Q.rows(), P.cols());
  for (Index c = 0; c < P.cols(); ++c) {
    for (Index i = 0; i < P.rows(); ++i) out.col(c).segment(i * Q.rows(), Q.rows()) = P(i, c) * Q.col(c);
  }
  return out;
}

Matrix solve_gram(const Matrix& right, Matrix gram) {
  gram.diagonal().array() += 1e-13 * (gram.trace() + kTiny);
  return gram.ldlt().solve(right.transpose()).transpose();
}

void normalise(Matrix& factor) {
  for (Index i = 0; i < factor.cols(); ++i) factor.col(i) /= std::max(factor.col(i).norm(), kTiny);
}

}  // namespace

Matrix span_als_vectors(const Matrix& basis, const SpanAlsOptions& options) {
  const Index rank = basis.cols();
  const Index members = options.members_per_unit * rank;
  const Matrix coefficients = Stream(options.seed, "members of the span").normal_matrix(members, rank);
  const Matrix R = coefficients.householderQr().matrixQR().topRows(rank).triangularView<Eigen::Upper>();
  Tensor tensor;
  tensor.slices = rank;
  const Matrix compressed = basis * R.transpose();
  tensor.k = from_coordinates(compressed.col(0)).rows();
  const Index k = tensor.k;
  tensor.side.resize(k, k * rank);
  for (Index t = 0; t < rank; ++t) tensor.side.middleCols(t * k, k) = from_coordinates(compressed.col(t));
  // The third unfolding, rank x k^2. Slices are symmetric, so the first two unfoldings are the same.
  const Matrix third = Eigen::Map<const Matrix>(tensor.side.data(), k * k, rank).transpose();
  const double total = tensor.side.squaredNorm();

  Matrix best;
  double least = std::numeric_limits<double>::infinity();
  for (int restart = 0; restart < options.restarts; ++restart) {
    const Stream random(options.seed, "span ALS " + std::to_string(restart));
    Matrix P = random.normal_matrix(k, rank), Q = P, G = random.normal_matrix(rank + k, rank).topRows(rank);
    normalise(P);
    Q = P;
    double before = std::numeric_limits<double>::infinity(), misfit = before;
    for (int sweep = 0; sweep < options.max_sweeps; ++sweep) {
      G = solve_gram(third * khatri_rao(Q, P), (P.transpose() * P).cwiseProduct(Q.transpose() * Q));
      const Matrix GG = G.transpose() * G;
      P = solve_gram(tensor.side * khatri_rao(G, Q), GG.cwiseProduct(Q.transpose() * Q));
      normalise(P);
      const Matrix right = tensor.side * khatri_rao(G, P), gram = GG.cwiseProduct(P.transpose() * P);
      Q = solve_gram(right, gram);
      misfit = total - 2 * right.cwiseProduct(Q).sum() + (Q.transpose() * Q).cwiseProduct(gram).sum();
      if (before - misfit < options.tolerance * total) break;
      before = misfit;
      normalise(Q);
    }
    normalise(Q);
    if (misfit < least) {
      least = misfit;
      best = P;
      for (Index i = 0; i < rank; ++i) best.col(i) += (P.col(i).dot(Q.col(i)) < 0 ? -1.0 : 1.0) * Q.col(i);
      normalise(best);
    }
  }
  return best;
}

}  // namespace exhume
