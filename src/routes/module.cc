// The routes of the core, in the order in which they are tried.
#include "routes/route.h"

namespace exhume {

Route depth2_outputs_route();
Route symmetric_route();
Route depth2_route();
Route any_inputs_route();
Route smooth_route();

void register_core() {
  add_routes({depth2_outputs_route(), symmetric_route(), depth2_route(), any_inputs_route(), smooth_route()});
}

}  // namespace exhume
