#include "fit/deep/noise_watch.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "fit/deep/in_noise.h"
#include "fit/deep/prune.h"

namespace exhume {
namespace {

// A student's error on rows that were not fitted, over that of another, from which on rows are looked at for noise,
// and from which on a wider one is no gain.
constexpr double kHardlyBetter = 0.3, kNoGain = 0.8;
constexpr double kNoisySteps = 20'000;
constexpr double kNoisyFlops = 2e11;           // of one step on all rows
constexpr std::uint64_t kInNoise = 3'000'003;  // number of the first student that is shown all rows alike

}  // namespace

void NoiseWatch::look(const Form& form, bool polished) {
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
    start = trials_.taught(lesson, false).form;
  }
  for (std::size_t l = 0; l < start.depth(); ++l)
    start = merge_units(start, l, kTwins, trials_.rows(), control);
  std::optional<DeepFound> found = finished_in_noise(start, trials_.rows(), structure_left, control);
  if (found) trials_.settle(std::move(*found));
}

}  // namespace exhume
