// What a driver tells its workers of a pass.
#pragma once

#include <string>

namespace exhume {

struct PassEntry {
  double seconds = 0;   // since the driver began
  std::string payload;  // the sum (BlockSum::take), or rows (FetchedRows)
};

}  // namespace exhume
