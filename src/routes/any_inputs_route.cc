// The row of the table that asks nothing of the inputs: units grown from the residual (fit/unit_search.h), or
// read off where the inputs lie along a curve (fit/curve_pieces.h).
#include "fit/curve_pieces.h"
#include "routes/fitted.h"

namespace exhume {
namespace {

constexpr int kRestarts = 40;

// No units, unless the inputs lie along a curve: then the outputs fall into pieces that show them.
Start along_a_curve(Job& job) {
  Start start;
  start.V = units_along_curve(*job.data.standard(), *job.data.training());
  if (start.V.rows() > 0) job.clock.lap("pieces along a curve");
  return start;
}

Found grow(Job& job, const Start& start) { return finish_by_fit(job, start, kRestarts); }

}  // namespace

Route any_inputs_route() {
  return {.name = "any_inputs",
          .about = "No assumption on the inputs: units grown from the residual, restarts and repairs",
          .condition = "always",
          .automatic = true,
          .search_share = kFitShare,
          .demands = demand_rows_for_fit,
          .start = along_a_curve,
          .finish = grow};
}

}  // namespace exhume
