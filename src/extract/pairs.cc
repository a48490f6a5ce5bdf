#include "extract/pairs.h"

#include <vector>

namespace exhume {
namespace {

constexpr double kQuestionsForWeight = 2;

// Which units are on, layer by layer: rows x k_l of 0 and 1.
std::vector<Matrix> units_on(const DeepForm& form, const RowMatrix& u) {
  std::vector<Matrix> out;
  RowMatrix h = u;
  for (const Matrix& V : form.V) {
    RowMatrix z = h * V.leftCols(V.cols() - 1).transpose();
    z.rowwise() += V.col(V.cols() - 1).transpose();
    out.emplace_back((z.array() > 0).cast<double>());
    h = z.cwiseMax(0.0);
  }
  return out;
}

}  // namespace

std::vector<Index> where_pairs_act(const DeepForm& form, const RowMatrix& candidates, const RowMatrix& asked,
                                   double each) {
  const std::vector<Matrix> on = units_on(form, candidates), had = units_on(form, asked);
  std::vector<bool> chosen(static_cast<std::size_t>(candidates.rows()), false);
  for (std::size_t l = 0; l < on.size(); ++l) {
    // A unit that is on at few questions: as many as it has weights, and some more.
    const double wanted = kQuestionsForWeight * static_cast<double>(form.V[l].cols());
    for (Index i = 0; i < on[l].cols(); ++i) {
      double missing = wanted - had[l].col(i).sum();
      for (Index r = 0; r < candidates.rows() && missing > 0; ++r) {
        if (on[l](r, i) == 0) continue;
        chosen[static_cast<std::size_t>(r)] = true;
        --missing;
      }
      // The bias of one that is never off is told from nothing else.
      missing = each - (static_cast<double>(asked.rows()) - had[l].col(i).sum());
      for (Index r = 0; r < candidates.rows() && missing > 0; ++r) {
        if (on[l](r, i) != 0) continue;
        chosen[static_cast<std::size_t>(r)] = true;
        --missing;
      }
    }
    if (l == 0) continue;
    const Matrix together = had[l].transpose() * had[l - 1];
    for (Index i = 0; i < together.rows(); ++i) {
      for (Index j = 0; j < together.cols(); ++j) {
        double missing = each - together(i, j);
        for (Index r = 0; r < candidates.rows() && missing > 0; ++r) {
          if (on[l](r, i) * on[l - 1](r, j) == 0) continue;
          chosen[static_cast<std::size_t>(r)] = true;
          --missing;
        }
      }
    }
  }
  std::vector<Index> rows;
  for (Index r = 0; r < candidates.rows(); ++r)
    if (chosen[static_cast<std::size_t>(r)]) rows.push_back(r);
  return rows;
}

}  // namespace exhume
