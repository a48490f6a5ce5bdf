#include "exhume/papers/memorize.h"

#include "base/parallel.h"

namespace exhume {
namespace {

constexpr Index kRows = 1024;  // rows per block: a few hundred kilobytes of Z at the usual widths

struct Grams {
  std::vector<Matrix> sum;
  void merge(const Grams& other) {
    for (std::size_t o = 0; o < sum.size(); ++o) sum[o] += other.sum[o];
  }
};

}  // namespace

Matrix form_values(const Eigen::Ref<const RowMatrix>& z, const std::vector<Matrix>& forms,
                   const Control& control) {
  Matrix values(z.rows(), static_cast<Index>(forms.size()));
  parallel_for((z.rows() + kRows - 1) / kRows, control, [&](Index b) {
    const Index first = b * kRows, rows = std::min(kRows, z.rows() - first);
    const auto block = z.middleRows(first, rows);
    RowMatrix product(rows, z.cols());
    for (std::size_t o = 0; o < forms.size(); ++o) {
      product.noalias() = block * forms[o];
      values.col(static_cast<Index>(o)).segment(first, rows) = product.cwiseProduct(block).rowwise().sum();
    }
  });
  return values;
}

std::vector<Matrix> weighted_grams(const Eigen::Ref<const RowMatrix>& z,
                                   const Eigen::Ref<const Matrix>& weights, const Control& control) {
  const Index blocks = (z.rows() + kRows - 1) / kRows, k = z.cols();
  const std::size_t m = static_cast<std::size_t>(weights.cols());
  if (blocks == 0) return std::vector<Matrix>(m, Matrix::Zero(k, k));
  BlockTree<Grams> tree(blocks);
  parallel_for(blocks, control, [&](Index b) {
    const Index first = b * kRows, rows = std::min(kRows, z.rows() - first);
    const auto block = z.middleRows(first, rows);
    Grams grams;
    RowMatrix weighted(rows, k);
    for (std::size_t o = 0; o < m; ++o) {
      weighted = block.array().colwise() * weights.col(static_cast<Index>(o)).segment(first, rows).array();
      grams.sum.emplace_back(k, k);
      grams.sum.back().noalias() = weighted.transpose() * block;
    }
    tree.put(b, std::move(grams));
  });
  std::vector<Matrix> grams = tree.take().sum;
  for (Matrix& gram : grams) gram.triangularView<Eigen::StrictlyUpper>() = gram.transpose();
  return grams;
}

}  // namespace exhume
