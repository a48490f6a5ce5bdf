#include "judge/final_look.h"

#include <utility>

#include "base/limits.h"
#include "fit/residuals.h"
#include "fit/sums.h"
#include "fit/within_bounds.h"
#include "judge/entries.h"

namespace exhume {

Form scale_units(Form model) {
  for (Index j = 0; j < model.units(); ++j) {
    const double size = model.V[0].row(j).head(model.inputs).norm();
    if (!(size > 0)) continue;
    model.V[0].row(j) /= size;
    model.C.row(j) *= size;
  }
  return model;
}

Matrix measure_again(Fit& fit, const SampleSource& standard, const Control& control) {
  Matrix products = residual_products(fit.model, standard, kBlockRows, control);
  const Left left = measure(fit.model, products, standard.rows());
  fit.relative_mse = left.relative_mse;
  fit.noise_covariance = left.noise_covariance;
  fit.rows_per_unknown = left.rows_per_unknown;
  return products;
}

namespace {

// Share of the variance beyond which what is left is no rounding of outputs.
constexpr double kMostRounding = 1e-4;

// Does the network reproduce every training entry to its stored precision, or one close to it that the fit is
// then replaced by?
bool reproduced_as_stored(Found& found, Prepared& data, const Control& control) {
  constexpr int kFitRounds = 5, kRounds = 40;
  const auto reproduced = [&](const Fit& fit) {
    return Entries(data, fit, true)
        .check(data.coordinates().to_user(to_network(fit.model)), nullptr, *data.training(), false, control)
        .reproduced();
  };
  if (found.network) return false;
  if (reproduced(found.fit)) return true;
  const StoredPrecision& stored = data.precision();
  const double n = static_cast<double>(data.training()->rows() * data.training()->outputs());
  if (found.fit.relative_mse > data.rounding()->level(n)) return false;
  const AffineMap& map = data.coordinates().map;
  const HalfWidth half_width = [&](double y, Index o) {
    return map.D(o) * stored.half_unit(y / map.D(o) + map.nu(o));
  };
  Fit closer = found.fit;
  closer.model = fit_rounded(found.fit.model, data.standard(), half_width, kFitRounds, control);
  if (!reproduced(closer)) {
    closer.model = within_bounds(closer.model, data.standard(), half_width, kRounds, control);
    if (!reproduced(closer)) return false;
  }
  measure_again(closer, *data.standard(), control);
  found.fit = std::move(closer);
  return true;
}

// Rows times squared inputs from which on a look at the residual takes many seconds; and rows that are looked
// at first then.
constexpr double kCostlyLook = 1e10;
constexpr Index kFewLookRows = 10'000;

bool costly_look(const SampleSource& rows) {
  const auto d = static_cast<double>(rows.inputs());
  return static_cast<double>(rows.rows()) * d * d > kCostlyLook;
}

}  // namespace

bool is_final(Found& found, Prepared& data, const Control& control) {
  const bool exact = found.outcome == SearchOutcome::kExact;
  if (found.exact_only || (exact && !data.precision().coarse())) return true;
  if (found.fit.model.units() == 0) return found.outcome == SearchOutcome::kNoise;
  if (data.precision().coarse() && found.fit.relative_mse <= kMostRounding) {
    const bool reproduced = reproduced_as_stored(found, data, control);
    if (reproduced && (found.fit.structure < 1 || found.outcome == SearchOutcome::kExact)) {
      found.outcome = SearchOutcome::kExact;
      return true;
    }
  }
  // Structure that some rows show is there on all of them: a stuck search is told without a pass over all
  // rows.
  const SamplePtr& rows = data.standard();
  if (found.outcome == SearchOutcome::kStuck && costly_look(*rows)) {
    found.look =
        look_at_residual(found.fit.model, spread_subset(*rows, kFewLookRows), control, data.user_columns());
    if (!looks_like_noise(*found.look)) return false;
  }
  found.look = look_at_residual(found.fit.model, rows, control, data.user_columns());
  // The search weighs all outputs alike and looks at some rows; this look knows better.
  if (!looks_like_noise(*found.look)) return false;
  found.outcome = found.fit.outcome = SearchOutcome::kNoise;
  found.fit.structure = found.look->units;
  return true;
}
}  // namespace exhume
