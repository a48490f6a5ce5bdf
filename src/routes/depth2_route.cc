// The rows of the table that start from Hermite moments (routes/depth2.h).
#include "routes/depth2.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/resident.h"
#include "exhume/error.h"
#include "linalg/symmetric_matrix.h"
#include "routes/fitted.h"
#include "routes/residual_rounds.h"
#include "routes/route.h"

namespace exhume {
namespace {

Depth2Options depth2_options(const Job& job) {
  Depth2Options options;
  options.hidden = job.options.hidden();
  options.seed = job.options.seed;
  // What is left of a polynomial then is far below what no polynomial explains of a network of ReLUs.
  options.polynomial_tolerance = 1e-2;
  return options;
}

Start from_spectrum(SpectralStart found) {
  Start start;
  start.V = std::move(found.V);
  start.spectrum = {std::move(found.singular_values), found.noise_floor, found.above_noise};
  return start;
}

// As many directions as outputs, and the units along them leave structure: there are more units than outputs.
// Where they do not, the polish that showed it is where the fit goes on.
bool too_few_outputs(Start& start, const SamplePtr& standard, const Control& control) {
  RoundsOptions polish_only;
  polish_only.most_rounds = 0;
  Rounds polished = residual_rounds(start.V, standard, polish_only, control);
  if (polished.end == RoundsEnd::kStalled) return true;
  if (polished.end == RoundsEnd::kExact) {
    start.V = std::move(polished.V);
    start.descent = std::move(polished.descent);
  }
  return false;
}

Start order2(Job& job) {
  // Weights from which a search that starts with too few units costs more than the next route.
  constexpr Index kManyWeights = 1000;
  return start_in_time(job, "moments of order 2", [&](const SamplePtr& standard, const Control& control) {
    SpectralStart found = order2_start(standard, depth2_options(job), control);
    const bool saturated = found.saturated;
    Start start = from_spectrum(std::move(found));
    // On a device moments of higher orders cost little: no search where a direction is missing.
    const bool there = rows_on_device(*standard) != nullptr;
    const bool missing = there && start.V.rows() < start.spectrum.above_noise;
    if (missing || (saturated && (there || start.V.size() >= kManyWeights) &&
                    too_few_outputs(start, standard, control))) {
      start.usable = false;
      start.said = fmt::format("there are more units than the {} outputs", standard->outputs());
    }
    return start;
  });
}

// Units that were found elsewhere, in the coordinates of these samples.
Start given_units(Job& job) {
  const Matrix& V = *job.options.units;
  const Index d = job.data.rows()->inputs();
  if (V.cols() != d + 1) {
    throw DataError(
        fmt::format("the moments have {} inputs, but the samples have {}; give those of the same columns",
                    V.cols() - 1, d));
  }
  return start_from(V, job);
}

Start orders2to4(Job& job) {
  Start start =
      job.options.units
          ? given_units(job)
          : start_in_time(job, "moments of orders 2 to 4",
                          [&](const SamplePtr& standard, const Control& control) {
                            return from_spectrum(stacked_start(standard, depth2_options(job), control));
                          });
  RoundsOptions rounds;
  rounds.spectral = depth2_options(job);
  if (!job.named) rounds.another_kind = [&] { return settled_kind(job).smooth; };
  Rounds found = residual_rounds(start.V, job.data.standard(), rounds, job.control);
  if (found.end != RoundsEnd::kExact && job.kind && job.kind->smooth) {
    start.usable = false;
    start.said = job.kind->why;
  }
  start.V = std::move(found.V);
  start.descent = std::move(found.descent);
  job.clock.lap("rounds on the residual");
  return start;
}

Applies gaussian_and_many_outputs(Job& job) {
  constexpr Index kManyInputs = 256;
  Applies outputs = many_outputs(job);
  if (outputs.answer != Applicable::kYes) return {Applicable::kNo, outputs.why};
  // Their moments are as many: noise in all of them together hides every unit.
  const Index pairs = symmetric_size(job.data.rows()->inputs());
  if (pairs > job.data.rows()->rows())
    return {Applicable::kDoubtful, fmt::format("there are fewer rows than the {} pairs of inputs", pairs)};
  // In the active subspace, which moments of orders 2 to 4 are taken in, there are far fewer pairs.
  if (job.control.device && rows_on_device(*job.data.standard()) != nullptr &&
      job.data.rows()->inputs() > kManyInputs) {
    return {Applicable::kDoubtful,
            fmt::format("moments of all {} pairs of inputs cost more than others", pairs)};
  }
  return gaussian_inputs(job.data);
}

}  // namespace

Route depth2_outputs_route() {
  return {
      .name = "depth2-outputs",
      .group = "depth2",
      .about = "Gaussian inputs, as many outputs as units: directions of all units from moments of order 2",
      .condition =
          "inputs look Gaussian; at least four outputs, and as many as units; at least as many rows as pairs "
          "of inputs",
      .automatic = true,
      .search_share = kFitShare,
      .demands = demand_rows_for_fit,
      .applies = gaussian_and_many_outputs,
      .start = order2,
      .finish = finish_from_start};
}

Route depth2_route() {
  return {.name = "depth2",
          .about = "Gaussian inputs: directions of all units from Hermite moments of orders 2 to 4",
          .condition = "inputs look Gaussian",
          .automatic = true,
          .search_share = kFitShare,
          .demands = demand_rows_for_fit,
          .applies = gaussian_inputs_of,
          .start = orders2to4,
          .finish = finish_from_start};
}

}  // namespace exhume
