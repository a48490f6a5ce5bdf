#include "exhume/extract.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/blas.h"
#include "base/counted.h"
#include "base/json.h"
#include "base/stage_clock.h"
#include "exhume/error.h"
#include "exhume/version.h"
#include "extract/form_fit.h"
#include "extract/layer_schedule.h"
#include "extract/line.h"
#include "extract/moves/complete_network.h"
#include "extract/moves/confirm.h"
#include "extract/moves/fill_columns.h"
#include "extract/moves/fill_deep_columns.h"
#include "extract/moves/find_missed_units.h"
#include "extract/moves/find_single_layer.h"
#include "extract/moves/find_smooth_layer.h"
#include "extract/moves/polish.h"
#include "extract/moves/probe.h"
#include "extract/moves/sharpen_single_layer.h"
#include "extract/moves/sign_single_layer.h"
#include "extract/moves/tidy_network.h"
#include "extract/moves/two_layers_in_noise.h"
#include "oracle/logged_samples.h"

namespace exhume {
namespace {

// Queries of several layers. Tuned on the networks of docs/extract.md: within a third of what was measured.
struct EstimateLimits {
  double checks = 1500, plane = 150, weight = 8, weight_of_output = 20;
};
constexpr EstimateLimits kEstimate;

// Queries at which an extraction ends by itself, over its estimate.
constexpr double kEnough = 20;
// Logged queries that are asked again before a log is trusted, and how far answers may be off them, over the
// largest: any of them, most of them where answers are doubles, and most of those that are singles.
struct ResumeLimits {
  Index asked = 8;
  double any = 1e-5, doubles = 1e-10, singles = 2e-6;
};
constexpr ResumeLimits kResume;

// Of a box: a number, a list of one per input, or nothing.
Json ends_json(double common, const Vector& each) {
  return each.size() > 0 ? Json(std::vector<double>(each.data(), each.data() + each.size())) : number(common);
}

// Twenty times what a network takes with as many units as a line has kinks in one hidden layer, or in each of
// two: a line meets every plane of the first layer, and only some surfaces above it.
Index limit_for(Index kinks, Index outputs, Index inputs) {
  return static_cast<Index>(kEnough) * std::max(estimate_queries(inputs, kinks, outputs),
                                                estimate_deep_queries(inputs, {kinks, kinks}, outputs));
}

std::string header(Index inputs, const std::string& oracle, const ExtractOptions& options) {
  const Json json = {{"format", 1},
                     {"version", kVersion},
                     {"oracle", oracle},
                     {"inputs", inputs},
                     {"seed", options.seed},
                     {"low", ends_json(options.box.low, options.box.lows)},
                     {"high", ends_json(options.box.high, options.box.highs)},
                     {"fresh", options.fresh},
                     {"dimensions", options.dimensions}};
  return to_line(json);
}

ExtractOptions options_of(const Json& head) {
  ExtractOptions options;
  const auto whole = [&](const char* key) {
    const Json& value = at(head, key);
    if (!value.is_number_integer() || value.get<std::int64_t>() < 0) {
      throw DataError(
          fmt::format("the log's header has no {}; it is not that of an extraction of this version", key));
    }
    return value.get<std::uint64_t>();
  };
  options.seed = whole("seed");
  options.fresh = static_cast<Index>(whole("fresh"));
  options.dimensions = static_cast<Index>(whole("dimensions"));
  options.box = logged_box(head);
  return options;
}

// Chosen by experience on random and digit-trained networks; not derived, but where said.
struct SchedulerLimits {
  // Answers coarser than that lose kinks far out, and probabilities underflow there: lines end nearer by.
  double coarse = 1e-12, near = 12;
  // Signs are read off ratios that weights give to about this many times the relative noise.
  double sign_noise = 1e9, tight_signs = 1e-6, loose_signs = 0.05;
  std::uint64_t averaged_rows = 1u << 25;  // numbers of random inputs that nothing else uses
  // Dimensions of the space in which several hidden layers are looked for, at most; where few inputs are
  // left, all.
  Index most_dimensions = 48;
  double nearly_all = 1.5;
  double rounding = 1e-20;  // share of the variance
  // An answer to the same query that is off by more, over the largest, is another one; or so many times the
  // answers' noise.
  double drift = 1e-9, drift_noise = 100;
  // Random inputs lie about this many times as far out as nine in ten planes, where there is no box.
  double beyond_planes = 2, quantile = 0.9, least_spread = 1e-3;
};
constexpr SchedulerLimits kScheduler;

// The deadline came: it ends an extraction, and changes nothing else.
class OutOfTime : public std::runtime_error {
 public:
  explicit OutOfTime(Move next)
      : std::runtime_error(fmt::format("the time ended before the move '{}'", to_string(next))) {}
};

// The same query got another answer later on.
class OracleDrifts : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Which move comes next, from the first query to the verdict.
//
//     probe -> find single layer -+-> fill columns -> [average] -> find missed units -> sign -> confirm
//                                 |
//                                 +-> several layers, up to three attempts:
//                                     search layers -> [fill deep columns] -> complete -> confirm
class Extraction {
 public:
  Extraction(OraclePtr oracle, Index inputs, std::string name, const ExtractOptions& options, QueryLog& log,
             LogContents earlier, const Control& control)
      : options_(options),
        control_(ending(control)),
        log_(log),
        frame_(std::make_shared<const Frame>(inputs, std::min(options.dimensions, inputs), options.seed,
                                             options.box)),
        meter_(std::move(oracle), *frame_,
               options.queries > 0 ? options.queries : default_query_limit(inputs), log, std::move(earlier),
               control_) {
    result_.oracle = std::move(name);
    result_.certificate.seed = options.seed;
    result_.limit = options.queries;
    result_.box = options.box;
    result_.certificate.route = "queries";
  }

  ExtractResult run() {
    const SingleThreadedBlas single;
    try {
      check_same_oracle();
      work();
    } catch (const OutOfQueries& out) {
      end_early(fmt::format(
          "the limit of {} queries was reached: {} left for the stage '{}', which asks {} more{}",
          meter_.limit(), out.left, to_string(out.stage), out.wanted,
          expected_ > 0 ? fmt::format("; about {} would do for the network found so far", expected_) : ""));
    } catch (const NoLogit& sure) {
      refuse(sure.what());
    } catch (const NoPlace& lost) {
      end_early(lost.what());
    } catch (const OracleDrifts& drift) {
      refuse(drift.what());
    } catch (const TooManyKinks& many) {
      refuse(many.what());
    } catch (const OutOfTime&) {
      end_early(out_of_time_words());
    } catch (const Interrupted&) {
      if (!late_ && !result_.interrupted) throw;  // the oracle's own
      end_early(late_ ? out_of_time_words() : "it was interrupted");
    }
    if (!result_.network.empty() && frame_->domain().per_input())
      result_.network = canonical(frame_->on_inputs(std::move(result_.network)));
    result_.limit = meter_.limit();
    result_.queries = result_.certificate.rows = result_.certificate.samples = meter_.asked();
    result_.sent = meter_.sent();
    for (const StageCount& each : meter_.stages())
      result_.stages.push_back({std::string(to_string(each.stage)), each.queries});
    result_.certificate.timings = clock_.laps();
    for (const MoveRecord& each : moves_)
      result_.moves.push_back({std::string(to_string(each.move)), each.why, each.queries});
    result_.log = log_.bytes();
    result_.log_digest = log_.digest();
    return std::move(result_);
  }

 private:
  // The same control, under which check() also throws at the deadline: a step of the search may take long.
  [[nodiscard]] Control ending(const Control& control) {
    Control strict = control;
    strict.should_stop = [this, control] {
      if (control.should_stop && control.should_stop()) return result_.interrupted = true;
      return late_ = control.out_of_time();
    };
    return strict;
  }

  [[nodiscard]] std::string out_of_time_words() const {
    const std::chrono::duration<double> passed = Control::Clock::now() - begin_;
    return fmt::format(
        "the time was over after {:.3g} s{}", passed.count(),
        moves_.empty() ? "" : fmt::format(", in the move '{}'", to_string(moves_.back().move)));
  }

  // Queries, time or patience are over: what was found is kept.
  void end_early(const std::string& reason) {
    std::string found;
    for (std::size_t l = 0; l < result_.found.size(); ++l) {
      const LayerFound& layer = result_.found[l];
      found += fmt::format("{}{} unit{} of hidden layer {}{}", l == 0 ? "; so far: " : ", ", layer.units,
                           layer.units == 1 ? "" : "s", l + 1,
                           layer.whole < layer.units ? fmt::format(" ({} of them whole)", layer.whole) : "");
    }
    Certificate& certificate = result_.certificate;
    certificate.assumptions.clear();
    certificate.conclusion.clear();
    result_.fresh = 0;
    if (best_.empty()) {
      refuse(reason + (found.empty() ? "; no layer was found so far" : found));
      return;
    }
    result_.network = best_;
    result_.signs_identifiable = !best_.has_skip_terms();
    certificate.status = Status::kUncertified;
    certificate.reason = fmt::format(
        "{}{}; the network of these leaves {:.2g} of the outputs' variance over the "
        "queries asked, and was not checked",
        reason, found, left_over(best_));
    certificate.assumed = {"nothing: this is the best network when the extraction ended"};
  }

  // Share of the variance of all answers so far that a network leaves.
  [[nodiscard]] double left_over(const Network& network) {
    constexpr Index kMost = 20000;
    const SamplePtr places = logged_places(frame_, meter_.history());
    if (places->rows() == 0) return 1;
    SampleBlock block;
    const Index rows = std::min(kMost, places->rows());
    places->read(places->rows() - rows, rows, block);
    const RowMatrix y = block.y(), off = y - evaluate(network, block.x());
    return off.squaredNorm() / std::max((y.rowwise() - y.colwise().mean()).squaredNorm(), kTiny);
  }

  // What the search for several layers knows, should it end here. In a subspace its network says nothing of
  // the other inputs.
  void keep(const LayerSearch& search) {
    const Hypothesis& known = search.hypothesis;
    result_.found.clear();
    for (std::size_t l = 0; l < known.layers.size(); ++l) {
      LayerFound layer{known.layers[l].rows(), known.layers[l].rows()};
      if (l > 0 && l - 1 < known.units.size()) {
        layer.units = static_cast<Index>(known.units[l - 1].size());
        layer.whole = static_cast<Index>(known.whole_rows(l).size());
      }
      result_.found.push_back(layer);
    }
    if (result_.found.empty() && known.planes.rows() > 0)
      result_.found.push_back({known.planes.rows(), known.planes.rows()});
    if (!search.space.whole) return;
    const DeepForm& form = known.exact ? known.network : known.fitted;
    if (form.V.empty() || form.C.size() == 0 || form.inputs != frame_->inputs()) return;
    best_ = canonical(to_network(form));
  }

  // The answers of a log belong to the oracle that is asked now: some are asked for again.
  void check_same_oracle() {
    const std::vector<RepeatedAnswers> again = meter_.repeat_logged(kResume.asked);
    double largest = kTiny;
    Index entries = 0, doubles = 0, singles = 0, singly = 0;
    for (const RepeatedAnswers& each : again) largest = std::max(largest, each.logged.cwiseAbs().maxCoeff());
    for (const RepeatedAnswers& each : again) {
      for (Index i = 0; i < each.logged.size(); ++i) {
        const double off = std::abs(each.logged(i) - each.now(i)) / largest;
        if (off > kResume.any) {
          throw DataError(fmt::format(
              "the oracle is not the one that the log is of: a logged query was answered with {:.9g}, and is "
              "answered with {:.9g} now; start another log",
              each.logged(i), each.now(i)));
        }
        ++entries;
        if (off > kResume.doubles) ++doubles;
        if (off > kResume.singles) ++singles;
        if (static_cast<double>(static_cast<float>(each.logged(i))) == each.logged(i)) ++singly;
      }
    }
    if (2 * (2 * singly > entries ? singles : doubles) > entries) {
      throw DataError(
          "the oracle is not quite the one that the log is of: most of the logged queries that were asked "
          "again "
          "are answered differently; start another log");
    }
  }

  // Nothing explains the answers so far: is it that the same query gets another answer by now? Some of the
  // first queries are asked again.
  void check_for_drift() {
    const std::vector<LoggedBlock>& asked = meter_.history();
    std::vector<std::pair<std::size_t, Index>> some;  // block, row: of the first half, evenly
    Index all = 0;
    for (const LoggedBlock& block : asked) all += block.queries.count();
    const Index step = std::max<Index>(1, all / 2 / kResume.asked);
    Index at = 0;
    for (std::size_t i = 0; i < asked.size(); ++i) {
      for (Index row = 0; row < asked[i].queries.count(); ++row, ++at)
        if (at % step == 0 && static_cast<Index>(some.size()) < kResume.asked) some.emplace_back(i, row);
    }
    double largest = kTiny, off = 0, before = 0, now = 0;
    for (const auto& [block, row] : some)
      largest = std::max(largest, asked[block].answers.row(row).cwiseAbs().maxCoeff());
    for (const auto& [block, row] : some) {
      const Eigen::RowVectorXd first = asked[block].answers.row(row);
      const Queries query = asked[block].queries.part(row, 1);
      const Eigen::RowVectorXd again = meter_.ask_again(QueryStage::kProbe, query).row(0);
      for (Index o = 0; o < first.size(); ++o) {
        if (!(std::abs(first(o) - again(o)) > off)) continue;
        off = std::abs(first(o) - again(o));
        before = first(o), now = again(o);
      }
    }
    if (!(off > largest * std::max(kScheduler.drift, kScheduler.drift_noise * noise_.relative))) return;
    throw OracleDrifts(fmt::format(
        "the oracle drifts: a query that it answered with {:.9g} gets {:.9g} after {} queries; it must give "
        "the same answer to the same query",
        before, now, meter_.asked()));
  }

  void refuse(std::string reason) {
    result_.certificate.status = Status::kRefused;
    result_.certificate.reason = std::move(reason);
    result_.network = {};
  }

  void note(Move move, std::string why) {
    if (meter_.control().out_of_time()) throw OutOfTime(move);
    moves_.push_back({move, std::move(why), meter_.answered()});
  }

  void work() {
    note(Move::kProbe, "nothing is known");
    const Probe probe = probe_oracle(meter_, options_.seed);
    clock_.lap("probe");
    if (!probe.refusal.empty()) {
      refuse(probe.refusal);
      return;
    }
    if (probe.reading != Reading::kPlain) result_.reading = "logits";
    noise_ = probe.noise;
    const bool coarse = noise_.relative > kScheduler.coarse;
    if (probe.curved || (coarse && curves_coarsely(meter_, noise_, options_.seed))) {
      find_smooth_units();
      return;
    }

    if (coarse && is_deep_in_noise()) {
      find_layers_in_noise();
      return;
    }
    note(Move::kFindSingleLayer, fmt::format("answers are exact to {:.1e}", noise_.relative));
    SingleLayerOptions within;
    within.seed = options_.seed;
    within.noise = noise_;
    if (probe.reading != Reading::kPlain || coarse) within.farthest = kScheduler.near;
    const SingleLayer restricted = find_single_layer(meter_, within);
    clock_.lap("subspace");
    result_.line = restricted.line;
    result_.kinks = restricted.kinks;
    expected_ =
        estimate_queries(frame_->inputs(), restricted.model.units(), meter_.outputs(), frame_->dimensions());
    meter_.expect(expected_);
    if (options_.queries == 0) {
      meter_.raise_limit(
          limit_for(static_cast<Index>(restricted.kinks.size()), meter_.outputs(), frame_->inputs()));
    }
    if (restricted.model.units() > 0) result_.found = {{restricted.model.units(), 0}};
    if (restricted.deeper || (!restricted.complete && !coarse)) {
      find_several_layers(within.farthest, deep_dimensions(static_cast<Index>(restricted.kinks.size())),
                          restricted.deeper ? "units bend f by other amounts elsewhere"
                                            : "one hidden layer does not explain the subspace");
    } else if (restricted.complete) {
      complete_single_layer(restricted, coarse);
      if (!coarse) look_deeper_where_answers_differ(within.farthest);
    } else {
      check_for_drift();
      refuse(
          fmt::format("no network of one hidden layer was found within a subspace of {} dimensions: {} units "
                      "leave up to {:.1e} times the answers' rounding after {} lines; it may be deeper than "
                      "one hidden layer",
                      frame_->dimensions(), restricted.model.units(), restricted.worst, restricted.lines));
    }
  }

  void find_smooth_units() {
    note(Move::kFindSmoothLayer, "outputs curve everywhere");
    SmoothLayer found = find_smooth_layer(meter_, noise_, options_.seed);
    clock_.lap("smooth units");
    if (!found.refusal.empty()) {
      refuse(std::move(found.refusal));
      return;
    }
    result_.network = std::move(found.network);
    result_.activation = result_.network.activation;
    judge();
  }

  bool is_deep_in_noise() {
    note(Move::kTellDepth, fmt::format("answers are exact to {:.1e}", noise_.relative));
    const bool deep = tell_depth_in_noise({&meter_, frame_.get(), noise_, false}, options_.seed).is_deep();
    clock_.lap("depth");
    return deep;
  }

  void find_layers_in_noise() {
    note(Move::kLayersInNoise, "surfaces of kinks are broken");
    const NoisyLayers found = find_two_layers_in_noise({&meter_, frame_.get(), noise_, true}, options_.seed);
    clock_.lap("layers");
    if (found.form.depth() == 0) {
      refuse(found.missing);
      return;
    }
    result_.network = canonical(to_network(found.form));
    result_.spread = found.spread;
    judge();
  }

  void complete_single_layer(const SingleLayer& restricted, bool coarse) {
    note(Move::kFillColumns,
         fmt::format("the subspace is explained by {}", counted(restricted.model.units(), "unit")));
    ColumnsOptions columns_options;
    columns_options.seed = options_.seed;
    columns_options.noise = noise_;
    columns_options.scale = restricted.scale;
    SeparableModel model = fill_columns(meter_, restricted.model, columns_options);
    clock_.lap("columns");

    result_.spread = model.units() > 0 ? spread_of_planes(model.V.col(model.inputs())) : 1;
    keep(model);
    if (coarse) average(model, kScheduler.averaged_rows);
    note(Move::kFindMissedUnits, "all weights are known of the units that the subspace shows");
    MissedOptions missed_options;
    missed_options.seed = options_.seed;
    missed_options.noise = noise_;
    missed_options.spread = result_.spread;
    result_.found_outside = find_missed_units(meter_, model, missed_options);
    clock_.lap("search");
    keep(model);
    if (coarse && result_.found_outside > 0) average(model, 2 * kScheduler.averaged_rows);

    note(Move::kSignSingleLayer, fmt::format("{}, {} of them outside the subspace",
                                             counted(model.units(), "unit"), result_.found_outside));
    SignedNetwork found = resolve_network_signs(model, sign_tolerance());
    result_.network = canonical(found.network);
    result_.activation = found.activation;
    result_.slope = found.slope;
    result_.signs_identifiable = found.signs_identifiable;
    clock_.lap("signs");
    judge();
  }

  // One hidden layer explains the subspace, and not the other queries: it was part of a deeper network.
  void look_deeper_where_answers_differ(double farthest) {
    if (result_.certificate.status == Status::kCertified || result_.network.empty() ||
        !(result_.fresh_worst > 1 || result_.logged_worst > 1))
      return;
    ExtractResult single = result_;
    const Network best = best_;
    try {
      find_several_layers(farthest, deep_dimensions(static_cast<Index>(result_.kinks.size())),
                          single.certificate.reason);
    } catch (const OutOfQueries&) {
      result_.network = {};
    } catch (const OutOfTime&) {
      result_.network = {};
    }
    if (!result_.network.empty()) return;
    single.certificate.tried = std::move(result_.certificate.tried);
    result_ = std::move(single);
    best_ = best;
  }

  [[nodiscard]] double sign_tolerance() const {
    return std::min(kScheduler.loose_signs,
                    std::max(kScheduler.tight_signs, kScheduler.sign_noise * noise_.relative));
  }

  // Should it end here: one hidden layer, all of whose weights are known.
  void keep(const SeparableModel& model) {
    result_.found = {{model.units(), model.units()}};
    best_ = canonical(resolve_network_signs(model, sign_tolerance()).network);
  }

  void average(SeparableModel& model, std::uint64_t first) {
    note(Move::kAverage, "answers are coarse");
    model = average_weights(meter_, model, {options_.seed, result_.spread, first});
    clock_.lap("average");
  }

  // Of random inputs where there is no box: some times what nine in ten planes do not exceed, as a distance
  // from 0.
  [[nodiscard]] static double spread_of_planes(const Vector& constants) {
    Vector far = constants.cwiseAbs();
    std::sort(far.data(), far.data() + far.size());
    const auto at = static_cast<Index>(kScheduler.quantile * static_cast<double>(far.size() - 1));
    return std::max(kScheduler.least_spread, kScheduler.beyond_planes * far(at));
  }

  // Of the space in which several hidden layers are looked for. A line meets every plane of the first layer
  // once, so that it has at least as many kinks as there are planes. In as many dimensions the planes'
  // normals are independent: slopes tell the weights on them, and every pattern of the first layer can be
  // reached. Many would be expensive.
  [[nodiscard]] Index deep_dimensions(Index kinks) const {
    const Index least = frame_->dimensions(), d = frame_->inputs();
    if (kinks > kScheduler.most_dimensions) return least;
    return kScheduler.nearly_all * static_cast<double>(kinks) > static_cast<double>(d)
               ? d
               : std::max(kinks, least);
  }

  // A unit with little effect in one subspace may have more in another: where an attempt fails, the next one
  // turns the frame. An attempt must not depend on the limit, which a replay does not know.
  void find_several_layers(double farthest, Index dimensions, const std::string& why) {
    check_for_drift();
    // The estimate was that of one hidden layer.
    expected_ = 0;
    std::optional<ExtractResult> uncertified;
    // Where queries or time end, what was found before is kept.
    const auto keep_or_throw = [&] {
      if (!uncertified) throw;
      result_ = std::move(*uncertified);
    };
    for (std::uint32_t turn = 0; turn < kMostAttempts; ++turn) {
      try {
        note(Move::kTurnFrame, turn == 0 ? why : result_.certificate.reason);
        attempt_several_layers(farthest, dimensions, turn);
      } catch (const NoPlace& lost) {
        refuse(lost.what());
      } catch (const OutOfQueries&) {
        return keep_or_throw();
      } catch (const OutOfTime&) {
        return keep_or_throw();
      } catch (const Interrupted&) {
        const bool interrupted = result_.interrupted;
        keep_or_throw();
        result_.interrupted = interrupted;
        return;
      }
      if (result_.certificate.status == Status::kCertified) return;
      check_for_drift();
      result_.certificate.tried.push_back({fmt::format("attempt {}", turn + 1), result_.certificate.reason});
      if (result_.certificate.status == Status::kUncertified && !uncertified) uncertified = result_;
      if (uncertified) uncertified->certificate.tried = result_.certificate.tried;
      result_.certificate.assumptions.clear();
    }
    if (uncertified) result_ = std::move(*uncertified);
  }

  // In the inputs themselves, or in the subspace with all other columns afterwards.
  void attempt_several_layers(double farthest, Index dimensions, std::uint32_t turn) {
    const Frame turned = frame_->turned(turn, dimensions);
    const Space space{&meter_, &turned, noise_, frame_->box().bounded() || dimensions == frame_->inputs()};
    LayerSearch search{space, sub_seed(options_.seed, "attempt", turn), 40, {}, {}};
    search.farthest = std::min(search.farthest, farthest);
    // In a subspace the next attempt has planes of its own.
    if (space.whole && !space.bounded()) {
      search.evidence = std::move(evidence_);
      search.hypothesis.planes = std::move(planes_);
    }
    try {
      search_layers(search, moves_);
    } catch (...) {
      keep(search);
      throw;
    }
    keep(search);
    if (control_.out_of_time()) throw OutOfTime(Move::kTurnFrame);
    // Signs were open, and what is left is rounding: the form with skip terms is the function.
    Hypothesis& known = search.hypothesis;
    if (!known.exact && !known.layers.empty() && known.left < kScheduler.rounding && !known.fitted.V.empty())
      (void)polish_network(search, known.fitted);
    evidence_ = search.evidence.measured();
    planes_ = search.hypothesis.planes;
    clock_.lap("layers");
    if (!evidence_.first_kinks.empty()) {
      result_.line = evidence_.first_line;
      result_.kinks = evidence_.first_kinks;
    }
    if (search.hypothesis.exact) {
      complete_several_layers(search);
      return;
    }
    const std::vector<Index> widths = search.hypothesis.widths_so_far();
    refuse(fmt::format(
        "no network was found that answers the queries: of its layers {} units were found, "
        "and they leave {:.1e} of the outputs' variance; a layer may hold units that bend too "
        "rarely, or the oracle is no ReLU network",
        widths.empty() ? "no" : fmt::format("{}", fmt::join(widths, "-")), search.hypothesis.left));
  }

  // Skip terms as further units of the layers, where these answer the queries as well.
  [[nodiscard]] std::optional<DeepForm> plain_by_further_units(const DeepForm& form, const RowMatrix& asked,
                                                               const RowMatrix& answers) {
    const std::optional<DeepForm> start = without_skip_terms(form, asked);
    if (!start) return std::nullopt;
    auto fit = fit_form(*start, asked, answers, {}, meter_.control());
    if (!fit) return std::nullopt;
    return std::move(fit->form);
  }

  void complete_several_layers(LayerSearch& search) {
    const Hypothesis& found = search.hypothesis;
    DeepForm form = found.network;
    RowMatrix asked = search.evidence.u, answers = search.evidence.y;
    if (!search.space.whole) {
      if (!found.plain) {
        refuse(fmt::format(
            "a network of {} units was found within a subspace of {} dimensions, but its units' signs are "
            "open there; ask in a box, or in another subspace with another seed",
            fmt::join(found.widths_so_far(), "-"), search.dimensions()));
        return;
      }
      note(Move::kFillDeepColumns,
           fmt::format("{} units answer the sample of the subspace", fmt::join(found.widths_so_far(), "-")));
      FilledColumns columns = fill_deep_columns(search);
      form = std::move(columns.form);
      asked = std::move(columns.x);
      answers = std::move(columns.y);
      best_ = canonical(to_network(form));
      clock_.lap("columns");
    }
    bool plain = found.plain;
    if (!plain && asked.rows() > 0) {
      if (std::optional<DeepForm> carried = plain_by_further_units(form, asked, answers)) {
        form = std::move(*carried);
        plain = true;
      }
    }
    if (plain && asked.rows() > 0) {
      form = without_needless_units(form, asked);
      note(Move::kCompleteNetwork,
           fmt::format("{} units answer all queries so far", fmt::join(form.widths(), "-")));
      const Space whole{&meter_, search.space.frame, noise_, true};
      const RowMatrix queries = asked;
      form = complete_network(whole, search.evidence, form, std::move(asked), std::move(answers), search.seed)
                 .form;
      form = without_needless_units(form, queries);
      clock_.lap("climbs");
      best_ = canonical(to_network(form));
    }
    result_.network = canonical(to_network(form));
    result_.signs_identifiable = plain;
    result_.activation = plain ? "relu" : "relu with skip terms";
    const Vector& constants = result_.network.layers.front().b;
    if (constants.size() > 0) result_.spread = spread_of_planes(constants);
    judge();
  }

  void judge() {
    note(Move::kConfirm, "a network is there");
    Confirmation seen = confirm(meter_, frame_, result_.network,
                                {options_.seed, options_.fresh, fresh_asked_, result_.spread,
                                 result_.reading == "logits", result_.signs_identifiable},
                                result_.certificate);
    fresh_asked_ += static_cast<std::uint64_t>(seen.fresh);
    result_.fresh = seen.fresh;
    result_.precision = std::move(seen.precision);
    result_.logged_worst = seen.logged_worst;
    result_.fresh_worst = seen.fresh_worst;
    result_.fresh_relative_mse = seen.fresh_relative_mse;
    result_.unseen_share = seen.unseen_share;
    result_.predicted = std::move(seen.predicted);
    result_.observed = std::move(seen.observed);
    clock_.lap("checks");
  }

  const ExtractOptions& options_;
  const Control::Clock::time_point begin_ = Control::Clock::now();
  bool late_ = false;  // the deadline has come
  Control control_;
  QueryLog& log_;
  std::shared_ptr<const Frame> frame_;
  Meter meter_;
  AnswerNoise noise_;
  Index expected_ = 0;
  // Of the attempt before.
  QueryEvidence evidence_;
  Matrix planes_;
  std::uint64_t fresh_asked_ = 0;  // so far: no attempt is judged by queries of another
  StageClock clock_;
  MoveLog moves_;
  Network best_;  // so far, in coordinates of the frame's box
  ExtractResult result_;
};

}  // namespace

void ExtractOptions::validate() const {
  box.validate();
  if (queries < 0) {
    throw std::invalid_argument(
        fmt::format("queries is {}, but must be at least 1, or 0 for no limit", queries));
  }
  if (fresh < 1) throw std::invalid_argument(fmt::format("fresh is {}, but must be at least 1", fresh));
  if (dimensions < 1)
    throw std::invalid_argument(fmt::format("dimensions is {}, but must be at least 1", dimensions));
  if (resume && log.empty()) throw std::invalid_argument("to go on from a log, name it");
}

Index estimate_queries(Index inputs, Index hidden, Index outputs, Index dimensions) {
  const auto d = static_cast<double>(inputs), k = static_cast<double>(hidden),
             m = static_cast<double>(outputs);
  const double s = std::min(static_cast<double>(dimensions), d);
  const double points = std::ceil(1.3 * (k + m) / m) + 2;
  const double within = k * (8 + s + 2) + 2 * (k * (s + 1) + (k + s + 1) * m) / m;
  const double alone = 2 * std::floor(points / static_cast<double>(kPointsPerWeakUnit));  // of weak units
  return static_cast<Index>(within + points * (d - s + 1) + alone * (d - s) + 700);
}

Index default_query_limit(Index inputs) {
  return static_cast<Index>(kEnough) *
         std::max(estimate_queries(inputs, 128, 1), estimate_deep_queries(inputs, {20, 20}, 1));
}

Index estimate_deep_queries(Index inputs, const std::vector<Index>& widths, Index outputs, Index dimensions) {
  if (widths.empty()) throw std::invalid_argument("widths is empty, but must name at least one hidden layer");
  const auto d = static_cast<double>(inputs), m = static_cast<double>(outputs);
  const double s = std::min(static_cast<double>(dimensions), d), first = static_cast<double>(widths.front());
  double pairs = 0, below = first;
  for (std::size_t l = 1; l < widths.size(); ++l) {
    pairs += static_cast<double>(widths[l]) * below;
    below += static_cast<double>(widths[l]);
  }
  return static_cast<Index>(kEstimate.checks + kEstimate.plane * first +
                            (kEstimate.weight + kEstimate.weight_of_output / m) * pairs +
                            (2.7 * first / m + 4) * (d - s));
}

ExtractResult extract(const OraclePtr& oracle, const ExtractOptions& options, const Control& control) {
  options.validate();
  const Index inputs = oracle->inputs();
  if (inputs < 1) throw std::invalid_argument("the oracle has no inputs");
  options.box.validate(inputs);
  const std::string head = header(inputs, oracle->name(), options);
  LogContents earlier;
  std::string resumed;
  std::optional<QueryLog> log;
  if (options.log.empty()) {
    log.emplace(head);
  } else if (options.resume && std::filesystem::exists(options.log)) {
    log.emplace(options.log, earlier);
    if (const std::string other = header_difference(earlier.header, head, "the log"); !other.empty()) {
      throw DataError(
          fmt::format("{} belongs to another extraction: {}; give the same options, or another log",
                      options.log.string(), other));
    }
    Index answered = 0;
    for (const LoggedBlock& block : earlier.blocks) answered += block.queries.count();
    resumed = fmt::format("{} answers taken from {}", answered, options.log.string());
    if (earlier.dropped > 0)
      resumed += fmt::format("; {} bytes of an unfinished record dropped", earlier.dropped);
    if (earlier.lost > 0)
      resumed += fmt::format("; {} queries left without their answers being kept", earlier.lost);
  } else {
    log.emplace(head, options.log);
  }
  ExtractResult result =
      Extraction(oracle, inputs, oracle->name(), options, *log, std::move(earlier), control).run();
  result.resumed = std::move(resumed);
  return result;
}

ExtractResult replay_extraction(const std::string& bytes, const Control& control) {
  LogContents contents = parse_query_log(bytes, "the log of queries");
  const Json head = parsed(contents.header);
  const ExtractOptions options = options_of(head);
  options.validate();
  const Index inputs = logged_inputs(head);
  if (inputs < 1) throw DataError("the log's header has no inputs");
  options.box.validate(inputs);
  QueryLog log(contents.header);
  return Extraction(nullptr, inputs, words(at(head, "oracle")), options, log, std::move(contents), control)
      .run();
}

}  // namespace exhume
