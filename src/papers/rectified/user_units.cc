#include "papers/rectified/user_units.h"

namespace exhume {

Matrix user_units(const Matrix& standard, const Standardisation& coordinates) {
  const Index d = coordinates.map.mu.size();
  Matrix V(standard.rows(), d + 1);
  V.leftCols(d) = standard.leftCols(d) * coordinates.map.P;
  V.col(d) = standard.col(d) - V.leftCols(d) * coordinates.map.mu;
  return V;
}

}  // namespace exhume
