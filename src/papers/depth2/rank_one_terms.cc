#include "papers/depth2/rank_one_terms.h"

#include <cmath>

namespace exhume {

double relative_residual(const std::vector<Matrix>& slices, const RankOneTerms& terms) {
  double left = 0, total = 0;
  for (std::size_t k = 0; k < slices.size(); ++k) {
    const Vector scale = terms.weights.cwiseProduct(terms.W.row(static_cast<Index>(k)).transpose());
    left += (slices[k] - terms.U * scale.asDiagonal() * terms.V.transpose()).squaredNorm();
    total += slices[k].squaredNorm();
  }
  return total > 0 ? std::sqrt(left / total) : 0;
}

}  // namespace exhume
