// The rows rectified-noise (papers/rectified/noise_signs.cc) and rectified-arbitrary-noise
// (papers/rectified/arbitrary_noise.cc).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "exhume/papers/rectified.h"
#include "model/rectified_network.h"
#include "papers/rectified/rectified_route.h"
#include "papers/rectified/starts.h"
#include "routes/fitted.h"

namespace exhume {

using namespace rectified;

namespace {

// Score of the best candidate unit in the residual over its chance level. The chance level is that of the
// candidates tested, not of the directions in between; a unit that is missing scores hundreds.
constexpr double kMostStructure = 2;
constexpr Index kStructureRows = 20'000;
constexpr int kSettlingSteps = 20;

// The network as a fit in standardised coordinates, at the optimum on the rows that are looked at: what other
// rows made of the weights is no structure.
double structure_left(Job& job, const Network& network) {
  const SamplePtr some = spread_subset(*job.data.standard(), kStructureRows);
  PolishOptions settle;
  settle.max_iterations = kSettlingSteps;
  const Form model =
      polish(to_signed_form(job.data.coordinates().from_user(network)), *load(*some), settle, job.control)
          .form;
  const Candidates found = candidate_units(model, *some, 1, job.options.seed, job.control);
  if (found.scores.size() == 0) return 0;
  return found.scores(0) / chance_level(some->outputs(), found.tested);
}

Found by_signs(Job& job, const Start& /*start*/) {
  const Rows training = rows_of(*job.data.training());
  const SamplePtr view = training.view();
  const bool gaussian = job.data.inspection().gaussian;
  const Matrix V = noisy_start(view, job.options.hidden(), job.options.seed, job.control);
  job.clock.lap("moments");
  if (V.rows() == 0 || (job.options.hidden() && V.rows() < *job.options.hidden())) {
    return refused(fmt::format("order-2 moments show {} units{}; give more rows, or the number of units",
                               V.rows(),
                               gaussian ? "" : ", and the inputs are not Gaussian, which they rest on"));
  }
  NoisyFit noisy = fit_noisy(V, view, job.rectifier, true, job.control);
  job.clock.lap("signs and fit");
  const Index m = view->outputs();
  Found found;
  const double chance = chance_level(m, V.rows()), margin = noisy.signs.margins.minCoeff();
  const bool decided =
      found.checks.require("signs decided (least margin, chi-squared)", margin, chance, margin > chance,
                           "the sign of some unit is not decided by the samples");
  found.fit.signs.outcome = decided ? SignOutcome::kUnique : SignOutcome::kUndecided;
  found.fit.relative_mse = relative_error(noisy.network, job.rectifier, training.x, training.y);
  found.fit.noise_covariance =
      noisy.noise_variance.cwiseProduct(job.data.coordinates().map.D.cwiseAbs2()).asDiagonal();
  const Index unknowns = free_parameters(view->inputs(), V.rows(), m);
  found.fit.rows_per_unknown = static_cast<double>(training.y.size()) / static_cast<double>(unknowns);
  const bool relu = job.rectifier.name == "relu";
  found.fit.structure = relu ? structure_left(job, noisy.network) / kMostStructure : 0;
  found.fit.outcome = found.fit.structure <= 1 ? SearchOutcome::kNoise : SearchOutcome::kStuck;
  if (found.fit.relative_mse <= kReproduced) found.fit.outcome = SearchOutcome::kExact;
  found.outcome = found.fit.outcome;
  found.said = fmt::format("{} units leave {:.2g} of the variance{}", V.rows(), found.fit.relative_mse,
                           gaussian ? "" : "; the inputs are not Gaussian, which the start rests on");
  found.network = std::move(noisy.network);
  return found;
}

Found by_halfspaces(Job& job, const Start& /*start*/) {
  if (!job.options.hidden()) return refused("this route does not find the number of units; give it");
  const Rows training = rows_of(*job.data.training());
  ArbitraryNoiseOptions options;
  options.hidden = *job.options.hidden();
  options.budget = job.options.candidates;
  options.seed = job.options.seed;
  ArbitraryNoiseFit fit = fit_arbitrary_noise(training.view(), options, job.control);
  job.clock.lap("halfspaces");
  const std::string said = fmt::format(
      "best of {} sets of {} halfspaces; nothing is assumed of the noise beyond independence of the "
      "inputs, so nothing can be certified",
      fit.chosen_from, options.hidden);
  Found found = exact_network(job, training, std::move(fit.network), said);
  const double variance = fit.residual_norm * fit.residual_norm / static_cast<double>(training.y.size());
  found.fit.noise_covariance = (variance * job.data.coordinates().map.D.cwiseAbs2()).asDiagonal();
  return found;
}

Applies surely_gaussian(Job& job) {
  Applies condition = gaussian_inputs(job.data);
  if (condition.answer != Applicable::kYes) {
    condition = {Applicable::kNo,
                 "the inputs are not Gaussian, which this route rests on and could not notice afterwards; "
                 "take the route any_inputs"};
  }
  return condition;
}

}  // namespace

Route rectified_noise_route() {
  return {
      .name = "rectified-noise",
      .about = "Sub-Gaussian noise: rough units from order-2 moments, signs by projections, least squares",
      .condition = "inputs look Gaussian; noise independent of them",
      .hold_out = HoldOut::kExact,
      .reads = {"activation"},
      .demands = demand_two_rows,
      .applies = gaussian_inputs_of,
      .finish = by_signs};
}

Route rectified_arbitrary_noise_route() {
  return {
      .name = "rectified-arbitrary-noise",
      .about = "Noise of any distribution, independent of the inputs: halfspaces of candidate left inverses",
      .condition = "inputs look Gaussian; the number of units is given; never certified",
      .hold_out = HoldOut::kExact,
      .reads = {"candidates"},
      .demands = demand_two_rows,
      .applies = surely_gaussian,
      .finish = by_halfspaces};
}

}  // namespace exhume
