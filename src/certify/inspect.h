// Looking at data before fitting: small named tests, each with a statistic, a threshold and plain words.
//
// All are made on at most 4,096 rows spread over the samples, so they cost milliseconds whatever n. None
// decides alone: routes whose assumption fails may still work, and the certificate rests on the fit, not on
// these. They tell the user which theory applies and why a route was or was not tried.
//
//   gaussian, skewness   Mardia: n/6 * mean of (z_i.z_j)^3, chi-squared with d(d+1)(d+2)/6 degrees of freedom
//   gaussian, kurtosis   Mardia: (mean |z|^4 - d(d+2)) / sqrt(8 d(d+2)/n), standard normal
//   symmetric            largest |t| of the third moments of the inputs: Bonferroni over inputs
//   continuous           no input takes 16 values or fewer
//   distinct rows        share of rows that occur twice among those looked at
//   light tails          largest kurtosis of an input
//   outputs not integer  share of whole numbers among the outputs
#pragma once

#include <string>
#include <vector>

#include "exhume/certificate.h"
#include "exhume/control.h"
#include "exhume/inspect.h"
#include "exhume/samples.h"

namespace exhume {

[[nodiscard]] Inspection inspect(const SampleSource& samples);

// Does one of at most 4,096 rows, spread over the samples, occur again anywhere? One pass, constant memory:
// sees every data set whose rows are all repeated, and single repetitions with a chance of 4,096 / n.
[[nodiscard]] bool has_repeated_rows(const SampleSource& samples, const Control& control);

// The samples without repetitions of a whole row (x, y), by a 64-bit hash of its bytes; the first one stays.
// One pass, and some 50 bytes per row while it looks.
[[nodiscard]] SamplePtr distinct_rows(const SamplePtr& samples, const Control& control);

}  // namespace exhume
