// What a deep network leaves of noisy rows: does it look like noise, and how far are its weights off?
#pragma once

#include "certify/residual_look.h"
#include "judge/prepared.h"
#include "model/form.h"

namespace exhume {

// The tests of certify/residual_look.h on y - f(x), along the units of the first layer. `form` and rows in
// standardised coordinates.
[[nodiscard]] ResidualLook look_at_deep_residual(const DeepForm& form, const SamplePtr& standard,
                                                 const Control& control);

// Standard errors of the network, in the user's coordinates (fit/errors.h).
[[nodiscard]] Network errors_in_noise(const Network& network, Prepared& data, const Control& control);

}  // namespace exhume
