#include "fit/deep/search.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/blas.h"
#include "fit/deep/finish.h"
#include "fit/deep/layers.h"
#include "fit/deep/prune.h"
#include "fit/deep/trials.h"

namespace exhume {
namespace {

constexpr double kLongFirst = 2.5;  // students of three layers train so many times longer before they widen
constexpr std::uint64_t kAgain = 1'000'003;  // number of the first student that looks for a plainer network

// Error of a student on rows that were not fitted, over that of the one before: above kHardlyBetter the rows
// are looked at for noise, and above kNoGain the wider student was no gain.
constexpr double kHardlyBetter = 0.3, kNoGain = 0.8;
constexpr double kNoisySteps = 20'000;
constexpr double kNoisyFlops = 2e11;           // most flops of one step on all rows
constexpr std::uint64_t kInNoise = 3'000'003;  // number of the first student that is shown all rows alike

// Is it noise that keeps students from getting further? Looked at where one does hardly better than one
// before it, on rows that neither has seen.
class NoiseWatch {
 public:
  explicit NoiseWatch(Trials& trials) : trials_(trials) {}

  // form: a student as trained, or as polished. Where what it leaves is noise, the least network that leaves
  // no more is the answer (finish_in_noise).
  void look_for_noise(const Form& form, bool polished) {
    const Control& control = trials_.control();
    const StructureLeft& structure_left = trials_.options().structure_left;
    if (!structure_left || control.out_of_time()) return;
    const double error = relative_error(form, trials_.unseen(), control), least = least_;
    least_ = std::min(least, error);
    overfits_ = !polished && error > kNoGain * least;
    const auto p = static_cast<double>(form.unknowns());
    const double flops = p * p * static_cast<double>(trials_.rows().y.size());
    if (error < kHardlyBetter * least || flops > kNoisyFlops) return;
    control.report("noise", 0);
    if (polished && structure_left(form) > 1) return;  // it has converged, and is not all there is
    Form start = form;
    if (!polished) {
      // One that is not shown the noisiest rows more often than others.
      Lesson lesson;
      lesson.widths.assign(static_cast<std::size_t>(trials_.options().depth), trials_.first_width());
      lesson.steps = kNoisySteps;
      lesson.number = kInNoise + trials_.students();
      start = trials_.train_student(lesson, false).form;
    }
    for (std::size_t l = 0; l < start.depth(); ++l)
      start = merge_units(start, l, kTwins, trials_.rows(), control);
    std::optional<DeepFound> found = finish_in_noise(start, trials_.rows(), structure_left, control);
    if (found) trials_.settle(std::move(*found));
  }
  // The last student did no better on rows that it did not see than one before.
  [[nodiscard]] bool overfits() const { return overfits_; }

 private:
  Trials& trials_;
  double least_ = 1;  // error on rows that were not fitted, of what no polish made exact
  bool overfits_ = false;
};

class Search {
 public:
  Search(const SampleSource& standard, const DeepSearchOptions& options, const Control& control)
      : options_(options),
        control_(control),
        trials_(standard, options, control),
        known_(trials_),
        by_layer_(trials_),
        noise_(trials_) {
    trials_.on_rough([this](const Polished& rough, bool polished) {
      if (polished) known_.remember(rough);
      noise_.look_for_noise(rough.form, polished);
    });
  }

  DeepFound run() {
    if (options_.first_layer.rows() > 0) {
      known_.search_above(options_.first_layer);
      return trials_.result(!trials_.exact());
    }
    const bool ended = search_by_students();
    if (ended) look_for_plainer();
    return trials_.result(!ended);
  }

 private:
  // Students, wider and longer ones, until one leads to the network; false where time ended first.
  bool search_by_students() {
    lesson_.widths.assign(static_cast<std::size_t>(options_.depth), trials_.first_width());
    if (options_.widths) {
      for (std::size_t l = 0; l < lesson_.widths.size(); ++l)
        lesson_.widths[l] = std::max<Index>(kLeastWidth, 3 * (*options_.widths)[l]);
    }
    const std::vector<Index> first_widths = lesson_.widths;
    lesson_.steps = kFirstSteps;
    for (; !trials_.ended(); ++lesson_.number) {
      if (control_.out_of_time()) return false;
      const bool deeper = options_.depth > 2;
      const double trained = deeper ? by_layer_.run_round(lesson_) : trials_.attempt(lesson_);
      if (!deeper && !trials_.ended() && !control_.out_of_time())
        known_.search_above_recurring(lesson_.number);
      const Index widest = *std::max_element(lesson_.widths.begin(), lesson_.widths.end());
      if (trained > kTrained / 10 && 2 * widest <= options_.most_width && !noise_.overfits()) {
        // Of three layers a student that is not wide enough and one that has not learnt for long enough look
        // alike, and the first costs four times as much to mend.
        if (deeper && lesson_.steps < kLongFirst * kFirstSteps) {
          lesson_.steps *= kLongFirst;
        } else {
          for (Index& w : lesson_.widths) w *= 2;
        }
      } else if (lesson_.steps < kMostSteps) {
        lesson_.steps *= kLonger;
      }
      if (noise_.overfits()) lesson_.widths = first_widths;
    }
    return true;
  }

  // Units that others could stand for are kept where no single one can go: once more on the first layer
  // alone, and once more from the beginning.
  void look_for_plainer() {
    const DeepFound& best = trials_.best();
    if (!trials_.exact() || best.plain || !best.minimal || best.form.V[0].rows() == 0) return;
    Lesson above;
    above.widths = best.form.widths();
    for (std::size_t l = 1; l < above.widths.size(); ++l)
      above.widths[l] = std::max<Index>(kLeastWidth, 2 * above.widths[l]);
    above.number = kAgain;
    above.known = {best.form.V[0]};
    trials_.attempt(above);
    if (trials_.best().plain || control_.out_of_time() || options_.depth > 2) return;
    lesson_.number = kAgain + 1;
    trials_.attempt(lesson_);
  }

  const DeepSearchOptions& options_;
  const Control& control_;
  Trials trials_;
  KnownLayers known_;
  LayerByLayer by_layer_;
  NoiseWatch noise_;
  Lesson lesson_;  // of the next student
};

}  // namespace

DeepFound deep_search(const SampleSource& standard, const DeepSearchOptions& options,
                      const Control& control) {
  const SingleThreadedBlas single;
  return Search(standard, options, control).run();
}

}  // namespace exhume
