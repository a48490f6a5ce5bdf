// The row threshold: a lowest layer of kinks or steps (papers/threshold/lowest_layer.cc).
#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/parallel.h"
#include "exhume/papers/threshold.h"
#include "papers/threshold/activity.h"
#include "papers/threshold/layer_coordinates.h"
#include "papers/threshold/step_one.h"
#include "papers/threshold/unit_fit.h"

namespace exhume {

using namespace lowest;

namespace {

constexpr double kSameUnit = 0.3;          // radians: two directions this close are one unit
constexpr double kLowestThreshold = -0.5;  // units active on most rows are not looked for
constexpr int kRescues = 3;
constexpr double kStrayPull = 6;        // standard errors beyond which stray activity is a missed unit
constexpr double kMostStrayRows = 0.2;  // share of rows up to which stray activity may be label noise
constexpr double kLeastResponse =
    0.85;  // of a unit that is kept, in units of the median one (UnitFit::response)

// Whether f jumps (then the active rows of a unit alone share one value) or bends, where the rest level is
// exact.
bool jumps(const std::vector<AloneRows>& rows, const RestLevel& rest) {
  Index jumping = 0, bending = 0;
  for (const AloneRows& unit : rows) {
    std::vector<double> active;
    for (const double y : unit.y) {
      if (std::abs(y - rest.value) > rest.tolerance) active.push_back(y);
    }
    if (active.size() < 10) continue;
    std::nth_element(active.begin(), active.begin() + static_cast<std::ptrdiff_t>(active.size() / 2),
                     active.end());
    const double middle = active[active.size() / 2];
    const auto same = std::count_if(active.begin(), active.end(), [&](double y) {
      return std::abs(y - middle) <= std::max(rest.tolerance, 1e-12);
    });
    (2 * same > static_cast<std::ptrdiff_t>(active.size()) ? jumping : bending) += 1;
  }
  return jumping > bending;
}

// Keeps the units listed, in that order.
void select(LowestUnits& units, std::vector<UnitFit>& fits, const std::vector<Index>& which) {
  Matrix W(static_cast<Index>(which.size()), units.W.cols());
  Vector t(W.rows());
  std::vector<UnitFit> kept;
  for (std::size_t i = 0; i < which.size(); ++i) {
    W.row(static_cast<Index>(i)) = units.W.row(which[i]);
    t(static_cast<Index>(i)) = units.t(which[i]);
    kept.push_back(fits[static_cast<std::size_t>(which[i])]);
  }
  units = {W, t};
  fits = std::move(kept);
}

// Step 2: rounds of gathering and fitting, with a guard that shrinks as the units sharpen.
std::vector<UnitFit> refine_units(const SampleSource& samples, LowestUnits& units, LowestActivation& kind,
                                  const RestLevel& rest, const LowestLayerOptions& options,
                                  const Control& control) {
  std::vector<UnitFit> fits;
  constexpr double kGuards[] = {0.3, 0.15, 0.05, 0.02};
  for (const double guard : kGuards) {
    const std::vector<AloneRows> rows = alone_rows(samples, units, 0.6, guard, control);
    if (kind == LowestActivation::kAuto)
      kind = jumps(rows, rest) ? LowestActivation::kSign : LowestActivation::kRelu;
    fits.assign(rows.size(), {});
    parallel_for(static_cast<Index>(rows.size()), control, [&](Index i) {
      const Vector w = units.W.row(i);
      auto& fit = fits[static_cast<std::size_t>(i)];
      const AloneRows& mine = rows[static_cast<std::size_t>(i)];
      if (kind == LowestActivation::kSign) {
        fit =
            fit_step(mine, w, units.t(i), {.band = std::min(0.4, 4 * guard), .maximum_margin = guard < 0.1});
      } else {
        fit = fit_kink(mine, w, units.t(i), rest,
                       {.degree = rest.exact ? options.profile_degree : std::min(2, options.profile_degree),
                        .guard = guard});
      }
    });
    for (Index i = 0; i < units.W.rows(); ++i) {
      UnitFit& fit = fits[static_cast<std::size_t>(i)];
      if (fit.t < kLowestThreshold) {  // the back of another unit; it would claim that unit's rows
        fit.outcome = FitOutcome::kNoResponse;
        continue;
      }
      units.W.row(i) = fit.w.transpose();
      units.t(i) = fit.t;
    }
  }
  return fits;
}

// Units that answer, each once: not fitted, or the same as an earlier one with more rows, means out.
void drop_idle_and_doubled(LowestUnits& units, std::vector<UnitFit>& fits) {
  std::vector<Index> order(fits.size()), kept;
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
    return fits[static_cast<std::size_t>(a)].rows > fits[static_cast<std::size_t>(b)].rows;
  });
  // Turned labels lower the response of every unit alike.
  std::vector<double> responses;
  for (const UnitFit& fit : fits) {
    if (fit.outcome == FitOutcome::kFitted) responses.push_back(fit.response);
  }
  std::sort(responses.begin(), responses.end());
  const double usual = responses.empty() ? 1 : std::max(0.3, responses[responses.size() / 2]);
  for (const Index i : order) {
    const UnitFit& fit = fits[static_cast<std::size_t>(i)];
    if (fit.outcome != FitOutcome::kFitted || fit.response < kLeastResponse * usual) continue;
    const bool doubled = std::any_of(kept.begin(), kept.end(), [&](Index j) {
      return angle(units.W.row(i).transpose(), units.W.row(j).transpose()) < kSameUnit;
    });
    if (!doubled) kept.push_back(i);
  }
  select(units, fits, kept);
}

// The layer in the making, in standardised coordinates.
struct Draft {
  LowestUnits units;
  LowestUnits candidates;  // before any was dropped: they tell which assumption fails where units are missing
  std::vector<UnitFit> fits;
  LowestActivation activation;
};

StepOneOptions start_options(const Job& job) {
  return {.hidden = job.options.hidden(), .method = job.layer->start, .seed = job.options.seed};
}

Start by_step_one(Job& job) {
  const StandardRows rows = standard_rows(job.data, job.data.coordinates());
  job.clock.lap("standardise");
  const StepOne found = step_one(rows.training, rest_level(*rows.training), start_options(job), job.control);
  job.clock.lap("moments");
  Start start;
  start.V.resize(found.found.units.W.rows(), job.data.rows()->inputs() + 1);
  start.V << found.found.units.W, -found.found.units.t;
  start.is_steps = found.found.steps > found.found.kinks;
  start.spectrum = {found.singular_values, found.noise_floor, 0};
  return start;
}

// The outputs with every row on which a known unit is active at rest: what is left is that of the others.
SamplePtr others_only(const SamplePtr& training, LowestUnits known, const RestLevel& rest) {
  return with_outputs(training,
                      [known = std::move(known), rest](const Eigen::Ref<const RowMatrix>& x, RowMatrix& y) {
                        if (known.W.rows() == 0) return;
                        const RowMatrix Z = x * known.W.transpose();
                        for (Index r = 0; r < y.rows(); ++r) {
                          if ((Z.row(r).transpose().array() > known.t.array()).any()) y(r, 0) = rest.value;
                        }
                      });
}

// Further units from the activity that none explains. False where there are none.
bool rescue(Job& job, const SamplePtr& training, const RestLevel& rest, Draft& draft) {
  const Activity seen = measure_activity(*training, draft.units, rest, job.control);
  const Index before = draft.units.W.rows();
  const Index missing = job.options.hidden() ? *job.options.hidden() - before : 1;
  if (missing < 1 || seen.none <= 1e-3 * seen.all() || seen.stray_pull() < kStrayPull) return false;
  StepOneOptions again = start_options(job);
  again.hidden = missing;
  const Oriented more = step_one(others_only(training, draft.units, rest), rest, again, job.control).found;
  if (more.units.W.rows() == 0) return false;
  LowestUnits joined;
  joined.W.resize(before + more.units.W.rows(), training->inputs());
  joined.W << draft.units.W, more.units.W;
  joined.t.resize(joined.W.rows());
  joined.t << draft.units.t, more.units.t;
  std::vector<UnitFit> fits =
      refine_units(*training, joined, draft.activation, rest, *job.layer, job.control);
  drop_idle_and_doubled(joined, fits);
  if (joined.W.rows() <= before) return false;
  draft.units = std::move(joined);
  draft.fits = std::move(fits);
  return true;
}

void refine(Job& job, const SamplePtr& training, const RestLevel& rest, Draft& draft) {
  draft.fits = refine_units(*training, draft.units, draft.activation, rest, *job.layer, job.control);
  draft.candidates = draft.units;
  drop_idle_and_doubled(draft.units, draft.fits);
  if (draft.units.W.rows() < draft.candidates.W.rows() && draft.units.W.rows() > 0) {
    // Those that are gone had kept rows from the others.
    draft.fits = refine_units(*training, draft.units, draft.activation, rest, *job.layer, job.control);
    drop_idle_and_doubled(draft.units, draft.fits);
  }
  for (int i = 0; i < kRescues; ++i) {
    if (!rescue(job, training, rest, draft)) break;
  }
  if (job.options.hidden() && draft.units.W.rows() > *job.options.hidden()) {
    std::vector<Index> first(static_cast<std::size_t>(*job.options.hidden()));
    std::iota(first.begin(), first.end(), Index{0});
    select(draft.units, draft.fits, first);
  }
}

void check(Checks& checks, const LowestLayer& layer, const LowestLayerOptions& options,
           const Activity& activity, bool gaussian) {
  require(checks, "the inputs are Gaussian: tests of normality that fail", gaussian ? 0 : 1, 0, gaussian);
  if (options.refine) {
    require_high_and_apart(checks, layer, options);
    require(checks, "the nonlinear part is small: share of the activity with two or more units active",
            layer.nonlinear_share, options.most_overlap, layer.nonlinear_share <= options.most_overlap);
  }
  require_number(checks, layer, options);
  if (!options.refine) {
    require(checks, "the directions were refined on rows of single units", 0, 1, false);
    return;
  }
  if (layer.unexplained > options.most_unexplained && layer.stray_rate <= kMostStrayRows) {
    require(checks, "activity without an active unit is noise: standard errors by which it leans to a side",
            activity.stray_pull(), kStrayPull, activity.stray_pull() < kStrayPull);
  } else {
    require(checks, "the units explain the activity: share on rows where none is active", layer.unexplained,
            options.most_unexplained, layer.unexplained <= options.most_unexplained);
  }
  require(checks, "the samples are enough: worst standard error of a direction in radians", layer.worst_error,
          options.most_error, layer.worst_error <= options.most_error);
}

Found by_units_alone(Job& job, const Start& start) {
  const StandardRows rows = standard_rows(job.data, job.data.coordinates());
  Found found;
  found.layer = std::make_shared<LowestLayer>();
  LowestLayer& layer = *found.layer;
  layer.rest = rest_level(*rows.training);
  layer.singular_values = start.spectrum.singular_values;
  layer.noise_floor = start.spectrum.noise_floor;
  const Index d = rows.training->inputs(), k = start.V.rows();
  Draft draft{{start.V.leftCols(d), -start.V.col(d)},
              {},
              std::vector<UnitFit>(static_cast<std::size_t>(k)),
              job.layer->activation};
  draft.candidates = draft.units;
  if (draft.activation == LowestActivation::kAuto && !layer.rest.exact) {
    draft.activation = start.is_steps.value_or(false) ? LowestActivation::kSign : LowestActivation::kRelu;
  }
  layer.start = to_user(draft.units, rows.map, true).W;
  if (job.layer->refine && k > 0) refine(job, rows.training, layer.rest, draft);
  job.clock.lap("refinement");

  const LowestUnits user = to_user(draft.units, rows.map, true);
  layer.activation = draft.activation;
  layer.W = user.W;
  layer.t = user.t;
  layer.fits = draft.fits;
  const Activity activity = measure_activity(*rows.held_out, draft.units, layer.rest, job.control);
  const double all = std::max(activity.all(), kTiny);
  const bool missing = draft.units.W.rows() < job.options.hidden().value_or(1);
  const LowestUnits& looked_at = missing ? draft.candidates : draft.units;
  layer.nonlinear_share =
      (missing ? measure_activity(*rows.held_out, draft.candidates, layer.rest, job.control).more
               : activity.more) /
      all;
  layer.unexplained = activity.none / all;
  layer.stray_rate = activity.stray_rate();
  layer.least_angle = least_angle(looked_at.W);
  layer.least_threshold =
      looked_at.t.size() > 0 ? looked_at.t.minCoeff() : std::numeric_limits<double>::quiet_NaN();
  for (const UnitFit& fit : draft.fits) layer.worst_error = std::max(layer.worst_error, fit.angle_error);
  job.clock.lap("held-out check");
  check(found.checks, layer, *job.layer, activity, job.data.inspection().gaussian);
  found.said = fmt::format(
      "{} units, each confirmed on rows where it is active alone; standard error of a direction at most "
      "{:.2g} radians",
      layer.W.rows(), layer.worst_error);
  return found;
}

}  // namespace

Route threshold_route() {
  return {.name = "threshold",
          .about = "The first layer below anything, of ReLU or sign units that are rarely active together",
          .condition = "inputs look Gaussian; one output; high thresholds, directions well separated",
          .finds = Finds::kLowestLayer,
          .standardised = false,
          .hold_out = HoldOut::kTwentieth,
          .demands = demand_one_output,
          .start = by_step_one,
          .finish = by_units_alone};
}

}  // namespace exhume
