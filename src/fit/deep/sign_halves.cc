#include "fit/deep/sign_halves.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace exhume {
namespace {

constexpr Index kMostSigns = 32;  // 2^16 values of a half

// s of number n: bit i set where s_i = -1.
Vector numbered_signs(std::uint32_t n, Index count) {
  Vector s(count);
  for (Index i = 0; i < count; ++i) s(i) = ((n >> i) & 1U) != 0 ? -1 : 1;
  return s;
}

}  // namespace

std::optional<Vector> signs_by_halves(const Matrix& M, const Vector& v, double error) {
  const Index k = M.cols(), first = k / 2, second = k - first;
  if (k == 0 || M.rows() == 0 || k > kMostSigns) return std::nullopt;
  // The first equation finds pairs, all of them judge.
  std::vector<std::pair<double, std::uint32_t>> halves;
  for (std::uint32_t n = 0; n < (1U << first); ++n)
    halves.emplace_back(M.row(0).head(first).dot(numbered_signs(n, first)), n);
  std::sort(halves.begin(), halves.end());
  std::optional<Vector> found;
  for (std::uint32_t n = 0; n < (1U << second); ++n) {
    Vector s(k);
    s.tail(second) = numbered_signs(n, second);
    const double rest = v(0) - M.row(0).tail(second).dot(s.tail(second));
    auto at = std::lower_bound(halves.begin(), halves.end(), std::pair(rest - error, std::uint32_t{0}));
    for (; at != halves.end() && at->first <= rest + error; ++at) {
      s.head(first) = numbered_signs(at->second, first);
      if ((M * s - v).norm() > error) continue;
      if (found) return std::nullopt;
      found = s;
    }
  }
  return found;
}

}  // namespace exhume
