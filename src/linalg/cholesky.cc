#include "linalg/cholesky.h"

#include <cblas.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/blas.h"
#include "base/parallel.h"
#include "linalg/lapack.h"

namespace exhume {
namespace {

constexpr Index kPanel = 256;  // columns factored at once
constexpr Index kTile = 512;   // rows and columns of a tile of the update: large enough for full speed

}  // namespace

Index cholesky_in_place(Eigen::Ref<Matrix> k, const Control& control) {
  const Index n = k.rows();
  if (k.cols() != n) {
    throw std::invalid_argument(
        fmt::format("a Cholesky factor needs a square matrix, not {} x {}", n, k.cols()));
  }
  const SingleThreadedBlas single;
  const int stride = static_cast<int>(k.outerStride());
  const auto at = [&](Index i, Index j) { return k.data() + j * k.outerStride() + i; };
  std::vector<std::pair<Index, Index>> tiles;
  for (Index first = 0; first < n; first += kPanel) {
    const int width = static_cast<int>(std::min(kPanel, n - first));
    const int info = lapack::potrf(k.block(first, first, width, width));
    if (info != 0) return first + info - 1;
    const Index below = first + width;
    if (below == n) break;
    const Index strips = (n - below + kTile - 1) / kTile;
    parallel_for(strips, control, [&](Index s) {
      const Index row = below + s * kTile;
      const int height = static_cast<int>(std::min(kTile, n - row));
      cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, height, width, 1,
                  at(first, first), stride, at(row, first), stride);
    });
    tiles.clear();
    for (Index j = 0; j < strips; ++j) {
      for (Index i = j; i < strips; ++i) tiles.emplace_back(i, j);
    }
    parallel_for(static_cast<Index>(tiles.size()), control, [&](Index t) {
      const auto [i, j] = tiles[static_cast<std::size_t>(t)];
      const Index row = below + i * kTile, column = below + j * kTile;
      const int height = static_cast<int>(std::min(kTile, n - row));
      const int cols = static_cast<int>(std::min(kTile, n - column));
      if (i == j) {
        cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, height, width, -1, at(row, first), stride, 1,
                    at(row, row), stride);
      } else {
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, height, cols, width, -1, at(row, first), stride,
                    at(column, first), stride, 1, at(row, column), stride);
      }
    });
    control.report("cholesky", 1 - std::pow(static_cast<double>(n - below) / static_cast<double>(n), 3));
  }
  return -1;
}

void cholesky_solve(const Eigen::Ref<const Matrix>& factor, Eigen::Ref<Matrix> b) {
  const SingleThreadedBlas single;
  const int n = static_cast<int>(factor.rows()), columns = static_cast<int>(b.cols());
  const int stride = static_cast<int>(factor.outerStride()), b_stride = static_cast<int>(b.outerStride());
  // The substitution reads the whole triangle from memory: once for all columns, unless there are too few of
  // them to pay for the packing that a matrix solve does.
  if (columns > 4) {
    for (const CBLAS_TRANSPOSE side : {CblasNoTrans, CblasTrans}) {
      cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, side, CblasNonUnit, n, columns, 1, factor.data(),
                  stride, b.data(), b_stride);
    }
    return;
  }
  for (Index c = 0; c < columns; ++c) {
    for (const CBLAS_TRANSPOSE side : {CblasNoTrans, CblasTrans}) {
      cblas_dtrsv(CblasColMajor, CblasLower, side, CblasNonUnit, n, factor.data(), stride,
                  b.data() + c * b.outerStride(), 1);
    }
  }
}

}  // namespace exhume
