// Residuals in bins along every direction that matters: have they the same mean and variance everywhere?
// The statistics are explained in certify/residual_look.h.
#pragma once

#include "exhume/control.h"
#include "exhume/samples.h"
#include "model/form.h"

namespace exhume {

struct BinnedLook {
  double means = 0;      // largest chi-squared of the means over its limit
  double variances = 0;  // the same of the variances
};

// residual: the rows of `standard` with decorrelated residuals of `model` as outputs, columns of zeros left
// out of account; columns: as in certify/residual_look.h; kurtosis: of the residuals; false_alarm: of both
// statistics together.
[[nodiscard]] BinnedLook look_in_bins(const Form& model, const SampleSource& standard,
                                      const SampleSource& residual, const Matrix& columns, double kurtosis,
                                      double false_alarm, const Control& control);

}  // namespace exhume
