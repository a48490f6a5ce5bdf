#include "report/extract/extraction_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <utility>

#include "base/blas.h"
#include "certify/certificate_json.h"
#include "certify/entry_check.h"
#include "certify/stored_precision.h"
#include "exhume/error.h"
#include "exhume/extract.h"
#include "exhume/version.h"
#include "extract/moves/confirm.h"
#include "extract/moves/probe.h"
#include "oracle/logged_samples.h"
#include "report/certificate_diff.h"
#include "report/report.h"

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
    check_kind();
    LogContents contents;
    try {
      contents = parse_query_log(log_, "queries.log");
    } catch (const DataError& error) {
      bad("log", error.what());
      return std::move(out_);
    }
    check_log(contents);
    if (!check_header(contents)) return std::move(out_);
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

  void leave(std::string part, std::string what) {
    out_.findings.push_back({std::move(part), Outcome::kUnchecked, std::move(what)});
  }
  [[nodiscard]] bool claims() const {
    const std::string status = words(at(json_, "status"));
    return status == to_string(Status::kCertified) || status == to_string(Status::kEstimated);
  }
  // Queries of a seed were others before; so were the names of the log and of a key.
  [[nodiscard]] bool is_earlier() const {
    if (words(at(json_, "version")) != kVersion || !at(json_, "fresh_questions").is_null()) return true;
    const auto& written = document_.certificate.written;
    return std::any_of(written.begin(), written.end(), [](const FileDigest& file) {
      return file.path.ends_with(".log") && file.path != "queries.log";
    });
  }
  // Bits of a product are those of the kernels that made it.
  [[nodiscard]] bool of_another_machine() const {
    return !document_.certificate.host.ends_with("kernels for " + blas_kernels());
  }
  // Why an honest folder might not be replayed here; empty where there is no such reason.
  [[nodiscard]] std::string excuse() const {
    if (is_earlier()) {
      return fmt::format(
          "it was extracted by an earlier program (version {}), which drew other queries for a seed than "
          "this "
          "one, so that the extraction cannot be made again",
          words(at(json_, "version")));
    }
    if (of_another_machine()) {
      return fmt::format("it was extracted on another kind of machine ({}), whose last bits are others",
                         document_.certificate.host);
    }
    return "";
  }

  void check_kind() {
    const std::string kind = words(at(json_, "kind")), status = words(at(json_, "status"));
    if (kind != "extracted network")
      bad("certificate", fmt::format("it is about a result of kind '{}', which this is not", kind));
    if (!claims() && status != to_string(Status::kUncertified))
      bad("certificate", fmt::format("its status '{}' is none", status));
    const Json& hidden = at(json_, "hidden_units");
    const bool same = number_of(at(json_, "inputs")) == static_cast<double>(network_.inputs()) &&
                      number_of(at(json_, "outputs")) == static_cast<double>(network_.outputs()) &&
                      hidden == (network_.depth() > 1 ? Json(network_.widths()) : Json(network_.hidden()));
    if (!same) bad("network", "its shape is not the one that the certificate states");
    for (const Json& check : at(json_, "assumptions")) {
      if (claims() && is_true(at(check, "required")) && !is_true(at(check, "holds"))) {
        bad("certificate",
            fmt::format("it says {}, but '{}' does not hold", status, words(at(check, "name"))));
      }
    }
  }

  // What the header states has to be possible before anything is made of it.
  bool check_header(const LogContents& contents) {
    const Json head = parsed(contents.header);
    Index asked = 0;
    bool shapes = !contents.blocks.empty();
    for (const LoggedBlock& block : contents.blocks) {
      asked += block.queries.count();
      const Queries& q = block.queries;
      shapes = shapes && block.answers.cols() == contents.blocks.front().answers.cols() &&
               (q.plain ? q.rows.cols() == network_.inputs() && q.direction.empty()
                        : q.rows.cols() <= network_.inputs()) &&
               std::all_of(q.direction.begin(), q.direction.end(),
                           [&](std::int32_t i) { return i >= 0 && i < network_.inputs(); });
    }
    const auto whole = [&](const char* key, Index least, Index most) {
      const Json& value = at(head, key);
      return value.is_number_integer() && value.get<double>() >= static_cast<double>(least) &&
             value.get<double>() <= static_cast<double>(most);
    };
    constexpr Index kMostDimensions = 1 << 20;
    const bool possible =
        head.is_object() && shapes && whole("inputs", network_.inputs(), network_.inputs()) &&
        whole("dimensions", 1, kMostDimensions) && whole("fresh", 1, asked) &&
        at(head, "seed").is_number_unsigned() && at(head, "low").type() == at(head, "high").type() &&
        (at(head, "low").is_null() || at(head, "low").is_number() || at(head, "low").is_array()) &&
        contents.blocks.front().answers.cols() == network_.outputs();
    if (!possible)
      bad("log", "its header or its shapes are none that an extraction of this network could have");
    return possible;
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
    if (!at(json_, "queries_limit").is_null() && !(limit >= 1)) {
      bad("certificate", "its limit of queries is none");
    } else if (static_cast<double>(asked) != stated) {
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
    // Coordinates of an earlier program are in a frame that this one does not draw: of its queries those that
    // were asked as they stand can be looked at, all random ones among them.
    if (is_earlier())
      std::erase_if(contents.blocks, [](const LoggedBlock& block) { return !block.queries.plain; });
    if (contents.blocks.empty()) {
      leave("network", "no logged query can be asked of it again");
      return;
    }
    const SamplePtr samples = logged_samples(frame, std::move(contents.blocks));
    if (!logits) stored = stored_precision(*samples, control_);
    out_.whole = verify(network_, *samples, control_);
    const EntryModel model(network_, nullptr, nullptr);
    const EntryCheck check = check_entries(model, *samples, stored, false, {}, control_);
    if (check.reproduced()) {
      good("network",
           fmt::format("it answers all {} logged queries to the oracle's precision", samples->rows()));
    } else if (!claims()) {
      leave("network",
            fmt::format("it answers query {} {:.3g} off, and claims nothing", check.row + 1, check.gap));
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
      excused("fresh queries", "the log does not end with them");
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
      excused("fresh queries", "they are not those that the seed draws");
    }
  }

  [[nodiscard]] bool same(const ExtractResult& again) const {
    if (again.certificate.status == Status::kRefused) return false;
    const Alignment apart = align(network_, again.network);
    return apart.comparable && apart.worst_error <= kSameQuery;
  }

  // Bad, but for an honest folder that may be so.
  void excused(const std::string& part, const std::string& what) {
    if (const std::string why = excuse(); !why.empty()) {
      leave(part, why);
    } else if (claims()) {
      bad(part, what);
    } else {
      leave(part, what);
    }
  }

  void check_replay() {
    ExtractResult again;
    try {
      again = replay_extraction(log_, control_);
    } catch (const DataError& error) {
      excused("replay", fmt::format("the extraction cannot be made again from the log: {}", error.what()));
      return;
    } catch (const std::invalid_argument& error) {
      excused("replay", fmt::format("the extraction cannot be made again from the log: {}", error.what()));
      return;
    }
    if (!same(again)) {
      excused("replay", "the extraction made again from the log gives another network");
      return;
    }
    good("replay", "the extraction made again from the log gives this network");
    compare_document(again);
  }

  void compare_document(ExtractResult& again) {
    // What only the run itself knew; the rest of the page follows.
    const auto count = [&](const char* key) {
      const Json& value = at(json_, key);
      return value.is_number_integer() ? value.get<Index>() : Index{0};
    };
    again.limit = count("queries_limit");
    again.sent = count("queries_this_run");
    again.resumed = words(at(json_, "resumed"));
    again.log_digest = words(at(json_, "log_digest"));  // compared before
    again.certificate.input_names = document_.certificate.input_names;
    again.certificate.output_names = document_.certificate.output_names;
    DiffRules rules;
    rules.rounding = is_double_precision(again.precision);
    rules.same_version = !is_earlier();
    rules.open = {"queries_limit", "queries_this_run", "resumed"};
    const std::vector<std::string> found = differences(json_, make_document(again).json, rules);
    for (const std::string& what : found) bad("certificate", what);
    if (found.empty()) good("certificate", "its numbers are those that the extraction made again gives");
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
