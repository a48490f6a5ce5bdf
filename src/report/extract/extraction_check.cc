#include "report/extract/extraction_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "certify/certificate_json.h"
#include "certify/entry_check.h"
#include "certify/stored_precision.h"
#include "exhume/error.h"
#include "exhume/extract.h"
#include "extract/moves/confirm.h"
#include "extract/moves/probe.h"
#include "oracle/logged_samples.h"

namespace exhume {
namespace {

// Queries are made again from coordinates, off by the last bits on other machines.
constexpr double kSameQuery = 1e-9;

class Checker {
 public:
  Checker(const Document& document, const Network& network, const std::string& log, const Control& control)
      : document_(document), json_(document.json), network_(network), log_(log), control_(control) {}

  CertificateCheck run() {
    if (document_.sealed) {
      good("certificate", "its digest is that of its content");
    } else {
      bad("certificate", "its digest is not that of its content: it was edited");
    }
    LogContents contents = parse_query_log(log_, "queries.log");
    check_log(contents);
    check_answers(contents);
    check_replay();
    return std::move(out_);
  }

 private:
  void good(std::string part, std::string what) {
    out_.findings.push_back({std::move(part), Outcome::kGood, std::move(what)});
  }
  void bad(std::string part, std::string what) {
    out_.findings.push_back({std::move(part), Outcome::kBad, std::move(what)});
  }

  void check_log(const LogContents& contents) {
    if (contents.digest == words(at(json_, "log_digest")) && contents.dropped == 0) {
      good("log", "it is the log that the certificate speaks of");
    } else {
      bad("log", "it is not the log that the certificate speaks of");
    }
    Index asked = contents.lost + contents.again;
    for (const LoggedBlock& block : contents.blocks) asked += block.queries.count();
    const double stated = number_of(at(json_, "queries")), limit = number_of(at(json_, "queries_limit"));
    if (static_cast<double>(asked) != stated) {
      bad("log", fmt::format("it holds {} queries, the certificate states {}", asked, stated));
    } else if (static_cast<double>(asked) > limit) {
      bad("log", fmt::format("it holds {} queries, more than the limit of {}", asked, limit));
    } else {
      good("log", fmt::format("{} queries, as stated", asked));
    }
  }

  void check_answers(LogContents& contents) {
    const Json head = parsed(contents.header);
    const double stated = number_of(at(head, "inputs")), dimensions = number_of(at(head, "dimensions"));
    if (!(stated == static_cast<double>(network_.inputs())) || !(dimensions >= 1) ||
        contents.blocks.empty() || contents.blocks.back().answers.cols() != network_.outputs()) {
      bad("network", "it has other inputs or outputs than the log");
      return;
    }
    const Box box = logged_box(head);
    if (box.per_input() && box.lows.size() != network_.inputs()) {
      bad("network", "its domain has another number of inputs");
      return;
    }
    const Json& seed_json = at(head, "seed");
    const auto seed = seed_json.is_number_unsigned() ? seed_json.get<std::uint64_t>() : 0;
    const auto frame = std::make_shared<const Frame>(
        network_.inputs(), std::min(static_cast<Index>(dimensions), network_.inputs()), seed, box);
    const bool logits = words(at(json_, "reading")) == "logits";
    StoredPrecision stored;
    check_fresh(contents, *frame, seed);
    if (logits) {
      const bool logarithms = (contents.blocks.front().answers.array() <= 0).all();
      for (LoggedBlock& block : contents.blocks) block.answers = centred_logits(block.answers, logarithms);
    }
    const SamplePtr samples = logged_samples(frame, std::move(contents.blocks));
    if (!logits) stored = stored_precision(*samples, control_);
    out_.whole = verify(network_, *samples, control_);
    const EntryModel model(network_, nullptr, nullptr);
    const EntryCheck check = check_entries(model, *samples, stored, false, {}, control_);
    if (check.reproduced()) {
      good("network",
           fmt::format("it answers all {} logged queries to the oracle's precision", samples->rows()));
    } else {
      bad("network",
          fmt::format("it answers query {} {:.3g} off, {:.1f} times what the oracle's precision allows",
                      check.row + 1, check.gap, check.worst));
    }
  }

  void check_fresh(const LogContents& contents, const Frame& frame, std::uint64_t seed) {
    const double spread = number_of(at(json_, "spread")),
                 stated = number_of(
                     at(json_, at(json_, "fresh_queries").is_null() ? "fresh_questions" : "fresh_queries"));
    const auto count = stated >= 1 && stated < 1e9 ? static_cast<Index>(stated) : 0;
    // Every attempt is judged by fresh queries of its own: those of the last one are the certificate's.
    Index asked = 0;
    for (const LoggedBlock& block : contents.blocks)
      if (block.stage == QueryStage::kFresh && block.queries.plain) asked += block.queries.count();
    if (contents.blocks.back().stage != QueryStage::kFresh || count == 0 || asked < count ||
        !std::isfinite(spread)) {
      bad("fresh queries", "the log does not end with them");
      return;
    }
    const RowMatrix x = fresh_inputs(frame, spread, seed, static_cast<std::uint64_t>(asked - count), count);
    double apart = 0;
    Index from = count;
    for (std::size_t i = contents.blocks.size(); i-- > 0 && from > 0;) {
      const LoggedBlock& block = contents.blocks[i];
      if (block.stage != QueryStage::kFresh || !block.queries.plain) continue;
      const Index rows = std::min(from, block.queries.count());
      from -= rows;
      if (block.queries.rows.cols() != x.cols()) {
        apart = std::numeric_limits<double>::infinity();
        continue;
      }
      apart = std::max(
          apart, (x.middleRows(from, rows) - block.queries.rows.bottomRows(rows)).cwiseAbs().maxCoeff());
    }
    if (apart <= kSameQuery * std::max(1.0, x.cwiseAbs().maxCoeff())) {
      good("fresh queries", fmt::format("{} of them, those that the seed draws", count));
    } else {
      bad("fresh queries", "they are not those that the seed draws");
    }
  }

  [[nodiscard]] bool same(const ExtractResult& again) const {
    if (again.certificate.status == Status::kRefused) return false;
    const Alignment apart = align(network_, again.network);
    return apart.comparable && apart.worst_error <= kSameQuery;
  }

  void check_replay() {
    try {
      const ExtractResult again = replay_extraction(log_, control_);
      if (same(again)) {
        good("replay", "the extraction made again from the log gives this network");
      } else {
        bad("replay", "the extraction made again from the log gives another network");
      }
    } catch (const DataError& error) {
      out_.findings.push_back(
          {"replay", Outcome::kUnchecked, fmt::format("not made again: {}", error.what())});
    }
  }

  const Document& document_;
  const Json& json_;
  const Network& network_;
  const std::string& log_;
  const Control& control_;
  CertificateCheck out_;
};

}  // namespace

CertificateCheck check_extraction_from_log(const Document& document, const Network& network,
                                           const std::string& log, const Control& control) {
  return Checker(document, network, log, control).run();
}

}  // namespace exhume
