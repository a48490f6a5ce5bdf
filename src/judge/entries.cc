#include "judge/entries.h"

#include <algorithm>
#include <cmath>

#include "base/limits.h"

namespace exhume {

bool has_curvature(const Form& model) {
  const bool known = !model.rectifier || (model.rectifier->everywhere && !model.scale_is_free());
  return known && model.plain && model.units() > 0 && model.unknowns() <= PolishOptions().dense_limit;
}

EntryCheck Entries::check(const Network& network, const Rectifier* rectifier, const SampleSource& rows,
                          bool unseen, const Control& control) {
  const bool rounded = data_.precision().coarse() && standardised_ && fit_.model.units() > 0;
  if (rounded) prepare();
  const FitErrors errors = [&](const Eigen::Ref<const RowMatrix>& x) { return fit_errors(x, control); };
  const EntryModel model(network, rectifier, standardised_ ? &data_.coordinates() : nullptr);
  return check_entries(model, rows, data_.precision(), unseen, rounded ? errors : FitErrors(), control);
}

// Makes what fit_errors() reads (coordinates, standardised rows, the size of their rounding) before several
// threads call it.
void Entries::prepare() {
  // Of the larger errors, which the rows with the most weight in the fit tend to have: E h^4 / E h^2 = h^2.
  const StoredPrecision& stored = data_.precision();
  const Vector square = stored.mean_fourth.cwiseQuotient((9 * stored.mean_square).cwiseMax(kTiny));
  deviation_ = square.cwiseSqrt().cwiseProduct(data_.coordinates().map.D).maxCoeff();
  (void)data_.standard();
}

// How far rounding of the training rows moves the fitted outputs at x: user's units, rows x m.
Matrix Entries::fit_errors(const Eigen::Ref<const RowMatrix>& x, const Control& control) {
  const AffineMap& map = data_.coordinates().map;
  const Eigen::RowVectorXd scale = deviation_ * map.D.cwiseInverse().transpose();
  if (!has_curvature(fit_.model)) {
    const double n = static_cast<double>(data_.training()->rows() * map.D.size());
    const double unknowns = static_cast<double>(fit_.model.unknowns() + fit_.model.C.size());
    return scale.replicate(x.rows(), 1) * std::sqrt(std::min(1.0, 4 * unknowns / n));
  }
  std::call_once(once_, [&] { curvature_.emplace(fit_.model, *data_.standard(), control); });
  const RowMatrix standard = (x.rowwise() - map.mu.transpose()) * map.P.transpose();
  return curvature_->of_values(standard).cwiseSqrt() * scale.asDiagonal();
}

}  // namespace exhume
