#include "papers/threshold/layer_coordinates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "exhume/error.h"

namespace exhume::lowest {
namespace {

constexpr double kLoadBytes = 1e9;   // samples up to this size are held in memory
constexpr Index kRowsAnInput = 100;  // least, for moments of order 4

}  // namespace

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

StandardRows standard_rows(const Prepared& data, const Standardisation& coordinates) {
  StandardRows out;
  out.map = coordinates.map;
  out.map.D = Vector::Ones(1);
  out.map.nu = Vector::Zero(1);
  out.training = affine(data.training(), out.map);
  out.held_out = affine(data.held_out(), out.map);
  const double bytes =
      8.0 * static_cast<double>(out.training->rows()) * static_cast<double>(out.training->inputs() + 1);
  if (bytes < kLoadBytes) out.training = load(*out.training);
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

void demand_one_output(const SampleSource& samples, const RecoverOptions& /*options*/) {
  const Index d = samples.inputs();
  if (samples.outputs() != 1) {
    throw DataError(
        fmt::format("the lowest layer is found from one output, but there are {}; pass one column of them",
                    samples.outputs()));
  }
  if (d < 2) {
    throw DataError(
        "the lowest layer needs at least two inputs; with one input there are no directions to find");
  }
  if (samples.rows() < kRowsAnInput * d) {
    throw DataError(
        fmt::format("{} samples of {} inputs are too few for moments of order 4; give at least {}",
                    samples.rows(), d, kRowsAnInput * d));
  }
}

void require(Checks& checks, const std::string& name, double value, double threshold, bool holds) {
  checks.require(name, value, threshold, holds,
                 fmt::format("this check failed: {} ({:.4g}, threshold {:.4g})", name, value, threshold));
}

void require_high_and_apart(Checks& checks, const LowestLayer& layer, const LowestLayerOptions& options) {
  if (!std::isfinite(layer.least_threshold)) {
    require(checks, "units stand out in the moments, as high thresholds make them: number of directions", 0,
            1, false);
    return;
  }
  require(checks, "thresholds are high: the least of them", layer.least_threshold, options.least_threshold,
          layer.least_threshold >= options.least_threshold);
  require(checks, "directions are apart: least angle in radians", layer.least_angle, options.least_angle,
          layer.least_angle >= options.least_angle);
}

void require_number(Checks& checks, const LowestLayer& layer, const LowestLayerOptions& options) {
  const auto k = static_cast<double>(layer.W.rows());
  if (options.hidden) {
    require(checks, "all units were found: number of them", k, static_cast<double>(*options.hidden),
            layer.W.rows() == *options.hidden);
  } else {
    require(checks, "a unit was found: number of them", k, 1, k >= 1);
  }
}

}  // namespace exhume::lowest
