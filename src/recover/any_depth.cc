#include "recover/any_depth.h"

#include <optional>
#include <utility>
#include <vector>

#include "exhume/error.h"

namespace exhume {
namespace {

constexpr double kShallowShare = 0.2;  // of the budget, for one hidden layer
constexpr Index kDeepest = 3;
// Held-out error of a function that is found: more layers would not make it better.
constexpr double kFound = 1e-20;
// A deeper network has to leave less than this share of what a shallower one leaves of the held-out rows.
constexpr double kWorthALayer = 0.5;

bool is_found(const Result& result) {
  return result.certificate.status != Status::kUncertified || result.errors.heldout_relative_mse < kFound;
}

// Other units than ReLUs, or a slope below zero, are known of one hidden layer only.
bool may_be_deep(const RecoverOptions& options) { return options.activation == "relu" && options.leak == 0; }

}  // namespace

Result recover_any_depth(const SamplePtr& samples, const RecoverOptions& options, const Control& control) {
  RecoverOptions at = options;
  at.layers = 1;
  at.budget_seconds *= kShallowShare;
  const Control whole = control.within(options.budget_seconds);
  Result best = recover_at_depth(samples, at, whole);
  for (at.layers = 2; at.layers <= kDeepest && !is_found(best) && may_be_deep(options); ++at.layers) {
    at.route = "auto";
    const double left = whole.seconds_left();
    if (!(left > 1)) break;
    at.budget_seconds = at.layers < kDeepest ? left / 2 : left;
    std::vector<Attempt> tried = best.certificate.tried;
    std::optional<Result> deeper;
    try {
      deeper = recover_at_depth(samples, at, whole);
      tried.insert(tried.end(), deeper->certificate.tried.begin(), deeper->certificate.tried.end());
    } catch (const DataError& refusal) {  // too few rows for several layers: the shallower result stands
      tried.push_back({"deep", std::string("does not apply: ") + refusal.what()});
      best.certificate.tried = std::move(tried);
      break;
    }
    const bool better = deeper->errors.heldout_relative_mse < kWorthALayer * best.errors.heldout_relative_mse;
    if (stands(deeper->certificate.status) || better) best = *std::move(deeper);
    best.certificate.tried = std::move(tried);
  }
  return best;
}

}  // namespace exhume
