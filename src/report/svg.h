// Charts as inline SVG: lines and points on linear or logarithmic axes, bars, heat maps.
//
// A chart is a plain struct; `draw` turns it into one <svg> element that scales with the page. Colours and
// fonts come from CSS variables, so one drawing serves light, dark and print: put `style()` once into the
// page, or make a file of its own with `standalone`. Series colours are Okabe and Ito's, told apart by the
// colour-blind. Every text is escaped. Numbers that are not finite are left out. A logarithmic axis has no
// place for zero: points at zero or below stand in a row of their own under it, marked 0, and lines break
// there; along a logarithmic x axis they are left out.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exhume/types.h"

namespace exhume::svg {

// Text made safe for HTML and XML, in elements and in quoted attributes. Control characters become spaces.
[[nodiscard]] std::string escape(std::string_view text);
// Without control characters and marks that turn, hide or break a line: blanks stand for them.
[[nodiscard]] std::string printable(std::string_view text);

struct Axis {
  std::string label{};
  bool log = false;
  std::optional<double> low{}, high{};  // empty: from the data, rounded outwards
};

struct Series {
  std::string name{};  // empty: not in the legend
  std::vector<double> x{}, y{};
  bool line = true, points = false;
  bool dashed = false;
  double size = 3;              // radius of the points
  double opacity = 1;           // of the points, where many lie upon each other
  std::optional<int> colour{};  // number in the palette; empty: the series' own place
};

// A straight line across the chart with a few words: a threshold, a floor, a gap.
struct Rule {
  double at = 0;
  std::string label{};
  bool vertical = false;
};

struct Chart {
  std::string title{};  // for screen readers; the page writes its own caption
  Axis x{}, y{};
  std::vector<Series> series{};
  std::vector<Rule> rules{};
  bool diagonal = false;  // the line y = x
  double width = 520, height = 320;
};
[[nodiscard]] std::string draw(const Chart& chart);

// Horizontal bars, one per row, with their value written at the end.
struct Bars {
  std::string title{};
  std::vector<std::string> names{};
  std::vector<double> values{};      // not negative
  std::vector<std::string> texts{};  // what is written at the end of a bar; empty: the value
  double width = 520;
};
[[nodiscard]] std::string draw(const Bars& bars);

// Signed values as cells, from one colour through the background to another. Above `max_rows` x `max_columns`
// neighbours share a cell, which shows the one of largest magnitude.
struct HeatMap {
  std::string title{}, row_label{}, column_label{};
  Matrix values{};
  Index max_rows = 64, max_columns = 96;
  Index rows = 0, columns = 0;  // what the axes say where `values` is already thinned; 0: its own size
  std::vector<std::string> column_names{};  // below the columns, where there is room; empty: their numbers
  double width = 520;
};
[[nodiscard]] std::string draw(const HeatMap& map);

// Groups neighbours until at most rows x columns are left; each group shows its entry of largest magnitude.
[[nodiscard]] Matrix shrink(const Matrix& values, Index rows, Index columns);

// Round places for ticks that cover [low, high]: 1, 2 or 5 times a power of ten; powers of ten where `log`.
[[nodiscard]] std::vector<double> ticks(double low, double high, int at_most, bool log);
// "0.25", "1,000,000", "2.5×10⁻⁹"; a power of ten on a logarithmic axis is written as one.
[[nodiscard]] std::string tick_label(double value, bool log);

// A whole number in decimal with a comma before every three digits: "-1,234,567".
[[nodiscard]] std::string group_thousands(std::string_view digits);

// The style sheet of all charts (no <style> tags), light and dark.
[[nodiscard]] std::string style();
// A file of its own from one drawing.
[[nodiscard]] std::string standalone(const std::string& drawing);

}  // namespace exhume::svg
