#include "exhume/report/svg.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "exhume/base/random.h"
#include "well_formed.h"

namespace exhume {
namespace {

using svg::tick_label;
using svg::ticks;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<std::string> labels(const std::vector<double>& places, bool log) {
  std::vector<std::string> out;
  out.reserve(places.size());
  for (const double place : places) out.push_back(tick_label(place, log));
  return out;
}

TEST(Svg, EscapesMarkupAndControlCharacters) {
  EXPECT_EQ(svg::escape("<script>\"a\" & 'b'\x01</script>"),
            "&lt;script&gt;&quot;a&quot; &amp; &#39;b&#39; &lt;/script&gt;");
}

TEST(Svg, LinearTicksAreRound) {
  EXPECT_EQ(labels(ticks(0, 10, 6, false), false), (std::vector<std::string>{"0", "2", "4", "6", "8", "10"}));
  EXPECT_EQ(labels(ticks(-0.31, 0.29, 6, false), false),
            (std::vector<std::string>{"−0.3", "−0.2", "−0.1", "0", "0.1", "0.2"}));
  EXPECT_EQ(labels(ticks(0, 50000, 5, false), false),
            (std::vector<std::string>{"0", "10,000", "20,000", "30,000", "40,000", "50,000"}));
}

TEST(Svg, LogTicksArePowersOfTen) {
  EXPECT_EQ(labels(ticks(1e-30, 1, 7, true), true),
            (std::vector<std::string>{"10⁻³⁰", "10⁻²⁵", "10⁻²⁰", "10⁻¹⁵", "10⁻¹⁰", "10⁻⁵", "1"}));
  EXPECT_EQ(labels(ticks(0.9, 30, 7, true), true), (std::vector<std::string>{"1", "2", "5", "10", "20"}));
}

TEST(Svg, TicksNeverRunAway) {
  for (const bool log : {false, true}) {
    for (const double low : {1e-300, 1e-9, 1.0, 12345.678, 1e300}) {
      for (const double factor : {1.0, 1.0 + 1e-12, 1.001, 3.0, 1e4}) {
        const std::vector<double> places = ticks(low, low * factor, 6, log);
        EXPECT_LE(places.size(), 14u) << low << " x " << factor;
      }
    }
  }
  EXPECT_EQ(ticks(0, kInfinity, 5, false).size(), 1u);
}

TEST(Svg, ChartsAreWellFormedWhateverTheData) {
  const std::vector<double> hostile = {0, -1, kInfinity, -kInfinity, std::nan(""), 1e308, 1e-308, 5};
  for (const bool log : {false, true}) {
    for (const auto& values : {std::vector<double>{}, {1.0}, {2.0, 2.0}, {0.0}, {std::nan("")}, hostile}) {
      const svg::Chart chart{.title = "<b>",
                             .x = {.label = "a<b", .log = log},
                             .y = {.label = "&", .log = log},
                             .series = {{.name = "<script>", .x = values, .y = values, .points = true}},
                             .rules = {{0.5, "\"rule\""}, {kInfinity, "far"}, {1, "up", true}},
                             .diagonal = true};
      const std::string drawing = svg::draw(chart);
      EXPECT_TRUE(well_formed(drawing));
      EXPECT_EQ(drawing.find("nan"), std::string::npos) << drawing;
      EXPECT_EQ(drawing.find("inf"), std::string::npos) << drawing;
      EXPECT_EQ(drawing.find("<script"), std::string::npos);
      EXPECT_TRUE(well_formed(svg::standalone(drawing)));
    }
  }
}

TEST(Svg, RefusesSeriesOfDifferentLengths) {
  EXPECT_THROW((void)svg::draw(svg::Chart{.series = {{.x = {1}, .y = {}}}}), std::invalid_argument);
  EXPECT_THROW((void)svg::draw(svg::Bars{.names = {"a"}, .values = {}}), std::invalid_argument);
}

TEST(Svg, BarsAreWellFormed) {
  EXPECT_TRUE(
      well_formed(svg::draw(svg::Bars{.names = {"<a>", "b", "c"}, .values = {0, std::nan(""), 2.5}})));
  EXPECT_TRUE(well_formed(svg::draw(svg::Bars{})));
}

TEST(Svg, HeatMapsAreWellFormedAndBounded) {
  for (const auto& [rows, columns] :
       {std::pair<Index, Index>{1, 1}, {1, 300}, {300, 1}, {5, 7}, {1000, 1000}, {0, 0}}) {
    const std::string drawing =
        svg::draw(svg::HeatMap{.row_label = "<r>", .values = Stream(1, "heat").normal_matrix(rows, columns)});
    EXPECT_TRUE(well_formed(drawing));
    EXPECT_LT(drawing.size(), 1000000u);
  }
}

TEST(Svg, ShrinkKeepsTheLargest) {
  Matrix values = Matrix::Zero(5, 3);
  values(4, 2) = -7;
  values(0, 1) = 2;
  const Matrix small = svg::shrink(values, 2, 2);
  EXPECT_EQ(small, (Matrix(2, 2) << 2, 0, 0, -7).finished());
  EXPECT_EQ(svg::shrink(values, 10, 10), values);
}

}  // namespace
}  // namespace exhume
