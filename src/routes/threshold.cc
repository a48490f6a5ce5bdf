#include "exhume/routes/threshold.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <stdexcept>

#include "exhume/blas.h"
#include "exhume/error.h"
#include "exhume/moments.h"
#include "exhume/parallel.h"
#include "exhume/routes/depth2.h"
#include "exhume/standardise.h"
#include "exhume/threshold/objectives.h"

namespace exhume {
namespace {

constexpr double kLoadBytes = 1e9;  // samples up to this size are held in memory
constexpr double kSameUnit = 0.15;  // radians: two directions this close are one unit
constexpr double kSideFrom = 1.5;   // activity is compared beyond +- this
constexpr int kBins = 120;          // of a profile
constexpr double kBinLow = -6, kBinWidth = 0.1;
constexpr int kRescues = 3;
constexpr double kStrayPull = 6;  // standard errors beyond which stray activity is a missed unit
constexpr double kLeastResponse =
    0.85;  // of a unit that is kept, in units of the median one (UnitFit::response)

class Clock {
 public:
  explicit Clock(std::vector<StageTime>& to) : to_(to) {}
  void lap(const char* stage) {
    const auto now = std::chrono::steady_clock::now();
    to_.push_back({stage, std::chrono::duration<double>(now - last_).count()});
    last_ = now;
  }

 private:
  std::vector<StageTime>& to_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// The outputs with a second one beside them: is a unit active?
class WithActivity final : public SampleSource {
 public:
  WithActivity(SamplePtr base, RestLevel rest) : base_(std::move(base)), rest_(rest) {}
  Index rows() const override { return base_->rows(); }
  Index inputs() const override { return base_->inputs(); }
  Index outputs() const override { return 2; }
  void read(Index first, Index count, SampleBlock& block) const override {
    SampleBlock raw;
    base_->read(first, count, raw);
    block.allocate(first, count, inputs(), 2);
    block.own_x() = raw.x();
    for (Index r = 0; r < count; ++r) {
      const double y = raw.y()(r, 0);
      block.own_y()(r, 0) = y;
      block.own_y()(r, 1) = std::abs(y - rest_.value) > rest_.tolerance ? 1 : 0;
    }
  }

 private:
  SamplePtr base_;
  RestLevel rest_;
};

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

struct Oriented {
  LowestUnits units;
  Index steps = 0, kinks = 0;  // votes
};

// Directions turned to the side where f is active, with thresholds from the profiles.
Oriented orient(const SampleSource& samples, Matrix directions, const RestLevel& rest,
                const Control& control) {
  const Index k = directions.cols();
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

double angle(const Eigen::Ref<const Vector>& a, const Eigen::Ref<const Vector>& b) {
  // Accurate for small angles, unlike the arc cosine.
  return 2 * std::atan2((a - b).norm(), (a + b).norm());
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
    double change = 0;
    for (Index i = 0; i < units.W.rows(); ++i) {
      const UnitFit& fit = fits[static_cast<std::size_t>(i)];
      change = std::max(change, angle(fit.w, units.W.row(i).transpose()));
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

// Activity by the number of units that are active.
struct Activity {
  double none = 0, one = 0, more = 0;  // sums of |f - c_0| where it is above the tolerance
  double fourth = 0;                   // sum of |x|^4
  Index rows = 0;
  // Rows on which no unit is active: those that rest, and those that do not.
  struct Quiet {
    double count = 0, square = 0;
    Vector x;
    void merge(const Quiet& other) {
      count += other.count;
      square += other.square;
      x += other.x;
    }
  } resting, stray;

  explicit Activity(Index d) { resting.x = stray.x = Vector::Zero(d); }
  void merge(const Activity& other) {
    none += other.none;
    one += other.one;
    more += other.more;
    fourth += other.fourth;
    rows += other.rows;
    resting.merge(other.resting);
    stray.merge(other.stray);
  }
  [[nodiscard]] double all() const { return none + one + more; }
  // Stray rows that are like the resting ones are noise (labels turned around); a unit that was missed would
  // pull their mean towards it and make them longer. Both differences in standard errors.
  [[nodiscard]] double stray_pull() const {
    if (stray.count < 1 || resting.count < 1) return 0;
    const auto d = static_cast<double>(stray.x.size());
    const Vector shift = stray.x / stray.count - resting.x / resting.count;
    const double mean = (stray.count * shift.squaredNorm() - d) / std::sqrt(2 * d);
    const double length =
        (stray.square / stray.count - resting.square / resting.count) * std::sqrt(stray.count / (2 * d));
    return std::max(mean, length);
  }
  [[nodiscard]] double stray_rate() const { return stray.count / std::max(1.0, stray.count + resting.count); }
};

Activity measure(const SampleSource& samples, const LowestUnits& units, const RestLevel& rest,
                 const Control& control) {
  const Matrix W = units.W;
  return reduce_blocks(
      samples, Activity(samples.inputs()), control, "held-out rows", [&](Activity& to, const SampleBlock& b) {
        const RowMatrix Z = W.rows() > 0 ? RowMatrix(b.x() * W.transpose()) : RowMatrix(b.rows(), 0);
        for (Index r = 0; r < b.rows(); ++r) {
          const double f = std::abs(b.y()(r, 0) - rest.value);
          const Index active = (Z.row(r).transpose().array() > units.t.array()).count();
          to.fourth += std::pow(b.x().row(r).squaredNorm(), 2);
          if (active == 0) {
            Activity::Quiet& quiet = f <= rest.tolerance ? to.resting : to.stray;
            quiet.count += 1;
            quiet.square += b.x().row(r).squaredNorm();
            quiet.x += b.x().row(r).transpose();
          }
          if (f <= rest.tolerance) continue;
          (active == 0 ? to.none : active == 1 ? to.one : to.more) += f;
        }
        to.rows += b.rows();
      });
}

Matrix step_one(const SamplePtr& samples, const RestLevel& rest, const LowestLayerOptions& options,
                LowestLayerResult& result, const Control& control) {
  if (options.start != StartMethod::kTensor) {
    const ResidualisedMoments moments = residualised_moments(samples, control);
    const Index k = options.hidden.value_or(samples->inputs());
    const ObjectiveOptions objective{.seed = options.seed};
    return options.start == StartMethod::kOneByOne
               ? one_by_one(moments.order2, moments.order4, k, objective)
               : simultaneous(moments.order2, moments.order4, k, objective);
  }
  Depth2Options depth2;
  depth2.hidden = options.hidden;
  depth2.seed = options.seed;
  const bool labels = rest.exact && rest.share < 1;
  const SamplePtr shown = labels ? std::make_shared<WithActivity>(samples, rest) : samples;
  const SpectralStart start = stacked_start(shown, depth2, control);
  result.singular_values = start.singular_values;
  result.noise_floor = start.noise_floor;
  return start.V.leftCols(samples->inputs()).transpose();
}

void add(LowestLayerResult& result, std::string name, double value, double threshold, bool holds) {
  result.assumptions.push_back({std::move(name), value, threshold, holds});
}

void judge(LowestLayerResult& result, const LowestLayerOptions& options, const Activity& activity, Index d) {
  const double gaussian = activity.fourth / static_cast<double>(std::max<Index>(1, activity.rows)) /
                          (static_cast<double>(d) * static_cast<double>(d + 2));
  // |x|^4 has relative standard deviation sqrt(8/d) or so; five of them over the held-out rows.
  const double slack =
      0.03 + 5 * std::sqrt(8.0 / static_cast<double>(d) / static_cast<double>(activity.rows + 1));
  add(result, "the inputs are Gaussian: E|x|^4 over d(d+2), standardised", gaussian, 1 + slack,
      std::abs(gaussian - 1) <= slack);
  const bool refined = options.refine && options.activation != LowestActivation::kSigmoid;
  if (refined) {
    add(result, "thresholds are high: the least of them", result.least_threshold, options.least_threshold,
        result.least_threshold >= options.least_threshold);
    add(result, "directions are apart: least angle in radians", result.least_angle, options.least_angle,
        result.least_angle >= options.least_angle);
    add(result, "the nonlinear part is small: share of the activity with two or more units active",
        result.nonlinear_share, options.most_overlap, result.nonlinear_share <= options.most_overlap);
  }
  const auto k = static_cast<double>(result.W.rows());
  if (options.hidden) {
    add(result, "all units were found: number of them", k, static_cast<double>(*options.hidden),
        result.W.rows() == *options.hidden);
  } else {
    add(result, "a unit was found: number of them", k, 1, k >= 1);
  }
  if (refined) {
    if (result.unexplained > options.most_unexplained && result.stray_rate <= 0.2) {
      add(result, "activity without an active unit is noise: standard errors by which it leans to a side",
          activity.stray_pull(), kStrayPull, activity.stray_pull() < kStrayPull);
    } else {
      add(result, "the units explain the activity: share on rows where none is active", result.unexplained,
          options.most_unexplained, result.unexplained <= options.most_unexplained);
    }
    add(result, "the samples are enough: worst standard error of a direction in radians", result.worst_error,
        options.most_error, result.worst_error <= options.most_error);
  } else {
    add(result, "the directions were refined on rows of single units", 0, 1, false);
  }
  result.status = Status::kCertified;
  for (const Assumption& a : result.assumptions) {
    if (a.holds) continue;
    result.status = Status::kUncertified;
    result.reason =
        fmt::format("it is not so that {} ({:.4g}, threshold {:.4g})", a.name, a.value, a.threshold);
    break;
  }
  if (result.status == Status::kCertified) {
    result.reason =
        fmt::format("{} units, each confirmed on rows where it is active alone; directions to {:.2g} radians",
                    result.W.rows(), result.worst_error);
  }
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

StartMethod parse_start_method(std::string_view name) {
  for (const StartMethod m : {StartMethod::kTensor, StartMethod::kOneByOne, StartMethod::kSimultaneous}) {
    if (name == to_string(m)) return m;
  }
  throw std::invalid_argument(
      fmt::format("start is '{}', but must be tensor, one-by-one or simultaneous", name));
}

const char* to_string(StartMethod method) {
  switch (method) {
    case StartMethod::kTensor:
      return "tensor";
    case StartMethod::kOneByOne:
      return "one-by-one";
    case StartMethod::kSimultaneous:
      return "simultaneous";
  }
  return "";
}

void LowestLayerOptions::validate() const {
  if (hidden && *hidden < 1)
    throw std::invalid_argument(fmt::format("hidden is {}, but must be at least 1", *hidden));
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
  LowestLayerResult result;
  result.seed = options.seed;
  result.samples = samples->rows();
  Clock clock(result.timings);
  const Standardisation standardisation = standardise(second_moments(*samples, control));
  AffineMap map = standardisation.map;
  map.D = Vector::Ones(1);
  map.nu = Vector::Zero(1);
  const Split parts = split(affine(samples, map), 20, options.seed);
  SamplePtr training = parts.training;
  if (8.0 * static_cast<double>(training->rows()) * static_cast<double>(d + 1) < kLoadBytes)
    training = load(*training);
  result.held_out = parts.held_out->rows();
  result.rest = rest_level(*training);
  const RestLevel& rest = result.rest;
  clock.lap("standardise");

  const Matrix directions = step_one(training, rest, options, result, control);
  clock.lap("moments");
  Oriented oriented = orient(*training, directions, rest, control);
  LowestUnits units = oriented.units;
  result.activation = options.activation;
  if (result.activation == LowestActivation::kAuto && !rest.exact) {
    result.activation = oriented.steps > oriented.kinks ? LowestActivation::kSign : LowestActivation::kRelu;
  }
  const auto to_user = [&](const LowestUnits& standard, Matrix& W, Vector& t) {
    W = standard.W * map.P;
    t = standard.t + W * map.mu;
    for (Index i = 0; i < W.rows(); ++i) {
      const double norm = W.row(i).norm();
      W.row(i) /= norm;
      t(i) /= norm;
    }
  };
  Vector unused;
  to_user(units, result.start, unused);

  std::vector<UnitFit> fits(static_cast<std::size_t>(units.W.rows()));
  LowestUnits candidates =
      units;  // before any is dropped: they tell which assumption fails where units are missing
  if (options.refine && options.activation != LowestActivation::kSigmoid && units.W.rows() > 0) {
    fits = refine_units(*training, units, result.activation, rest, options, control);
    candidates = units;
    drop_idle_and_doubled(units, fits);
    for (int rescue = 0; rescue < kRescues; ++rescue) {
      const Activity seen = measure(*training, units, rest, control);
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
      LowestLayerOptions again = options;
      again.hidden = missing;
      LowestLayerResult ignored;
      const Oriented more = orient(*masked, step_one(masked, rest, again, ignored, control), rest, control);
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

  to_user(units, result.W, result.t);
  result.fits = fits;
  const Activity activity = measure(*parts.held_out, units, rest, control);
  const double all = std::max(activity.all(), 1e-300);
  const bool missing = units.W.rows() < options.hidden.value_or(1);
  const LowestUnits& looked_at = missing ? candidates : units;
  result.nonlinear_share =
      missing ? measure(*parts.held_out, candidates, rest, control).more / all : activity.more / all;
  result.unexplained = activity.none / all;
  result.stray_rate = activity.stray_rate();
  result.least_angle = std::numbers::pi;
  result.least_threshold = looked_at.t.size() > 0 ? looked_at.t.minCoeff() : 0;
  for (const UnitFit& fit : fits) result.worst_error = std::max(result.worst_error, fit.angle_error);
  for (Index i = 0; i < looked_at.W.rows(); ++i) {
    for (Index j = i + 1; j < looked_at.W.rows(); ++j) {
      result.least_angle =
          std::min(result.least_angle, angle(looked_at.W.row(i).transpose(), looked_at.W.row(j).transpose()));
    }
  }
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
