#include "generate_formula.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <stdexcept>

#include "base/json.h"
#include "exhume/error.h"
#include "exhume/papers/rectified.h"
#include "io/npy.h"
#include "io/output_folder.h"
#include "terminal.h"

namespace exhume::cli {

int generate_formula(const std::string& path, const std::string& out, const Session& session) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) throw DataError(fmt::format("{} cannot be read; give a formula in DIMACS format", path));
  Separability instance;
  try {
    instance = relu_separability(with_complements(parse_dimacs(text)));
  } catch (const std::invalid_argument& error) {
    throw DataError(fmt::format("{}: {}", path, error.what()));
  } catch (const DataError& error) {
    throw DataError(fmt::format("{}: {}", path, error.what()));
  }
  OutputFolder folder(out);
  NpyWriter x(folder.open("x.npy"), instance.x.rows(), instance.x.cols());
  NpyWriter y(folder.open("y.npy"), instance.y.rows(), 1);
  x.append(instance.x);
  y.append(instance.y);
  x.finish();
  y.finish();
  folder.commit();
  if (session.json) {
    const Json json = {
        {"inputs", instance.x.cols()}, {"hidden_units", 2}, {"outputs", 1}, {"samples", instance.x.rows()}};
    put(to_text(json) + "\n");
  } else if (!session.quiet) {
    put(
        fmt::format("{} rows of {} inputs, in {}: x.npy, y.npy. Two units with equal output weights have "
                    "these outputs exactly where the formula is satisfiable.\n",
                    instance.x.rows(), instance.x.cols(), out));
  }
  return kOk;
}

}  // namespace exhume::cli
