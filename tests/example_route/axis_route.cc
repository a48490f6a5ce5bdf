// The row axis: units start along the axes, one per input, for networks whose units read few inputs each.
#include "routes/fitted.h"

namespace exhume {
namespace {

// One unit per input, bending at the mean: row j is (e_j, 0).
Start along_the_axes(Job& job) {
  const Index d = job.data.rows()->inputs();
  Start start;
  start.V = Matrix::Identity(d, d + 1);
  return start;
}

Applies continuous_inputs(Job& job) {
  if (!job.data.inspection().discrete) return {};
  return {Applicable::kDoubtful, "an input takes only a handful of values"};
}

}  // namespace

Route axis_route() {
  return {.name = "axis",
          .about = "Units that read few inputs each: starts along the axes, then the unit search",
          .condition = "continuous inputs",
          .search_share = kFitShare,
          .demands = demand_rows_for_fit,
          .applies = continuous_inputs,
          .start = along_the_axes,
          .finish = finish_from_start};
}

}  // namespace exhume
