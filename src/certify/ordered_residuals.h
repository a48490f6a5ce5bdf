// Residuals in the order of their rows: do they know of each other?
//
// Rows of a table are often in the order of time, and noise that wanders with time is independent of the
// inputs: no test along them shows it. With r of variance 1, in each output,
//
//     bins     up to 256 equal stretches of rows, also 8 and 64 of them joined:
//                  sum over stretches of (sum r)^2 / sum r^2       chi-squared, one degree of freedom each
//     lags     sum_{l = 1 ... 4} sum_i r_i r_{i+l} over the root of its squares: standard normal for noise
//
// in one pass; pairs of rows in two blocks of 4,096 are left out. What is found is measured: the
// autocorrelations a_l up to 64 rows apart, and `apart`, the least l from which on they are within noise.
#pragma once

#include "exhume/control.h"
#include "exhume/samples.h"

namespace exhume {

struct OrderedLook {
  double order = 0;        // the larger of both statistics over its limit
  double doubt = 0;        // the lags alone, over their limit at the second false-alarm probability
  double correlation = 0;  // a_1 of the output in which it is largest
  Index apart = 1;
};

// residual: decorrelated residuals as outputs, in the order of the rows; columns of zeros are left out.
// false_alarm: of the verdict; doubtful: of the intervals.
[[nodiscard]] OrderedLook look_in_order(const SampleSource& residual, double false_alarm, double doubtful,
                                        const Control& control);

}  // namespace exhume
