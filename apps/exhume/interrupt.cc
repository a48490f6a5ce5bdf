#include "interrupt.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

#include "command.h"

namespace exhume::cli {
namespace {

std::atomic<bool> stop{false}, term{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only touch lock-free atomics");

// Work that does not look at `stop` within this time (a file system that hangs, one long product) is killed.
constexpr unsigned kGraceSeconds = 20;

extern "C" void on_alarm(int) { ::_exit(kInterrupted); }

extern "C" void on_signal(int signal) {
  stop = true;
  if (signal != SIGTERM) return;
  term = true;
  ::alarm(kGraceSeconds);
}

}  // namespace

void catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  // RESETHAND gives the second signal its usual, deadly meaning; RESTART keeps reads and writes whole.
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction last = {};
  last.sa_handler = on_alarm;
  sigemptyset(&last.sa_mask);
  sigaction(SIGALRM, &last, nullptr);
}

bool interrupted() { return stop; }
bool terminated() { return term; }

}  // namespace exhume::cli
