#include "exhume/recover.h"

#include <algorithm>
#include <utility>

#include "base/blas.h"
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

}  // namespace

Result recover_at_depth(const SamplePtr& samples, const RecoverOptions& options, const Control& control) {
  const bool deep = options.depth() > 1;
  const auto finds_deep = [](const Route& route) { return route.finds == Finds::kDeepNetwork; };
  if (deep && std::none_of(routes().begin(), routes().end(), finds_deep))
    throw MissingModule("recovery of several hidden layers", "deep");
  Result result;
  result.activation = options.unit_name();
  StageClock clock;
  Plan plan;
  plan.options = options;
  plan.finds = deep ? Finds::kDeepNetwork : Finds::kNetwork;
  if (deep) plan.options.route = "deep";
  // Units that were named tell the route.
  const ActivationRow* row = find_activation(options.unit_name());
  if (!deep && row != nullptr && row->smooth && options.route == "auto") plan.options.route = "smooth";
  plan.looks_final = deep ? nullptr : is_final;
  Journey journey = travel(samples, plan, result.certificate, clock, control);
  Found& found = journey.found;
  take_pictures(found, result);
  if (!found.refusal.empty()) {
    refuse(std::move(found), *samples, result);
  } else {
    double spent = 0;
    for (const StageTime& stage : clock.laps()) spent += stage.seconds;
    const Route& route = *journey.route;
    const Case under{*journey.data, found, options, journey.control, spent};
    Recheck recheck;
    if (route.recheck != nullptr) {
      recheck = [&](const Network& network, Checks& checks) {
        route.recheck(network, *samples, options, checks);
      };
    }
    const auto network = route.judged_as != nullptr ? route.judged_as(under) : one_layer(under);
    judge(*network, under, recheck, result);
    if (result.network.activation != "relu") result.activation = result.network.activation;
    clock.lap("check");
  }
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
