#include "fit/unit_grams.h"

#include <cblas.h>

#include <cmath>
#include <vector>

namespace exhume {
namespace {

// Measured with OpenBLAS on one core, at widths of 11 to 785 and 256 to 2,048 rows.
constexpr Index kLeastWidth = 16;
constexpr double kMostOn = 0.6;

}  // namespace

bool sparse_enough(const Eigen::Ref<const Matrix>& slopes, Index width) {
  if (width < kLeastWidth || slopes.size() == 0) return false;
  const auto on = static_cast<double>((slopes.array() != 0).count());
  return on <= kMostOn * static_cast<double>(slopes.size());
}

void add_unit_grams(const Eigen::Ref<const Matrix>& X, const Eigen::Ref<const Matrix>& slopes,
                    Eigen::Ref<Matrix> JJ) {
  const Index rows = X.rows(), width = X.cols(), units = slopes.cols();
  if (rows == 0 || width == 0) return;
  const Matrix columns = X.transpose();  // a row of X is contiguous
  Matrix chosen(width, rows);
  std::vector<Index> on;
  for (Index j = 0; j < units; ++j) {
    on.clear();
    for (Index r = 0; r < rows; ++r)
      if (slopes(r, j) != 0) on.push_back(r);
    for (Index i = j; i < units; ++i) {
      // d_i d_j = sign s^2: the rows of either sign are the factor of a Gram matrix.
      for (const double sign : {1.0, -1.0}) {
        Index count = 0;
        for (const Index r : on) {
          const double weight = sign * slopes(r, i) * slopes(r, j);
          if (weight > 0) chosen.col(count++) = std::sqrt(weight) * columns.col(r);
        }
        if (count == 0) continue;
        cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, static_cast<int>(width), static_cast<int>(count),
                    sign, chosen.data(), static_cast<int>(width), 1, &JJ(i * width, j * width),
                    static_cast<int>(JJ.outerStride()));
      }
    }
  }
}

void complete_blocks(Index width, Eigen::Ref<Matrix> JJ) {
  for (Index j = 0; j < JJ.cols(); j += width) {
    for (Index i = j + width; i < JJ.rows(); i += width) {
      auto block = JJ.block(i, j, width, width);
      for (Index c = 1; c < width; ++c) block.col(c).head(c) = block.row(c).head(c).transpose();
    }
  }
}

}  // namespace exhume
