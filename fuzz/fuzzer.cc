// libFuzzer's entry: runs the one target that this program is linked with.
#include <cstddef>
#include <cstdint>

#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const exhume::fuzz::Target target = exhume::fuzz::targets().at(0);
  target.run({reinterpret_cast<const char*>(data), size});
  return 0;
}
