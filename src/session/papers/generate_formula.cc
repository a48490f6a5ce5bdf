#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <stdexcept>

#include "exhume/error.h"
#include "exhume/papers/rectified.h"
#include "session/generate.h"

namespace exhume {

Generated plant_formula(const std::string& cnf) {
  std::ifstream file(cnf, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) throw DataError(fmt::format("{} cannot be read; give a formula in DIMACS format", cnf));
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
