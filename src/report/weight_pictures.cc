#include "report/weight_pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "report/least_certain.h"
#include "report/rounded.h"
#include "report/sections.h"
#include "report/svg.h"

namespace exhume {
namespace {

// Fewer inputs than 4 x 4 are a table, not an image.
constexpr Index kLeastPixels = 16;
constexpr Index kScatterPoints = 500;
constexpr Index kHeatRows = 64, kHeatColumns = 96;
constexpr Index kUnits = 256;
constexpr int kHistogramBins = 41;
constexpr Index kMostImages = 16, kMostPixels = 12000;  // of all images together

std::array<Index, 2> shape_of(Index d, const Certificate& certificate) {
  if (certificate.input_shape.size() == 2) {
    const Index rows = certificate.input_shape[0], columns = certificate.input_shape[1];
    const bool fits = rows >= 1 && columns >= 1 && rows <= d && columns <= d && rows * columns == d;
    return fits ? std::array<Index, 2>{rows, columns} : std::array<Index, 2>{0, 0};
  }
  const auto side = static_cast<Index>(std::lround(std::sqrt(static_cast<double>(d))));
  if (!certificate.input_names.empty() || d < kLeastPixels || side * side != d) return {0, 0};
  return {side, side};
}

Json unit_table(const Network& network, const Vector& activity, const Network& errors) {
  const bool have_errors = errors.hidden() == network.hidden() && errors.inputs() == network.inputs() &&
                           errors.b().size() == network.b().size() && errors.outputs() == network.outputs();
  Json list = Json::array();
  for (Index i = 0; i < std::min(network.hidden(), kUnits); ++i) {
    Index input = 0;
    network.W().row(i).cwiseAbs().maxCoeff(&input);
    Json unit = {{"bias", rounded(network.b()(i))},
                 {"output_norm", rounded(network.A().col(i).norm())},
                 {"largest_weight", rounded(network.W()(i, input))},
                 {"largest_weight_input", input + 1}};
    if (activity.size() == network.hidden()) unit["active"] = rounded(activity(i));
    if (have_errors) {
      unit["max_standard_error"] =
          rounded(std::max({errors.W().row(i).maxCoeff(), errors.b()(i), errors.A().col(i).maxCoeff()}));
    }
    list.push_back(std::move(unit));
  }
  return list;
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

struct NamedWeight {
  std::string name;
  double value, error;
};

std::string column_name(const std::vector<std::string>& names, const char* what, Index number) {
  const auto place = static_cast<std::size_t>(number);
  return place < names.size() ? names[place] : fmt::format("{} {}", what, number + 1);
}

// Are b the standard errors of all weights of a?
bool same_shapes(const Network& a, const Network& b) {
  if (a.layers.size() != b.layers.size()) return false;
  for (std::size_t l = 0; l < a.layers.size(); ++l) {
    if (a.layers[l].W.rows() != b.layers[l].W.rows() || a.layers[l].W.cols() != b.layers[l].W.cols() ||
        a.layers[l].b.size() != b.layers[l].b.size())
      return false;
  }
  return a.hidden() > 0;
}

}  // namespace

// Rows and outputs are walked together so that few points still show every output.
Json answer_picture(const RowMatrix& predicted, const RowMatrix& observed) {
  Json x = Json::array(), y = Json::array();
  const Index rows = std::min(predicted.rows(), observed.rows());
  const Index outputs = std::min(predicted.cols(), observed.cols());
  const Index all = rows * outputs, points = std::min(all, kScatterPoints);
  for (Index p = 0; p < points; ++p) {
    const Index at = p * all / points;
    const Index row = at / outputs, output = (points == all ? at : p) % outputs;  // all outputs in turn
    y.push_back(rounded(predicted(row, output)));
    x.push_back(rounded(observed(row, output)));
  }
  return {{"observed", std::move(x)}, {"predicted", std::move(y)}};
}

Json residual_picture(const RowMatrix& predicted, const RowMatrix& observed) {
  const Matrix residual = observed - predicted;
  if (residual.size() == 0) return nullptr;
  const double rms = std::sqrt(residual.squaredNorm() / static_cast<double>(residual.size()));
  if (!(rms > 0) || !std::isfinite(rms)) return nullptr;
  const double low = -4 * rms, width = 8 * rms / kHistogramBins;
  std::vector<int> counts(kHistogramBins, 0);
  for (Index i = 0; i < residual.size(); ++i) {
    const double at = (residual.data()[i] - low) / width;
    ++counts[static_cast<std::size_t>(std::clamp(at, 0.0, kHistogramBins - 1.0))];
  }
  return {{"low", rounded(low)}, {"width", rounded(width)}, {"counts", counts}};
}

Json profile_picture(const std::vector<HingeProfile>& profiles) {
  Json list = Json::array();
  for (const HingeProfile& each : profiles) {
    list.push_back({{"unit", each.unit + 1},
                    {"output", each.output + 1},
                    {"at", rounded(each.at, each.at.size())},
                    {"mean", rounded(each.mean, each.mean.size())},
                    {"own", rounded(each.own, each.own.size())}});
  }
  return list;
}

void add_weight_pictures(const Network& network, const Certificate& certificate, Json& pictures,
                         const Vector& activity, const Network& errors) {
  if (network.depth() <= 1) {
    const Network shown = network.empty() ? Network(Matrix(), Vector(), Matrix(), Vector()) : network;
    pictures["weights"] = rounded(svg::shrink(shown.W(), kHeatRows, kHeatColumns));
    pictures["output_weights"] = rounded(svg::shrink(shown.A(), kHeatRows, kHeatColumns));
    pictures["units"] = unit_table(network, activity, errors);
  }
  if (Json images = image_picture(network, certificate); !images.is_null())
    pictures["images"] = std::move(images);
}

Json image_picture(const Network& network, const Certificate& certificate) {
  if (network.empty()) return nullptr;
  const auto [rows, columns] = shape_of(network.inputs(), certificate);
  const Matrix& W = network.layers.front().W;
  if (rows == 0 || W.rows() == 0 || rows * columns > kMostPixels) return nullptr;
  const Index shown = std::min({W.rows(), kMostImages, kMostPixels / (rows * columns)});
  Json units = Json::array();
  for (Index i = 0; i < shown; ++i) units.push_back(rounded(Vector(W.row(i)), W.cols()));
  return {{"rows", rows}, {"columns", columns}, {"units", std::move(units)}};
}

Json interval_picture(const Result& result) {
  const Network &network = result.network, &errors = result.errors.standard_errors;
  if (result.is_deep() || result.certificate.status != Status::kEstimated || !same_shapes(network, errors))
    return nullptr;
  Json counts, list = Json::array();
  const auto add_part = [&](const char* part, const Matrix& values, const Matrix& spread) {
    std::vector<Entry> entries;
    add(entries, part, values, spread);
    counts[part] = entries.size();
    for (const Entry& e : least_certain(std::move(entries)))
      list.push_back({e.part, e.i, e.j, rounded(e.value), rounded(e.error)});
  };
  add_part("W", network.W(), errors.W());
  add_part("b", network.b(), errors.b());
  add_part("A", network.A(), errors.A());
  add_part("c", network.c(), errors.c());
  return {
      {"standard_errors", result.errors.reach}, {"counts", std::move(counts)}, {"weights", std::move(list)}};
}

Json interval_section(const Result& result) {
  const Network &network = result.network, &errors = result.errors.standard_errors;
  if (result.certificate.status != Status::kEstimated || !same_shapes(network, errors)) return nullptr;
  std::vector<svg::Forest> charts;
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    const bool first = l == 0, last = l + 1 == network.layers.size();
    const Layer &values = network.layers[l], &spread = errors.layers[l];
    std::vector<NamedWeight> all;
    for (Index i = 0; i < values.W.rows(); ++i) {
      const std::string row =
          last ? column_name(result.certificate.output_names, "output", i) : fmt::format("unit {}", i + 1);
      for (Index j = 0; j < values.W.cols(); ++j) {
        const std::string column = first ? column_name(result.certificate.input_names, "input", j)
                                         : fmt::format("unit {} below", j + 1);
        all.push_back({row + ", " + column, values.W(i, j), spread.W(i, j)});
      }
      all.push_back({row + (last ? ", constant" : ", bias"), values.b(i), spread.b(i)});
    }
    const std::size_t count = all.size();
    const std::vector<NamedWeight> shown = least_certain(std::move(all));
    const std::string which = shown.size() < count
                                  ? fmt::format("the {} least certain of {}", shown.size(),
                                                svg::group_thousands(fmt::format("{}", count)))
                                  : fmt::format("all {}", count);
    svg::Forest chart{
        .title = fmt::format("{}: {}", last ? "Outputs" : fmt::format("Layer {}", l + 1), which),
        .label = "weight"};
    for (const NamedWeight& weight : shown) {
      chart.names.push_back(weight.name);
      chart.values.push_back(weight.value);
      chart.reaches.push_back(result.errors.reach * weight.error);
    }
    charts.push_back(std::move(chart));
  }
  return forest_section(
      "Weights with intervals",
      fmt::format("{:.4g} standard errors to either side; dashed where that reaches over zero.",
                  result.errors.reach),
      charts);
}

}  // namespace exhume
