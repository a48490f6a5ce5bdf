#include "address_space.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>

namespace exhume {
namespace {

constexpr rlim_t kMiB = rlim_t{1} << 20;
// The program and its libraries have 70 MiB, OpenBLAS's first buffer is of at most 128 MiB; the rest is for
// the work.
constexpr rlim_t kLeast = 256 * kMiB;
// A thread: a buffer of at most 128 MiB, a heap of 64 MiB, a stack of 8 MiB.
constexpr rlim_t kPerThread = 200 * kMiB;

#if defined(__linux__)

constexpr const char* kThreads = "OPENBLAS_NUM_THREADS=";
constexpr std::size_t kMostVariables = 4096;

// Runs before the libraries' own initialisation: system calls only, and nothing that allocates.
__attribute__((no_sanitize("address", "thread", "undefined"))) void look(int, char** argv,
                                                                         char** environment) {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  if (limit.rlim_cur < kLeast) {
    constexpr char kWords[] =
        "exhume: the address space is limited to less than 256 MiB (ulimit -v), too little for OpenBLAS; "
        "allow more.\n";
    if (write(STDERR_FILENO, kWords, sizeof kWords - 1) < 0) _exit(1);
    _exit(5);  // kResourceLimit of exhume/command.h
  }
  static char* changed[kMostVariables + 2];
  static char one[] = "OPENBLAS_NUM_THREADS=1";
  std::size_t count = 0;
  for (char** variable = environment; *variable != nullptr; ++variable) {
    if (std::strcmp(*variable, one) == 0 || count == kMostVariables) return;
    if (std::strncmp(*variable, kThreads, std::strlen(kThreads)) != 0) changed[count++] = *variable;
  }
  changed[count] = one;
  execve("/proc/self/exe", argv, changed);  // returns only on failure: then go on and hope
}

// The executable's own table, which the loader goes through first.
__attribute__((section(".preinit_array"), used)) void (*const kFirst)(int, char**, char**) = look;

#endif

}  // namespace

int threads_that_fit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return 0;
  const rlim_t more = limit.rlim_cur > kLeast ? (limit.rlim_cur - kLeast) / kPerThread : 0;
  return 1 + static_cast<int>(std::min<rlim_t>(more, INT_MAX - 1));
}

}  // namespace exhume
