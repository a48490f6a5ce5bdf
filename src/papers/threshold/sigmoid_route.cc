// The row threshold-sigmoid: a lowest layer of sigmoids, fitted together (papers/threshold/sigmoid_fit.h).
#include "exhume/papers/threshold.h"
#include "papers/threshold/sigmoid_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "data/reduce.h"
#include "papers/threshold/biased.h"
#include "papers/threshold/layer_coordinates.h"
#include "papers/threshold/step_one.h"

namespace exhume {

using namespace lowest;

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

StandardRows rows_of(Job& job) {
  if (!job.layer->biased) return standard_rows(job.data, job.data.coordinates());
  return standard_rows(job.data, standardise(unbiased_second_moments(*job.data.training(), job.control)));
}

Start by_moments(Job& job) {
  const StandardRows rows = rows_of(job);
  job.clock.lap("standardise");
  Start start;
  Matrix directions;  // k x d
  if (job.layer->biased) {
    const BiasedDirections found =
        biased_directions(rows.training, job.options.hidden(), job.options.seed, job.control);
    directions = found.directions.transpose();
    start.spectrum = {found.singular_values, found.noise_floor, 0};
  } else {
    const StepOne found = step_one(
        rows.training, rest_level(*rows.training),
        {.hidden = job.options.hidden(), .method = job.layer->start, .seed = job.options.seed}, job.control);
    directions = found.found.units.W;
    start.spectrum = {found.singular_values, found.noise_floor, 0};
  }
  start.V = Matrix::Zero(directions.rows(), job.data.rows()->inputs() + 1);
  start.V.leftCols(directions.cols()) = directions;
  job.clock.lap("moments");
  return start;
}

// Fits of every unit, with the difference between two halves of the rows as its error.
std::vector<UnitFit> fits_by_halves(Job& job, const SamplePtr& training, const SigmoidLayer& layer) {
  const Split halves = split(training, 2, job.options.seed);
  const Matrix again = layer.V.rowwise().normalized().transpose();
  const SigmoidLayer even = fit_sigmoids(halves.training, again, {}, job.control);
  const SigmoidLayer odd = fit_sigmoids(halves.held_out, again, {}, job.control);
  std::vector<UnitFit> fits(static_cast<std::size_t>(layer.V.rows()));
  for (Index i = 0; i < layer.V.rows(); ++i) {
    UnitFit& fit = fits[static_cast<std::size_t>(i)];
    fit.outcome = FitOutcome::kFitted;
    fit.w = layer.V.row(i).normalized();
    fit.t = layer.t(i);
    fit.size = layer.linear(i);
    fit.rows = training->rows();
    fit.angle_error = angle(even.V.row(i).transpose(), odd.V.row(i).transpose()) / 2;
    fit.threshold_error = std::abs(even.t(i) - odd.t(i)) / 2;
    fit.misfit = std::sqrt(layer.misfit);
  }
  return fits;
}

// What the layer leaves on held-out rows, into `to` and the errors of its fits.
Sums measure_held_out(Job& job, const StandardRows& rows, const SigmoidLayer& layer, LowestLayer& to) {
  const Index k = layer.V.rows();
  Sums sums = measure(*rows.held_out, layer, job.layer->biased, job.control);
  const auto n = static_cast<double>(std::max<Index>(1, rows.held_out->rows()));
  const double variance = std::max(sums.squares / n - std::pow(sums.f / n, 2), kTiny);
  to.unexplained = k > 0 ? sums.rest / n / variance : 1;
  to.nonlinear_share = (sums.product_squares / n - std::pow(sums.products / n, 2)) / variance;
  to.least_threshold = k > 0 ? layer.t.minCoeff() : std::numeric_limits<double>::quiet_NaN();
  to.least_angle = least_angle(layer.V);
  // Two halves are pulled alike by what the fit leaves, so that is added, as a share of the unit itself.
  for (Index i = 0; job.layer->refine && i < k; ++i) {
    const double own = sums.unit_squares(i) / n - std::pow(sums.units(i) / n, 2);
    UnitFit& fit = to.fits[static_cast<std::size_t>(i)];
    fit.angle_error += std::sqrt(sums.rest / n / std::max(own, kTiny));
    to.worst_error = std::max(to.worst_error, fit.angle_error);
  }
  return sums;
}

// Kept rows are not Gaussian, but those they were chosen from are: weighted back, E|x|^4 is d (d+2). A
// tolerance, and five deviations of |x|^4, whose relative one is sqrt(8/d) or so.
void require_gaussian_before_choice(Checks& checks, const Sums& sums, Index rows, Index d) {
  constexpr double kTolerance = 0.03, kDeviations = 5;
  const auto inputs = static_cast<double>(d);
  const double ratio = sums.fourth / sums.weight / (inputs * (inputs + 2));
  const double slack = kTolerance + kDeviations * std::sqrt(8.0 / inputs / static_cast<double>(rows + 1));
  require(checks, "the inputs are Gaussian: E|x|^4 over d(d+2), standardised", ratio, 1 + slack,
          std::abs(ratio - 1) <= slack);
}

Found by_sigmoid_fit(Job& job, const Start& start) {
  const StandardRows rows = rows_of(job);
  const Index d = rows.training->inputs(), k = start.V.rows();
  const LowestLayerOptions& options = *job.layer;
  Found found;
  found.layer = std::make_shared<LowestLayer>();
  LowestLayer& to = *found.layer;
  to.activation = LowestActivation::kSigmoid;
  to.rest = rest_level(*rows.training);
  to.singular_values = start.spectrum.singular_values;
  to.noise_floor = start.spectrum.noise_floor;
  const Matrix directions = start.V.leftCols(d).transpose();
  SigmoidLayer layer;
  layer.V = directions.transpose();
  layer.t = Vector::Zero(k);
  to.fits.assign(static_cast<std::size_t>(k), {});
  to.start.resize(0, d);
  if (k > 0) {
    // Without refinement the fit still tells the sides and thresholds.
    layer = fit_sigmoids(rows.training, directions, {.max_steps = options.refine ? 200 : 0}, job.control);
    const LowestUnits first{
        directions.transpose().cwiseProduct((layer.V * directions).diagonal().cwiseSign().replicate(1, d)),
        layer.t};
    to.start = to_user(first, rows.map, true).W;
    if (options.refine) to.fits = fits_by_halves(job, rows.training, layer);
  }
  const LowestUnits user = to_user({layer.V, layer.t}, rows.map, !options.refine);
  to.W = user.W;
  to.t = user.t;
  job.clock.lap("refinement");
  const Sums sums = measure_held_out(job, rows, layer, to);
  job.clock.lap("held-out check");

  Checks& checks = found.checks;
  if (options.biased) {
    require_gaussian_before_choice(checks, sums, rows.held_out->rows(), d);
  } else {
    const bool gaussian = job.data.inspection().gaussian;
    require(checks, "the inputs are Gaussian: tests of normality that fail", gaussian ? 0 : 1, 0, gaussian);
  }
  require_high_and_apart(checks, to, options);
  require(checks, "the nonlinear part is small: share of the variance in products of units",
          to.nonlinear_share, options.most_overlap, to.nonlinear_share <= options.most_overlap);
  require_number(checks, to, options);
  if (options.refine) {
    require(checks,
            "the units explain the outputs: error of a direction in radians, what they leave included",
            to.worst_error, options.most_error, to.worst_error <= options.most_error);
  } else {
    require(checks, "the directions were refined", 0, 1, false);
  }
  found.said = fmt::format(
      "{} sigmoid units explain held-out rows up to {:.2g} of the variance; directions to {:.2g} radians", k,
      to.unexplained, to.worst_error);
  return found;
}

}  // namespace

Route threshold_sigmoid_route() {
  return {.name = "threshold-sigmoid",
          .about = "The first layer, of sigmoids with high thresholds, below products of at most two of them",
          .condition = "inputs look Gaussian, or did before rows were selected by their outputs; one output",
          .finds = Finds::kLowestLayer,
          .standardised = false,
          .hold_out = HoldOut::kTwentieth,
          .demands = demand_one_output,
          .start = by_moments,
          .finish = by_sigmoid_fit};
}

}  // namespace exhume
