// Compiles a plain loop for several instruction sets and picks one when the program starts.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define EXHUME_VECTOR_CLONES __attribute__((target_clones("default", "arch=haswell", "arch=skylake-avx512")))
#else
#define EXHUME_VECTOR_CLONES
#endif
