// Queries that are counted, limited, kept and not asked twice.
//
//     ask(stage, queries)   ->   answers, n x m
//
// The limit is never passed: a batch that would pass it is not sent, and OutOfQueries ends the work. Every
// batch is announced in the log before it leaves and written there with its answers (oracle/query_log.h). A
// query that was answered before is answered from memory, neither sent nor counted. Where the log holds
// answers from an earlier run, queries that are equal to the logged ones, bit for bit, are answered from it;
// without an oracle (replay) there are no others.
//
// Answers are checked: one row per query, as many outputs as before, all finite.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "exhume/control.h"
#include "exhume/oracle.h"
#include "oracle/frame.h"
#include "oracle/query_log.h"
#include "oracle/stage.h"

namespace exhume {

// The limit does not allow the next batch.
class OutOfQueries : public std::runtime_error {
 public:
  OutOfQueries(QueryStage stage, Index wanted, Index left);
  QueryStage stage;
  Index wanted = 0, left = 0;
};

// A step of a search led to no place: a coordinate is infinite or not a number. Nothing was asked.
class NoPlace : public std::runtime_error {
 public:
  explicit NoPlace(QueryStage stage);
};

struct StageCount {
  QueryStage stage = QueryStage::kProbe;
  Index queries = 0;
};

// An answer of a log, and the one that its query gets now.
struct RepeatedAnswers {
  Eigen::RowVectorXd logged, now;
};

class Meter {
 public:
  // oracle: empty for a replay. limit: 0 for none. earlier: what a log holds that is to be gone on from.
  Meter(OraclePtr oracle, const Frame& frame, Index limit, QueryLog& log, LogContents earlier,
        const Control& control);

  [[nodiscard]] RowMatrix ask(QueryStage stage, const Queries& queries);
  // The same, sent even where they were answered before: does the oracle answer alike?
  [[nodiscard]] RowMatrix ask_again(QueryStage stage, const Queries& queries);

  [[nodiscard]] const Frame& frame() const { return *frame_; }
  [[nodiscard]] const Control& control() const { return control_; }
  [[nodiscard]] Index outputs() const { return outputs_; }  // 0 before the first answer
  [[nodiscard]] Index asked() const { return asked_; }      // all that ever left, those of the log included
  [[nodiscard]] Index sent() const { return sent_; }        // in this run
  // Answered so far, by the oracle or by the log: the same number at the same point of every run.
  [[nodiscard]] Index answered() const { return answered_; }
  [[nodiscard]] Index left() const;  // to the limit
  [[nodiscard]] Index limit() const { return limit_; }
  // A limit that is not the caller's may turn out to be too low.
  void raise_limit(Index limit) { limit_ = std::max(limit_, limit); }
  // Some queries of the log, spread over it, asked once more before anything else: they are counted, and
  // written down. None where there is no log or no oracle.
  [[nodiscard]] std::vector<RepeatedAnswers> repeat_logged(Index most);
  [[nodiscard]] const std::vector<StageCount>& stages() const { return stages_; }
  // All queries so far, with the answers as they were read.
  [[nodiscard]] const std::vector<LoggedBlock>& history() const { return history_; }
  // Answers are read through this (probabilities as logits, say), those of before too; the log keeps them as
  // they came.
  void read_as(std::function<RowMatrix(const RowMatrix&)> reading);
  // How much of the work is done, for progress: queries expected in all.
  void expect(Index queries) { expected_ = queries; }

 private:
  [[nodiscard]] RowMatrix ask_new(QueryStage stage, const Queries& queries);
  [[nodiscard]] RowMatrix ask_block(QueryStage stage, const Queries& queries);
  [[nodiscard]] RowMatrix from_log(QueryStage stage, const Queries& queries);
  [[nodiscard]] RowMatrix send(QueryStage stage, const Queries& queries);
  void count(QueryStage stage, Index queries);
  // The frame whose coordinates these queries are in: its own, or the last other one.
  [[nodiscard]] const Frame& frame_of(const Queries& queries);

  OraclePtr oracle_;
  const Frame* frame_;
  std::optional<Frame> other_;
  Index limit_;
  QueryLog& log_;
  LogContents earlier_;
  std::size_t next_ = 0;  // block of the log
  const Control& control_;
  Index outputs_ = 0, asked_ = 0, sent_ = 0, answered_ = 0, expected_ = 0;
  std::vector<StageCount> stages_;
  std::vector<LoggedBlock> history_;
  std::unordered_multimap<std::uint64_t, std::pair<std::size_t, Index>>
      places_;  // block and row, by the query's hash
  std::function<RowMatrix(const RowMatrix&)> reading_;
};

}  // namespace exhume
