#include "exhume/recover_layers.h"

#include <optional>
#include <utility>
#include <vector>

namespace exhume {
namespace {

constexpr double kShallowShare = 0.2;  // of the budget, for one hidden layer
constexpr Index kDeepest = 3;
// Held-out error of a function that is found: more layers would not make it better.
constexpr double kFound = 1e-20;

}  // namespace

AnyDepth recover_layers(const SamplePtr& samples, const RecoverOptions& options, const Control& control) {
  RecoverOptions shallow = options;
  shallow.budget_seconds *= kShallowShare;
  RecoverResult one = recover(samples, shallow, control);
  if (one.status != Status::kUncertified || one.heldout_relative_mse < kFound) return one;
  std::optional<DeepResult> best;
  double left = options.budget_seconds - shallow.budget_seconds;
  for (Index layers = 2; layers <= kDeepest; ++layers) {
    DeepOptions deep;
    deep.layers = layers;
    deep.seed = options.seed;
    deep.budget_seconds = layers < kDeepest ? left / 2 : left;
    DeepResult result = recover_deep(samples, deep, control);
    for (const StageTime& stage : result.timings) left -= stage.seconds;
    std::vector<Attempt> tried = best ? best->tried : one.tried;
    tried.insert(tried.end(), result.tried.begin(), result.tried.end());
    const bool found = stands(result.status) || result.heldout_relative_mse < kFound;
    if (!best || found || result.heldout_relative_mse < best->heldout_relative_mse) best = std::move(result);
    best->tried = std::move(tried);
    if (found || !(left > 1)) break;
  }
  // Where nothing was found, the one that comes closest.
  if (!stands(best->status) && one.heldout_relative_mse < best->heldout_relative_mse) {
    one.tried = std::move(best->tried);
    return one;
  }
  return *std::move(best);
}

}  // namespace exhume
