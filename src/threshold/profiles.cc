#include "exhume/threshold/profiles.h"

#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <limits>

#include "exhume/parallel.h"

namespace exhume {
namespace {

constexpr double kSideFrom = 1.5;  // activity is compared beyond +- this
constexpr int kBins = 120;
constexpr double kBinLow = -6, kBinWidth = 0.1;

// What f looks like along a direction: counts and sums of a response over bins of z.x.
struct Profiles {
  Matrix count, response, magnitude;  // k x kBins
  void merge(const Profiles& other) {
    count += other.count;
    response += other.response;
    magnitude += other.magnitude;
  }
};

Profiles profiles(const SampleSource& samples, const Matrix& directions, const RestLevel& rest,
                  const Control& control) {
  const Index k = directions.cols();
  const Matrix zero = Matrix::Zero(k, kBins);
  return reduce_blocks(
      samples, Profiles{zero, zero, zero}, control, "profiles", [&](Profiles& to, const SampleBlock& b) {
        const RowMatrix Z = b.x() * directions;
        for (Index r = 0; r < b.rows(); ++r) {
          const double f = b.y()(r, 0) - rest.value;
          const double response = rest.exact ? (std::abs(f) > rest.tolerance ? 1 : 0) : f;
          for (Index i = 0; i < k; ++i) {
            const auto bin =
                std::clamp(static_cast<Index>((Z(r, i) - kBinLow) / kBinWidth), Index{0}, Index{kBins - 1});
            to.count(i, bin) += 1;
            to.response(i, bin) += response;
            to.magnitude(i, bin) += std::abs(rest.exact ? response : f);
          }
        }
      });
}

double bin_middle(Index bin) { return kBinLow + (static_cast<double>(bin) + 0.5) * kBinWidth; }

struct Scan {
  double t = 0, step_error = 0, kink_error = 0;
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

}  // namespace

Oriented orient(const SampleSource& samples, Matrix directions, const RestLevel& rest,
                const Control& control) {
  const Index k = directions.cols();
  if (k == 0) return {{Matrix(0, directions.rows()), Vector(0)}, 0, 0};
  const Profiles p = profiles(samples, directions, rest, control);
  Oriented out;
  out.units.W.resize(k, directions.rows());
  out.units.t.resize(k);
  for (Index i = 0; i < k; ++i) {
    double sums[2] = {0, 0}, counts[2] = {0, 0};
    for (Index b = 0; b < kBins; ++b) {
      if (std::abs(bin_middle(b)) < kSideFrom) continue;
      const int side = bin_middle(b) > 0;
      sums[side] += p.magnitude(i, b);
      counts[side] += p.count(i, b);
    }
    const bool turn = sums[0] * std::max(counts[1], 1.0) > sums[1] * std::max(counts[0], 1.0);
    Vector count = p.count.row(i), response = p.response.row(i);
    if (turn) {
      count.reverseInPlace();
      response.reverseInPlace();
      directions.col(i) *= -1;
    }
    const Scan scan = scan_threshold(count, response, rest.exact);
    (scan.kink_error < scan.step_error ? out.kinks : out.steps) += 1;
    out.units.W.row(i) = directions.col(i).transpose();
    out.units.t(i) = scan.t;
  }
  return out;
}

}  // namespace exhume
