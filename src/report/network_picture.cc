#include "report/network_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "report/svg.h"

namespace exhume::svg {
namespace {

constexpr double kSide = 46, kTop = 14, kLabels = 40;  // room beside, above and below the units
constexpr double kTallest = 440, kFarthest = 26;       // of a column; from one unit to the next
constexpr Index kMostShown = 200;                      // circles of a column, whatever a certificate says
constexpr int kShades = 5;                             // of a line
constexpr double kFaintest = 0.03;                     // lines below this share of the largest are not seen

// The `most` largest of these sizes, in their order.
std::vector<Index> largest(const Vector& sizes, Index most) {
  std::vector<Index> order(static_cast<std::size_t>(sizes.size()));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index i, Index j) { return sizes(i) > sizes(j); });
  order.resize(std::min<std::size_t>(order.size(), static_cast<std::size_t>(std::max<Index>(most, 0))));
  std::sort(order.begin(), order.end());
  return order;
}

std::vector<NetworkPicture::Line> lines_of(const Matrix& W, const std::vector<Index>& from,
                                           const std::vector<Index>& to) {
  const double scale = W.size() > 0 ? W.cwiseAbs().maxCoeff() : 0;
  std::vector<NetworkPicture::Line> lines;
  if (!(scale > 0)) return lines;
  for (std::size_t i = 0; i < to.size(); ++i) {
    for (std::size_t j = 0; j < from.size(); ++j) {
      const double weight = W(to[i], from[j]) / scale;
      if (std::abs(weight) >= kFaintest)
        lines.push_back({static_cast<Index>(j), static_cast<Index>(i), weight});
    }
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const auto& a, const auto& b) { return std::abs(a.weight) < std::abs(b.weight); });
  if (static_cast<Index>(lines.size()) > kMostLines) lines.erase(lines.begin(), lines.end() - kMostLines);
  return lines;
}

// Where the circles of a column stand.
struct Column {
  double x = 0, first = 0, step = 0;
  [[nodiscard]] double y(Index unit) const { return first + step * static_cast<double>(unit); }
};

std::string label(double x, double y, const char* shade, const std::string& words) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\"{}>{}</text>\n", x, y, shade,
                     escape(words));
}

// Lines of one shade and sign are one path.
std::string draw_lines(const std::vector<NetworkPicture::Line>& lines, const Column& left,
                       const Column& right, Index most_from, Index most_to) {
  std::array<std::string, 2 * kShades> paths;
  for (const auto& line : lines) {
    if (line.from < 0 || line.to < 0 || line.from >= most_from || line.to >= most_to) continue;
    const double strength = std::min(std::abs(line.weight), 1.0);
    if (!(strength > 0)) continue;
    const auto shade = std::min(static_cast<std::size_t>(strength * kShades), std::size_t{kShades - 1});
    paths[2 * shade + (line.weight > 0 ? 1 : 0)] +=
        fmt::format("M{:.0f} {:.1f}L{:.0f} {:.1f}", left.x, left.y(line.from), right.x, right.y(line.to));
  }
  std::string out;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (paths[i].empty()) continue;
    const std::size_t shade = i / 2;
    const double strength = (static_cast<double>(shade) + 0.7) / kShades;
    out += fmt::format(
        "<path class=\"s{}\" fill=\"none\" stroke-width=\"{:.2f}\" stroke-opacity=\"{:.2f}\" d=\"{}\"/>\n",
        i % 2, 0.5 + 1.3 * strength, 0.12 + 0.75 * strength * strength, paths[i]);
  }
  return out;
}

std::string name_of(std::size_t column, std::size_t columns, Index units) {
  const char* plural = units == 1 ? "" : "s";
  if (column == 0) return fmt::format("{} input{}", units, plural);
  if (column + 1 == columns) return fmt::format("{} output{}", units, plural);
  return fmt::format("{} unit{}", units, plural);
}

}  // namespace

NetworkPicture picture_of(const Network& network, Index max_units) {
  const Network shown = canonical(network);
  NetworkPicture picture;
  picture.skips = shown.has_skip_terms();
  std::vector<std::vector<Index>> units;
  for (const Layer& layer : shown.layers) units.push_back(largest(layer.W.colwise().norm(), max_units));
  units.push_back(largest(Vector::Zero(shown.outputs()), max_units));
  picture.title = fmt::format("The layers of the network: {}", shown.inputs());
  picture.columns.push_back({shown.inputs(), static_cast<Index>(units[0].size())});
  for (std::size_t l = 0; l < shown.layers.size(); ++l) {
    const Index count = shown.layers[l].W.rows();
    picture.title += fmt::format(", {}", count);
    picture.columns.push_back({count, static_cast<Index>(units[l + 1].size())});
    picture.lines.push_back(lines_of(shown.layers[l].W, units[l], units[l + 1]));
  }
  return picture;
}

std::string draw(const NetworkPicture& picture) {
  const std::size_t columns = picture.columns.size();
  std::vector<Index> shown;
  for (const auto& column : picture.columns) {
    shown.push_back(
        std::clamp<Index>(column.shown, 0, std::min(kMostShown, std::max<Index>(column.units, 0))));
  }
  const Index most = shown.empty() ? 0 : *std::max_element(shown.begin(), shown.end());
  const double tall = std::min(kTallest, kFarthest * static_cast<double>(std::max<Index>(most - 1, 1)));
  const double height = kTop + tall + kLabels + (picture.skips ? 20 : 0);
  std::vector<Column> places;
  for (std::size_t c = 0; c < columns; ++c) {
    Column place;
    place.x = kSide + (picture.width - 2 * kSide) *
                          (columns == 1 ? 0.5 : static_cast<double>(c) / static_cast<double>(columns - 1));
    place.step = std::min(kFarthest, tall / static_cast<double>(std::max<Index>(shown[c] - 1, 1)));
    place.first = kTop + (tall - place.step * static_cast<double>(std::max<Index>(shown[c] - 1, 0))) / 2;
    places.push_back(place);
  }
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" "
      "aria-label=\"{}\">\n",
      picture.width, height, escape(picture.title));
  for (std::size_t c = 0; c + 1 < columns && c < picture.lines.size(); ++c)
    out += draw_lines(picture.lines[c], places[c], places[c + 1], shown[c], shown[c + 1]);
  for (std::size_t c = 0; c < columns; ++c) {
    const Column& place = places[c];
    const double radius = std::clamp(0.36 * place.step, 1.2, 6.0);
    for (Index unit = 0; unit < shown[c]; ++unit) {
      out += fmt::format(
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" fill=\"var(--c-paper)\" "
          "stroke=\"var(--c-ink)\"/>\n",
          place.x, place.y(unit), radius);
    }
    const Index units = picture.columns[c].units;
    out += label(place.x, kTop + tall + 24, " class=\"label\"", name_of(c, columns, units));
    if (units > shown[c]) out += label(place.x, kTop + tall + 38, "", fmt::format("{} shown", shown[c]));
  }
  if (picture.skips) {
    out += label(picture.width / 2, height - 4, "",
                 "Layers also stand on what lies further below; those weights are not drawn.");
  }
  return out + "</svg>\n";
}

}  // namespace exhume::svg
