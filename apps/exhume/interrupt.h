// Ctrl-C, and SIGTERM: the first asks for a clean end, which must come within 20 seconds; the second kills at
// once.
#pragma once

namespace exhume::cli {

// From now on the first signal only makes interrupted() true.
void catch_interrupts();
[[nodiscard]] bool interrupted();

}  // namespace exhume::cli
