#include "interrupt.h"

#include <atomic>
#include <csignal>

namespace exhume::cli {
namespace {

std::atomic<bool> stop{false}, term{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only touch lock-free atomics");

extern "C" void on_signal(int signal) {
  if (signal == SIGTERM) term = true;
  stop = true;
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
}

bool interrupted() { return stop; }
bool terminated() { return term; }

}  // namespace exhume::cli
