#include "papers/threshold/profiles.h"

#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "data/reduce.h"

namespace exhume {
namespace {

constexpr int kBins = 120;
constexpr double kBothSides = 0.85;  // share of active rows beyond t that makes a unit of each side
constexpr double kBinLow = -6, kBinWidth = 0.1;

// What f looks like along a direction: counts and sums of a response over bins of z.x.
struct Profiles {
  Matrix count, response;  // k x kBins
  void merge(const Profiles& other) {
    count += other.count;
    response += other.response;
  }
};

Profiles profiles(const SampleSource& samples, const Matrix& directions, const RestLevel& rest,
                  const Control& control) {
  const Index k = directions.cols();
  const Matrix zero = Matrix::Zero(k, kBins);
  return reduce_blocks(
      samples, Profiles{zero, zero}, control, "profiles", [&](Profiles& to, const SampleBlock& b) {
        const RowMatrix Z = b.x() * directions;
        for (Index r = 0; r < b.rows(); ++r) {
          const double f = b.y()(r, 0) - rest.value;
          const double response = rest.exact ? (std::abs(f) > rest.tolerance ? 1 : 0) : f;
          for (Index i = 0; i < k; ++i) {
            const auto bin =
                std::clamp(static_cast<Index>((Z(r, i) - kBinLow) / kBinWidth), Index{0}, Index{kBins - 1});
            to.count(i, bin) += 1;
            to.response(i, bin) += response;
          }
        }
      });
}

double bin_middle(Index bin) { return kBinLow + (static_cast<double>(bin) + 0.5) * kBinWidth; }

struct Scan {
  double t = 0, step_error = 0, kink_error = 0;
  [[nodiscard]] double error() const { return std::min(step_error, kink_error); }
};

// The threshold that explains a profile best: a step where activity is exact, otherwise a step or a kink.
Scan scan_threshold(const Eigen::Ref<const Vector>& count, const Eigen::Ref<const Vector>& response,
                    bool exact) {
  Scan scan;
  const Vector mean = response.cwiseQuotient(count.cwiseMax(1));
  const auto fit = [&](const Matrix& basis) {
    const Matrix weighted = count.cwiseSqrt().asDiagonal() * basis;
    const Vector target = count.cwiseSqrt().cwiseProduct(mean);
    return (target - weighted * weighted.colPivHouseholderQr().solve(target)).squaredNorm();
  };
  double step_t = 0, kink_t = 0;
  scan.step_error = scan.kink_error = std::numeric_limits<double>::infinity();
  for (double t = -1; t < 4.51; t += kBinWidth / 2) {
    Matrix step(kBins, 2), kink(kBins, 3);
    double above = 0;
    for (Index b = 0; b < kBins; ++b) {
      const double a = bin_middle(b) - t, hinge = std::max(a, 0.0);
      step.row(b) << 1, std::clamp(a / kBinWidth + 0.5, 0.0, 1.0);
      kink.row(b) << 1, hinge, hinge * hinge;
      if (a > 0) above += count(b);
    }
    if (above < 20) break;
    if (const double e = fit(step); e < scan.step_error) scan.step_error = e, step_t = t;
    if (exact) continue;
    if (const double e = fit(kink); e < scan.kink_error) scan.kink_error = e, kink_t = t;
  }
  scan.t = scan.kink_error < scan.step_error ? kink_t : step_t;
  return scan;
}

// Share of active rows beyond t.
double active_beyond(const Vector& count, const Vector& response, double t) {
  double rows = 0, active = 0;
  for (Index b = 0; b < kBins; ++b) {
    if (bin_middle(b) < t + 2 * kBinWidth) continue;
    rows += count(b);
    active += response(b);
  }
  return rows > 0 ? active / rows : 0;
}

}  // namespace

Oriented orient(const SampleSource& samples, Matrix directions, const RestLevel& rest,
                const Control& control) {
  const Index k = directions.cols();
  if (k == 0) return {{Matrix(0, directions.rows()), Vector(0)}, 0, 0};
  const Profiles p = profiles(samples, directions, rest, control);
  std::vector<Vector> kept;
  std::vector<double> thresholds;
  Oriented out;
  const auto keep = [&](const Vector& direction, const Scan& scan) {
    kept.push_back(direction);
    thresholds.push_back(scan.t);
    (scan.kink_error < scan.step_error ? out.kinks : out.steps) += 1;
  };
  for (Index i = 0; i < k; ++i) {
    // Not the side with more activity: a unit at more than a right angle may put more of it on the other one.
    const Vector count = p.count.row(i), response = p.response.row(i);
    const Vector count_behind = count.reverse(), response_behind = response.reverse();
    const Scan ahead = scan_threshold(count, response, rest.exact);
    const Scan behind = scan_threshold(count_behind, response_behind, rest.exact);
    const bool both = rest.exact && active_beyond(count, response, ahead.t) > kBothSides &&
                      active_beyond(count_behind, response_behind, behind.t) > kBothSides;
    const bool turn = behind.error() < ahead.error();
    if (both || !turn) keep(directions.col(i), ahead);
    if (both || turn) keep(-directions.col(i), behind);
  }
  const auto count = static_cast<Index>(kept.size());
  out.units.W.resize(count, directions.rows());
  for (Index i = 0; i < count; ++i) out.units.W.row(i) = kept[static_cast<std::size_t>(i)].transpose();
  out.units.t = Eigen::Map<const Vector>(thresholds.data(), count);
  return out;
}

}  // namespace exhume
