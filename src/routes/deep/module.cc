// What the module deep has: the route to several hidden layers.
#include "routes/route.h"

namespace exhume {

Route deep_route();

void register_deep() { add_routes({deep_route()}); }

}  // namespace exhume
