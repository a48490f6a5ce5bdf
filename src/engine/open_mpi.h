// Passes that the ranks of an MPI job share: mpirun -n 4 exhume recover ...
//
// Every rank runs the same program and reads its own blocks of the same files. Rank r of P adds blocks [r B /
// P, (r + 1) B / P); partial sums climb a binary tree of ranks, the whole sum comes back to all. A pass of
// fewer than two blocks per rank is made by every rank for itself: its sum is the same everywhere.
//
// Time is that of rank 0, so that all ranks run out of it together.
#pragma once

#include <functional>
#include <memory>

#include "engine/ranks.h"

namespace exhume {

// Joins the job that a launcher started this process for. `should_stop` is asked while waiting for others:
// Interrupted. Throws ResourceError where the library was built without MPI, or MPI cannot start.
[[nodiscard]] std::shared_ptr<RankPasses> open_mpi(const std::function<bool()>& should_stop);

}  // namespace exhume
