// How precisely the outputs were stored, found by looking at every one of them.
//
//     double      any double                         half a unit h(y) = 2^-53 |y|
//     single      every output is a float            2^-24 |y|, in powers of two: half of ulp(y)
//     half        every output is a 16-bit float     2^-11 |y|, likewise
//     decimals p  y = integer / 10^p                 10^-p / 2
//     digits p    p significant digits               10^(e + 1 - p) / 2 with 10^e <= |y| < 10^(e+1)
//
// Decimals and digits may have been stored as single floats afterwards. Outputs y = f(x) that were rounded so
// are off by at most h, and by h^2/3 in the mean square: no network can do better, and none that does worse
// reproduces them.
//
// Whole numbers of little spread (class labels, counts) are decimals with p = 0, but rounding then is no
// small matter: where its mean square exceeds 1e-5 of the variance of an output, the outputs count as double.
#pragma once

#include <string>

#include "exhume/control.h"
#include "exhume/samples.h"
#include "fit/fit.h"

namespace exhume {

enum class Storage { kDouble, kSingle, kHalf, kDecimals, kDigits };

struct StoredPrecision {
  Storage storage = Storage::kDouble;
  int places = 0;           // of decimals, or digits
  bool single_too = false;  // decimals or digits that were stored as single floats
  Vector mean_square;       // of the rounding errors h^2/3 of every output, m; empty for double
  Vector mean_fourth;       // of h^4

  [[nodiscard]] bool coarse() const { return storage != Storage::kDouble; }
  // Floats of 32 bits: outputs may have been computed in single precision, not only stored so.
  [[nodiscard]] bool single() const { return storage == Storage::kSingle || storage == Storage::kHalf; }
  // h(y).
  [[nodiscard]] double half_unit(double y) const;
  // "double precision", "single precision", "6 decimals", "6 digits".
  [[nodiscard]] std::string words() const;
  // What rounding leaves of outputs that are divided by `spread` (m standard deviations).
  [[nodiscard]] RoundingNoise noise(const Vector& spread) const;
};

// One pass over all outputs; of doubles, a few rows are enough.
[[nodiscard]] StoredPrecision stored_precision(const SampleSource& samples, const Control& control);

}  // namespace exhume
