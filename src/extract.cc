#include "exhume/extract.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/blas.h"
#include "base/json.h"
#include "base/stage_clock.h"
#include "certify/entry_check.h"
#include "certify/stored_precision.h"
#include "exhume/error.h"
#include "exhume/version.h"
#include "extract/averaged.h"
#include "extract/columns.h"
#include "extract/completed.h"
#include "extract/deep_columns.h"
#include "extract/deep_within.h"
#include "extract/missed.h"
#include "extract/open_weights.h"
#include "extract/probe.h"
#include "extract/restricted.h"
#include "extract/signed_network.h"
#include "oracle/logged_samples.h"

namespace exhume {
namespace {

constexpr const char* kFresh = "fresh";
constexpr Index kShown = 500;
// Signs are read off ratios that weights give to about this many times the relative noise.
constexpr double kSignNoise = 1e9, kLooseSigns = 0.05;
// Answers coarser than that lose kinks far out, and probabilities underflow there: lines end nearer by.
constexpr double kCoarse = 1e-12, kNear = 12;
// Smallest singular value of a layer, in units of the outputs' spread, from which on questions determine its weights.
constexpr double kSeen = 1e-6;
// One minus the confidence of what fresh questions show, over all attempts.
constexpr double kDoubt = 0.001;
constexpr std::uint64_t kAveragedRows = 1u << 25;  // of the domain's inputs, where answers are coarse
constexpr Index kDeepFresh = 1000;  // fresh questions where there are several hidden layers, at least
// Attempts at several hidden layers, each in another subspace and from other seeds.
constexpr std::uint32_t kAttempts = 3;
constexpr std::uint64_t kTurnSeed = 0x9e3779b1u;
// Dimensions of the space in which several hidden layers are looked for, at most; where few inputs are left, all of them.
constexpr Index kMostDimensions = 48;
constexpr double kNearlyAll = 1.5;
// Random inputs lie about this many times as far out as nine in ten planes, where there is no box.
constexpr double kBeyondPlanes = 2;

std::string header(Index inputs, const std::string& oracle, const ExtractOptions& options) {
  const Json json = {{"format", 1},
                     {"version", kVersion},
                     {"oracle", oracle},
                     {"inputs", inputs},
                     {"seed", options.seed},
                     {"low", number(options.box.low)},
                     {"high", number(options.box.high)},
                     {"fresh", options.fresh},
                     {"dimensions", options.dimensions}};
  return to_line(json);
}

ExtractOptions options_of(const Json& head) {
  ExtractOptions options;
  const auto whole = [&](const char* key) {
    const Json& value = at(head, key);
    if (!value.is_number_integer() || value.get<std::int64_t>() < 0)
      throw DataError(
          fmt::format("the log's header has no {}; it is not that of an extraction of this version", key));
    return value.get<std::uint64_t>();
  };
  options.seed = whole("seed");
  options.fresh = static_cast<Index>(whole("fresh"));
  options.dimensions = static_cast<Index>(whole("dimensions"));
  if (at(head, "low").is_number()) options.box = {number_of(at(head, "low")), number_of(at(head, "high"))};
  return options;
}

// What nine in ten planes of the model do not exceed, as a distance from 0.
double plane_distance(const SeparableModel& model) {
  const Index k = model.units();
  if (k == 0) return 0;
  Vector far = model.V.col(model.inputs()).cwiseAbs();
  std::sort(far.data(), far.data() + k);
  return far(static_cast<Index>(0.9 * static_cast<double>(k - 1)));
}

class Extraction {
 public:
  Extraction(OraclePtr oracle, Index inputs, std::string name, const ExtractOptions& options,
             QuestionLog& log, LogContents earlier, const Control& control)
      : options_(options),
        control_(control),
        log_(log),
        frame_(std::make_shared<const Frame>(inputs, std::min(options.dimensions, inputs), options.seed,
                                             options.box)),
        meter_(std::move(oracle), *frame_, options.queries, log, std::move(earlier), control) {
    result_.oracle = std::move(name);
    result_.certificate.seed = options.seed;
    result_.limit = options.queries;
    result_.box = options.box;
    result_.certificate.route = "questions";
  }

  ExtractResult run() {
    const SingleThreadedBlas single;
    try {
      work();
    } catch (const OutOfQuestions& out) {
      refuse(fmt::format(
          "the limit of {} questions was reached: {} left for the stage '{}', which asks {} more{}",
          options_.queries, out.left, out.stage, out.wanted, expected_words()));
    } catch (const NoLogit& sure) {
      refuse(sure.what());
    }
    result_.queries = result_.certificate.rows = result_.certificate.samples = meter_.asked();
    result_.sent = meter_.sent();
    result_.stages = meter_.stages();
    result_.certificate.timings = clock_.laps();
    result_.log = log_.bytes();
    result_.log_digest = log_.digest();
    return std::move(result_);
  }

 private:
  void refuse(std::string reason) {
    result_.certificate.status = Status::kRefused;
    result_.certificate.reason = std::move(reason);
    result_.network = {};
  }

  [[nodiscard]] std::string expected_words() const {
    return expected_ > 0 ? fmt::format("; about {} would do for the network found so far", expected_) : "";
  }

  void work() {
    const Probe probe = probe_oracle(meter_, options_.seed);
    clock_.lap("probe");
    if (!probe.refusal.empty()) {
      refuse(probe.refusal);
      return;
    }
    if (probe.reading != Reading::kPlain) result_.reading = "logits";
    noise_ = probe.noise;

    RestrictedOptions within;
    within.seed = options_.seed;
    within.noise = noise_;
    if (probe.reading != Reading::kPlain || noise_.relative > kCoarse) within.farthest = kNear;
    const Restricted restricted = restricted_network(meter_, within);
    clock_.lap("subspace");
    result_.line = restricted.line;
    result_.kinks = restricted.kinks;
    expected_ = estimated_questions(frame_->inputs(), restricted.model.units(), meter_.outputs(),
                                    frame_->dimensions());
    meter_.expect(expected_);
    if (restricted.deeper || (!restricted.complete && noise_.relative <= kCoarse)) {
      work_deep(within.farthest, deep_dimensions(static_cast<Index>(restricted.kinks.size())));
      return;
    }
    if (!restricted.complete) {
      refuse(
          fmt::format("no network of one hidden layer was found within a subspace of {} dimensions: {} units "
                      "leave up to {:.1e} "
                      "times the answers' rounding after {} lines; it may be deeper than one hidden layer",
                      frame_->dimensions(), restricted.model.units(), restricted.worst, restricted.lines));
      return;
    }

    ColumnsOptions columns_options;
    columns_options.seed = options_.seed;
    columns_options.noise = noise_;
    columns_options.scale = restricted.scale;
    Columns columns = all_columns(meter_, restricted.model, columns_options);
    clock_.lap("columns");

    MissedOptions missed_options;
    missed_options.seed = options_.seed;
    missed_options.noise = noise_;
    missed_options.spread = result_.spread =
        columns.model.units() > 0 ? std::max(1e-3, kBeyondPlanes * plane_distance(columns.model)) : 1;
    const bool coarse = noise_.relative > kCoarse;
    if (coarse) average(columns.model, kAveragedRows);
    const Missed missed = missed_units(meter_, columns.model, missed_options);
    result_.found_outside = missed.found;
    clock_.lap("search");
    if (coarse && missed.found > 0) average(columns.model, 2 * kAveragedRows);

    const double tolerance = std::min(kLooseSigns, std::max(1e-6, kSignNoise * noise_.relative));
    SignedNetwork found = signed_network(columns.model, tolerance);
    result_.network = canonical(found.network);
    result_.activation = found.activation;
    result_.slope = found.slope;
    result_.signs_identifiable = found.signs_identifiable;
    clock_.lap("signs");
    judge();
    clock_.lap("checks");
  }

  void average(SeparableModel& model, std::uint64_t first) {
    model = averaged(meter_, model, {options_.seed, result_.spread, first});
    clock_.lap("average");
  }

  // Of the space in which several hidden layers are looked for. A line meets every plane of the first layer once, so that it has
  // at least as many kinks as there are planes. In as many dimensions the planes' normals are independent: slopes tell the
  // weights on them, and every pattern of the first layer can be reached. Many would be dear.
  [[nodiscard]] Index deep_dimensions(Index kinks) const {
    const Index least = frame_->dimensions(), d = frame_->inputs();
    if (kinks > kMostDimensions) return least;
    return kNearlyAll * static_cast<double>(kinks) > static_cast<double>(d) ? d : std::max(kinks, least);
  }

  // Several hidden layers. A unit that hardly acts in one subspace may act in another: where an attempt fails the next one
  // turns the frame. An attempt must not depend on the limit, which a replay does not know.
  void work_deep(double farthest, Index dimensions) {
    std::optional<ExtractResult> uncertified;
    for (std::uint32_t turn = 0; turn < kAttempts; ++turn) {
      try {
        attempt_deep(farthest, dimensions, turn);
      } catch (const OutOfQuestions&) {
        if (!uncertified) throw;
        result_ = std::move(*uncertified);
        return;
      }
      if (result_.certificate.status == Status::kCertified) return;
      result_.certificate.tried.push_back({fmt::format("attempt {}", turn + 1), result_.certificate.reason});
      if (result_.certificate.status == Status::kUncertified && !uncertified) uncertified = result_;
      if (uncertified) uncertified->certificate.tried = result_.certificate.tried;
      result_.certificate.assumptions.clear();
    }
    if (uncertified) result_ = std::move(*uncertified);
  }

  // In the box itself, or in the subspace with all other columns afterwards.
  void attempt_deep(double farthest, Index dimensions, std::uint32_t turn) {
    const Index d = frame_->inputs();
    turned_.push_back(std::make_unique<const Frame>(frame_->turned(turn, dimensions)));
    meter_.turn(*turned_.back());
    const std::uint64_t seed = options_.seed + kTurnSeed * turn;
    const Space space{&meter_, noise_, frame_->box().bounded() || dimensions == d};
    DeepWithinOptions options;
    options.seed = seed;
    options.farthest = std::min(options.farthest, farthest);
    // In a subspace the next attempt has planes of its own.
    if (space.whole && !space.bounded()) options.planes = std::move(planes_);
    const DeepWithin within = deep_within(space, options);
    planes_ = within.planes;
    clock_.lap("layers");
    if (!within.planes.kinks.empty()) {
      result_.line = within.planes.line;
      result_.kinks = within.planes.kinks;
    }
    if (!within.exact) {
      refuse(
          fmt::format("no network was found that answers the questions: of its layers {} units were found, "
                      "and they leave {:.1e} of "
                      "the outputs' variance; a layer may hold units that bend too rarely, or the oracle is "
                      "no ReLU network",
                      within.widths.empty() ? "no" : fmt::format("{}", fmt::join(within.widths, "-")),
                      within.relative_mse));
      return;
    }
    DeepForm form = within.form;
    RowMatrix asked = within.u, answers = within.y;
    if (!space.whole) {
      if (!within.plain) {
        refuse(fmt::format(
            "a network of {} units was found within a subspace of {} dimensions, but its units' signs are "
            "open there; ask in a box, or in another subspace with another seed",
            fmt::join(within.widths, "-"), dimensions));
        return;
      }
      DeepColumns columns = deep_columns(space, within, seed);
      form = std::move(columns.form);
      asked = std::move(columns.x);
      answers = std::move(columns.y);
      clock_.lap("columns");
    }
    if (within.plain && asked.rows() > 0) {
      const Space whole{&meter_, noise_, true};
      form = completed(whole, within.planes, form, std::move(asked), std::move(answers), seed).form;
      clock_.lap("climbs");
    }
    result_.network = canonical(to_network(form));
    result_.signs_identifiable = within.plain;
    result_.activation = within.plain ? "relu" : "relu with skip terms";
    Vector far = result_.network.layers.front().b.cwiseAbs();
    std::sort(far.data(), far.data() + far.size());
    if (far.size() > 0)
      result_.spread =
          std::max(1e-3, kBeyondPlanes * far(static_cast<Index>(0.9 * static_cast<double>(far.size() - 1))));
    judge();
    clock_.lap("checks");
  }

  void judge() {
    // A unit above others may act on few inputs in a thousand: several layers are asked more.
    const Index fresh_rows = result_.is_deep() ? std::max(options_.fresh, kDeepFresh) : options_.fresh;
    // Fresh questions, of which nothing above depends.
    const RowMatrix x =
        domain_inputs(*frame_, result_.spread, options_.seed ^ 0x9e3779b97f4a7c15u, fresh_asked_, fresh_rows);
    const RowMatrix y = meter_.ask(kFresh, plain_rows(x));
    fresh_asked_ += static_cast<std::uint64_t>(fresh_rows);
    result_.fresh = result_.certificate.held_out = fresh_rows;
    std::vector<LoggedBlock> blocks = meter_.history();
    const SamplePtr logged = logged_samples(frame_, std::move(blocks));
    const SamplePtr fresh = memory_samples(x, y);
    StoredPrecision stored;
    if (result_.reading == "outputs") stored = stored_precision(*logged, control_);
    const EntryModel model(result_.network, nullptr, nullptr);
    const auto check = [&](const SampleSource& rows, bool unseen) {
      return check_entries(model, rows, stored, unseen, {}, control_);
    };
    const EntryCheck all = check(*logged, false), last = check(*fresh, true);
    result_.logged_worst = all.worst;
    result_.fresh_worst = last.worst;
    result_.precision = stored.words();
    if (all.computed_in_single || last.computed_in_single) result_.precision = "single precision";
    const RowMatrix f = evaluate(result_.network, x);
    const RowMatrix centred = y.rowwise() - y.colwise().mean();
    result_.fresh_relative_mse = (y - f).squaredNorm() / std::max(centred.squaredNorm(), kTiny);
    result_.predicted = f.topRows(std::min(kShown, f.rows()));
    result_.observed = y.topRows(std::min(kShown, y.rows()));

    Checks checks;
    checks.require(
        "answers every logged question", all.worst, 1, all.reproduced(),
        fmt::format("question {} is answered {:.3g} off, output {}: {:.1f} times what the oracle's precision "
                    "allows",
                    all.row + 1, all.gap, all.output + 1, all.worst));
    checks.require(
        "answers fresh random questions", last.worst, 1, last.reproduced(),
        fmt::format("of {} fresh questions the worst is {:.3g} off, {:.1f} times what the oracle's precision "
                    "allows",
                    fresh_rows, last.gap, last.worst));
    if (result_.is_deep()) check_weights(checks, *logged);
    checks.note("signs are determined", result_.signs_identifiable ? 1 : 0, 1, result_.signs_identifiable);
    std::move(checks).conclude(
        result_.certificate,
        fmt::format(
            "all {} questions are answered to the oracle's precision ({}), {} of them fresh and random",
            meter_.asked(), result_.precision, fresh_rows));
    const std::string domain =
        frame_->box().bounded()
            ? fmt::format("on inputs between {:g} and {:g}", options_.box.low, options_.box.high)
            : fmt::format("on normal inputs of standard deviation {:.3g}", result_.spread);
    // No fresh question of so many was answered otherwise: how many of the inputs may be, at most.
    // Each of several attempts is judged by fresh questions of its own: the doubt is shared among them.
    const double doubt = result_.is_deep() ? kDoubt / kAttempts : kDoubt;
    result_.unseen_share = 1 - std::pow(doubt, 1 / static_cast<double>(fresh_rows));
    result_.certificate.conclusion = fmt::format(
        "{} the oracle is this network, but for units that bend it nowhere or on few of these inputs: fresh "
        "questions show it for all but a share of at most {:.2g} of them, at {:g}% confidence; so there are "
        "at "
        "least as many hidden units as stated, and those that act on less may be missing",
        domain, result_.unseen_share, 100 * (1 - kDoubt));
    result_.certificate.assumed = {
        result_.is_deep() ? "the oracle is a network of ReLUs with several hidden layers"
                          : "the oracle is a network with one hidden layer of piecewise linear units",
        "units that do not bend within the domain cannot be seen: they act as linear functions there",
        "units that bend on a share of the domain into which no question fell cannot be seen either: widths "
        "are "
        "lower bounds"};
  }

  // Weights that no question sees would be certified with the others.
  void check_weights(Checks& checks, const SampleSource& logged) {
    checks.require("no skip terms needed", result_.signs_identifiable ? 1 : 0, 1, result_.signs_identifiable,
                   "the questions are answered only with terms that pass a layer by: the function is found, "
                   "its weights are not");
    if (!result_.signs_identifiable) return;
    const std::vector<double> seen = seen_by_questions(result_.network, logged, kSeen, control_);
    for (std::size_t l = 0; l < seen.size(); ++l) {
      checks.require(fmt::format("weights of layer {} determined", l + 1), seen[l], kSeen, seen[l] >= kSeen,
                     fmt::format("other weights of layer {} answer all questions as well (smallest singular "
                                 "value {:.1e}): a unit acts where too few were asked",
                                 l + 1, seen[l]));
    }
  }

  const ExtractOptions& options_;
  const Control& control_;
  QuestionLog& log_;
  std::shared_ptr<const Frame> frame_;
  std::vector<std::unique_ptr<const Frame>> turned_;
  Meter meter_;
  AnswerNoise noise_;
  Index expected_ = 0;
  Planes planes_;                  // of the attempt before
  std::uint64_t fresh_asked_ = 0;  // so far: no attempt is judged by questions of another
  StageClock clock_;
  ExtractResult result_;
};

}  // namespace

void ExtractOptions::validate() const {
  box.validate();
  if (queries < 0)
    throw std::invalid_argument(
        fmt::format("queries is {}, but must be at least 1, or 0 for no limit", queries));
  if (fresh < 1) throw std::invalid_argument(fmt::format("fresh is {}, but must be at least 1", fresh));
  if (dimensions < 1)
    throw std::invalid_argument(fmt::format("dimensions is {}, but must be at least 1", dimensions));
  if (resume && log.empty()) throw std::invalid_argument("to go on from a log, name it");
}

Index estimated_questions(Index inputs, Index hidden, Index outputs, Index dimensions) {
  const auto d = static_cast<double>(inputs), k = static_cast<double>(hidden),
             m = static_cast<double>(outputs);
  const double s = std::min(static_cast<double>(dimensions), d);
  const double points = std::ceil(1.3 * (k + m) / m) + 2;
  const double within = k * (8 + s + 2) + 2 * (k * (s + 1) + (k + s + 1) * m) / m;
  const double alone = 2 * std::floor(points / static_cast<double>(kPointsPerWeak));  // of weak units
  return static_cast<Index>(within + points * (d - s + 1) + alone * (d - s) + 700);
}

Index estimated_deep_questions(Index inputs, const std::vector<Index>& widths, Index outputs,
                               Index dimensions) {
  if (widths.empty()) throw std::invalid_argument("widths is empty, but must name at least one hidden layer");
  constexpr double kChecks = 1500, kPlane = 150, kWeight = 8, kWeightOfOutput = 20;  // as measured
  const auto d = static_cast<double>(inputs), m = static_cast<double>(outputs);
  const double s = std::min(static_cast<double>(dimensions), d), first = static_cast<double>(widths.front());
  double pairs = 0, below = first;
  for (std::size_t l = 1; l < widths.size(); ++l) {
    pairs += static_cast<double>(widths[l]) * below;
    below += static_cast<double>(widths[l]);
  }
  return static_cast<Index>(kChecks + kPlane * first + (kWeight + kWeightOfOutput / m) * pairs +
                            (2.7 * first / m + 4) * (d - s));
}

ExtractResult extract(const OraclePtr& oracle, const ExtractOptions& options, const Control& control) {
  options.validate();
  const Index inputs = oracle->inputs();
  if (inputs < 1) throw std::invalid_argument("the oracle has no inputs");
  const std::string head = header(inputs, oracle->name(), options);
  LogContents earlier;
  std::string resumed;
  std::optional<QuestionLog> log;
  if (options.log.empty()) {
    log.emplace(head);
  } else if (options.resume && std::filesystem::exists(options.log)) {
    earlier = read_question_log(options.log);
    if (const std::string other = header_difference(earlier.header, head, "the log"); !other.empty()) {
      throw DataError(
          fmt::format("{} belongs to another extraction: {}; give the same options, or another log",
                      options.log.string(), other));
    }
    Index answered = 0;
    for (const LoggedBlock& block : earlier.blocks) answered += block.questions.count();
    resumed = fmt::format("{} answers taken from {}", answered, options.log.string());
    if (earlier.dropped > 0)
      resumed += fmt::format("; {} bytes of an unfinished record dropped", earlier.dropped);
    if (earlier.lost > 0)
      resumed += fmt::format("; {} questions left without their answers being kept", earlier.lost);
    log.emplace(earlier, options.log);
  } else {
    log.emplace(head, options.log);
  }
  ExtractResult result =
      Extraction(oracle, inputs, oracle->name(), options, *log, std::move(earlier), control).run();
  result.resumed = std::move(resumed);
  return result;
}

ExtractResult replay_extraction(const std::string& bytes, const Control& control) {
  LogContents contents = parse_question_log(bytes, "the log of questions");
  const Json head = parsed(contents.header);
  const ExtractOptions options = options_of(head);
  options.validate();
  const double inputs = number_of(at(head, "inputs"));
  if (!(inputs >= 1 && inputs < 1e9)) throw DataError("the log's header has no inputs");
  QuestionLog log(contents.header);
  return Extraction(nullptr, static_cast<Index>(inputs), words(at(head, "oracle")), options, log,
                    std::move(contents), control)
      .run();
}

}  // namespace exhume
