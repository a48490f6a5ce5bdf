// The order of the steps: match units, search for a difference, ask whether rounding explains it, prove.
#include "exhume/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "base/counted.h"
#include "base/stage_clock.h"
#include "compare/arithmetic.h"
#include "compare/black_box.h"
#include "compare/match.h"
#include "compare/parameters.h"
#include "compare/search.h"
#include "compare/split.h"
#include "exhume/error.h"

namespace exhume {
namespace {

constexpr Index kUsualBoxes = 20'000;

Vector spread_over(const Vector& given, Index inputs, const char* name) {
  if (given.size() == inputs) return given;
  if (given.size() == 1) return Vector::Constant(inputs, given(0));
  throw std::invalid_argument(
      fmt::format("{} has {} numbers, expected one for all inputs or {}", name, given.size(), inputs));
}

void set_domain(const CompareOptions& options, Index inputs, CompareResult& out) {
  if (options.rows.rows() > 0 && options.rows.cols() != inputs) {
    throw DataError(fmt::format("the rows of the domain have {} columns, the networks {} inputs",
                                options.rows.cols(), inputs));
  }
  out.domain_given = options.low.size() > 0 || options.rows.rows() > 0;
  if (options.low.size() > 0) {
    out.low = spread_over(options.low, inputs, "low");
    out.high = spread_over(options.high, inputs, "high");
  } else if (options.rows.rows() > 0) {
    out.low = options.rows.colwise().minCoeff();
    out.high = options.rows.colwise().maxCoeff();
  } else {
    out.low = Vector::Constant(inputs, -1);
    out.high = Vector::Constant(inputs, 1);
  }
  if (!out.low.allFinite() || !out.high.allFinite() || (out.low.array() > out.high.array()).any())
    throw std::invalid_argument("low is above high, or one of them is not a finite number");
}

Index inputs_of(const ComparedModel& model) {
  return model.network ? model.network->inputs() : model.oracle->inputs();
}

std::string weight_words(const MatchedUnit& unit) {
  if (unit.source < 0) return "bias";
  if (unit.source == 0) return fmt::format("weight on input {}", unit.first_from + 1);
  return fmt::format("weight on unit {} of layer {}", unit.first_from + 1, unit.source);
}

void list_units(const Matching& pair, const DifferenceResult& search, CompareResult& out) {
  std::size_t trigger = 0;
  const auto depth = static_cast<Index>(pair.first.depth());
  const std::vector<Trigger>& triggers = search.triggers;
  std::vector<Index> seen(static_cast<std::size_t>(depth), 0);  // units of each layer so far
  for (const MatchedUnit& unit : pair.units) {
    const Index place = unit.layer < depth ? seen[static_cast<std::size_t>(unit.layer)]++ : 0;
    ComparedUnit one;
    one.layer = unit.layer;
    one.first_row = unit.first_row;
    one.second_row = unit.second_row;
    if (unit.first_row >= 0 && unit.second_row >= 0) {
      if (unit.layer < depth) ++out.matched;
      if (unit.change <= kSameWeights) continue;
      one.change = unit.change;
      one.weight = weight_words(unit);
      one.first_weight = unit.first_weight;
      one.second_weight = unit.second_weight;
      out.changed.push_back(std::move(one));
      continue;
    }
    const bool extra = unit.second_row >= 0;
    const BlockLayer& layer = (extra ? pair.second : pair.first).layers[static_cast<std::size_t>(unit.layer)];
    const Matrix& block = layer.from.back();
    const Index width = block.size() != 0 ? block.cols() : 0;
    one.weights = Vector::Zero(width + 1);
    if (width > 0) one.weights.head(width) = block.row(place);
    one.weights(width) = layer.b(place);
    while (trigger < triggers.size() &&
           (static_cast<Index>(triggers[trigger].layer) != unit.layer || triggers[trigger].unit != place))
      ++trigger;
    if (trigger < triggers.size()) {
      one.acts = triggers[trigger].found;
      one.share = triggers[trigger].share;
      if (one.acts) one.input = triggers[trigger].input;
    }
    (extra ? out.extra : out.missing).push_back(std::move(one));
  }
  std::stable_sort(out.changed.begin(), out.changed.end(),
                   [](const auto& a, const auto& b) { return a.change > b.change; });
  if (!pair.same_units) return;
  for (std::size_t l = 0; l < pair.first.layers.size(); ++l) {
    const BlockLayer &p = pair.first.layers[l], &q = pair.second.layers[l];
    Matrix change = Matrix::Zero(p.units(), pair.first.units(l));
    if (q.from[l].size() != 0) change += q.from[l];
    if (p.from[l].size() != 0) change -= p.from[l];
    out.weight_changes.push_back(std::move(change));
  }
}

std::string number_words(std::size_t count, const char* one, const char* more) {
  return fmt::format("{} {}", count, count == 1 ? one : more);
}

std::string unit_words(const ComparedUnit& unit, bool second, Index depth) {
  const Index row = second ? unit.second_row : unit.first_row;
  if (row < 0) return "a unit";
  return unit.layer < depth ? fmt::format("unit {} of layer {}", row + 1, unit.layer + 1)
                            : fmt::format("output {}", row + 1);
}

// "32 units match, 1 is extra in the second model (unit 33 of layer 1)"
std::string units_sentence(const CompareResult& out, Index depth) {
  std::string text =
      fmt::format("{} {}", number_words(static_cast<std::size_t>(out.matched), "unit", "units"),
                  out.matched == 1 ? "matches" : "match");
  if (out.black_box) text.clear();
  constexpr const char* kMost = "most of all";  // changed ones stand in that order
  const auto add = [&](const std::vector<ComparedUnit>& list, const char* one, const char* more,
                       const char* which, bool second) {
    if (list.empty()) return;
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {}", list.size(), list.size() == 1 ? one : more);
    if (list[0].first_row >= 0 || list[0].second_row >= 0) {
      text += fmt::format(" ({}{})", list.size() == 1 ? "" : fmt::format("{}: ", which),
                          unit_words(list[0], second, depth));
    }
  };
  if (out.black_box) {
    add(out.changed, "unit has other weights", "units have other weights", kMost, false);
    return text;
  }
  // The outputs are rows too, but no units.
  std::vector<ComparedUnit> units = out.changed, outputs;
  std::erase_if(units, [&](const ComparedUnit& unit) {
    if (unit.layer >= depth) outputs.push_back(unit);
    return unit.layer >= depth;
  });
  add(units, "of them has other weights", "of them have other weights", kMost, false);
  add(outputs, "output has other weights", "outputs have other weights", kMost, false);
  add(out.missing, "is missing in the second model", "are missing in the second model", "the first", false);
  add(out.extra, "is extra in the second model", "are extra in the second model", "the first", true);
  return text;
}

std::string range_words(const CompareResult& out) {
  const bool one = (out.low.array() == out.low(0)).all() && (out.high.array() == out.high(0)).all();
  return one ? fmt::format("[{:g}, {:g}]^{}", out.low(0), out.high(0), out.low.size())
             : fmt::format("the box of {} inputs", out.low.size());
}

std::string bound_words(const CompareResult& out) {
  if (!std::isfinite(out.upper)) return "";
  return fmt::format("over {} it is proved that {:.3g} <= max |f - g| <= {:.3g}", range_words(out), out.lower,
                     out.upper);
}

// The parts that are not empty, with "; " between them.
std::string sentence(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts)
    if (!part.empty()) text += (text.empty() ? "" : "; ") + part;
  return text;
}

// The units that changed most, with what their changed weight reads.
std::vector<WatchedUnit> changed_most(const Matching& pair) {
  constexpr std::size_t kWatched = 8;
  std::vector<const MatchedUnit*> changed;
  for (const MatchedUnit& unit : pair.units)
    if (unit.change > kSameWeights) changed.push_back(&unit);
  std::stable_sort(changed.begin(), changed.end(), [](auto* a, auto* b) { return a->change > b->change; });
  std::vector<WatchedUnit> out;
  for (std::size_t k = 0; k < std::min(changed.size(), kWatched); ++k) {
    const MatchedUnit& unit = *changed[k];
    WatchedUnit watched{static_cast<std::size_t>(unit.layer), unit.place, 0, -1};
    if (unit.source > 0) {
      watched.from_layer = static_cast<std::size_t>(unit.source - 1);
      watched.from = unit.from_place;
    }
    out.push_back(watched);
  }
  return out;
}

// Boxes where none are given: ten seconds of one core, or, where a tolerance is to be decided and lies within
// the interval so far, a few minutes.
Index usual_budget(const Matching& pair, bool decides) {
  constexpr double kOperations = 2e11, kMost = 200'000, kLonger = 20;
  if (!pair.same_units) return kUsualBoxes;
  const double many =
      (decides ? kLonger : 1) *
      std::min(kMost, kOperations / std::max(PairBounds(pair.first, pair.second).cost(), 1.0));
  return std::max(kUsualBoxes, static_cast<Index>(many));
}

// The difference that was found, and no upper end.
SplitResult nothing_proved(const Vector& input, const SureDifference& sure) {
  SplitResult out;
  out.lower = sure(input.transpose())(0);
  out.upper = std::numeric_limits<double>::infinity();
  out.worst = input;
  return out;
}

void compare_networks(const Network& f, const Network& g, const CompareOptions& options,
                      const Control& control, CompareResult& out) {
  StageClock clock;
  const Matching pair = match_units(f, g, out.low, out.high, options.free_signs, options.seed);
  clock.lap("match");
  DifferenceOptions how;
  how.rows = options.rows;
  how.seed = options.seed;
  how.watched = changed_most(pair);
  const DifferenceResult search = find_difference(pair.first, pair.second, out.low, out.high, how, control);
  list_units(pair, search, out);
  out.random_differences = search.random_differences;
  out.row_differences = search.row_differences;
  const bool same_weights = pair.same_weights();
  if (!same_weights) out.arithmetic = storage_of_pair(f, g, pair);
  const double scale =
      evaluate(f, uniform_inputs(out.low, out.high, 64, options.seed, "compare scale")).cwiseAbs().maxCoeff();
  out.accepted = options.tolerance.value_or(kSameWeights * std::max(scale, kTiny));
  const auto sure = [&](const RowMatrix& x) { return sure_difference(f, g, x); };
  clock.lap("search");
  SplitOptions limits;
  limits.boxes = options.budget > 0 ? options.budget : usual_budget(pair, options.tolerance.has_value());
  limits.ratio = options.ratio;
  limits.accept = out.accepted;
  limits.boxes_decided = options.tolerance
                             ? limits.boxes
                             : std::max<Index>(1, (options.budget > 0 ? options.budget : kUsualBoxes) / 10);
  // Without a tolerance a difference is decided, but how large it may get is worth knowing.
  if (options.tolerance) limits.refuse = out.accepted;
  const SplitResult proof = pair.same_units ? split(PairBounds(pair.first, pair.second), out.low, out.high,
                                                    search.input, sure, limits, control)
                                            : nothing_proved(search.input, sure);
  out.lower = proof.lower;
  out.upper = proof.upper;
  out.boxes = proof.boxes;
  out.leaves = proof.leaves;
  out.tree = proof.tree;
  const bool searched = search.input.size() > 0 && search.worst > proof.lower;
  out.worst_input = searched ? search.input : proof.worst;
  const RowMatrix a = evaluate(f, out.worst_input.transpose()), b = evaluate(g, out.worst_input.transpose());
  out.first_outputs = a.row(0);
  out.second_outputs = b.row(0);
  // Both are rounded: what is found is never said to be above what is proved.
  out.worst_difference = std::min((a - b).cwiseAbs().maxCoeff(), std::max(out.lower, out.upper));
  clock.lap("proof");

  const Index depth = static_cast<Index>(pair.first.depth());
  const std::string units = pair.same_units ? units_sentence(out, depth) : "", bound = bound_words(out);
  for (const auto& [list, name] :
       {std::pair(&pair.folded_first, &out.first), std::pair(&pair.folded_second, &out.second)}) {
    if (!list->empty()) {
      out.remarks.push_back(
          fmt::format("{} of {} on in the whole domain and without a counterpart: treated as linear.",
                      number_words(list->size(), "unit is", "units are"), *name));
    }
  }
  if (!pair.same_units) {
    out.remarks.push_back(fmt::format(
        "The units of {} are {}, those of {} are {}: none are matched, and no upper bound is proved.",
        out.first, f.activation, out.second, g.activation));
  } else if (f.activation == "sigmoid" || g.activation == "sigmoid") {
    out.remarks.emplace_back("Sigmoids are compared as tanh: weights are stated in that scale.");
  }
  if (!pair.same_depth) {
    out.remarks.push_back(
        fmt::format("The number of hidden layers differs: {} and {}.", f.depth(), g.depth()));
  }
  for (const ComparedUnit& unit : out.extra) {
    if (!unit.acts) {
      out.remarks.push_back(fmt::format(
          "No input of the domain was found that activates the extra {}; it may be active outside.",
          unit_words(unit, true, depth)));
      break;
    }
  }
  const bool different = out.lower > out.accepted;
  if (options.tolerance) {
    if (different) {
      out.verdict = CompareVerdict::kDifferent;
    } else if (out.upper > out.accepted) {
      out.verdict = CompareVerdict::kUndecided;
    } else if (same_weights) {
      out.verdict = CompareVerdict::kSameNetwork;
    } else {
      out.verdict = out.arithmetic.empty() ? CompareVerdict::kSameFunction : CompareVerdict::kRounding;
    }
  } else if (same_weights && !different) {
    out.verdict = CompareVerdict::kSameNetwork;
  } else if (!out.arithmetic.empty()) {
    out.verdict = CompareVerdict::kRounding;
  } else if (different) {
    out.verdict = CompareVerdict::kDifferent;
  } else {
    out.verdict = out.upper <= out.accepted ? CompareVerdict::kSameFunction : CompareVerdict::kUndecided;
  }
  switch (out.verdict) {
    case CompareVerdict::kSameNetwork:
      out.reason = sentence(
          {fmt::format("the same network: {}, {}", units,
                       pair.worst_change > 0 ? fmt::format("weights agree to {:.1e}", pair.worst_change)
                                             : "their weights are equal"),
           bound});
      break;
    case CompareVerdict::kSameFunction:
      out.reason = sentence({fmt::format("the same function to {:.3g}: {}", out.accepted, bound), units});
      break;
    case CompareVerdict::kRounding:
      out.reason = sentence(
          {fmt::format("only rounding: the weights of one are those of the other in {}", out.arithmetic),
           bound});
      break;
    case CompareVerdict::kDifferent:
      out.reason = sentence(
          {fmt::format("different by {:.3g} at the worst input found", out.worst_difference), units, bound});
      break;
    case CompareVerdict::kUndecided:
      out.reason = sentence({bound.empty()
                                 ? fmt::format("undecided: no difference above {:.3g} was found, and "
                                               "nothing is proved",
                                               out.accepted)
                                 : fmt::format("undecided: {}, and {:.3g} lies between", bound, out.accepted),
                             units});
      break;
  }
  if (different) add_simple_input(options.rows, sure, out);
  out.parameters = compare_parameters(f, g, options.free_signs);
  out.certificate.timings = clock.laps();
}

// How answers are explained, up to the number that says how far they are off.
std::string rounding_words(const CompareResult& out, Index depth) {
  if (depth < 0) return fmt::format("the answers agree to {}, off by", out.arithmetic);
  if (out.arithmetic.rfind("weights", 0) == 0)
    return fmt::format("the answers are those of the file with {}, off by", out.arithmetic);
  return fmt::format("the answers differ from the file's as evaluation in {} does, by", out.arithmetic);
}

// depth: of the file; -1 where both are black boxes.
void black_box_words(CompareResult& out, Index depth) {
  const std::string asked =
      out.kink_queries > 0 ? fmt::format("{} queries, {} of them random and {} beside the file's kinks",
                                         out.queries, out.random_queries, out.kink_queries)
                           : fmt::format("{} queries, {} of them random", out.queries, out.random_queries);
  const std::string unseen =
      fmt::format("if they differ {}anywhere, then with confidence {:g} on less than {:.2g} of the domain",
                  out.tolerance ? fmt::format("by more than {:g} ", *out.tolerance) : "", out.confidence,
                  out.unseen_share);
  switch (out.verdict) {
    case CompareVerdict::kDifferent:
      out.reason =
          std::isfinite(out.worst_difference)
              ? fmt::format("different by {:.3g} at the worst input found, with {}", out.worst_difference,
                            asked)
              : fmt::format("different: an answer is not a finite number at the worst input found, with {}",
                            asked);
      if (!out.changed.empty()) out.reason += fmt::format("; {}", units_sentence(out, depth));
      break;
    case CompareVerdict::kRounding:
      out.reason = fmt::format("only rounding: {} {:.3g} at most in {}; {}", rounding_words(out, depth),
                               out.worst_difference, asked, unseen);
      break;
    case CompareVerdict::kUndecided:
      break;  // said where it was found
    default:
      out.reason = fmt::format("the same function as far as queries show: off by {:.3g} at most in {}; {}",
                               out.worst_difference, asked, unseen);
  }
}

// The certificate of what was found.
void certify(const CompareOptions& options, CompareResult& out) {
  Certificate& certificate = out.certificate;
  certificate.status = !out.same()                                  ? Status::kUncertified
                       : out.black_box || !std::isfinite(out.upper) ? Status::kEstimated
                                                                    : Status::kCertified;
  certificate.reason = out.reason;
  certificate.route = out.black_box ? "queries" : "proof over boxes";
  certificate.seed = options.seed;
  certificate.remarks = out.remarks;
  const auto list = [](const Vector& v) {
    std::string text;
    for (Index i = 0; i < v.size(); ++i) text += fmt::format("{}{:.17g}", i == 0 ? "" : ",", v(i));
    return text;
  };
  auto& said = certificate.options;
  said.emplace_back("low", list(out.low));
  said.emplace_back("high", list(out.high));
  if (out.tolerance) said.emplace_back("tolerance", fmt::format("{:.17g}", *out.tolerance));
  said.emplace_back("free_signs", options.free_signs ? "true" : "false");
  if (out.black_box) {
    said.emplace_back("queries", fmt::format("{}", options.queries));
    said.emplace_back("confidence", fmt::format("{:.17g}", options.confidence));
    said.emplace_back("inside", options.inside ? "true" : "false");
  } else {
    if (options.budget > 0) said.emplace_back("budget", fmt::format("{}", options.budget));
  }
  if (out.same()) {
    certificate.conclusion = out.reason;
    if (out.black_box)
      certificate.assumed.emplace_back(
          "the black box answers these queries as it answers those of other users");
  }
}

}  // namespace

const char* to_string(CompareVerdict verdict) {
  switch (verdict) {
    case CompareVerdict::kSameNetwork:
      return "same_network";
    case CompareVerdict::kSameFunction:
      return "same_function";
    case CompareVerdict::kRounding:
      return "rounding";
    case CompareVerdict::kDifferent:
      return "different";
    case CompareVerdict::kUndecided:
      return "undecided";
  }
  return "";
}

void CompareOptions::validate() const {
  if (tolerance && !(*tolerance >= 0))
    throw std::invalid_argument(fmt::format("tolerance is {:g}, expected at least 0", *tolerance));
  if (low.size() != high.size()) throw std::invalid_argument("low and high belong together: give both");
  if (low.size() > 0 && (low.array() == high.array()).all())
    throw std::invalid_argument("low equals high for every input: the domain is one point; widen it");
  if (budget < 0) throw std::invalid_argument(fmt::format("budget is {}, expected at least 0", budget));
  if (queries < 1) throw std::invalid_argument(fmt::format("queries is {}, expected at least 1", queries));
  if (!(ratio >= 1)) throw std::invalid_argument(fmt::format("ratio is {:g}, expected at least 1", ratio));
  if (!(confidence > 0 && confidence < 1))
    throw std::invalid_argument(fmt::format("confidence is {:g}, expected between 0 and 1", confidence));
}

CompareResult compare(const ComparedModel& first, const ComparedModel& second, const CompareOptions& options,
                      const Control& control) {
  options.validate();
  CompareResult out;
  out.first = first.name;
  out.second = second.name;
  out.tolerance = options.tolerance;
  out.accepted = options.tolerance.value_or(0);
  out.black_box = !first.network || !second.network;
  const Index inputs = inputs_of(first);
  const bool files = first.network && second.network;
  const auto other_shape = [&](Index p, Index q, const char* what) {
    out.verdict = CompareVerdict::kDifferent;
    out.worst_difference = std::numeric_limits<double>::infinity();
    out.reason = fmt::format("different: {} has {}, {} has {}", first.name, counted(p, what), second.name, q);
    if (files) out.parameters = compare_parameters(*first.network, *second.network, options.free_signs);
    certify(options, out);
    return out;
  };
  if (inputs != inputs_of(second)) return other_shape(inputs, inputs_of(second), "input");
  if (files && first.network->outputs() != second.network->outputs())
    return other_shape(first.network->outputs(), second.network->outputs(), "output");
  set_domain(options, inputs, out);
  if (files) {
    compare_networks(*first.network, *second.network, options, control, out);
  } else if (first.network || second.network) {
    const Network& file = first.network ? *first.network : *second.network;
    compare_black_box(file, *(first.network ? second : first).oracle, options, control, out);
    if (!first.network) std::swap(out.first_outputs, out.second_outputs);
    black_box_words(out, file.depth());
  } else {
    compare_two_black_boxes(*first.oracle, *second.oracle, options, control, out);
    black_box_words(out, -1);
  }
  certify(options, out);
  return out;
}

}  // namespace exhume
