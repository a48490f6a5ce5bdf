#include "base/inside_parallel.h"

#include <utility>

namespace exhume {
namespace {

thread_local bool inside = false;

}  // namespace

bool inside_parallel_for() { return inside; }

InsideParallelFor::InsideParallelFor() : before_(std::exchange(inside, true)) {}
InsideParallelFor::~InsideParallelFor() { inside = before_; }

}  // namespace exhume
