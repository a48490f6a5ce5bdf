#include "exhume/routes/threshold/lowest_layer.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "exhume/base/blas.h"
#include "exhume/base/error.h"
#include "exhume/moments/moments.h"
#include "exhume/base/parallel.h"
#include "routes/threshold/activity.h"
#include "exhume/routes/threshold/step_one.h"
#include "routes/threshold/lowest_layer_parts.h"

namespace exhume {

using namespace lowest;

namespace {

constexpr double kSameUnit = 0.3;          // radians: two directions this close are one unit
constexpr double kLowestThreshold = -0.5;  // units active on most rows are not looked for
constexpr int kRescues = 3;
constexpr double kStrayPull = 6;  // standard errors beyond which stray activity is a missed unit
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

void judge(LowestLayerResult& result, const LowestLayerOptions& options, const Activity& activity, Index d) {
  assume_gaussian(result, activity.fourth / static_cast<double>(std::max<Index>(1, activity.rows)),
                  activity.rows, d);
  if (options.refine) {
    assume_high_and_apart(result, options);
    assume(result, "the nonlinear part is small: share of the activity with two or more units active",
           result.nonlinear_share, options.most_overlap, result.nonlinear_share <= options.most_overlap);
  }
  assume_number(result, options);
  if (options.refine) {
    if (result.unexplained > options.most_unexplained && result.stray_rate <= 0.2) {
      assume(result, "activity without an active unit is noise: standard errors by which it leans to a side",
             activity.stray_pull(), kStrayPull, activity.stray_pull() < kStrayPull);
    } else {
      assume(result, "the units explain the activity: share on rows where none is active", result.unexplained,
             options.most_unexplained, result.unexplained <= options.most_unexplained);
    }
    assume(result, "the samples are enough: worst standard error of a direction in radians",
           result.worst_error, options.most_error, result.worst_error <= options.most_error);
  } else {
    assume(result, "the directions were refined on rows of single units", 0, 1, false);
  }
  conclude(result, fmt::format("{} units, each confirmed on rows where it is active alone; standard error of "
                               "a direction at most {:.2g} radians",
                               result.W.rows(), result.worst_error));
}

}  // namespace

LowestActivation parse_lowest_activation(std::string_view name) {
  for (const LowestActivation a : {LowestActivation::kAuto, LowestActivation::kRelu, LowestActivation::kSign,
                                   LowestActivation::kSigmoid}) {
    if (name == to_string(a)) return a;
  }
  throw std::invalid_argument(
      fmt::format("activation is '{}', but must be auto, relu, sign or sigmoid", name));
}

const char* to_string(LowestActivation activation) {
  switch (activation) {
    case LowestActivation::kAuto:
      return "auto";
    case LowestActivation::kRelu:
      return "relu";
    case LowestActivation::kSign:
      return "sign";
    case LowestActivation::kSigmoid:
      return "sigmoid";
  }
  return "";
}

void LowestLayerOptions::validate() const {
  if (hidden && *hidden < 1)
    throw std::invalid_argument(fmt::format("hidden is {}, but must be at least 1", *hidden));
  if (biased && activation != LowestActivation::kSigmoid) {
    throw std::invalid_argument(
        fmt::format("activation is {}, but biased rows are for sigmoid units", to_string(activation)));
  }
  if (biased && start != StartMethod::kTensor) {
    throw std::invalid_argument(
        fmt::format("start is {}, but biased rows start with the tensor road", to_string(start)));
  }
  if (profile_degree < 1 || profile_degree > 12) {
    throw std::invalid_argument(
        fmt::format("profile_degree is {}, but must be from 1 to 12", profile_degree));
  }
}

LowestLayerResult lowest_layer(const SamplePtr& samples, const LowestLayerOptions& options,
                               const Control& control) {
  options.validate();
  const Index d = samples->inputs();
  if (samples->outputs() != 1) {
    throw DataError(
        fmt::format("the lowest layer is found from one output, but there are {}; pass one column of them",
                    samples->outputs()));
  }
  if (d < 2)
    throw DataError(
        "the lowest layer needs at least two inputs; with one input there are no directions to find");
  if (samples->rows() < 100 * d) {
    throw DataError(
        fmt::format("{} samples of {} inputs are too few for moments of order 4; give at least {}",
                    samples->rows(), d, 100 * d));
  }
  const SingleThreadedBlas single;
  if (options.activation == LowestActivation::kSigmoid) return sigmoid_layer(samples, options, control);
  LowestLayerResult result;
  result.seed = options.seed;
  result.samples = samples->rows();
  Clock clock(result.timings);
  const StandardRows rows = standard_rows(samples, second_moments(*samples, control), options.seed);
  const SamplePtr& training = rows.training;
  result.held_out = rows.held_out->rows();
  result.rest = rest_level(*training);
  const RestLevel& rest = result.rest;
  clock.lap("standardise");

  const StepOneOptions start_options{.hidden = options.hidden, .method = options.start, .seed = options.seed};
  const StepOne start = step_one(training, rest, start_options, control);
  result.singular_values = start.singular_values;
  result.noise_floor = start.noise_floor;
  clock.lap("moments");
  const Oriented& oriented = start.found;
  LowestUnits units = oriented.units;
  result.activation = options.activation;
  if (result.activation == LowestActivation::kAuto && !rest.exact) {
    result.activation = oriented.steps > oriented.kinks ? LowestActivation::kSign : LowestActivation::kRelu;
  }
  result.start = to_user(units, rows.map, true).W;

  std::vector<UnitFit> fits(static_cast<std::size_t>(units.W.rows()));
  LowestUnits candidates =
      units;  // before any is dropped: they tell which assumption fails where units are missing
  if (options.refine && units.W.rows() > 0) {
    fits = refine_units(*training, units, result.activation, rest, options, control);
    candidates = units;
    drop_idle_and_doubled(units, fits);
    if (units.W.rows() < candidates.W.rows() && units.W.rows() > 0) {
      // Those that are gone had kept rows from the others.
      fits = refine_units(*training, units, result.activation, rest, options, control);
      drop_idle_and_doubled(units, fits);
    }
    for (int rescue = 0; rescue < kRescues; ++rescue) {
      const Activity seen = measure_activity(*training, units, rest, control);
      const Index missing = options.hidden ? *options.hidden - units.W.rows() : 1;
      if (missing < 1 || seen.none <= 1e-3 * seen.all() || seen.stray_pull() < kStrayPull) break;
      // Only the rows on which all known units are off, everything else at rest.
      const LowestUnits known = units;
      const SamplePtr masked =
          with_outputs(training, [known, rest](const Eigen::Ref<const RowMatrix>& x, RowMatrix& y) {
            if (known.W.rows() == 0) return;
            const RowMatrix Z = x * known.W.transpose();
            for (Index r = 0; r < y.rows(); ++r) {
              if ((Z.row(r).transpose().array() > known.t.array()).any()) y(r, 0) = rest.value;
            }
          });
      StepOneOptions again = start_options;
      again.hidden = missing;
      const Oriented more = step_one(masked, rest, again, control).found;
      if (more.units.W.rows() == 0) break;
      LowestUnits joined;
      joined.W.resize(units.W.rows() + more.units.W.rows(), d);
      joined.W << units.W, more.units.W;
      joined.t.resize(joined.W.rows());
      joined.t << units.t, more.units.t;
      const Index before = units.W.rows();
      std::vector<UnitFit> joined_fits =
          refine_units(*training, joined, result.activation, rest, options, control);
      drop_idle_and_doubled(joined, joined_fits);
      if (joined.W.rows() <= before) break;
      units = joined;
      fits = std::move(joined_fits);
    }
    if (options.hidden && units.W.rows() > *options.hidden) {
      std::vector<Index> first(static_cast<std::size_t>(*options.hidden));
      std::iota(first.begin(), first.end(), Index{0});
      select(units, fits, first);
    }
  }
  clock.lap("refinement");

  const LowestUnits user = to_user(units, rows.map, true);
  result.W = user.W;
  result.t = user.t;
  result.fits = fits;
  const Activity activity = measure_activity(*rows.held_out, units, rest, control);
  const double all = std::max(activity.all(), 1e-300);
  const bool missing = units.W.rows() < options.hidden.value_or(1);
  const LowestUnits& looked_at = missing ? candidates : units;
  result.nonlinear_share =
      missing ? measure_activity(*rows.held_out, candidates, rest, control).more / all : activity.more / all;
  result.unexplained = activity.none / all;
  result.stray_rate = activity.stray_rate();
  result.least_angle = least_angle(looked_at.W);
  result.least_threshold =
      looked_at.t.size() > 0 ? looked_at.t.minCoeff() : std::numeric_limits<double>::quiet_NaN();
  for (const UnitFit& fit : fits) result.worst_error = std::max(result.worst_error, fit.angle_error);
  clock.lap("held-out check");
  judge(result, options, activity, d);
  return result;
}

RowMatrix lowest_layer_features(const Matrix& W, const Vector& t, LowestActivation activation,
                                const Eigen::Ref<const RowMatrix>& x) {
  if (x.cols() != W.cols() || t.size() != W.rows()) {
    throw std::invalid_argument(fmt::format("features: W is {} x {}, t has {} entries and x has {} columns",
                                            W.rows(), W.cols(), t.size(), x.cols()));
  }
  RowMatrix Z = x * W.transpose();
  Z.rowwise() -= t.transpose();
  switch (activation) {
    case LowestActivation::kSign:
      return (Z.array() > 0).cast<double>();
    case LowestActivation::kSigmoid:
      return 1 / (1 + (-Z.array()).exp());
    default:
      return Z.cwiseMax(0);
  }
}

}  // namespace exhume
