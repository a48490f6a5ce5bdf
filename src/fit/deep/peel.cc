#include "exhume/fit/deep/peel.h"

#include <utility>

#include "exhume/base/error.h"
#include "exhume/fit/fit.h"
#include "exhume/moments/standardise.h"
#include "fit/deep/rows.h"

namespace exhume {

Peeled peel(const DeepForm& lower, std::size_t depth, const DeepData& data, std::uint64_t seed,
            const Control& control) {
  constexpr int kRestarts = 3;
  Peeled out;
  out.form.inputs = lower.inputs;
  out.form.V.assign(lower.V.begin(), lower.V.begin() + static_cast<std::ptrdiff_t>(depth - 1));
  const RowMatrix features = [&] {
    const DeepRows rows(out.form, data.x);
    return RowMatrix(rows.P().leftCols(rows.P().cols() - 1));
  }();
  const SamplePtr samples = memory_samples(features, data.y);
  Standardisation standard;
  try {
    standard = standardise(second_moments(*samples, control));
  } catch (const DataError&) {
    return out;
  }
  out.searched = true;
  const AffineMap& map = standard.map;
  const Index q = features.cols();
  // v.(z, 1) = v'.(z', 1) with z' = P (z - mu): v = P^T v', b = b' - v.mu.
  Matrix start(0, q + 1);
  if (lower.V.size() >= depth) {
    const Matrix& V = lower.V[depth - 1];
    start.resize(V.rows(), q + 1);
    start.leftCols(q) = V.leftCols(q) * standard.back;
    start.col(q) = V.col(q) + V.leftCols(q) * map.mu;
  }
  FitOptions options;
  options.seed = seed;
  options.most_restarts = kRestarts;
  options.noise_is_final = false;
  const Fit fit = fit_units(start, load(*affine(samples, map)), options, control);
  Matrix V(fit.model.units(), q + 1);
  V.leftCols(q) = fit.model.V.leftCols(q) * map.P;
  V.col(q) = fit.model.V.col(q) - V.leftCols(q) * map.mu;
  out.form.V.push_back(std::move(V));
  out.relative_mse = fit_linear_part(out.form, data, control);
  return out;
}

}  // namespace exhume
