// The linear-algebra library underneath, kept from surprising anyone.
//
// OpenBLAS may split one product over threads, and then its last bits depend on how many. Exhume parallelises
// over blocks of rows instead, so while any of its functions runs, OpenBLAS is told to use one thread.
#pragma once

#include <string>

namespace exhume {

// Holds OpenBLAS at one thread from the first scope opened to the last one closed, over all threads.
class SingleThreadedBlas {
 public:
  SingleThreadedBlas();
  ~SingleThreadedBlas();
  SingleThreadedBlas(const SingleThreadedBlas&) = delete;
  SingleThreadedBlas& operator=(const SingleThreadedBlas&) = delete;
};

// The kernels OpenBLAS chose for this processor ("SkylakeX", "Haswell", ...), or "" if it is another library.
[[nodiscard]] std::string blas_kernels();

// An old OpenBLAS does not know new processors and falls back to kernels that are five times slower.
// This is the value of OPENBLAS_CORETYPE with which to start the process for full speed, or "" where
// the choice is good.
[[nodiscard]] std::string better_blas_kernels();

}  // namespace exhume
