#include "fit/measure.h"

#include <algorithm>

namespace exhume {

Index search_unknowns(Index inputs, Index hidden, Index outputs) {
  return hidden * (inputs + outputs) + outputs * (inputs + 1);
}

Left measure(const SeparableModel& model, const Matrix& products, Index rows) {
  const auto n = static_cast<double>(rows), m = static_cast<double>(products.rows());
  const auto unknowns = static_cast<double>(search_unknowns(model.inputs(), model.units(), products.rows()));
  return {products.trace() / (n * m), products / std::max(n - unknowns / m, 1.0), n * m / unknowns};
}

}  // namespace exhume
