#include "recover/any_depth.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <utility>
#include <vector>

#include "base/ended.h"
#include "base/module.h"
#include "exhume/error.h"
#include "model/activation_table.h"
#include "routes/route.h"

namespace exhume {
namespace {

constexpr Index kDeepest = 3;
// Of the search for one and for two hidden layers: its share of the budget, and the operations that count as
// a second of it, so that the shares do not depend on the clock. Most data end with one layer. The rates are
// rough ones of one core, seen on one instance each: for one layer students in single and the polish in
// double precision, for two layers mostly students. A device counts as two hundred cores. The last depth has
// what is left.
constexpr double kShares[] = {0.2, 0.4}, kWorkPerSecond[] = {1e10, 4e10}, kDeviceFactor = 200;
// Share of the time left after which a depth ends in any case, so that a machine which is much slower than
// these rates comes to the next depth too.
constexpr double kMostTime = 0.5;
// Relative held-out error below which the function is found: more layers would not improve it.
constexpr double kFound = 1e-20;
// A deeper network has to leave less than this share of what a shallower one leaves of the held-out rows.
constexpr double kWorthALayer = 0.5;

bool is_found(const Result& result) {
  return result.certificate.status != Status::kUncertified || result.errors.heldout_relative_mse < kFound;
}

// Rectified powers, or a slope below zero, are known of one hidden layer only.
bool may_be_deep(const RecoverOptions& options) {
  const ActivationRow* row = find_activation(options.unit_name());
  return options.leak == 0 && row != nullptr && (row->smooth || options.unit_name() == "relu");
}

Control limit_depth(const Control& control, Index depth, double budget) {
  if (depth == kDeepest) return control;
  const double speed = kWorkPerSecond[depth - 1] * (control.device ? kDeviceFactor : 1);
  return control.within_work(kShares[depth - 1] * budget * speed);
}

// Why several hidden layers cannot be looked for in these samples; empty where they can.
std::string cannot_be_deep(const SampleSource& samples, const RecoverOptions& options) {
  for (const Route& route : routes()) {
    if (route.finds != Finds::kDeepNetwork || route.demands == nullptr) continue;
    try {
      route.demands(samples, options);
    } catch (const DataError& refusal) {
      return refusal.what();
    }
  }
  return "";
}

// The outcome of one depth, for the certificate's list of what was tried.
Attempt attempt_at(Index depth, const Result& result) {
  const std::vector<Index> widths = result.network.widths();
  return {fmt::format("{} hidden layer{}", depth, depth == 1 ? "" : "s"),
          fmt::format("{}; {} units leave {:.2g} of the variance of held-out rows",
                      to_string(result.certificate.status), fmt::join(widths, "-"),
                      result.errors.heldout_relative_mse)};
}

}  // namespace

Result recover_any_depth(const SamplePtr& samples, const RecoverOptions& options, const Control& control) {
  const Control whole = control.within(options.budget_seconds);
  RecoverOptions at = options;
  at.layers = 1;
  at.budget_seconds *= kMostTime;
  Result best = recover_at_depth(samples, at, limit_depth(control, 1, options.budget_seconds));
  if (is_found(best) || !may_be_deep(options)) return best;
  best.certificate.tried.push_back(attempt_at(1, best));
  at.route = "auto";
  for (at.layers = 2; at.layers <= kDeepest && !is_found(best); ++at.layers) {
    const double left = whole.seconds_left();
    if (!(left > 1) || searches_ended(control)) break;
    at.budget_seconds = at.layers < kDeepest ? kMostTime * left : left;
    std::vector<Attempt> tried = std::move(best.certificate.tried);
    if (const std::string why = cannot_be_deep(*samples, at); !why.empty()) {
      best.certificate.tried = std::move(tried);
      best.certificate.tried.push_back({"deep", "does not apply: " + why});
      break;
    }
    try {
      Result deeper = recover_at_depth(samples, at, limit_depth(control, at.layers, options.budget_seconds));
      tried.insert(tried.end(), deeper.certificate.tried.begin(), deeper.certificate.tried.end());
      tried.push_back(attempt_at(at.layers, deeper));
      const bool better =
          deeper.errors.heldout_relative_mse < kWorthALayer * best.errors.heldout_relative_mse;
      if (stands(deeper.certificate.status) || better) best = std::move(deeper);
    } catch (const MissingModule& missing) {
      tried.push_back({"deep", missing.what()});
      at.layers = kDeepest;
    }
    best.certificate.tried = std::move(tried);
  }
  return best;
}

}  // namespace exhume
