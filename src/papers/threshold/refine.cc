#include "papers/threshold/refine.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "base/random.h"
#include "papers/threshold/unit_fit.h"

namespace exhume {
namespace {

constexpr double kQuantile = 0.2533471031357997;  // Phi^-1(0.6)

}  // namespace

TanAlpha estimate_tan_alpha(const AloneRows& rows, const RestLevel& rest, const Vector& z, Index slab_rows) {
  const Index n = rows.y.size();
  TanAlpha out;
  out.tan_alpha = std::numeric_limits<double>::infinity();
  if (n < 2 * slab_rows || slab_rows < 2) return out;
  std::vector<std::pair<double, double>> line(static_cast<std::size_t>(n));
  const Vector place = rows.x * z;
  for (Index r = 0; r < n; ++r) {
    line[static_cast<std::size_t>(r)] = {place(r),
                                         std::abs(rows.y(r) - rest.value) > rest.tolerance ? 1.0 : 0.0};
  }
  std::sort(line.begin(), line.end());
  std::vector<double> before(line.size() + 1, 0);
  for (std::size_t i = 0; i < line.size(); ++i) before[i + 1] = before[i] + line[i].second;
  const auto share = [&](Index end) {  // of the slab of rows [end - slab_rows, end)
    return (before[static_cast<std::size_t>(end)] - before[static_cast<std::size_t>(end - slab_rows)]) /
           static_cast<double>(slab_rows);
  };
  // The share grows with t' up to its noise: bisection to a crossing.
  const auto crossing = [&](double level) -> Index {
    Index low = slab_rows, high = n;
    if (share(low) >= level || share(high) < level) return -1;
    while (high - low > 1) {
      const Index middle = (low + high) / 2;
      (share(middle) < level ? low : high) = middle;
    }
    return high;
  };
  const Index first = crossing(0.4), second = crossing(0.6);
  if (first < 0 || second < 0) return out;
  const auto centre = [&](Index end) {
    return 0.5 * (line[static_cast<std::size_t>(end - 1)].first +
                  line[static_cast<std::size_t>(end - slab_rows)].first);
  };
  out.t1 = centre(first);
  out.t2 = centre(second);
  out.width = line[static_cast<std::size_t>(second - 1)].first -
              line[static_cast<std::size_t>(second - slab_rows)].first;
  out.tan_alpha = std::max(0.0, out.t2 - out.t1) / (2 * kQuantile);
  return out;
}

Refined refine_estimate(const AloneRows& rows, const RestLevel& rest, const Vector& z,
                        const RefineOptions& options) {
  const Index d = z.size();
  const Stream stream(options.seed, "refine perturbations");
  Refined out;
  out.direction = z.normalized();
  out.angle = std::atan(estimate_tan_alpha(rows, rest, out.direction, options.slab_rows).tan_alpha);
  RowMatrix draw(1, d - 1);
  for (; out.tried < options.perturbations && out.angle > options.target; ++out.tried) {
    stream.fill_normal(static_cast<std::uint64_t>(out.tried), draw);
    const Matrix Q = complement(out.direction);
    // 0.1 sin(a/d) is what the proof wants; a perturbation of norm about a/sqrt(d) is what pays.
    const double length = std::sin(out.angle) / static_cast<double>(d);
    const Vector trial = (out.direction + length * (Q * draw.row(0).transpose())).normalized();
    const double angle = std::atan(estimate_tan_alpha(rows, rest, trial, options.slab_rows).tan_alpha);
    if (angle <= out.angle * (1 - 0.004 / static_cast<double>(d))) {
      out.direction = trial;
      out.angle = angle;
      ++out.accepted;
    }
  }
  return out;
}

}  // namespace exhume
