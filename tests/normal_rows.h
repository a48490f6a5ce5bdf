// n rows of d standard normal inputs.
#pragma once

#include <cstdint>

#include "base/random.h"
#include "exhume/types.h"

namespace exhume {

[[nodiscard]] inline RowMatrix normal_rows(Index n, Index d, std::uint64_t seed) {
  RowMatrix x(n, d);
  Stream(seed, "rows").fill_normal(0, x);
  return x;
}

}  // namespace exhume
