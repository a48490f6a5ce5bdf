#include "oracle/meter.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>
#include <utility>

#include "exhume/error.h"

namespace exhume {
namespace {

constexpr int kTries = 4;
constexpr auto kFirstWait = std::chrono::milliseconds(200);  // doubled from try to try

bool same(const Queries& a, const Queries& b) {
  return a.plain == b.plain && a.turn == b.turn && a.rows.rows() == b.rows.rows() &&
         a.rows.cols() == b.rows.cols() && a.rows == b.rows && a.direction == b.direction &&
         a.step.size() == b.step.size() && a.step == b.step;
}

bool same_row(const Queries& a, Index i, const Queries& b, Index j) {
  return a.plain == b.plain && a.turn == b.turn && a.rows.cols() == b.rows.cols() &&
         std::memcmp(a.rows.row(i).data(), b.rows.row(j).data(),
                     sizeof(double) * static_cast<std::size_t>(a.rows.cols())) == 0 &&
         a.direction.empty() == b.direction.empty() &&
         (a.direction.empty() ||
          (a.direction[static_cast<std::size_t>(i)] == b.direction[static_cast<std::size_t>(j)] &&
           a.step(i) == b.step(j)));
}

// FNV-1a over its bits.
std::uint64_t hash_of(const Queries& queries, Index i) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  const auto mix = [&](std::uint64_t value) { hash = (hash ^ value) * 0x100000001b3u ^ (hash >> 29); };
  mix((queries.plain ? 1u : 0u) + 2 * queries.turn);
  for (Index c = 0; c < queries.rows.cols(); ++c) mix(std::bit_cast<std::uint64_t>(queries.rows(i, c)));
  if (!queries.direction.empty()) {
    mix(static_cast<std::uint64_t>(queries.direction[static_cast<std::size_t>(i)]));
    mix(std::bit_cast<std::uint64_t>(queries.step(i)));
  }
  return hash;
}

Queries chosen(const Queries& all, const std::vector<Index>& rows) {
  Queries out;
  out.plain = all.plain;
  out.turn = all.turn;
  out.rows = all.rows(rows, Eigen::all);
  if (!all.direction.empty()) {
    for (const Index i : rows) out.direction.push_back(all.direction[static_cast<std::size_t>(i)]);
    out.step = all.step(rows);
  }
  return out;
}

}  // namespace

NoPlace::NoPlace(QueryStage stage)
    : std::runtime_error(fmt::format("a step of the stage '{}' led to no finite place", to_string(stage))) {}

OutOfQueries::OutOfQueries(QueryStage stage_now, Index wanted_now, Index left_now)
    : std::runtime_error(fmt::format("the limit leaves {} queries, and {} needs {} more", left_now,
                                     to_string(stage_now), wanted_now)),
      stage(stage_now),
      wanted(wanted_now),
      left(left_now) {}

Meter::Meter(OraclePtr oracle, const Frame& frame, Index limit, QueryLog& log, LogContents earlier,
             const Control& control)
    : oracle_(std::move(oracle)),
      frame_(&frame),
      limit_(limit),
      log_(log),
      earlier_(std::move(earlier)),
      control_(control),
      asked_(earlier_.lost + earlier_.again) {
  for (const LoggedBlock& block : earlier_.blocks) asked_ += block.queries.count();
  if (earlier_.lost > 0) count(QueryStage::kLost, earlier_.lost);
  if (earlier_.again > 0) count(QueryStage::kAgain, earlier_.again);
}

Index Meter::left() const {
  return limit_ == 0 || !oracle_ ? std::numeric_limits<Index>::max() : std::max<Index>(0, limit_ - asked_);
}

void Meter::count(QueryStage stage, Index queries) {
  const auto known =
      std::find_if(stages_.begin(), stages_.end(), [&](const auto& each) { return each.stage == stage; });
  if (known != stages_.end()) {
    known->queries += queries;
  } else {
    stages_.push_back({stage, queries});
  }
}

void Meter::read_as(std::function<RowMatrix(const RowMatrix&)> reading) {
  reading_ = std::move(reading);
  for (LoggedBlock& block : history_) block.answers = reading_(block.answers);
}

RowMatrix Meter::ask(QueryStage stage, const Queries& queries) {
  // Parts that answers of a log can be told by: their size does not depend on the oracle's.
  constexpr Index kPart = 4096;
  const Index n = queries.count();
  RowMatrix out;
  for (Index first = 0; first < n; first += kPart) {
    const Index count = std::min(kPart, n - first);
    const RowMatrix part = ask_new(stage, queries.part(first, count));
    if (out.size() == 0) out.resize(n, part.cols());
    out.middleRows(first, count) = part;
  }
  return out;
}

std::vector<RepeatedAnswers> Meter::repeat_logged(Index most) {
  std::vector<RepeatedAnswers> out;
  const std::vector<LoggedBlock>& blocks = earlier_.blocks;
  if (!oracle_ || blocks.empty()) return out;
  std::vector<Index> before;  // queries before block i
  Index all = 0;
  for (const LoggedBlock& block : blocks) {
    before.push_back(all);
    all += block.queries.count();
  }
  outputs_ = blocks.front().answers.cols();
  const Index count = std::min(most, all);
  for (Index i = 0; i < count; ++i) {
    // From the first to the last, evenly.
    const Index at = count == 1 ? 0 : i * (all - 1) / (count - 1);
    const auto block =
        static_cast<std::size_t>(std::upper_bound(before.begin(), before.end(), at) - before.begin() - 1);
    const Index row = at - before[block];
    const RowMatrix now = send(QueryStage::kAgain, blocks[block].queries.part(row, 1));
    out.push_back({blocks[block].answers.row(row), now.row(0)});
  }
  this->count(QueryStage::kAgain, count);
  return out;
}

RowMatrix Meter::ask_again(QueryStage stage, const Queries& queries) { return ask_block(stage, queries); }

// Those that were not answered before, and the others from memory.
RowMatrix Meter::ask_new(QueryStage stage, const Queries& queries) {
  const Index n = queries.count();
  std::vector<Index> fresh;
  std::vector<std::pair<std::size_t, Index>> from(static_cast<std::size_t>(n));
  std::unordered_multimap<std::uint64_t, Index> here;  // among the fresh ones
  const std::size_t next = history_.size();
  for (Index i = 0; i < n; ++i) {
    const std::uint64_t hash = hash_of(queries, i);
    auto& place = from[static_cast<std::size_t>(i)];
    bool known = false;
    for (auto [at, end] = places_.equal_range(hash); at != end && !known; ++at) {
      known = same_row(history_[at->second.first].queries, at->second.second, queries, i);
      if (known) place = at->second;
    }
    for (auto [at, end] = here.equal_range(hash); at != end && !known; ++at) {
      known = same_row(queries, fresh[static_cast<std::size_t>(at->second)], queries, i);
      if (known) place = {next, at->second};
    }
    if (known) continue;
    place = {next, static_cast<Index>(fresh.size())};
    here.emplace(hash, place.second);
    fresh.push_back(i);
  }
  RowMatrix answers(0, outputs_);
  if (!fresh.empty())
    answers = ask_block(stage, static_cast<Index>(fresh.size()) == n ? queries : chosen(queries, fresh));
  if (static_cast<Index>(fresh.size()) == n) return answers;
  RowMatrix out(n, outputs_);
  for (Index i = 0; i < n; ++i) {
    const auto& [block, row] = from[static_cast<std::size_t>(i)];
    out.row(i) = history_[block].answers.row(row);
  }
  return out;
}

RowMatrix Meter::ask_block(QueryStage stage, const Queries& queries) {
  control_.check();
  if (!queries.rows.allFinite() || !queries.step.allFinite()) throw NoPlace(stage);
  RowMatrix answers = from_log(stage, queries);
  const Index known = answers.rows(), n = queries.count();
  if (known > 0) outputs_ = answers.cols();
  if (known < n) {
    const RowMatrix others = send(stage, queries.part(known, n - known));
    answers.conservativeResize(n, others.cols());
    answers.bottomRows(n - known) = others;
  }
  outputs_ = answers.cols();
  count(stage, queries.count());
  answered_ += queries.count();
  if (reading_) answers = reading_(answers);  // may say that nothing can be read
  for (Index i = 0; i < n; ++i) places_.emplace(hash_of(queries, i), std::pair(history_.size(), i));
  history_.push_back({stage, queries, answers});
  const double share = expected_ > 0 ? static_cast<double>(asked_) / static_cast<double>(expected_) : 0;
  control_.report(fmt::format("{}: {} asked", to_string(stage), asked_), std::min(0.99, share));
  return answers;
}

// The first of the queries, as far as the log answers them: it holds what was asked at once, batch by batch.
RowMatrix Meter::from_log(QueryStage stage, const Queries& queries) {
  RowMatrix out(0, outputs_);
  while (out.rows() < queries.count() && next_ < earlier_.blocks.size()) {
    const LoggedBlock& block = earlier_.blocks[next_++];
    const Index known = out.rows(), count = block.queries.count();
    if (block.stage != stage || count > queries.count() - known ||
        !same(block.queries, queries.part(known, count)) ||
        (known > 0 && block.answers.cols() != out.cols())) {
      throw DataError(fmt::format(
          "the log's block {} ({}) holds other queries than those asked now ({}); it belongs to another "
          "extraction, version or machine: start a new log",
          next_, to_string(block.stage), to_string(stage)));
    }
    out.conservativeResize(known + count, block.answers.cols());
    out.bottomRows(count) = block.answers;
  }
  return out;
}

const Frame& Meter::frame_of(const Queries& queries) {
  const Index s = queries.rows.cols();
  const auto holds = [&](const Frame& frame) {
    return frame.turn() == queries.turn && frame.dimensions() >= s;
  };
  if (queries.plain || holds(*frame_)) return *frame_;
  if (!other_ || !holds(*other_)) other_ = frame_->turned(queries.turn, s);
  return *other_;
}

RowMatrix Meter::send(QueryStage stage, const Queries& queries) {
  const Index n = queries.count();
  if (!oracle_) {
    throw DataError(
        fmt::format("the log ends before {} queries of the stage {}; it is not that of a finished extraction",
                    n, to_string(stage)));
  }
  if (n > left()) throw OutOfQueries(stage, n, left());
  const RowMatrix x = frame_of(queries).inputs_at(queries);
  RowMatrix answers;
  const Index most = std::max<Index>(1, oracle_->batch_rows());
  for (Index first = 0; first < n; first += most) {
    const Index rows = std::min(most, n - first);
    auto wait = kFirstWait;
    for (int attempt = 1;; ++attempt) {
      if (rows > left()) throw OutOfQueries(stage, rows, left());
      log_.asking(rows);
      asked_ += rows;
      sent_ += rows;
      try {
        const RowMatrix part = oracle_->answer(x.middleRows(first, rows), control_);
        if (part.rows() != rows || part.cols() < 1) {
          throw DataError(
              fmt::format("{} gave {} rows of {} numbers to {} queries; it must give one row each",
                          oracle_->name(), part.rows(), part.cols(), rows));
        }
        if (outputs_ != 0 && part.cols() != outputs_) {
          throw DataError(
              fmt::format("{} gave {} outputs, and {} before", oracle_->name(), part.cols(), outputs_));
        }
        if (!part.allFinite()) {
          for (Index i = 0; i < part.size(); ++i) {
            if (std::isfinite(part.data()[i])) continue;
            throw DataError(fmt::format("{} answered query {} with {}; all outputs must be finite numbers",
                                        oracle_->name(), asked_ - rows + i / part.cols() + 1,
                                        part.data()[i]));
          }
        }
        if (answers.size() == 0) answers.resize(n, part.cols());
        outputs_ = part.cols();
        answers.middleRows(first, rows) = part;
        log_.answered({stage, queries.part(first, rows), part});
        break;
      } catch (const OracleFault& fault) {
        if (attempt == kTries) {
          throw DataError(
              fmt::format("{} failed {} times in a row: {}", oracle_->name(), kTries, fault.what()));
        }
        control_.check();
        std::this_thread::sleep_for(wait);
        wait *= 2;
      }
    }
  }
  return answers;
}

}  // namespace exhume
