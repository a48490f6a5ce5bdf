// Numbers of things in sentences: "1 unit", "2 units".
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace exhume {

template <class Count>
[[nodiscard]] std::string counted(Count count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace exhume
