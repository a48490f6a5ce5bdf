#include "extract/first_layer.h"

#include <Eigen/Dense>
#include <utility>

#include "linalg/svd.h"

namespace exhume {
namespace {

constexpr double kBeyond =
    1e-6;  // singular value of what is beyond the span, over the Jacobians', that counts

}  // namespace

FirstLayer first_layer(const Matrix& V, const std::vector<LocalLinear>& pieces) {
  FirstLayer out;
  const Index k = V.rows(), s = V.cols() - 1;
  if (k == 0 || k > s || pieces.empty()) return out;
  const Index m = pieces.front().jacobian.rows(), n = static_cast<Index>(pieces.size());
  Matrix J(n * m, s), above(n, k);
  for (Index p = 0; p < n; ++p) {
    const LocalLinear& piece = pieces[static_cast<std::size_t>(p)];
    J.middleRows(p * m, m) = piece.jacobian;
    above.row(p) = (V.leftCols(s) * piece.point + V.col(s)).transpose();
  }
  const Matrix W = V.leftCols(s);
  const Matrix B = W.transpose().colPivHouseholderQr().solve(J.transpose()).transpose();  // n m x k
  const Svd beyond = thin_svd(J - B * W);
  Index count = 0;
  while (count < beyond.values.size() && beyond.values(count) > kBeyond * J.norm()) ++count;
  const Matrix b = beyond.U.leftCols(count) * beyond.values.head(count).asDiagonal();  // n m x count
  out.signs = Vector::Ones(k);
  Matrix gamma = Matrix::Zero(k, count);
  for (Index j = 0; j < k; ++j) {
    double least = -1;
    for (const double side : {1.0, -1.0}) {
      std::vector<Index> rows;
      for (Index p = 0; p < n; ++p)
        if (side * above(p, j) < 0)
          for (Index o = 0; o < m; ++o) rows.push_back(p * m + o);
      if (rows.empty()) continue;
      const Vector there = B(rows, j);
      Vector part = Vector::Zero(count);
      double off = there.squaredNorm();
      if (count > 0) {
        const Matrix some = b(rows, Eigen::all);
        part = some.completeOrthogonalDecomposition().solve(there);
        off = (there - some * part).squaredNorm();
      }
      off /= static_cast<double>(rows.size());
      if (least >= 0 && !(off < least)) continue;
      least = off;
      out.signs(j) = side;
      gamma.row(j) = part.transpose();
    }
  }
  for (Index a = 0; a < count; ++a) out.left.emplace_back(beyond.V.col(a) + W.transpose() * gamma.col(a));
  return out;
}

}  // namespace exhume
