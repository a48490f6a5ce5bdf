#include "extract/one_sided.h"

#include <Eigen/Dense>

#include "base/random.h"
#include "linalg/svd.h"

namespace exhume {
namespace {

constexpr double kExplained = 1e-5;  // what signs leave of R, over R, up to which nothing is missing
constexpr double kCounts = 1e-3;     // singular value of what is left, over the largest, of a row of its own
constexpr int kRounds = 6;

// The signs that leave least of R, one output in every row.
Vector signs_for(const Matrix& U, const Matrix& R, const Matrix& V) {
  const Matrix N = (U.transpose() * U).cwiseProduct(V * V.transpose());
  const Vector right = (U.transpose() * R * V.transpose()).diagonal();
  const Vector scale = N.diagonal().cwiseMax(kTiny).cwiseSqrt().cwiseInverse();
  const Vector s = scale.asDiagonal() * Matrix(scale.asDiagonal() * N * scale.asDiagonal())
                                            .completeOrthogonalDecomposition()
                                            .solve(Vector(scale.asDiagonal() * right));
  return s.unaryExpr([](double value) { return value < 0 ? -1.0 : 1.0; });
}

}  // namespace

std::vector<Vector> one_sided_rows(const Matrix& U, const Matrix& R, const Matrix& V, std::uint64_t seed,
                                   std::size_t most) {
  const Index k = V.rows(), c = V.cols() - 1;
  const Matrix Rc = R.leftCols(c), Vc = V.leftCols(c);
  std::vector<Vector> out;
  if (R.rows() == 0 || !(Rc.norm() > 0)) return out;
  Matrix off = Matrix::Zero(R.rows(), c);  // of rank one
  Matrix left;
  for (int round = 0; round < kRounds; ++round) {
    const Vector s = signs_for(U, Rc - off, Vc);
    left = R - U * s.asDiagonal() * V;
    const Svd svd = thin_svd(left.leftCols(c));
    off = svd.values(0) * svd.U.col(0) * svd.V.col(0).transpose();
  }
  if (left.leftCols(c).norm() <= kExplained * Rc.norm()) return out;
  if (R.rows() > 1) {
    const Svd svd = thin_svd(left.leftCols(c));
    for (Index r = 0; r < svd.values.size() && out.size() < most; ++r)
      if (svd.values(r) > kCounts * svd.values(0)) out.emplace_back(left.transpose() * svd.U.col(r));
    return out;
  }
  out.emplace_back(left.row(0).transpose());
  const Stream random(seed, "extract signs");
  RowMatrix drawn(static_cast<Index>(most), k);
  random.fill_normal(0, drawn);
  for (Index i = 0; out.size() < most; ++i) {
    const Vector s = drawn.row(i).unaryExpr([](double value) { return value < 0 ? -1.0 : 1.0; }).transpose();
    out.emplace_back((R - U * s.asDiagonal() * V).row(0).transpose());
  }
  return out;
}

}  // namespace exhume
