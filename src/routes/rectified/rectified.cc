#include "exhume/routes/rectified/rectified.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "exhume/base/blas.h"
#include "exhume/certify/certify.h"
#include "exhume/base/error.h"
#include "exhume/moments/moments.h"
#include "exhume/routes/rectified/any_inputs.h"
#include "exhume/routes/rectified/arbitrary_noise.h"
#include "exhume/routes/rectified/few_outputs.h"
#include "exhume/routes/rectified/noise_signs.h"
#include "exhume/routes/rectified/pattern_finish.h"
#include "exhume/routes/rectified/sparse_noise.h"
#include "exhume/routes/rectified/starts.h"
#include "exhume/moments/standardise.h"
#include "exhume/fit/unit_search.h"

namespace exhume {
namespace {

// Score of the best candidate unit in the residual over its chance level. The chance level is that of the
// candidates tested, not of the directions in between; a unit that is missing scores hundreds.
constexpr double kMostStructure = 2;
constexpr double kRoundingMse = 1e-20;  // mean squared error over variance at which rows count as reproduced
constexpr Index kFewRows = 60;          // below, no row is held out
constexpr Index kPictureRows = 500;
constexpr int kStarts = 4;  // spectral starts from different seeds, where one leaves units out

struct Name {
  RectifiedMethod method;
  const char* name;
};
constexpr std::array<Name, 8> kNames = {{{RectifiedMethod::kAny, "any"},
                                         {RectifiedMethod::kIca, "ica"},
                                         {RectifiedMethod::kTensor, "tensor"},
                                         {RectifiedMethod::kSymmetric, "symmetric"},
                                         {RectifiedMethod::kNoise, "noise"},
                                         {RectifiedMethod::kFewOutputs, "few-outputs"},
                                         {RectifiedMethod::kArbitraryNoise, "arbitrary-noise"},
                                         {RectifiedMethod::kSparseNoise, "sparse-noise"}}};

struct Rows {
  RowMatrix x, y;
};

Rows rows_of(const SampleSource& samples) {
  SampleBlock block;
  const SamplePtr loaded = load(samples);
  loaded->read(0, loaded->rows(), block);
  return {block.x(), block.y()};
}

// How far the standardised inputs are from normal: the largest skewness or excess kurtosis of a coordinate,
// in standard deviations of its sampling error.
double gaussian_misfit(const RowMatrix& x, const Standardisation& coordinates) {
  const Matrix Z = (x.rowwise() - coordinates.map.mu.transpose()) * coordinates.map.P.transpose();
  const double n = static_cast<double>(x.rows());
  double worst = 0;
  for (Index a = 0; a < Z.cols(); ++a) {
    const double skew = Z.col(a).array().cube().mean(), kurtosis = Z.col(a).array().pow(4).mean() - 3;
    worst = std::max({worst, std::abs(skew) / std::sqrt(6 / n), std::abs(kurtosis) / std::sqrt(24 / n)});
  }
  return worst;
}

class RectifiedRecovery {
 public:
  RectifiedRecovery(const SamplePtr& samples, const RectifiedOptions& options, const Control& control)
      : options_(options),
        control_(control.within(options.budget_seconds)),
        samples_(samples),
        begin_(Control::Clock::now()) {
    const Index n = samples->rows(), d = samples->inputs(), m = samples->outputs();
    if (n < 2 || d == 0 || m == 0) {
      throw DataError(fmt::format(
          "the samples are too few ({} rows, {} inputs, {} outputs); give at least two rows", n, d, m));
    }
    result_.samples = result_.rows = n;
    result_.seed = options.seed;
    result_.route = fmt::format("rectified {}", to_string(options.method));
    result_.network = {Matrix(0, d), Vector(0), Matrix(m, 0), Vector::Zero(m), {}};
  }

  RectifiedResult run() {
    if (options_.method == RectifiedMethod::kSparseNoise) clean();
    if (!refused()) {
      divide();
      inspect_inputs();
      take_road();
    }
    if (!refused()) judge();
    result_.tried.push_back({result_.route, result_.reason});
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool refused() const { return result_.status == Status::kRefused; }
  [[nodiscard]] Index m() const { return training_.y.cols(); }

  void stamp(const char* stage) {
    const double now = std::chrono::duration<double>(Control::Clock::now() - begin_).count();
    result_.timings.push_back({stage, now - last_});
    last_ = now;
  }

  void refuse(std::string reason) {
    result_.status = Status::kRefused;
    result_.reason = std::move(reason);
  }

  bool assume(const char* name, double value, double threshold, bool holds) {
    result_.assumptions.push_back({name, value, threshold, holds});
    return holds;
  }
  // The same, and no certificate without it.
  bool require(const char* name, double value, double threshold, bool holds) {
    result_.assumptions.push_back({name, value, threshold, holds, true});
    return holds;
  }

  void clean() {
    const Rows all = rows_of(*samples_);
    CleanOptions options;
    options.pursuit.seed = options_.seed;
    CleanOutputs cleaned = clean_outputs(all.y, options, control_);
    stamp("pursuit");
    if (!assume("entries off the support fit to rounding", cleaned.worst_clean, options.clean,
                cleaned.exact)) {
      refuse(fmt::format(
          "no low-rank part explains the entries that were not hit (rank {}, off by {:.2g}): the outputs "
          "carry dense noise, or more entries are hit than the rank allows",
          cleaned.rank, cleaned.worst_clean));
      return;
    }
    result_.support = std::move(cleaned.support);
    samples_ = memory_samples(all.x, std::move(cleaned.y));
    raw_ = all;
  }

  void divide() {
    if (samples_->rows() < kFewRows) {
      training_ = rows_of(*samples_);
      held_out_ = {RowMatrix(0, training_.x.cols()), RowMatrix(0, training_.y.cols())};
    } else {
      const Index period = samples_->rows() >= 4000 ? 20 : 10;
      const Split parts = split(samples_, period, options_.seed);
      // Outputs that were cleaned first are not those of the files.
      if (raw_.x.rows() == 0) result_.held_out_period = period;
      training_ = rows_of(*parts.training);
      held_out_ = rows_of(*parts.held_out);
    }
    result_.held_out = held_out_.x.rows();
    view_ = memory_view(training_.x.data(), training_.y.data(), training_.x.rows(), training_.x.cols(),
                        training_.y.cols());
    stamp("reading");
  }

  void inspect_inputs() {
    switch (options_.method) {
      case RectifiedMethod::kAny:
      case RectifiedMethod::kFewOutputs:
      case RectifiedMethod::kSymmetric:
        return;
      default:
        break;
    }
    const double misfit = gaussian_misfit(training_.x, standardise(second_moments(*view_, control_)));
    const double threshold = 5 + std::sqrt(2 * std::log(static_cast<double>(training_.x.cols())));
    gaussian_ = assume("inputs Gaussian (skewness and kurtosis, standard deviations)", misfit, threshold,
                       misfit <= threshold);
    if (!gaussian_ && options_.method == RectifiedMethod::kArbitraryNoise) {
      refuse(fmt::format(
          "the inputs are not Gaussian (skewness or kurtosis is {:.1f} standard deviations off), which this "
          "road rests on and could not notice afterwards; take any_inputs",
          misfit));
    }
  }

  void take_road() {
    switch (options_.method) {
      case RectifiedMethod::kAny:
        return any_inputs();
      case RectifiedMethod::kIca:
      case RectifiedMethod::kTensor:
      case RectifiedMethod::kSymmetric:
      case RectifiedMethod::kSparseNoise:
        return exact_finish();
      case RectifiedMethod::kNoise:
        return noise();
      case RectifiedMethod::kFewOutputs:
        return few_outputs();
      case RectifiedMethod::kArbitraryNoise:
        return arbitrary_noise();
    }
  }

  void refuse_rank(Index rank, Index hidden) {
    assume("rank of the outputs is the number of units", static_cast<double>(rank),
           static_cast<double>(hidden), false);
    if (rank < hidden) {
      refuse(
          fmt::format("the outputs span {} dimensions, fewer than the {} units asked for: below that the "
                      "problem is NP-hard "
                      "in general (rank(A) < k); ask for fewer units, or take --method few-outputs",
                      rank, hidden));
    } else {
      refuse(
          fmt::format("the outputs span {} dimensions, more than the {} units asked for: they carry noise "
                      "(--method noise or "
                      "sparse-noise) or come from more units",
                      rank, hidden));
    }
  }

  void any_inputs() {
    if (options_.rectifier.name != "relu") return refuse("this road knows the ReLU only");
    Index hidden = options_.hidden.value_or(0);
    if (hidden == 0) hidden = Eigen::JacobiSVD<Matrix>(Matrix(training_.y)).setThreshold(1e-11).rank();
    if (hidden == 0) return refuse("all outputs are zero");
    const AnyInputsFit fit =
        recover_any_inputs(training_.x, training_.y, hidden, {options_.most_patterns}, control_);
    stamp("patterns");
    switch (fit.outcome) {
      case AnyInputsOutcome::kRankDeficient:
      case AnyInputsOutcome::kRankExceeded:
        return refuse_rank(fit.rank, hidden);
      case AnyInputsOutcome::kNoNetwork:
        return refuse(fmt::format(
            "none of the {} sign patterns belongs to a unit that is left: no network of {} ReLUs without "
            "biases reproduces the samples",
            fit.patterns, hidden));
      case AnyInputsOutcome::kBudget:
        return refuse(
            fmt::format("the budget ended after {} sign patterns of {} units; give more time, or fewer rows",
                        fit.patterns, hidden));
      case AnyInputsOutcome::kExact:
        assume("rank of the outputs is the number of units", static_cast<double>(fit.rank),
               static_cast<double>(hidden), true);
        result_.network = fit.network;
    }
  }

  Matrix start(Index hidden, std::uint64_t seed) {
    switch (options_.method) {
      case RectifiedMethod::kIca: {
        IcaOptions ica;
        ica.seed = seed;
        ica.contrast = (seed - options_.seed) % 2 == 0 ? Contrast::kTanh : Contrast::kKurtosis;
        return ica_start(training_.x, training_.y, hidden, options_.rectifier, ica, control_);
      }
      case RectifiedMethod::kSymmetric:
        return symmetric_units(view_, hidden, seed, control_);
      default:
        return tensor_start(view_, hidden, seed, control_);
    }
  }

  void exact_finish() {
    const bool relu = options_.rectifier.name == "relu";
    if (!relu && options_.method == RectifiedMethod::kSymmetric)
      return refuse("the symmetric start knows the ReLU only");
    if (!relu && options_.method == RectifiedMethod::kSparseNoise)
      return refuse("the sparse-noise road knows the ReLU only");
    const OutputSpace space = output_space(training_.y);
    result_.singular_values = space.singular_values;
    result_.gap_units = space.rank;
    const Index hidden = options_.hidden.value_or(space.rank);
    if (hidden != space.rank) return refuse_rank(space.rank, hidden);
    if (training_.x.rows() < 4 * (hidden + 1) || training_.x.rows() < 4 * (training_.x.cols() + 1)) {
      return refuse(fmt::format("{} rows are too few for the exact finish of {} units with {} inputs",
                                training_.x.rows(), hidden, training_.x.cols()));
    }
    assume("rank of the outputs is the number of units", static_cast<double>(space.rank),
           static_cast<double>(hidden), true);
    PatternFinish finish;
    Matrix V(0, training_.x.cols() + 1);
    for (int i = 0; i < kStarts; ++i) {
      const Matrix more = start(hidden, options_.seed + static_cast<std::uint64_t>(i));
      V.conservativeResize(V.rows() + more.rows(), Eigen::NoChange);
      V.bottomRows(more.rows()) = more;
      finish = pattern_finish(V, hidden, training_.x, training_.y, options_.rectifier, {}, control_);
      if (finish.outcome != PatternOutcome::kNoNullVector || control_.out_of_time()) break;
    }
    stamp("exact finish");
    result_.gaps = finish.gaps;
    result_.network = finish.network;
    const double worst =
        finish.outcome == PatternOutcome::kExact ? PatternOptions().exact_gap : finish.gaps.maxCoeff();
    assume("every unit has a null vector (gap)", worst, PatternOptions().exact_gap,
           finish.outcome != PatternOutcome::kNoNullVector);
    if (finish.outcome == PatternOutcome::kExact) return;
    said_ = fmt::format(
        "{} of {} units have a pattern on which the outputs vanish, and together they leave {:.2g} of the "
        "variance: ",
        finish.network.hidden(), hidden, finish.relative_mse);
    if (space.rank == m()) {
      said_ += "there may be more units than outputs (--method few-outputs), or noise (--method noise)";
    } else {
      said_ += "another activation, or a start that was too rough";
    }
    if (!gaussian_) said_ += "; the inputs are not Gaussian, which the start rests on";
    if (options_.method == RectifiedMethod::kIca)
      said_ += "; independent components assume orthonormal rows of W and uncorrelated inputs";
  }

  void noise() {
    const Matrix V = noisy_start(view_, options_.hidden, options_.seed, control_);
    stamp("moments");
    if (V.rows() == 0 || (options_.hidden && V.rows() < *options_.hidden)) {
      return refuse(fmt::format("order-2 moments show {} units{}; give more rows, or --hidden", V.rows(),
                                gaussian_ ? "" : ", and the inputs are not Gaussian, which they rest on"));
    }
    const NoisyFit fit = fit_noisy(V, view_, options_.rectifier, true, control_);
    stamp("signs and fit");
    result_.network = fit.network;
    result_.noise_sd = std::sqrt(fit.noise_variance.mean());
    const double chance = chance_level(m(), V.rows());
    signs_ = require("signs decided (least margin, chi-squared)", fit.signs.margins.minCoeff(), chance,
                     fit.signs.margins.minCoeff() > chance);
    result_.signs_identifiable = signs_;
    noisy_ = true;
  }

  void few_outputs() {
    FewOutputsOptions options;
    options.hidden = options_.hidden.value_or(0);
    options.seed = options_.seed;
    const FewOutputs fit =
        recover_few_outputs(training_.x, training_.y, options_.rectifier, options, control_);
    stamp("groups");
    result_.network = fit.network;
    if (fit.outcome == FewOutputsOutcome::kOneOutput) {
      return refuse(
          "with one output all outputs are multiples of each other, so rows of a single unit cannot be told; "
          "take any_inputs");
    }
    if (fit.network.hidden() == 0) {
      return refuse(
          "no two outputs point in the same direction: there are no rows in which one unit is active alone, "
          "or the "
          "outputs carry noise or a constant");
    }
    if (fit.outcome != FewOutputsOutcome::kExact) {
      said_ = fmt::format(
          "{} units were active alone in enough rows, and leave {:.2g} of the variance: more rows are needed "
          "for "
          "the others, or the outputs carry noise",
          fit.network.hidden(), fit.relative_mse);
    }
  }

  void arbitrary_noise() {
    if (options_.rectifier.name != "relu") return refuse("this road knows the ReLU only");
    if (!options_.hidden) return refuse("this road does not find the number of units; give --hidden");
    ArbitraryNoiseOptions options;
    options.hidden = *options_.hidden;
    options.budget = options_.candidates;
    options.seed = options_.seed;
    const ArbitraryNoiseFit fit = fit_arbitrary_noise(view_, options, control_);
    stamp("halfspaces");
    result_.network = fit.network;
    result_.noise_sd = fit.residual_norm / std::sqrt(static_cast<double>(training_.y.size()));
    said_ = fmt::format(
        "best of {} sets of {} halfspaces; nothing is assumed of the noise beyond independence of the "
        "inputs, so "
        "nothing can be certified",
        fit.chosen_from, *options_.hidden);
  }

  void judge() {
    if (options_.rectifier.multiplicative()) result_.network = canonical(result_.network);
    const Rectifier& f = options_.rectifier;
    result_.training_relative_mse = relative_error(result_.network, f, training_.x, training_.y);
    const bool checked = held_out_.x.rows() > 0;
    if (checked) {
      result_.heldout_mean_square =
          (evaluate(result_.network, f, held_out_.x) - held_out_.y).rowwise().squaredNorm().mean();
    }
    result_.heldout_relative_mse = checked ? relative_error(result_.network, f, held_out_.x, held_out_.y) : 0;
    const Index shown = std::min(held_out_.x.rows(), kPictureRows);
    result_.predicted = evaluate(result_.network, f, held_out_.x.topRows(shown));
    result_.observed = held_out_.y.topRows(shown);
    if (noisy_) {
      judge_noisy();
    } else {
      judge_exact(checked);
    }
    if (options_.method == RectifiedMethod::kSparseNoise) judge_entries();
    if (result_.status == Status::kCertified) conclude(result_);
    stamp("check");
  }

  // The cleaned outputs are this road's own work: what counts is that the network reproduces most entries as
  // they were given, in every output. A network that is not the truth reproduces next to none of them to
  // rounding.
  void judge_entries() {
    constexpr double kLeastShare = 0.5;
    const Matrix predicted = evaluate(result_.network, options_.rectifier, raw_.x);
    double least = 1;
    for (Index o = 0; o < raw_.y.cols(); ++o) {
      const double scale = 1e-8 * std::max(1.0, predicted.col(o).cwiseAbs().maxCoeff());
      const Index same = ((predicted.col(o) - raw_.y.col(o)).array().abs() <= scale).count();
      least = std::min(least, static_cast<double>(same) / static_cast<double>(raw_.x.rows()));
    }
    const bool most = require("entries as given reproduced to rounding, least share of an output", least,
                              kLeastShare, least >= kLeastShare);
    if (most || result_.status != Status::kCertified) return;
    result_.status = Status::kUncertified;
    result_.reason = fmt::format(
        "an output keeps only {:.0f}% of its entries as they were given: the pursuit took the "
        "wrong part for noise",
        100 * least);
  }

  void judge_exact(bool checked) {
    result_.status = Status::kUncertified;
    const bool trained = require("training rows reproduced to rounding", result_.training_relative_mse,
                                 kRoundingMse, result_.training_relative_mse <= kRoundingMse);
    if (!trained) {
      result_.reason = said_.empty() ? fmt::format("the network leaves {:.2g} of the variance",
                                                   result_.training_relative_mse)
                                     : said_;
      return;
    }
    result_.noise_sd = 0;
    if (!checked) {
      result_.reason = fmt::format(
          "{} hidden units reproduce all {} samples to rounding, but so few rows leave none to hold out: "
          "another network may do so too",
          result_.network.hidden(), result_.samples);
      return;
    }
    const bool held = require("held-out rows reproduced to rounding", result_.heldout_relative_mse,
                              kRoundingMse, result_.heldout_relative_mse <= kRoundingMse);
    const double share = std::min(1.0, std::log(1000.0) / static_cast<double>(held_out_.x.rows()));
    assume("share of inputs on which another network could differ", share, 1, true);
    result_.confidence = 0.999;
    result_.functional_error_bound =
        share * held_out_.y.squaredNorm() / static_cast<double>(held_out_.y.rows());
    result_.bound_from = "held-out outputs: no more than this share of rows could be wrong unseen";
    if (held) {
      result_.status = Status::kCertified;
      result_.reason =
          fmt::format("{} hidden units reproduce all {} samples to rounding, {} of them held out",
                      result_.network.hidden(), result_.samples, result_.held_out);
    } else {
      result_.reason = "the fit is exact on the rows it saw but not on the held-out ones";
    }
  }

  void judge_noisy() {
    const double ratio = result_.heldout_relative_mse / std::max(result_.training_relative_mse, 1e-300);
    const double spread =
        1 + 6 * std::sqrt(2.0 / static_cast<double>(std::max<Index>(held_out_.y.size(), 1)));
    const bool held = require("held-out error as large as the training error", ratio, spread,
                              held_out_.x.rows() > 0 && ratio <= spread);
    const double parameters = static_cast<double>(result_.network.W.size() + result_.network.A.size() + m());
    result_.functional_error_bound =
        bound_fitted_noise(parameters, result_.noise_sd * result_.noise_sd, training_.x.rows());
    result_.bound_from = "the noise and the number of parameters, held-out residuals being noise";
    if (result_.training_relative_mse <= kRoundingMse) result_.noise_sd = 0;
    const double structure = structure_left();
    const bool clean = structure == 0 || require("no structure left in the residual", structure,
                                                 kMostStructure, structure <= kMostStructure);
    result_.status = signs_ && held && clean ? Status::kCertified : Status::kUncertified;
    if (!signs_) {
      result_.reason = "the sign of some unit is not decided by the samples";
    } else if (!clean) {
      result_.reason = fmt::format(
          "the fit leaves {:.2g} of the variance with structure in it: more units, another activation, or a "
          "rough start",
          result_.training_relative_mse);
    } else if (!held) {
      result_.reason =
          fmt::format("the error on held-out rows is {:.2f} times that on the training rows", ratio);
    } else {
      result_.reason = fmt::format(
          "{} hidden units with all signs decided, and what they leave ({:.2g} of the variance) looks like "
          "noise",
          result_.network.hidden(), result_.training_relative_mse);
    }
    if (result_.status != Status::kCertified && !gaussian_)
      result_.reason += "; the inputs are not Gaussian, which the start rests on";
  }

  // The best candidate unit's score in the residual over its chance level (unit_search.h); 0 where it is not
  // measured.
  double structure_left() {
    if (options_.rectifier.name != "relu") return 0;
    const Standardisation coordinates = standardise(second_moments(*view_, control_));
    const SamplePtr some = spread_subset(*affine(view_, coordinates.map), 20000);
    // At the optimum on the rows that are looked at: what other rows made of the weights is no structure.
    PolishOptions settle;
    settle.max_iterations = 20;
    const SeparableModel model =
        polish(to_signed_model(coordinates.from_user(result_.network)), *load(*some), settle, control_).model;
    const Candidates found = candidate_units(model, *some, 1, options_.seed, control_);
    if (found.scores.size() == 0) return 0;
    return found.scores(0) / chance_level(m(), found.tested);
  }

  RectifiedOptions options_;
  Control control_;
  SamplePtr samples_, view_;
  Control::Clock::time_point begin_;
  double last_ = 0;
  Rows training_, held_out_, raw_;
  bool gaussian_ = true, signs_ = true, noisy_ = false;
  std::string said_;  // why the road that was taken did not end exactly
  RectifiedResult result_;
};

}  // namespace

RectifiedMethod parse_rectified_method(std::string_view name) {
  for (const Name& entry : kNames) {
    if (name == entry.name) return entry.method;
  }
  throw std::invalid_argument(
      fmt::format("method is '{}', expected any, ica, tensor, symmetric, noise, few-outputs, arbitrary-noise "
                  "or sparse-noise",
                  name));
}

const char* to_string(RectifiedMethod method) {
  for (const Name& entry : kNames) {
    if (entry.method == method) return entry.name;
  }
  return "";
}

void RectifiedOptions::validate() const {
  if (hidden && *hidden < 1)
    throw std::invalid_argument(fmt::format("hidden is {}, expected at least 1, or auto", *hidden));
  if (!(budget_seconds > 0))
    throw std::invalid_argument(fmt::format("budget is {} s, expected above 0", budget_seconds));
  if (candidates < 1)
    throw std::invalid_argument(fmt::format("candidates is {}, expected at least 1", candidates));
  if (most_patterns < 1)
    throw std::invalid_argument(fmt::format("most_patterns is {}, expected at least 1", most_patterns));
  if (!rectifier.phi || !rectifier.inverse)
    throw std::invalid_argument("rectifier has no phi or no inverse; use make_rectifier");
}

RectifiedResult recover_rectified(const SamplePtr& samples, const RectifiedOptions& options,
                                  const Control& control) {
  options.validate();
  const SingleThreadedBlas single;
  return RectifiedRecovery(samples, options, control).run();
}

}  // namespace exhume
