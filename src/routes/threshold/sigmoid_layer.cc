#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "exhume/data/reduce.h"
#include "exhume/routes/threshold/biased.h"
#include "exhume/routes/threshold/sigmoid_fit.h"
#include "exhume/routes/threshold/step_one.h"
#include "routes/threshold/lowest_layer_parts.h"

namespace exhume::lowest {
namespace {

// Sums over held-out rows; x to the fourth with weights 1/f where rows are biased.
struct Sums {
  double weight = 0, fourth = 0;
  double rest = 0, products = 0, product_squares = 0, f = 0, squares = 0;
  Vector units, unit_squares;  // k: of c_i s_i
  void merge(const Sums& other) {
    weight += other.weight;
    fourth += other.fourth;
    rest += other.rest;
    products += other.products;
    product_squares += other.product_squares;
    f += other.f;
    squares += other.squares;
    units += other.units;
    unit_squares += other.unit_squares;
  }
};

Sums measure(const SampleSource& rows, const SigmoidLayer& layer, bool biased, const Control& control) {
  Sums zero;
  zero.units = zero.unit_squares = Vector::Zero(layer.V.rows());
  return reduce_blocks(rows, zero, control, "held-out rows", [&](Sums& to, const SampleBlock& block) {
    const Vector f = block.y().col(0);
    const Vector weight = biased ? Vector(f.cwiseInverse()) : Vector::Ones(f.size());
    to.weight += weight.sum();
    to.fourth += weight.dot(block.x().rowwise().squaredNorm().cwiseAbs2());
    to.f += f.sum();
    to.squares += f.squaredNorm();
    if (layer.V.rows() == 0) return;
    const RowMatrix S = layer.units(block.x()) * layer.linear.asDiagonal();
    to.units += S.colwise().sum().transpose();
    to.unit_squares += S.colwise().squaredNorm().transpose();
    const Vector nonlinear = layer.nonlinear_part(block.x());
    to.rest += (f - layer.evaluate(block.x())).squaredNorm();
    to.products += nonlinear.sum();
    to.product_squares += nonlinear.squaredNorm();
  });
}

}  // namespace

LowestLayerResult sigmoid_layer(const SamplePtr& samples, const LowestLayerOptions& options,
                                const Control& control) {
  const Index d = samples->inputs();
  LowestLayerResult result;
  result.seed = options.seed;
  result.samples = samples->rows();
  result.activation = LowestActivation::kSigmoid;
  Clock clock(result.timings);
  const SecondMoments moments =
      options.biased ? unbiased_second_moments(*samples, control) : second_moments(*samples, control);
  const StandardRows rows = standard_rows(samples, moments, options.seed);
  result.held_out = rows.held_out->rows();
  result.rest = rest_level(*rows.training);
  clock.lap("standardise");

  Matrix directions;
  if (options.biased) {
    const BiasedDirections found = biased_directions(rows.training, options.hidden, options.seed, control);
    directions = found.directions;
    result.singular_values = found.singular_values;
    result.noise_floor = found.noise_floor;
  } else {
    const StepOne found =
        step_one(rows.training, result.rest,
                 {.hidden = options.hidden, .method = options.start, .seed = options.seed}, control);
    directions = found.found.units.W.transpose();
    result.singular_values = found.singular_values;
    result.noise_floor = found.noise_floor;
  }
  clock.lap("moments");

  const Index k = directions.cols();
  SigmoidLayer layer;
  layer.V = directions.transpose();
  layer.t = Vector::Zero(k);
  result.fits.assign(static_cast<std::size_t>(k), {});
  if (k > 0) {
    // Without refinement the fit still tells the sides and thresholds.
    layer = fit_sigmoids(rows.training, directions, {.max_steps = options.refine ? 200 : 0}, control);
    const LowestUnits first{
        directions.transpose().cwiseProduct((layer.V * directions).diagonal().cwiseSign().replicate(1, d)),
        layer.t};
    result.start = to_user(first, rows.map, true).W;
    if (options.refine) {
      const Split halves = split(rows.training, 2, options.seed);
      const Matrix again = layer.V.rowwise().normalized().transpose();
      const SigmoidLayer even = fit_sigmoids(halves.training, again, {}, control);
      const SigmoidLayer odd = fit_sigmoids(halves.held_out, again, {}, control);
      for (Index i = 0; i < k; ++i) {
        UnitFit& fit = result.fits[static_cast<std::size_t>(i)];
        fit.outcome = FitOutcome::kFitted;
        fit.w = layer.V.row(i).normalized();
        fit.t = layer.t(i);
        fit.size = layer.linear(i);
        fit.rows = rows.training->rows();
        fit.angle_error = angle(even.V.row(i).transpose(), odd.V.row(i).transpose()) / 2;
        fit.threshold_error = std::abs(even.t(i) - odd.t(i)) / 2;
        fit.misfit = std::sqrt(layer.misfit);
      }
    }
  } else {
    result.start.resize(0, d);
  }
  const LowestUnits found = to_user({layer.V, layer.t}, rows.map, !options.refine);
  result.W = found.W;
  result.t = found.t;
  clock.lap("refinement");

  const Sums sums = measure(*rows.held_out, layer, options.biased, control);
  const auto n = static_cast<double>(std::max<Index>(1, result.held_out));
  const double variance = std::max(sums.squares / n - std::pow(sums.f / n, 2), 1e-300);
  result.unexplained = k > 0 ? sums.rest / n / variance : 1;
  result.nonlinear_share = (sums.product_squares / n - std::pow(sums.products / n, 2)) / variance;
  result.least_threshold = k > 0 ? layer.t.minCoeff() : std::numeric_limits<double>::quiet_NaN();
  result.least_angle = least_angle(layer.V);
  // Two halves are pulled alike by what the fit leaves, so that is added, as a share of the unit itself.
  for (Index i = 0; options.refine && i < k; ++i) {
    const double own = sums.unit_squares(i) / n - std::pow(sums.units(i) / n, 2);
    UnitFit& fit = result.fits[static_cast<std::size_t>(i)];
    fit.angle_error += std::sqrt(sums.rest / n / std::max(own, 1e-300));
    result.worst_error = std::max(result.worst_error, fit.angle_error);
  }
  clock.lap("held-out check");

  assume_gaussian(result, sums.fourth / sums.weight, result.held_out, d);
  assume_high_and_apart(result, options);
  assume(result, "the nonlinear part is small: share of the variance in products of units",
         result.nonlinear_share, options.most_overlap, result.nonlinear_share <= options.most_overlap);
  assume_number(result, options);
  if (options.refine) {
    assume(result, "the units explain the outputs: error of a direction in radians, what they leave included",
           result.worst_error, options.most_error, result.worst_error <= options.most_error);
  } else {
    assume(result, "the directions were refined", 0, 1, false);
  }
  conclude(result,
           fmt::format("{} sigmoid units explain held-out rows up to {:.2g} of the variance; directions "
                       "to {:.2g} radians",
                       k, result.unexplained, result.worst_error));
  return result;
}

}  // namespace exhume::lowest
