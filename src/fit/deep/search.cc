#include "fit/deep/search.h"

#include <algorithm>

#include "base/blas.h"
#include "fit/deep/known_layers.h"
#include "fit/deep/layer_by_layer.h"
#include "fit/deep/noise_watch.h"
#include "fit/deep/trials.h"

namespace exhume {
namespace {

constexpr double kLongFirst = 2.5;           // times as many steps, before students of three layers get wider
constexpr std::uint64_t kAgain = 1'000'003;  // number of the students that look for a plainer network

class Search {
 public:
  Search(const SampleSource& standard, const DeepSearchOptions& options, const Control& control)
      : options_(options),
        control_(control),
        trials_(standard, options, control),
        known_(trials_),
        by_layer_(trials_),
        noise_(trials_) {
    trials_.tell_rough([this](const Polished& rough, bool polished) {
      if (polished) known_.remember(rough);
      noise_.look(rough.form, polished);
    });
  }

  DeepFound run() {
    if (options_.first_layer.rows() > 0) {
      known_.above(options_.first_layer);
      return trials_.result(!trials_.exact());
    }
    const bool ended = by_students();
    if (ended) once_more();
    return trials_.result(!ended);
  }

 private:
  // Students, wider and longer ones, until one leads to the network; false where time ended first.
  bool by_students() {
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
      const double trained = deeper ? by_layer_.round(lesson_) : trials_.attempt(lesson_);
      if (!deeper && !trials_.ended() && !control_.out_of_time()) known_.above_recurring(lesson_.number);
      const Index widest = *std::max_element(lesson_.widths.begin(), lesson_.widths.end());
      if (trained > kTrained / 10 && 2 * widest <= options_.most_width && !noise_.overfits()) {
        // Of three layers a student that is not wide enough and one that has not learnt for long enough look alike, and the first
        // costs four times as much to mend.
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

  // Units that others could stand for are kept where no single one can go: once more on the first layer alone, and
  // once more from the beginning.
  void once_more() {
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
