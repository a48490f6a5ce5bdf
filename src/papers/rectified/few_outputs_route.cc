// The row rectified-few-outputs (papers/rectified/few_outputs.cc).
#include "exhume/papers/rectified.h"

#include <fmt/format.h>

#include <utility>

#include "papers/rectified/rectified_route.h"

namespace exhume {

using namespace rectified;

namespace {

Found by_groups(Job& job, const Start& /*start*/) {
  const Rows training = rows_of(*job.data.training());
  FewOutputsOptions options;
  options.hidden = job.options.hidden().value_or(0);
  options.seed = job.options.seed;
  FewOutputs fit = recover_few_outputs(training.x, training.y, job.rectifier, options, job.control);
  job.clock.lap("groups");
  if (fit.outcome == FewOutputsOutcome::kOneOutput) {
    return refused(
        "with one output all outputs are multiples of each other, so rows of a single unit cannot be told; "
        "take the route any_inputs");
  }
  if (fit.network.hidden() == 0) {
    return refused(
        "no two outputs point in the same direction: there are no rows in which one unit is active alone, "
        "or the outputs carry noise or a constant");
  }
  const std::string otherwise = fmt::format(
      "{} units were active alone in enough rows, and leave {:.2g} of the variance: more rows are needed for "
      "the others, or the outputs carry noise",
      fit.network.hidden(), fit.relative_mse);
  return exact_network(job, training, std::move(fit.network),
                       fit.outcome == FewOutputsOutcome::kExact ? "" : otherwise);
}

}  // namespace

Route rectified_few_outputs_route() {
  return {.name = "rectified-few-outputs",
          .about = "Fewer outputs than units: rows in which one unit is active alone",
          .condition = "no noise, no constant; two outputs or more",
          .standardised = false,
          .hold_out = HoldOut::kExact,
          .reads = {"activation"},
          .demands = demand_two_rows,
          .finish = by_groups};
}

}  // namespace exhume
