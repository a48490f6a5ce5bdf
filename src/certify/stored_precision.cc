#include "certify/stored_precision.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "data/reduce.h"

namespace exhume {
namespace {

constexpr int kMostPlaces = 12;                // more are as good as double
constexpr double kMostRelative = 1e-5;         // of the variance: rounding beyond is noise
constexpr double kWhole = 9007199254740992.0;  // 2^53

// 10^p, exact.
double power_of_ten(int p) {
  double out = 1;
  for (int i = 0; i < p; ++i) out *= 10;
  return out;
}
const auto kPowers = [] {
  std::vector<double> powers;
  for (int p = 0; p <= 22; ++p) powers.push_back(power_of_ten(p));
  return powers;
}();

bool is_single(double y) { return static_cast<double>(static_cast<float>(y)) == y; }

// Eleven bits and an exponent of at least -14 (below: multiples of 2^-24), at most 65504.
bool is_half(double y) {
  if (y == 0) return true;
  if (std::abs(y) > 65504) return false;
  const int unit = std::max(std::ilogb(y), -14) - 10;
  const double scaled = std::ldexp(y, -unit);
  return scaled == std::nearbyint(scaled);
}

// The decade of |y|: 10^e <= |y| < 10^(e+1).
int decade(double y) {
  int e = static_cast<int>(std::floor(std::log10(std::abs(y))));
  if (e >= 0 && e < 22 && std::abs(y) >= kPowers[static_cast<size_t>(e) + 1]) ++e;
  return e;
}

// The nearest number with q decimals (q < 0: a multiple of 10^-q), correctly rounded; NaN where doubles
// cannot tell.
double nearest(double y, int q) {
  if (q > 22 || q < -22) return std::numeric_limits<double>::quiet_NaN();
  const double power = kPowers[static_cast<size_t>(std::abs(q))];
  const double whole = std::nearbyint(q >= 0 ? y * power : y / power);
  if (std::abs(whole) >= kWhole) return std::numeric_limits<double>::quiet_NaN();
  return q >= 0 ? whole / power : whole * power;
}

bool on_grid(double y, int q, bool single) {
  const double rounded = nearest(y, q);
  return single ? static_cast<float>(rounded) == static_cast<float>(y) : rounded == y;
}

// Least p at which y is a number of p decimals, or p digits; kMostPlaces + 1 where there is none.
int decimals_of(double y, bool single, int from) {
  for (int p = from; p <= kMostPlaces; ++p) {
    // A float tells nothing of decimals finer than itself.
    if (single && 0.5 / kPowers[static_cast<size_t>(p)] < std::ldexp(std::abs(y), -22)) break;
    if (on_grid(y, p, single)) return p;
  }
  return kMostPlaces + 1;
}

int digits_of(double y, bool single, int from) {
  if (y == 0) return from;
  const int e = decade(y);
  for (int p = std::max(from, 1); p <= (single ? 6 : kMostPlaces); ++p) {
    if (on_grid(y, p - 1 - e, single)) return p;
  }
  return kMostPlaces + 1;
}

// What is still possible after the entries seen so far.
struct Seen {
  bool single = true, half = true;
  int decimals = 0, digits = 1;                // least p that all entries had; beyond kMostPlaces: none
  int decimals_single = 0, digits_single = 1;  // of decimals stored as floats

  void add(double y) {
    half = half && is_half(y);
    single = single && is_single(y);
    if (decimals <= kMostPlaces) decimals = decimals_of(y, false, decimals);
    if (digits <= kMostPlaces) digits = digits_of(y, false, digits);
    if (!single) {
      decimals_single = digits_single = kMostPlaces + 1;
      return;
    }
    if (decimals_single <= kMostPlaces) decimals_single = decimals_of(y, true, decimals_single);
    if (digits_single <= kMostPlaces) digits_single = digits_of(y, true, digits_single);
  }
  [[nodiscard]] bool nothing() const { return !single && std::min(decimals, digits) > kMostPlaces; }
  void merge(const Seen& other) {
    single = single && other.single;
    half = half && other.half;
    decimals = std::max(decimals, other.decimals);
    digits = std::max(digits, other.digits);
    decimals_single = single ? std::max(decimals_single, other.decimals_single) : kMostPlaces + 1;
    digits_single = single ? std::max(digits_single, other.digits_single) : kMostPlaces + 1;
  }
};

void look(Seen& seen, const SampleBlock& block) {
  const ConstRows y = block.y();
  for (Index i = 0; i < y.rows() && !seen.nothing(); ++i) {
    for (Index o = 0; o < y.cols(); ++o) seen.add(y(i, o));
  }
}

struct RoundingSums {
  Vector h2, h4, y, yy;
  void merge(const RoundingSums& other) {
    h2 += other.h2;
    h4 += other.h4;
    y += other.y;
    yy += other.yy;
  }
};

// Fills in the sizes of the rounding errors; returns the largest share of an output's variance.
double measure(StoredPrecision& stored, const SampleSource& samples, const Control& control) {
  const Index m = samples.outputs();
  const Vector zero = Vector::Zero(m);
  const RoundingSums sums = reduce_blocks(samples, RoundingSums{zero, zero, zero, zero}, control, "",
                                          [&](RoundingSums& to, const SampleBlock& block) {
                                            const ConstRows y = block.y();
                                            for (Index i = 0; i < y.rows(); ++i) {
                                              for (Index o = 0; o < m; ++o) {
                                                const double h = stored.half_unit(y(i, o));
                                                to.h2(o) += h * h;
                                                to.h4(o) += h * h * h * h;
                                              }
                                            }
                                            to.y += y.colwise().sum().transpose();
                                            to.yy += y.colwise().squaredNorm().transpose();
                                          });
  const double n = static_cast<double>(std::max<Index>(samples.rows(), 1));
  stored.mean_square = sums.h2 / (3 * n);
  stored.mean_fourth = sums.h4 / n;
  const Vector variance = (sums.yy / n - (sums.y / n).cwiseAbs2()).cwiseMax(kTiny);
  return m > 0 ? stored.mean_square.cwiseQuotient(variance).maxCoeff() : 0;
}

}  // namespace

double StoredPrecision::half_unit(double y) const {
  const auto binary = [y](int bits, int least) {
    return y == 0 ? std::ldexp(1.0, least - bits) : std::ldexp(1.0, std::max(std::ilogb(y), least) - bits);
  };
  const double single = single_too ? binary(24, -126) : 0;
  switch (storage) {
    case Storage::kDouble:
      return binary(53, -1022);
    case Storage::kSingle:
      return binary(24, -126);
    case Storage::kHalf:
      return binary(11, -14);
    case Storage::kDecimals:
      return 0.5 / kPowers[static_cast<size_t>(places)] + single;
    case Storage::kDigits:
      return y == 0 ? 0 : 0.5 * std::pow(10.0, decade(y) + 1 - places) + single;
  }
  return 0;
}

std::string StoredPrecision::words() const {
  switch (storage) {
    case Storage::kDouble:
      return "double precision";
    case Storage::kSingle:
      return "single precision";
    case Storage::kHalf:
      return "half precision";
    case Storage::kDecimals:
      return fmt::format("{} decimal{}", places, places == 1 ? "" : "s");
    case Storage::kDigits:
      return fmt::format("{} digit{}", places, places == 1 ? "" : "s");
  }
  return "";
}

RoundingNoise StoredPrecision::noise(const Vector& spread) const {
  // Errors uniform within +-h: E e^2 = h^2/3, E e^4 = h^4/5.
  const double m = static_cast<double>(std::max<Index>(spread.size(), 1));
  const double square = mean_square.cwiseQuotient(spread.cwiseAbs2()).sum() / m;
  const double fourth = mean_fourth.cwiseQuotient(spread.cwiseAbs2().cwiseAbs2()).sum() / (5 * m);
  RoundingNoise out;
  out.mean_square = square;
  // Sixteen roundings of the whole output: 16^2 h^2.
  if (single()) out.computed = 16 * 16 * 3 * square;
  out.deviation = square > 0 ? std::sqrt(std::max(0.0, fourth / (square * square) - 1)) : 0;
  return out;
}

StoredPrecision stored_precision(const SampleSource& samples, const Control& control) {
  constexpr Index kFirst = 64;
  Seen seen;
  const SamplePtr some = spread_subset(samples, kFirst);
  SampleBlock block;
  some->read(0, some->rows(), block);
  look(seen, block);
  if (!seen.nothing()) seen = reduce_blocks(samples, seen, control, "", look);
  // The coarsest that all entries allow, in the mean square; equally coarse ones in this order.
  std::vector<StoredPrecision> possible;
  const auto add = [&](Storage storage, int places, bool single_too) {
    if (places > kMostPlaces) return;
    StoredPrecision each;
    each.storage = storage;
    each.places = places;
    each.single_too = single_too;
    possible.push_back(each);
  };
  add(Storage::kDecimals, seen.decimals, false);
  add(Storage::kDigits, seen.digits, false);
  if (seen.single) {
    add(Storage::kDecimals, seen.decimals_single, true);
    add(Storage::kDigits, seen.digits_single, true);
    if (seen.half) add(Storage::kHalf, 0, false);
    add(Storage::kSingle, 0, false);
  }
  StoredPrecision best;
  double coarsest = 0;
  for (StoredPrecision& each : possible) {
    coarsest = std::max(coarsest, measure(each, samples, control));
    if (!best.coarse() || each.mean_square.sum() > best.mean_square.sum()) best = each;
  }
  return coarsest <= kMostRelative ? best : StoredPrecision();
}

}  // namespace exhume
