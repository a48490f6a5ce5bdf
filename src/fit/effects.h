// Slopes and hinges of a noisy fit in the data's own units, with errors and 95% intervals (exhume/result.h,
// Effect, has what they are).
//
// Each is a function of the parameters that neither the scale of a unit nor the unit of a column changes, but
// for its own unit: the delta method on FitCovariance, value +- reach * error. A hinge is a ratio u / v of
// two estimates and gets Fieller's interval, {t : (u - t v)^2 <= reach^2 var(u - t v)}, open where v may be
// zero.
#pragma once

#include <vector>

#include "exhume/result.h"
#include "fit/errors.h"

namespace exhume {

// As many as there would be: k (m (3 d + 2) + d) + m (d + 1) at most.
[[nodiscard]] Index effect_count(const Form& form);

// order: the unit of the form that is unit i of the result. unmix, coordinates: as in Curvature::errors.
[[nodiscard]] std::vector<Effect> effects_of(const FitCovariance& covariance,
                                             const Standardisation& coordinates, const Matrix& unmix,
                                             const std::vector<Index>& order, double reach);

}  // namespace exhume
