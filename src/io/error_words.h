// What the system says of a failed call, in words.
#pragma once

#include <string>
#include <system_error>

namespace exhume {

// "No space left on device" for ENOSPC
[[nodiscard]] inline std::string reason(int error) { return std::generic_category().message(error); }

}  // namespace exhume
