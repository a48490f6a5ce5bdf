#include "routes/threshold/lowest_layer_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "exhume/moments/standardise.h"

namespace exhume::lowest {
namespace {

constexpr double kLoadBytes = 1e9;  // samples up to this size are held in memory

}  // namespace

void Clock::lap(const char* stage) {
  const auto now = std::chrono::steady_clock::now();
  to_.push_back({stage, std::chrono::duration<double>(now - last_).count()});
  last_ = now;
}

double angle(const Eigen::Ref<const Vector>& a, const Eigen::Ref<const Vector>& b) {
  const Vector u = a.normalized(), v = b.normalized();
  return 2 * std::atan2((u - v).norm(), (u + v).norm());
}

double least_angle(const Matrix& W) {
  double least = std::numbers::pi;
  for (Index i = 0; i < W.rows(); ++i) {
    for (Index j = i + 1; j < W.rows(); ++j) {
      least = std::min(least, angle(W.row(i).transpose(), W.row(j).transpose()));
    }
  }
  return least;
}

StandardRows standard_rows(const SamplePtr& samples, const SecondMoments& moments, std::uint64_t seed) {
  StandardRows out;
  out.map = standardise(moments).map;
  out.map.D = Vector::Ones(1);
  out.map.nu = Vector::Zero(1);
  const Split parts = split(affine(samples, out.map), 20, seed);
  const double bytes =
      8.0 * static_cast<double>(parts.training->rows()) * static_cast<double>(samples->inputs() + 1);
  out.training = bytes < kLoadBytes ? load(*parts.training) : parts.training;
  out.held_out = parts.held_out;
  return out;
}

LowestUnits to_user(const LowestUnits& standard, const AffineMap& map, bool unit_norm) {
  LowestUnits out{Matrix(standard.W.rows(), map.P.cols()), standard.t};
  if (out.W.rows() == 0) return out;
  out.W = standard.W * map.P;
  out.t += out.W * map.mu;
  for (Index i = 0; unit_norm && i < out.W.rows(); ++i) {
    const double norm = out.W.row(i).norm();
    out.W.row(i) /= norm;
    out.t(i) /= norm;
  }
  return out;
}

void assume(LowestLayerResult& result, std::string name, double value, double threshold, bool holds) {
  result.assumptions.push_back({std::move(name), value, threshold, holds});
}

void assume_gaussian(LowestLayerResult& result, double fourth, Index rows, Index d) {
  const double gaussian = fourth / (static_cast<double>(d) * static_cast<double>(d + 2));
  // |x|^4 has relative standard deviation sqrt(8/d) or so; five of them over the rows.
  const double slack = 0.03 + 5 * std::sqrt(8.0 / static_cast<double>(d) / static_cast<double>(rows + 1));
  assume(result, "the inputs are Gaussian: E|x|^4 over d(d+2), standardised", gaussian, 1 + slack,
         std::abs(gaussian - 1) <= slack);
}

void assume_high_and_apart(LowestLayerResult& result, const LowestLayerOptions& options) {
  if (!std::isfinite(result.least_threshold)) {
    assume(result, "units stand out in the moments, as high thresholds make them: number of directions", 0, 1,
           false);
    return;
  }
  assume(result, "thresholds are high: the least of them", result.least_threshold, options.least_threshold,
         result.least_threshold >= options.least_threshold);
  assume(result, "directions are apart: least angle in radians", result.least_angle, options.least_angle,
         result.least_angle >= options.least_angle);
}

void assume_number(LowestLayerResult& result, const LowestLayerOptions& options) {
  const auto k = static_cast<double>(result.W.rows());
  if (options.hidden) {
    assume(result, "all units were found: number of them", k, static_cast<double>(*options.hidden),
           result.W.rows() == *options.hidden);
  } else {
    assume(result, "a unit was found: number of them", k, 1, k >= 1);
  }
}

void conclude(LowestLayerResult& result, std::string certified) {
  const auto failing = std::find_if(result.assumptions.begin(), result.assumptions.end(),
                                    [](const Assumption& a) { return !a.holds; });
  const bool all_hold = failing == result.assumptions.end();
  result.status = all_hold ? Status::kCertified : Status::kUncertified;
  result.reason = all_hold ? std::move(certified)
                           : fmt::format("it is not so that {} ({:.4g}, threshold {:.4g})", failing->name,
                                         failing->value, failing->threshold);
}

}  // namespace exhume::lowest
