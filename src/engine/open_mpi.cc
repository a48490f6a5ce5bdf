#include "engine/open_mpi.h"

#include <fmt/format.h>

#include "engine/load_module.h"
#include "engine/mpi/module.h"
#include "exhume/error.h"

namespace exhume {

std::shared_ptr<RankPasses> open_mpi(const std::function<bool()>& should_stop) {
  const LoadedModule module = load_module("libexhume_mpi.so", true);
  if (module.handle == nullptr) {
    throw ResourceError(fmt::format(
        "this build has no module for MPI ({}); configure with EXHUME_MPI=ON, or run without a launcher",
        module.why));
  }
  auto* const interface = module_function<RanksInterface>(module, kRanksInterfaceSymbol);
  auto* const open = module_function<OpenRanks>(module, kOpenRanksSymbol);
  if (interface == nullptr || open == nullptr || interface() != kRanksVersion)
    throw ResourceError("the module for MPI is of another version of the library; build both together");
  RankPasses* const ranks = open(should_stop);
  if (ranks == nullptr) throw ResourceError("MPI cannot start here; run the program without its launcher");
  return std::shared_ptr<RankPasses>(ranks);
}

}  // namespace exhume
