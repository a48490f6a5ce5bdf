#include <fmt/format.h>

#include <stdexcept>

#include "exhume/error.h"
#include "exhume/papers/rectified.h"
#include "io/random_access_file.h"
#include "session/generate.h"

namespace exhume {

Generated plant_formula(const std::string& cnf) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 28;
  const RandomAccessFile file(cnf);
  if (file.size() > kMostBytes) {
    throw DataError(fmt::format("{} has {} bytes; give a formula in DIMACS format, of {} at most", cnf,
                                file.size(), kMostBytes));
  }
  const std::string text = file.head(kMostBytes);
  try {
    Separability instance = relu_separability(with_complements(parse_dimacs(text)));
    Generated made;
    made.samples = memory_samples(std::move(instance.x), std::move(instance.y));
    return made;
  } catch (const std::invalid_argument& error) {
    throw DataError(fmt::format("{}: {}", cnf, error.what()));
  } catch (const DataError& error) {
    throw DataError(fmt::format("{}: {}", cnf, error.what()));
  }
}

}  // namespace exhume
