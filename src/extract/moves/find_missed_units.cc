#include "extract/moves/find_missed_units.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"
#include "extract/evidence.h"
#include "extract/line_units.h"

namespace exhume {
namespace {

// Chosen by experience on random and digit-trained networks; not derived.
struct FindMissedUnitsLimits {
  // What is left over the noise and the model's own errors, up to which nothing is.
  double nothing = 100;
  // Errors of the model's values as a share of its terms, in relative noises of the answers.
  double model_error = 100;
  int rounds = 12;
};
constexpr FindMissedUnitsLimits kMissed;

class MissedUnitFinder {
 public:
  MissedUnitFinder(Meter& meter, SeparableModel& model, const MissedOptions& options)
      : space_{&meter, &meter.frame(), options.noise, true}, model_(model), options_(options) {}

  Index run() {
    const Index before = model_.units();
    int lines = 0;
    // Inputs that were queried before, outside the subspace.
    for (const LoggedBlock& block : space_.meter->history()) {
      if (!block.queries.plain) continue;
      append_rows(earlier_x_, block.queries.rows);
      append_rows(earlier_y_, block.answers);
    }
    for (int round = 0; round < kMissed.rounds; ++round) {
      x_ = domain_inputs(*space_.frame, options_.spread, options_.seed,
                         static_cast<std::uint64_t>(round * options_.queries), options_.queries);
      y_ = space_.ask(QueryStage::kSearch, x_);
      const RowMatrix x = x_, y = y_;
      append_rows(x_, earlier_x_);
      append_rows(y_, earlier_y_);
      append_rows(earlier_x_, x);
      append_rows(earlier_y_, y);
      std::vector<bool> given_up(static_cast<std::size_t>(x_.rows()), false);
      if (worst(given_up) < 0) break;
      for (Index at = worst(given_up); at >= 0 && lines < options_.most_lines; at = worst(given_up)) {
        if (!follow(x_.row(at), lines++)) given_up[static_cast<std::size_t>(at)] = true;
      }
      if (lines >= options_.most_lines) break;
    }
    return model_.units() - before;
  }

 private:
  // The input at which most is left, or -1 where nothing is.
  [[nodiscard]] Index worst(const std::vector<bool>& given_up) const {
    const RowMatrix left = y_ - evaluate(model_, x_);
    const Vector terms = term_sizes(model_, x_);
    double most = kMissed.nothing;
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
    task.model_error = kMissed.model_error * options_.noise.relative;
    task.seed = sub_seed(options_.seed, "missed", line);
    return units_of_line(space_, task, model_).changed > 0;
  }

  Space space_;
  SeparableModel& model_;
  const MissedOptions& options_;
  RowMatrix x_, y_;                  // inputs of this round, and those of before
  RowMatrix earlier_x_, earlier_y_;  // the latter
};

}  // namespace

Index find_missed_units(Meter& meter, SeparableModel& model, const MissedOptions& options) {
  return MissedUnitFinder(meter, model, options).run();
}

}  // namespace exhume
