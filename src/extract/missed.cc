#include "extract/missed.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"
#include "extract/line_units.h"

namespace exhume {
namespace {

constexpr const char* kStage = "search";
// What is left over the noise and the model's own errors, up to which nothing is.
constexpr double kNothing = 100;
// Errors of the model's values as a share of its terms, in relative noises of the answers.
constexpr double kModelError = 100;
constexpr int kRounds = 12;

class Search {
 public:
  Search(Meter& meter, SeparableModel& model, const MissedOptions& options)
      : space_{&meter, options.noise, true}, model_(model), options_(options) {}

  Missed run() {
    Missed out;
    const Index before = model_.units();
    int lines = 0;
    for (int round = 0; round < kRounds; ++round) {
      x_ = domain_inputs(space_.meter->frame(), options_.spread, options_.seed,
                         static_cast<std::uint64_t>(round * options_.questions), options_.questions);
      y_ = space_.ask(kStage, x_);
      add_history();
      std::vector<bool> given_up(static_cast<std::size_t>(x_.rows()), false);
      if (worst(given_up) < 0) {
        out.complete = true;
        break;
      }
      for (Index at = worst(given_up); at >= 0 && lines < options_.most_lines; at = worst(given_up)) {
        if (!follow(x_.row(at), lines++)) given_up[static_cast<std::size_t>(at)] = true;
      }
      if (lines >= options_.most_lines) break;
    }
    out.found = model_.units() - before;
    return out;
  }

 private:
  // Inputs that were asked about before, outside the subspace: the probe's, and those of earlier rounds.
  void add_history() {
    std::vector<const LoggedBlock*> blocks;
    for (const LoggedBlock& block : space_.meter->history()) {
      if (block.questions.plain && block.stage != "kinks" && block.stage != "jacobians")
        blocks.push_back(&block);
    }
    blocks.pop_back();  // those just asked
    Index rows = x_.rows();
    for (const LoggedBlock* block : blocks) rows += block->questions.count();
    RowMatrix x(rows, x_.cols()), y(rows, y_.cols());
    Index at = x_.rows();
    x.topRows(at) = x_;
    y.topRows(at) = y_;
    for (const LoggedBlock* block : blocks) {
      x.middleRows(at, block->questions.count()) = block->questions.rows;
      y.middleRows(at, block->questions.count()) = block->answers;
      at += block->questions.count();
    }
    x_ = std::move(x);
    y_ = std::move(y);
  }

  // The input at which most is left, or -1 where nothing is.
  [[nodiscard]] Index worst(const std::vector<bool>& given_up) const {
    const RowMatrix left = y_ - evaluate(model_, x_);
    const Vector terms = term_sizes(model_, x_);
    double most = kNothing;
    Index at = -1;
    for (Index i = 0; i < x_.rows(); ++i) {
      const double noise = options_.noise.at(std::max(terms(i), y_.row(i).cwiseAbs().maxCoeff()));
      const double size = left.row(i).cwiseAbs().maxCoeff() / noise;
      if (given_up[static_cast<std::size_t>(i)] || !(size > most)) continue;
      most = size;
      at = i;
    }
    return at;
  }

  bool follow(const Vector& to, int line) {
    const Vector p = space_.middle();
    const double length = (to - p).norm();
    LineTask task;
    task.p = p;
    task.v = (to - p) / length;
    task.low = 0;
    task.high = length;
    task.scale = length;
    task.intervals = 8;
    task.model_error = kModelError * options_.noise.relative;
    task.seed = options_.seed + 7919 * static_cast<std::uint64_t>(line + 1);
    return units_of_line(space_, task, model_).changed > 0;
  }

  Space space_;
  SeparableModel& model_;
  const MissedOptions& options_;
  RowMatrix x_, y_;
};

}  // namespace

RowMatrix domain_inputs(const Frame& frame, double spread, std::uint64_t seed, std::uint64_t first,
                        Index count) {
  RowMatrix x(count, frame.inputs());
  const Stream random(seed, "extract domain");
  if (frame.box().bounded()) {
    random.fill_uniform(first, x);
    x = (frame.box().low + (frame.box().high - frame.box().low) * x.array()).matrix();
  } else {
    random.fill_normal(first, x);
    x *= spread;
  }
  return x;
}

Missed missed_units(Meter& meter, SeparableModel& model, const MissedOptions& options) {
  return Search(meter, model, options).run();
}

}  // namespace exhume
