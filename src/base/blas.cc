#include "base/blas.h"

#include <cblas.h>

#include <mutex>

// Weak, so that a program may also link another BLAS.
#pragma weak openblas_set_num_threads
#pragma weak openblas_get_num_threads
#pragma weak openblas_get_corename

namespace exhume {
namespace {

std::mutex scope_mutex;
int open_scopes = 0;
int threads_before = 1;

}  // namespace

SingleThreadedBlas::SingleThreadedBlas() {
  if (openblas_set_num_threads == nullptr || openblas_get_num_threads == nullptr) return;
  const std::lock_guard lock(scope_mutex);
  if (open_scopes++ > 0) return;
  threads_before = openblas_get_num_threads();
  if (threads_before != 1) openblas_set_num_threads(1);
}

SingleThreadedBlas::~SingleThreadedBlas() {
  if (openblas_set_num_threads == nullptr || openblas_get_num_threads == nullptr) return;
  const std::lock_guard lock(scope_mutex);
  if (--open_scopes > 0) return;
  if (threads_before != 1) openblas_set_num_threads(threads_before);
}

std::string blas_kernels() {
  if (openblas_get_corename == nullptr) return "";
  return openblas_get_corename();
}

std::string better_blas_kernels() {
#if defined(__x86_64__)
  const std::string chosen = blas_kernels();
  const bool knows_avx512 = chosen == "SkylakeX" || chosen == "Cooperlake" || chosen == "Sapphirerapids";
  const bool knows_avx2 = knows_avx512 || chosen == "Haswell" || chosen == "Zen" || chosen == "Excavator";
  if (chosen.empty()) return "";
  // AMD's processors with AVX-512 are served by "Zen" or "SkylakeX" at OpenBLAS's own discretion: only mend a
  // choice that misses AVX2 altogether.
  if (knows_avx2) return "";
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw")) {
    return "SkylakeX";
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
#endif
  return "";
}

}  // namespace exhume
