// Restarts the program with the right OPENBLAS_CORETYPE where OpenBLAS did not recognise the processor.
//
// The variable is read while the library is loaded, so it cannot be set later; one exec at the start of main
// costs a few milliseconds and makes products up to five times faster. A value set by the user is respected.
#pragma once

#include <unistd.h>

#include <cstdlib>

#include "base/blas.h"

namespace exhume {

inline void restart_with_fast_blas(char** argv) {
  if (std::getenv("OPENBLAS_CORETYPE") != nullptr) return;
  const std::string kernels = better_blas_kernels();
  if (kernels.empty()) return;
  setenv("OPENBLAS_CORETYPE", kernels.c_str(), 1);
  // A program that a script starts through a loader of its own (make bundle) is started by that again.
  const char* start = std::getenv("EXHUME_START");
  execv(start != nullptr ? start : "/proc/self/exe", argv);  // returns only on failure: then go on, slower
}

}  // namespace exhume
