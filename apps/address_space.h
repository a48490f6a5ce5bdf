// A limit on the address space (ulimit -v), and what it leaves for OpenBLAS.
//
// OpenBLAS takes its memory when it is loaded, a buffer a thread, and waits for ever where there is none to
// be had. So the limit is looked at before any library starts: too small a one is said, and under any other
// OpenBLAS is told to start no threads of its own, which nobody here uses (base/blas.h). A program
// that links address_space.cc has that look.
#pragma once

namespace exhume {

// How many threads fit, each with its stack, its heap and its buffer; 0 where nothing limits them.
[[nodiscard]] int threads_that_fit();

}  // namespace exhume
