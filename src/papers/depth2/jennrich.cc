#include "papers/depth2/jennrich.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <stdexcept>

#include "base/random.h"
#include "linalg/lapack.h"
#include "linalg/svd.h"
#include "papers/depth2/cp_als.h"

namespace exhume {
namespace {

Matrix leading_directions(const Matrix& unfolded, Index count) {
  return thin_svd(unfolded).U.leftCols(count);
}

// The array in fewer coordinates: core slices, and the bases that lead back.
struct Compressed {
  Matrix U, V, W;
  std::vector<Matrix> core;
};

Compressed compress(const std::vector<Matrix>& slices, Index rank) {
  const Index n1 = slices[0].rows(), n2 = slices[0].cols(), n3 = static_cast<Index>(slices.size());
  Matrix first(n1, n2 * n3), second(n2, n1 * n3), third(n3, n1 * n2);
  for (Index k = 0; k < n3; ++k) {
    const Matrix& slice = slices[static_cast<std::size_t>(k)];
    first.middleCols(k * n2, n2) = slice;
    second.middleCols(k * n1, n1) = slice.transpose();
    third.row(k) = slice.reshaped().transpose();
  }
  Compressed out;
  out.U = leading_directions(first, rank);
  out.V = leading_directions(second, rank);
  out.W = leading_directions(third, std::min({rank, n3, n1 * n2}));
  for (Index c = 0; c < out.W.cols(); ++c) {
    Matrix mixed = Matrix::Zero(n1, n2);
    for (Index k = 0; k < n3; ++k) mixed += out.W(k, c) * slices[static_cast<std::size_t>(k)];
    out.core.emplace_back(out.U.transpose() * mixed * out.V);
  }
  return out;
}

// The factors of mode 1 from the pencil (X, Y): r x r, unit columns.
Matrix first_factors(const Matrix& X, const Matrix& Y) {
  const Index r = X.rows();
  lapack::Pencil pencil;
  if (lapack::ggev(X, Y, pencil) != 0) return {};
  const Matrix X_real = X * pencil.Z, X_imaginary = X * pencil.Z_imaginary;
  const Matrix Y_real = Y * pencil.Z, Y_imaginary = Y * pencil.Z_imaginary;
  Matrix U(r, r);
  for (Index i = 0; i < r; ++i) {
    // beta X z = alpha Y z: of the two images take the larger mixture, conj(alpha) X z + beta Y z, which no
    // zero eigenvalue can spoil.
    const double real = pencil.alpha(i), imaginary = pencil.alpha_imaginary(i), beta = pencil.beta(i);
    U.col(i) = real * X_real.col(i) + imaginary * X_imaginary.col(i) + beta * Y_real.col(i);
    if (imaginary < 0) {  // the second of a pair gives the other half
      const Vector other = real * X_imaginary.col(i) - imaginary * X_real.col(i) + beta * Y_imaginary.col(i);
      if (other.norm() > 0) U.col(i) = other;
    }
    const double norm = U.col(i).norm();
    if (!(norm > 0) || !std::isfinite(norm)) return {};
    U.col(i) /= norm;
  }
  return U;
}

// With mode 1 known, the rest is linear: U Z = T_(1), row i of Z cut to rank one.
RankOneTerms complete(const std::vector<Matrix>& core, const Matrix& U) {
  const Index r = U.cols(), n2 = core[0].cols(), n3 = static_cast<Index>(core.size());
  const Eigen::ColPivHouseholderQR<Matrix> qr(U);
  std::vector<Matrix> solved;
  solved.reserve(core.size());
  for (const Matrix& slice : core) solved.emplace_back(qr.solve(slice));
  RankOneTerms terms;
  terms.U = U;
  terms.V.resize(n2, r);
  terms.W.resize(n3, r);
  terms.weights.resize(r);
  for (Index i = 0; i < r; ++i) {
    Matrix rest(n2, n3);
    for (Index k = 0; k < n3; ++k) rest.col(k) = solved[static_cast<std::size_t>(k)].row(i).transpose();
    const Eigen::JacobiSVD<Matrix> svd(rest, Eigen::ComputeThinU | Eigen::ComputeThinV);
    terms.V.col(i) = svd.matrixU().col(0);
    terms.W.col(i) = svd.matrixV().col(0);
    terms.weights(i) = svd.singularValues()(0);
  }
  return terms;
}

Matrix contraction(const std::vector<Matrix>& core, const Eigen::Ref<const Vector>& g) {
  Matrix out = Matrix::Zero(core[0].rows(), core[0].cols());
  for (std::size_t k = 0; k < core.size(); ++k) out += g(static_cast<Index>(k)) * core[k];
  return out;
}

}  // namespace

void JennrichOptions::validate() const {
  if (trials < 1) throw std::invalid_argument(fmt::format("trials is {}, expected at least 1", trials));
  if (als_sweeps < 0)
    throw std::invalid_argument(fmt::format("als_sweeps is {}, expected at least 0", als_sweeps));
}

RankOneTerms jennrich(const std::vector<Matrix>& slices, Index rank, const JennrichOptions& options) {
  options.validate();
  if (slices.empty()) throw std::invalid_argument("jennrich: no slices");
  const Index n1 = slices[0].rows(), n2 = slices[0].cols();
  for (const Matrix& slice : slices) {
    if (slice.rows() != n1 || slice.cols() != n2) {
      throw std::invalid_argument(fmt::format("jennrich: a slice is {} x {}, the first one {} x {}",
                                              slice.rows(), slice.cols(), n1, n2));
    }
    if (!slice.allFinite()) throw std::invalid_argument("jennrich: a slice has an entry that is not finite");
  }
  if (rank < 0 || rank > std::min(n1, n2)) {
    throw std::invalid_argument(
        fmt::format("jennrich: rank is {}, expected 0 to {}", rank, std::min(n1, n2)));
  }
  RankOneTerms best;
  best.U = Matrix(n1, 0);
  best.V = Matrix(n2, 0);
  best.W = Matrix(static_cast<Index>(slices.size()), 0);
  if (rank == 0) return best;
  const Compressed compressed = compress(slices, rank);
  const Stream random(options.seed, "jennrich contractions");
  RankOneTerms inner;
  bool found = false;
  for (int trial = 0; trial < options.trials; ++trial) {
    RowMatrix g(2, static_cast<Index>(compressed.core.size()));
    random.fill_normal(2 * static_cast<std::uint64_t>(trial), g);
    const Matrix U = first_factors(contraction(compressed.core, g.row(0).transpose()),
                                   contraction(compressed.core, g.row(1).transpose()));
    if (U.size() == 0) continue;
    RankOneTerms terms = complete(compressed.core, U);
    terms.relative_residual = relative_residual(compressed.core, terms);
    if (std::isfinite(terms.relative_residual) &&
        (!found || terms.relative_residual < inner.relative_residual)) {
      inner = std::move(terms);
      found = true;
    }
  }
  if (!found) return best;
  if (options.als) inner = cp_als(compressed.core, std::move(inner), options.als_sweeps);
  best.U = compressed.U * inner.U;
  best.V = compressed.V * inner.V;
  best.W = compressed.W * inner.W;
  best.weights = inner.weights;
  best.relative_residual = relative_residual(slices, best);
  return best;
}

}  // namespace exhume
