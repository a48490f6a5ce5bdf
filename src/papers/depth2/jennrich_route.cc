// The row depth2-jennrich: the paper's own start, Jennrich's algorithm on Hermite tensors.
#include "papers/depth2/depth2_jennrich.h"
#include "routes/fitted.h"

namespace exhume {
namespace {

Start hermite_tensors(Job& job) {
  return start_in_time(job, "Hermite tensors", [&](const SamplePtr& standard, const Control& control) {
    Start start;
    start.V = jennrich_start(standard, job.options.hidden(), job.options.seed, control);
    return start;
  });
}

}  // namespace

Route depth2_jennrich_route() {
  return {.name = "depth2-jennrich",
          .about = "Gaussian inputs: the paper's own start, Jennrich's algorithm on Hermite tensors",
          .condition = "inputs look Gaussian",
          .search_share = kFitShare,
          .demands = demand_rows_for_fit,
          .applies = gaussian_inputs_of,
          .start = hermite_tensors,
          .finish = finish_from_start};
}

}  // namespace exhume
