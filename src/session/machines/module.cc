// What the module machines has for the core: a start from the sums of several sites.
#include "session/machines/site_sums.h"

namespace exhume {

void register_machines() { read_moments.fill(read_site_moments); }

}  // namespace exhume
