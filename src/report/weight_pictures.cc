#include "report/weight_pictures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <vector>

#include "report/least_certain.h"
#include "report/rounded.h"

namespace exhume {
namespace {

// Fewer inputs than 4 x 4 are a table, not an image.
constexpr Index kLeastPixels = 16;
constexpr Index kMostImages = 16, kMostPixels = 12000;  // of all images together

std::array<Index, 2> shape_of(const RecoverResult& result) {
  const Index d = result.network.inputs();
  if (result.input_shape.size() == 2) {
    const Index rows = result.input_shape[0], columns = result.input_shape[1];
    const bool fits = rows >= 1 && columns >= 1 && rows <= d && columns <= d && rows * columns == d;
    return fits ? std::array<Index, 2>{rows, columns} : std::array<Index, 2>{0, 0};
  }
  const auto side = static_cast<Index>(std::lround(std::sqrt(static_cast<double>(d))));
  if (!result.input_names.empty() || d < kLeastPixels || side * side != d) return {0, 0};
  return {side, side};
}

struct Entry {
  const char* part;
  Index i, j;
  double value, error;
};

void add(std::vector<Entry>& list, const char* part, const Matrix& values, const Matrix& errors) {
  for (Index i = 0; i < values.rows(); ++i) {
    for (Index j = 0; j < values.cols(); ++j) list.push_back({part, i, j, values(i, j), errors(i, j)});
  }
}

}  // namespace

Json image_picture(const RecoverResult& result) {
  const auto [rows, columns] = shape_of(result);
  const Matrix& W = result.network.W();
  if (rows == 0 || W.rows() == 0 || rows * columns > kMostPixels) return nullptr;
  const Index shown = std::min({W.rows(), kMostImages, kMostPixels / (rows * columns)});
  Json units = Json::array();
  for (Index i = 0; i < shown; ++i) units.push_back(rounded(Vector(W.row(i)), W.cols()));
  return {{"rows", rows}, {"columns", columns}, {"units", std::move(units)}};
}

Json interval_picture(const RecoverResult& result) {
  const Network &network = result.network, &errors = result.standard_errors;
  const bool known = errors.hidden() == network.hidden() && errors.inputs() == network.inputs() &&
                     errors.outputs() == network.outputs() && errors.b().size() == network.b().size() &&
                     errors.c().size() == network.c().size() && network.W().size() > 0;
  if (result.status != Status::kEstimated || !known) return nullptr;
  std::vector<Entry> first, second;
  add(first, "W", network.W(), errors.W());
  add(first, "b", network.b(), errors.b());
  add(second, "A", network.A(), errors.A());
  add(second, "c", network.c(), errors.c());
  Json counts = {{"W", network.W().size()},
                 {"b", network.b().size()},
                 {"A", network.A().size()},
                 {"c", network.c().size()}};
  Json list = Json::array();
  for (const std::vector<Entry>& layer :
       {least_certain(std::move(first)), least_certain(std::move(second))}) {
    for (const Entry& e : layer) list.push_back({e.part, e.i, e.j, rounded(e.value), rounded(e.error)});
  }
  return {{"standard_errors", kIntervalReach}, {"counts", std::move(counts)}, {"weights", std::move(list)}};
}

}  // namespace exhume
