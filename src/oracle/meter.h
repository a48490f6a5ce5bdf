// Questions that are counted, limited, kept and not asked twice.
//
//     ask(stage, questions)   ->   answers, n x m
//
// The limit is never passed: a batch that would pass it is not sent, and OutOfQuestions ends the work. Every
// batch is announced in the log before it leaves and written there with its answers (oracle/question_log.h).
// A question that was answered before is answered from memory, neither sent nor counted. Where the log holds answers from an
// earlier run, questions that are equal to the logged ones, bit for bit,
// are answered from it; without an oracle (replay) there are no others.
//
// Answers are checked: one row a question, as many outputs as before, all finite.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "exhume/control.h"
#include "exhume/oracle.h"
#include "oracle/frame.h"
#include "oracle/question_log.h"

namespace exhume {

// The limit does not allow the next batch.
class OutOfQuestions : public std::runtime_error {
 public:
  OutOfQuestions(std::string stage, Index wanted, Index left);
  std::string stage;
  Index wanted = 0, left = 0;
};

struct StageQuestions {
  std::string stage;
  Index questions = 0;
};

class Meter {
 public:
  // oracle: empty for a replay. limit: 0 for none. earlier: what a log holds that is to be gone on from.
  Meter(OraclePtr oracle, const Frame& frame, Index limit, QuestionLog& log, LogContents earlier,
        const Control& control);

  [[nodiscard]] RowMatrix ask(const std::string& stage, const Questions& questions);
  // The same, sent even where they were answered before: does the oracle answer alike?
  [[nodiscard]] RowMatrix ask_again(const std::string& stage, const Questions& questions);
  // The same for questions in the frame's subspace.
  [[nodiscard]] RowMatrix ask(const std::string& stage, const RowMatrix& u);

  [[nodiscard]] const Frame& frame() const { return *frame_; }
  // Questions from now on are in the coordinates of this turn of the frame.
  void turn(const Frame& turned) { frame_ = &turned; }
  [[nodiscard]] const Control& control() const { return control_; }
  [[nodiscard]] Index outputs() const { return outputs_; }  // 0 before the first answer
  [[nodiscard]] Index asked() const { return asked_; }      // all that ever left, those of the log included
  [[nodiscard]] Index sent() const { return sent_; }        // in this run
  [[nodiscard]] Index left() const;                         // to the limit
  [[nodiscard]] const std::vector<StageQuestions>& stages() const { return stages_; }
  // All questions so far, with the answers as they were read.
  [[nodiscard]] const std::vector<LoggedBlock>& history() const { return history_; }
  // Answers are read through this (probabilities as logits, say), those of before too; the log keeps them as
  // they came.
  void read_as(std::function<RowMatrix(const RowMatrix&)> reading);
  // How much of the work is done, for progress: questions expected in all.
  void expect(Index questions) { expected_ = questions; }

 private:
  [[nodiscard]] RowMatrix ask_new(const std::string& stage, const Questions& questions);
  [[nodiscard]] RowMatrix ask_block(const std::string& stage, const Questions& questions);
  [[nodiscard]] RowMatrix from_log(const std::string& stage, const Questions& questions);
  [[nodiscard]] RowMatrix send(const std::string& stage, const Questions& questions);
  void count(const std::string& stage, Index questions);

  OraclePtr oracle_;
  const Frame* frame_;
  Index limit_;
  QuestionLog& log_;
  LogContents earlier_;
  std::size_t next_ = 0;  // block of the log
  const Control& control_;
  Index outputs_ = 0, asked_ = 0, sent_ = 0, expected_ = 0;
  std::vector<StageQuestions> stages_;
  std::vector<LoggedBlock> history_;
  std::unordered_multimap<std::uint64_t, std::pair<std::size_t, Index>>
      places_;  // block and row, by the question's hash
  std::function<RowMatrix(const RowMatrix&)> reading_;
};

}  // namespace exhume
