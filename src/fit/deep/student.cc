#include "fit/deep/student.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cmath>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "base/blas.h"
#include "base/random.h"
#include "base/remembered.h"
#include "fit/deep/device_student.h"
#include "fit/deep/schedule.h"

namespace exhume {
namespace {

using Floats = Eigen::MatrixXf;
using FloatMap = Eigen::Map<Floats>;

constexpr Index kChunkRows = 256;     // of a batch, each by one thread
constexpr Index kTurn = 256;          // steps between two choices of threads
constexpr Index kTryOtherEvery = 16;  // turns after which the other way is tried again
constexpr Index kPiece = 512;         // parameters that are updated at once

// One chunk of a batch: its rows through the student and back.
class Chunk {
 public:
  Chunk(const DeepForm& form, const Places& places, Index rows)
      : places_(places),
        P_(rows, places.layout.columns),
        g_(rows, places.layout.columns),
        E_(rows, places.m) {
    gradient = Eigen::VectorXf::Zero(places.size);
    for (const Matrix& v : form.V) {
      Q_.emplace_back(rows, v.rows());
      S_.emplace_back(rows, v.rows());
    }
    for (Index column : places.layout.ones) P_.col(column).setOnes();
  }

  // Rows [first, first + rows) of the data; `share` is 2 / (rows of the batch x outputs). No gradient for
  // units that are held.
  void run(const StudentData& data, Index first, float* parameters, float share, const Held& held) {
    const DeepLayout& layout = places_.layout;
    const Index rows = P_.rows();
    P_.middleCols(layout.inputs.first, layout.inputs.count) = data.x.middleRows(first, rows);
    const FloatMap C(parameters + places_.top, layout.columns, places_.m);
    for (std::size_t l = 0; l < Q_.size(); ++l) {
      const auto [to, units] = layout.hidden[l];
      const auto [from, count] = layout.below[l];
      const FloatMap V(parameters + places_.at[l], units, count);
      Q_[l].noalias() = P_.middleCols(from, count) * V.transpose();
      P_.middleCols(to, units) = Q_[l].cwiseAbs();
    }
    E_.noalias() = P_ * C;
    E_ -= data.y.middleRows(first, rows);
    squares = static_cast<double>(E_.squaredNorm());
    E_ *= share;
    FloatMap(gradient.data() + places_.top, layout.columns, places_.m).noalias() = P_.transpose() * E_;
    g_.noalias() = E_ * C.transpose();
    for (std::size_t l = Q_.size(); l-- > held.layers;) {
      const auto [to, units] = layout.hidden[l];
      const auto [from, count] = layout.below[l];
      S_[l] = (Q_[l].array() < 0).select(-g_.middleCols(to, units), g_.middleCols(to, units));
      FloatMap(gradient.data() + places_.at[l], units, count).noalias() =
          S_[l].transpose() * P_.middleCols(from, count);
      FloatMap(gradient.data() + places_.at[l], units, count).topRows(held.of(l)).setZero();
      if (l == held.layers) break;
      const FloatMap V(parameters + places_.at[l], units, count);
      g_.middleCols(from, count).noalias() += S_[l] * V;
    }
  }

  Eigen::VectorXf gradient;
  double squares = 0;

 private:
  const Places& places_;
  Floats P_, g_, E_;
  std::vector<Floats> Q_, S_;
};

// Together or alone, turn by turn, whichever was faster lately: where others keep the processor busy, threads wait for
// each other longer than they work. The result is the same.
class Pace {
 public:
  explicit Pace(bool only_alone) : only_alone_(only_alone), alone_(only_alone) {}

  [[nodiscard]] bool alone() const { return alone_; }
  void begin() {
    const bool better = seconds_[1] < seconds_[0];
    alone_ = only_alone_ || (turn_ % kTryOtherEvery == 1 ? !better : better);
    if (turn_ == 0 && !only_alone_) alone_ = false;
    began_ = Clock::now();
  }
  void end() {
    seconds_[alone_ ? 1 : 0] = std::chrono::duration<double>(Clock::now() - began_).count();
    ++turn_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  bool only_alone_, alone_;
  Index turn_ = 0;
  std::array<double, 2> seconds_{};  // of the last turn together, and alone
  Clock::time_point began_;
};

class Training {
 public:
  Training(const DeepForm& start, const StudentData& data, const StudentOptions& options,
           const Control& control)
      : start_(start),
        data_(data),
        options_(options),
        control_(control),
        rows_from_(&data),
        places_(start),
        held_(start, options) {
    const Index batch = std::min(options.batch, data.rows());
    const Index count = std::max<Index>(1, batch / kChunkRows);
    rows_ = batch / count;
    for (Index i = 0; i < count; ++i) chunks_.emplace_back(start, places_, rows_);
    first_ = second_ = Eigen::VectorXf::Zero(places_.size);
    parameters_ = places_.joined(start);
    learnt_ = places_.learnt_from(held_.layers);
  }

  Student run() {
    const Index workers = std::clamp<Index>(control_.workers(), 1, static_cast<Index>(chunks_.size()));
    std::barrier meet(workers);
    const auto together = [&](Index worker, Index from, Index to) {
      for (Index step = from; step < to; ++step) {
        if (worker == 0) begin(step);
        meet.arrive_and_wait();
        if (stop_) return;
        for (Index c = worker; c < static_cast<Index>(chunks_.size()); c += workers) chunk(c, step);
        meet.arrive_and_wait();
        if (worker == 0) tally();
        for (Index at = learnt_ + worker * kPiece; at < places_.size; at += workers * kPiece) piece(step, at);
        meet.arrive_and_wait();
      }
    };
    const auto alone = [&](Index from, Index to) {
      for (Index step = from; step < to; ++step) {
        begin(step);
        if (stop_) return;
        for (Index c = 0; c < static_cast<Index>(chunks_.size()); ++c) chunk(c, step);
        tally();
        for (Index at = learnt_; at < places_.size; at += kPiece) piece(step, at);
      }
    };
    Pace pace(workers == 1);
    const auto work = [&](Index worker) {
      for (Index from = 0; from < options_.steps && !stop_; from += kTurn) {
        const Index to = std::min(from + kTurn, options_.steps);
        if (worker == 0) pace.begin();
        meet.arrive_and_wait();
        if (!pace.alone()) together(worker, from, to);
        if (pace.alone() && worker == 0) alone(from, to);
        meet.arrive_and_wait();
        if (worker == 0) pace.end();
      }
    };
    std::vector<std::thread> threads;
    threads.reserve(static_cast<std::size_t>(workers));
    for (Index w = 1; w < workers; ++w) threads.emplace_back(work, w);
    work(0);
    for (std::thread& thread : threads) thread.join();
    if (failure_) std::rethrow_exception(failure_);
    return result();
  }

 private:
  // Pieces that do not depend on the number of threads: where vectors begin and end shows in the last bits.
  void piece(Index step, Index at) { update(step, at, std::min(at + kPiece, places_.size)); }

  void begin(Index step) {
    if (options_.hard_rows && looks_at(step, options_.steps)) {
      emphasised_ = data_.with_hard_rows(result().form, kHardShare,
                                         options_.seed + static_cast<std::uint64_t>(step), control_);
      rows_from_ = &*emphasised_;
    }
    if (step % kCheckEvery != 0) return;
    try {
      control_.check();
      control_.report("student", static_cast<double>(step) / static_cast<double>(options_.steps));
      if (control_.out_of_time()) {
        in_time_ = false;
        stop_ = true;
      }
    } catch (...) {
      failure_ = std::current_exception();
      stop_ = true;
    }
  }

  void chunk(Index c, Index step) {
    const Stream order(options_.seed, "student batches");
    const Index batch = rows_ * static_cast<Index>(chunks_.size());
    const auto places = static_cast<std::uint64_t>(rows_from_->rows() - batch + 1);
    const auto first = static_cast<Index>(order.below(places, static_cast<std::uint64_t>(step)));
    const float share = 2.0F / static_cast<float>(batch * places_.m);
    chunks_[static_cast<std::size_t>(c)].run(*rows_from_, first + c * rows_, parameters_.data(), share,
                                             held_);
  }

  void tally() {
    double squares = 0;
    for (const Chunk& chunk : chunks_) squares += chunk.squares;
    const double now = squares / static_cast<double>(rows_ * static_cast<Index>(chunks_.size()) * places_.m);
    mean_ = mean_ < 0 ? now : mean_ + (now - mean_) / kMeanOver;
  }

  // Adam on parameters [from, to).
  void update(Index step, Index from, Index to) {
    const Index size = to - from;
    if (size == 0) return;
    const Rate rate(options_, step);
    auto g = chunks_[0].gradient.segment(from, size);
    for (std::size_t c = 1; c < chunks_.size(); ++c) g += chunks_[c].gradient.segment(from, size);
    auto m = first_.segment(from, size), v = second_.segment(from, size);
    m += (1 - kFirstMean) * (g - m);
    v += (1 - kSecondMean) * (g.cwiseAbs2() - v);
    parameters_.segment(from, size).array() -=
        rate.scaled * m.array() / (rate.root * v.array().sqrt() + kEpsilon);
  }

  [[nodiscard]] Student result() const { return {places_.parted(start_, parameters_), mean_, in_time_}; }

  const DeepForm& start_;
  const StudentData& data_;
  const StudentOptions& options_;
  const Control& control_;
  std::optional<StudentData> emphasised_;  // with the hard rows of the last look
  const StudentData* rows_from_;           // which of the two is learnt from
  Places places_;
  Held held_;
  Index rows_ = 0;    // of a chunk
  Index learnt_ = 0;  // where the parameters begin that are learnt
  std::vector<Chunk> chunks_;
  Eigen::VectorXf parameters_, first_, second_;
  double mean_ = -1;
  std::atomic<bool> stop_{false};
  bool in_time_ = true;
  std::exception_ptr failure_;
};

}  // namespace

DeepForm random_student(Index inputs, Index outputs, const std::vector<Index>& widths, std::uint64_t seed) {
  DeepForm form;
  form.inputs = inputs;
  const auto uniform = [&](Index rows, Index cols, std::uint64_t number) {
    RowMatrix entries(rows, cols);
    Stream(seed + 1000 * number, "student").fill_uniform(0, entries);
    return Matrix((2 * entries.array() - 1) / std::sqrt(static_cast<double>(cols)));
  };
  Index columns = inputs + 1;
  for (std::size_t l = 0; l < widths.size(); ++l) {
    form.V.push_back(uniform(widths[l], columns, l));
    columns += widths[l];
  }
  form.C = uniform(outputs, columns, widths.size()).transpose();
  return form;
}

Student train(const DeepForm& start, const StudentData& data, const StudentOptions& options,
              const Control& control) {
  const SingleThreadedBlas single;
  Student student = remembered(control, "student", [&] {
    if (control.device) return train_on_device(control.device, start, data, options, control);
    return Training(start, data, options, control).run();
  });
  // Values, gradient by the values and gradient by the parameters: a product each.
  constexpr double kProducts = 6;
  control.spend(kProducts * static_cast<double>(options.steps) *
                static_cast<double>(std::min(options.batch, data.rows())) *
                static_cast<double>(Places(start).size));
  return student;
}

}  // namespace exhume
