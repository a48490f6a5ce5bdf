#include "routes/judge_again.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <memory>
#include <utility>

#include "base/blas.h"
#include "base/limits.h"
#include "exhume/error.h"
#include "fit/residuals.h"
#include "fit/sums.h"
#include "judge/final_look.h"
#include "judge/judge.h"
#include "judge/one_layer.h"
#include "model/rectified_network.h"
#include "routes/engine.h"

namespace exhume {
namespace {

// A stored network as a route would have brought it: what the rows say of it, measured again.
class FoundAgain {
 public:
  FoundAgain(const Network& network, const Claim& claim, const Rectifier& rectifier, Prepared& data,
             const Control& control)
      : network_(network), claim_(claim), rectifier_(rectifier), data_(data), control_(control) {}

  Found run() {
    found_.network = network_;
    found_.fit.structure = claim_.structure;
    if (claim_.exact_only) {
      measure_exact_route();
      return std::move(found_);
    }
    Fit& fit = found_.fit;
    fit.model = to_signed_form(data_.coordinates().from_user(network_));
    if (rectifier_.name == "relu") fit.model = scale_units(std::move(fit.model));
    if (rectifier_.name != "relu") fit.model.rectifier = std::make_shared<const Rectifier>(rectifier_);
    products_ = measure_again(fit, *data_.standard(), control_);
    const bool exact = claim_.status == Status::kCertified;
    fit.outcome = found_.outcome = exact ? SearchOutcome::kExact : SearchOutcome::kNoise;
    fit.signs.outcome = SignOutcome::kUnique;
    if (!exact) {
      found_.look = look_at_residual(fit.model, data_.standard(), control_, data_.user_columns());
      fit.structure = found_.look->units;
    }
    if (claim_.by_signs) measure_noise_route();
    if (claim_.by_signs || fit.model.rectifier || fit.model.units() == 0 || !fit.model.plain)
      return std::move(found_);
    if (exact) {
      fit.signs.outcome = decide_signs(sign_free(fit.model), {}).outcome;
    } else {
      fit_again();
    }
    return std::move(found_);
  }

  [[nodiscard]] std::optional<double> gained() const { return gained_; }

 private:
  [[nodiscard]] SampleBlock training_block() {
    SampleBlock block;
    rows_ = load(*data_.training());
    rows_->read(0, rows_->rows(), block);
    return block;
  }

  void measure_exact_route() {
    const SampleBlock block = training_block();
    found_.exact_only = true;
    found_.outcome = SearchOutcome::kExact;
    found_.fit.signs.outcome = SignOutcome::kUnique;
    found_.fit.relative_mse = relative_error(network_, rectifier_, block.x(), block.y());
    found_.checks.require("training rows reproduced to rounding", found_.fit.relative_mse, kReproduced,
                          found_.fit.relative_mse <= kReproduced, "the training rows are not reproduced");
  }

  void measure_noise_route() {
    Fit& fit = found_.fit;
    const SampleBlock block = training_block();
    fit.relative_mse = relative_error(network_, rectifier_, block.x(), block.y());
    fit.noise_covariance = Matrix(fit.noise_covariance.diagonal().asDiagonal());
  }

  // a max(z, 0) = a/2 |z| + a/2 z.
  static Form sign_free(const Form& model) {
    const Index k = model.units(), d = model.inputs;
    Form out = one_layer(model.V[0]);
    out.C.resize(out.features(), model.C.cols());
    out.C.topRows(k) = model.C.topRows(k) / 2;
    out.C.bottomRows(d + 1) = model.V[0].transpose() * out.C.topRows(k);
    out.C.bottomRows(1) += model.C.bottomRows(1);
    return out;
  }

  // Whether noise leaves the signs open, and whether this is the best network nearby, only a fit from its
  // units tells.
  void fit_again() {
    FitOptions options;
    options.hidden = found_.fit.model.units();
    options.seed = claim_.seed;
    options.most_restarts = 0;
    options.rounding = data_.rounding();
    const Fit again =
        fit_units(found_.fit.model.V[0], data_.standard(), options, control_.within(claim_.budget_seconds));
    if (again.out_of_time || again.model.plain != found_.fit.model.plain) {
      if (!again.out_of_time) found_.fit.signs = again.signs;
      return;
    }
    found_.fit.signs = again.signs;
    const Matrix left = residual_products(again.model, *data_.standard(), kBlockRows, control_);
    const Matrix Q = unit_noise(again.noise_covariance).Q;
    gained_ = (Q * (products_ - left) * Q.transpose()).trace();
  }

  const Network& network_;
  const Claim& claim_;
  Rectifier rectifier_;
  Prepared& data_;
  const Control& control_;
  Found found_;
  SamplePtr rows_;  // in memory
  Matrix products_;
  std::optional<double> gained_;
};

const Route& stated_route(const std::string& name) {
  for (const Route& route : routes()) {
    if (route.finds == Finds::kNetwork && (name == route.name || name == route.group)) return route;
  }
  throw DataError(fmt::format("the certificate names the route '{}', which does not exist", name));
}

HoldOut stated_rule(Index period, Index rows, HoldOut first) {
  for (const HoldOut rule : {first, HoldOut::kFitted, HoldOut::kExact}) {
    if (held_out_period(rule, rows) == period) return rule;
  }
  throw DataError(fmt::format("its split holds out one in {} of {} rows, which no route does", period, rows));
}
}  // namespace

Judged judge_again(const Network& network, const SamplePtr& samples, const Claim& claim,
                   const Control& control) {
  if (network.depth() > 1) return judge_deep_again(network, samples, claim, control);
  const SingleThreadedBlas single;
  RecoverOptions options;
  options.seed = claim.seed;
  options.activation = claim.activation;
  const Route& route = stated_route(claim.route);
  Judged judged;
  Result& result = judged.result;
  result.activation = claim.activation;
  result.certificate.route = claim.route;
  Found repaired;
  SamplePtr rows = samples;
  if (route.repair != nullptr) {
    rows = route.repair(samples, options, repaired, control);
    if (!rows) throw DataError("the route refuses these samples: " + repaired.refusal);
  }
  const HoldOut rule =
      route.repair != nullptr ? route.hold_out : stated_rule(claim.period, claim.samples, route.hold_out);
  Prepared data(rows, rule, claim.seed, result.certificate, control);
  if (route.repair != nullptr) result.certificate.held_out_period = 0;
  if (claim.searched > 0) result.certificate.searched = data.search_some(claim.seed);
  FoundAgain again(network, claim, parse_rectifier(claim.activation), data, control);
  Found found = again.run();
  result.support = found.support = std::move(repaired.support);
  judged.gained = again.gained();
  const JudgeInput input{data, found, options, control, 0, true};
  Recheck recheck;
  if (route.recheck != nullptr) {
    recheck = [&](const Network& as_judged, Checks& checks) {
      route.recheck(as_judged, *samples, options, checks);
    };
  }
  judge(*one_layer(input), input, recheck, result);
  return judged;
}

}  // namespace exhume
