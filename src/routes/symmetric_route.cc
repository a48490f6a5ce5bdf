// The row of the table for symmetric inputs (routes/symmetric.h).
#include "routes/symmetric.h"

#include <algorithm>

#include "base/in_time.h"
#include "certify/symmetry_test.h"
#include "data/resident.h"
#include "linalg/symmetric_matrix.h"
#include "routes/fitted.h"

namespace exhume {
namespace {

Applies symmetric_inputs(Job& job) {
  Applies condition = many_outputs(job);
  if (condition.answer != Applicable::kYes && !job.named) return condition;
  if (!job.named && job.control.device && job.data.inspection().gaussian &&
      rows_on_device(*job.data.standard()) != nullptr)
    return {Applicable::kDoubtful, "the inputs are Gaussian, for which moments cost less on a device"};
  // Moments of all pairs of many inputs drown in their noise; those in the active subspace do not.
  constexpr Index kManyInputs = 256;
  const Index d = job.data.rows()->inputs();
  if (!job.named && d > kManyInputs && symmetric_size(d) > job.data.rows()->rows() &&
      job.data.inspection().gaussian)
    return {Applicable::kDoubtful, "the inputs are Gaussian, and there are fewer rows than pairs of them"};
  const SymmetryTest test = test_symmetry(*job.data.training(), job.options.seed, job.control);
  condition = {test.holds() ? Applicable::kYes : Applicable::kNo,
               test.words(),
               {{"inputs symmetric about zero", test.statistic, test.threshold, test.holds()}}};
  return condition;
}

Start detector(Job& job) {
  SymmetricOptions options;
  options.hidden = job.options.hidden();
  options.leak = job.options.leak;
  options.seed = job.options.seed;
  SymmetricNetwork found;
  if (!finished_in_time(job.control, [&](const Control& strict) {
        found = symmetric_network(job.data.training(), options, strict);
      })) {
    Start late;
    late.said = "the time ended before the moments did";
    late.V.resize(0, job.data.rows()->inputs() + 1);
    return late;
  }
  SpectralStart units = symmetric_start(found, job.data.coordinates());
  job.clock.lap("pure-neuron detector");
  Start start;
  start.said = found.outcome == DetectorOutcome::kFound ? found.diagnosis.words() : to_string(found.outcome);
  start.usable = units.V.rows() > 0;
  start.V = std::move(units.V);
  start.spectrum = {std::move(units.singular_values), units.noise_floor, units.above_noise};
  return start;
}

}  // namespace

Route symmetric_route() {
  return {.name = "symmetric",
          .about = "Inputs x and -x equally likely: the null space of the pure-neuron detector",
          .condition = "inputs symmetric about zero; at least four outputs, and as many as units",
          .automatic = true,
          .alone = false,
          .search_share = kFitShare,
          .reads = {"leak"},
          .demands = demand_rows_for_fit,
          .applies = symmetric_inputs,
          .start = detector,
          .finish = finish_from_start};
}

}  // namespace exhume
