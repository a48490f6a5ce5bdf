// Ctrl-C, and SIGTERM: the first asks for a clean end, the second kills at once. A clean end of a search is
// its best result so far for Ctrl-C; for SIGTERM it must come within 20 seconds.
#pragma once

namespace exhume::cli {

// From now on the first signal only makes interrupted() true.
void catch_interrupts();
[[nodiscard]] bool interrupted();
[[nodiscard]] bool terminated();  // by SIGTERM

}  // namespace exhume::cli
