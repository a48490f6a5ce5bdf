// Memory that a pass has freed is kept for the next one.
//
// A pass over the rows takes and frees the same matrices block after block. The C library gives large ones
// back to the system each time, which clears every page again on its way back: a fifth of a short run. Kept,
// they cost what the run needs at most, no more.
#pragma once

#include <cstdlib>  // says whether the C library is glibc
#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace exhume {

// Before anything large is allocated.
inline void keep_freed_memory() {
#if defined(__GLIBC__)
  constexpr int kMostInHeaps =
      32 << 20;  // bytes: the most that glibc takes from a heap and not from the system
  constexpr int kMostThatIsKept = 1 << 30;  // bytes at the end of a heap
  mallopt(M_MMAP_THRESHOLD, kMostInHeaps);
  mallopt(M_TRIM_THRESHOLD, kMostThatIsKept);
#endif
}

}  // namespace exhume
