// The verdict on a stored network of several hidden layers, from network and samples alone.
//
// What a search would have brought is measured again: the form in standardised coordinates, its error on the
// training rows, whether the equations for its signs are regular, and, of an exact network, whether it does
// without any of its units. Then the judge that `recover` calls (judge/deep/deep_layers.h) looks at it.
#include <fmt/format.h>

#include <optional>

#include "base/blas.h"
#include "exhume/error.h"
#include "fit/deep/finish.h"
#include "fit/signs.h"
#include "judge/deep/deep_layers.h"
#include "judge/judge.h"
#include "routes/deep/deep_route.h"
#include "routes/judge_again.h"

namespace exhume {
namespace {

constexpr Index kMostTrialRows = 200'000;  // on which units are tried, as in the search

DeepData trial_rows(const SamplePtr& standard) {
  const SamplePtr some =
      standard->rows() > kMostTrialRows ? spread_subset(*standard, kMostTrialRows) : load(*standard);
  SampleBlock block;
  some->read(0, some->rows(), block);
  return {block.x(), block.y()};
}

}  // namespace

Judged judge_layers_again(const Network& network, const SamplePtr& samples, const Claim& claim,
                          const Control& control) {
  const SingleThreadedBlas single;
  const Route route = deep_route();
  if (claim.route != route.name) {
    throw DataError(fmt::format("the certificate names the route '{}', which finds no {} hidden layers",
                                claim.route, network.depth()));
  }
  if (network.has_skip_terms())
    throw DataError("the network has terms that pass a layer by, which no certified or estimated one has");
  if (held_out_period(route.hold_out, claim.samples) != claim.period) {
    throw DataError(fmt::format("its split holds out one in {} of {} rows, which no route does", claim.period,
                                claim.samples));
  }
  RecoverOptions options;
  options.seed = claim.seed;
  options.layers = network.depth();
  if (claim.widths_asked) options.widths = network.widths();
  Judged judged;
  Result& result = judged.result;
  result.certificate.route = claim.route;
  Prepared data(samples, route.hold_out, claim.seed, result.certificate, control);
  const Network standard = data.coordinates().from_user(network);
  const bool exact = claim.status == Status::kCertified;
  Found found;
  found.network = network;
  found.outcome = exact ? SearchOutcome::kExact : SearchOutcome::kNoise;
  DeepFound& deep = found.deep.emplace();
  deep.form = to_plain_form(standard);
  normalise(deep.form);
  deep.exact = exact;
  deep.noise = !exact;
  deep.plain = deep.minimal = true;
  deep.signs_determined = !deep.form.scale_is_free() || find_signs(to_sign_free_form(standard)).determined;
  DeepData rows = trial_rows(data.standard());
  if (exact) {
    const std::optional<bool> needed =
        needs_every_unit(deep.form, rows, exact_level(data), control.within(claim.budget_seconds));
    judged.removal_tried = needed.has_value();
    deep.minimal = needed.value_or(true);
  }
  const JudgeInput input{data, found, options, control, 0, true};
  deep.relative_mse = relative_error(deep.form, rows, control);
  judge(*deep_layers(input), input, {}, result);
  return judged;
}

}  // namespace exhume
