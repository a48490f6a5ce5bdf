#include "exhume/extract.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/json.h"
#include "exhume/error.h"
#include "exhume/version.h"
#include "extract/moves/fill_columns.h"
#include "extract/scheduler.h"

namespace exhume {
namespace {

// Queries of several layers. Tuned on the networks of docs/extract.md: within a third of what was measured.
struct EstimateLimits {
  double checks = 1500, plane = 150, weight = 8, weight_of_output = 20;
};
constexpr EstimateLimits kEstimate;

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

Index estimate_queries(Index inputs, Index hidden, Index outputs, Index dimensions) {
  const auto d = static_cast<double>(inputs), k = static_cast<double>(hidden),
             m = static_cast<double>(outputs);
  const double s = std::min(static_cast<double>(dimensions), d);
  const double points = std::ceil(1.3 * (k + m) / m) + 2;
  const double within = k * (8 + s + 2) + 2 * (k * (s + 1) + (k + s + 1) * m) / m;
  const double alone = 2 * std::floor(points / static_cast<double>(kPointsPerWeakUnit));  // of weak units
  return static_cast<Index>(within + points * (d - s + 1) + alone * (d - s) + 700);
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
  const std::string head = header(inputs, oracle->name(), options);
  LogContents earlier;
  std::string resumed;
  std::optional<QueryLog> log;
  if (options.log.empty()) {
    log.emplace(head);
  } else if (options.resume && std::filesystem::exists(options.log)) {
    earlier = read_query_log(options.log);
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
    log.emplace(earlier, options.log);
  } else {
    log.emplace(head, options.log);
  }
  ExtractResult result =
      run_extraction(oracle, inputs, oracle->name(), options, *log, std::move(earlier), control);
  result.resumed = std::move(resumed);
  return result;
}

ExtractResult replay_extraction(const std::string& bytes, const Control& control) {
  LogContents contents = parse_query_log(bytes, "the log of queries");
  const Json head = parsed(contents.header);
  const ExtractOptions options = options_of(head);
  options.validate();
  const double inputs = number_of(at(head, "inputs"));
  if (!(inputs >= 1 && inputs < 1e9)) throw DataError("the log's header has no inputs");
  QueryLog log(contents.header);
  return run_extraction(nullptr, static_cast<Index>(inputs), words(at(head, "oracle")), options, log,
                        std::move(contents), control);
}

}  // namespace exhume
