#include "exhume/recover.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/blas.h"
#include "base/ended.h"
#include "base/module.h"
#include "judge/final_look.h"
#include "judge/judge.h"
#include "judge/one_layer.h"
#include "model/activation_table.h"
#include "recover/any_depth.h"
#include "routes/engine.h"

namespace exhume {
namespace {

void take_pictures(Found& found, Result& result) {
  Diagnostics& diagnostics = result.diagnostics;
  if (found.spectrum) {
    diagnostics.singular_values = found.spectrum->singular_values;
    diagnostics.noise_floor = found.spectrum->noise_floor;
    diagnostics.gap_units = found.spectrum->above_noise;
  }
  diagnostics.gaps = std::move(found.gaps);
  result.support = std::move(found.support);
}

void refuse(Found found, const SampleSource& samples, Result& result) {
  const Index d = samples.inputs(), m = samples.outputs();
  result.network = Network(Matrix(0, d), Vector(0), Matrix(m, 0), Vector::Zero(m));
  std::move(found.checks).conclude(result.certificate, "");
  result.certificate.status = Status::kRefused;
  result.certificate.reason = found.refusal;
}

// The judge's part, from what a search found.
Result judged(RouteRun& run, Result result, const SampleSource& samples, const RecoverOptions& options,
              StageClock& clock) {
  Found& found = run.found;
  take_pictures(found, result);
  if (!found.refusal.empty()) {
    refuse(std::move(found), samples, result);
    return result;
  }
  double spent = 0;
  for (const StageTime& stage : clock.laps()) spent += stage.seconds;
  const Route& route = *run.route;
  const JudgeInput input{*run.data, found, options, run.control, spent};
  Recheck recheck;
  if (route.recheck != nullptr) {
    recheck = [&](const Network& network, Checks& checks) {
      route.recheck(network, samples, options, checks);
    };
  }
  const auto network = route.judged_as != nullptr ? route.judged_as(input) : one_layer(input);
  judge(*network, input, recheck, result);
  if (result.network.activation != "relu") result.activation = result.network.activation;
  clock.lap("check");
  return result;
}

// Where rows are plenty (rows_for_search): a search among some of them, then one look at all. Empty where
// that does not certify the network: noise needs all rows, and so does what only they show. The plan is told
// what was tried, and where to begin.
std::optional<Result> from_some_rows(const SamplePtr& samples, Plan& plan, std::vector<Attempt>& tried,
                                     StageClock& clock, const Control& control) {
  plan.some_rows = true;
  Result result;
  result.activation = plan.options.unit_name();
  RouteRun run = run_routes(samples, plan, result.certificate, clock, control);
  plan.some_rows = false;
  const bool some = result.certificate.searched > 0;
  const auto ended = [&] { return searches_ended(control) || control.out_of_time(); };
  Found& found = run.found;
  const bool exact = found.refusal.empty() && (found.exact_only || found.outcome == SearchOutcome::kExact);
  if (!some || exact || ended()) {
    // The found network is judged where it lies, and may be needed again.
    result = judged(run, std::move(result), *samples, plan.options, clock);
    if (!some || result.certificate.status == Status::kCertified || ended()) return result;
  }
  for (const Attempt& attempt : result.certificate.tried) {
    tried.push_back({attempt.route,
                     fmt::format("among {} of the rows: {}", result.certificate.searched, attempt.outcome)});
  }
  // Noise: the same units, fitted to all rows.
  const Form& model = found.fit.model;
  if (!exact && found.outcome == SearchOutcome::kNoise && !found.network && model.units() > 0 &&
      !model.rectifier) {
    const Network network = run.data->coordinates().to_user(to_network(model));
    plan.begin_with = run.route;
    plan.begin_from.resize(network.hidden(), network.inputs() + 1);
    plan.begin_from << network.W(), network.b();
  }
  return std::nullopt;
}

}  // namespace

Result recover_at_depth(const SamplePtr& samples, const RecoverOptions& options, const Control& control) {
  const bool deep = options.depth() > 1;
  const auto finds_deep = [](const Route& route) { return route.finds == Finds::kDeepNetwork; };
  if (deep && std::none_of(routes().begin(), routes().end(), finds_deep))
    throw MissingModule("recovery of several hidden layers", "deep");
  StageClock clock;
  Plan plan;
  plan.options = options;
  plan.finds = deep ? Finds::kDeepNetwork : Finds::kNetwork;
  if (deep) plan.options.route = "deep";
  // Units that were named tell the route.
  const ActivationRow* row = find_activation(options.unit_name());
  if (!deep && row != nullptr && row->smooth && options.route == "auto") plan.options.route = "smooth";
  plan.looks_final = deep ? nullptr : is_final;
  const Control whole = control.within(options.budget_seconds);
  Result result;
  std::vector<Attempt> tried;
  if (std::optional<Result> found =
          deep ? std::nullopt : from_some_rows(samples, plan, tried, clock, whole)) {
    result = std::move(*found);
  } else {
    result.activation = options.unit_name();
    RouteRun run = run_routes(samples, plan, result.certificate, clock, deep ? control : whole);
    result = judged(run, std::move(result), *samples, options, clock);
  }
  std::vector<Attempt>& all = result.certificate.tried;
  all.insert(all.begin(), tried.begin(), tried.end());
  result.certificate.timings = clock.laps();
  return result;
}

Result recover(const SamplePtr& samples, const RecoverOptions& options, const Control& control) {
  options.validate();
  const SingleThreadedBlas single;
  if (options.depth() == RecoverOptions::kAnyDepth) return recover_any_depth(samples, options, control);
  return recover_at_depth(samples, options, control);
}

}  // namespace exhume
