// The row of the table that asks nothing of the inputs: units grown from the residual (fit/unit_search.h).
#include "routes/fitted.h"

namespace exhume {
namespace {

constexpr int kRestarts = 40;

Start nothing(Job& job) {
  Start start;
  start.V.resize(0, job.data.rows()->inputs() + 1);
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
          .start = nothing,
          .finish = grow};
}

}  // namespace exhume
