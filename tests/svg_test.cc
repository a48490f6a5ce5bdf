#include "report/svg.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/random.h"
#include "report/weight_charts.h"
#include "well_formed.h"

namespace exhume::svg_test {
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
  // U+009B begins what a terminal obeys, U+202E turns the rest of a line round, U+2028 breaks it.
  EXPECT_EQ(svg::escape("a\xc2\x9b"
                        "b\xe2\x80\xae"
                        "c\xe2\x80\xa8"
                        "d é"),
            "a b c d é");
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

// The heights of all circles of a drawing.
std::vector<double> circle_heights(const std::string& drawing) {
  std::vector<double> heights;
  for (std::size_t at = drawing.find("cy=\""); at != std::string::npos; at = drawing.find("cy=\"", at + 1))
    heights.push_back(std::stod(drawing.substr(at + 4)));
  return heights;
}

TEST(Svg, ZerosStandBelowALogarithmicAxis) {
  const auto drawn = [](const std::vector<double>& y) {
    std::vector<double> x;
    for (std::size_t i = 0; i < y.size(); ++i) x.push_back(static_cast<double>(i));
    return svg::draw(
        svg::Chart{.y = {.log = true}, .series = {{.x = x, .y = y, .line = false, .points = true}}});
  };
  const std::string drawing = drawn({100, 10, 1, 0, 0});
  const std::vector<double> heights = circle_heights(drawing);
  ASSERT_EQ(heights.size(), 5u);
  EXPECT_GT(heights[3], heights[2] + 10);  // well below the smallest that is not zero
  EXPECT_EQ(heights[3], heights[4]);
  EXPECT_NE(drawing.find(">0</text>"), std::string::npos);
  EXPECT_EQ(drawn({100, 10, 1}).find(">0</text>"), drawn({100, 10, 1}).rfind(">0</text>"));  // of the x axis
  EXPECT_NE(drawn({1, -3}).find("≤ 0"), std::string::npos);
  EXPECT_TRUE(well_formed(drawn({0, 0})));
  // A line that falls to zero ends before it.
  const std::string line =
      svg::draw(svg::Chart{.y = {.log = true}, .series = {{.x = {0, 1, 2}, .y = {10, 1, 0}}}});
  const std::size_t path = line.find("class=\"line");
  const std::string points = line.substr(path, line.find("/>", path) - path);
  EXPECT_EQ(std::count(points.begin(), points.end(), 'L'), 1) << points;
}

TEST(Svg, NumbersInOneNotation) {
  EXPECT_EQ(tick_label(2.5e-9, false), "2.5×10⁻⁹");
  EXPECT_EQ(tick_label(-1e-15, false), "−10⁻¹⁵");
  EXPECT_EQ(tick_label(7e-31, true), "7×10⁻³¹");
  EXPECT_EQ(tick_label(1.25e12, false), "1.25×10¹²");
}

TEST(Svg, HeatMapsSayNamesWhereThereIsRoom) {
  svg::HeatMap map{.values = Matrix::Identity(2, 3),
                   .column_names = {"age", "<b>", "a name of very many letters"}};
  const std::string drawing = svg::draw(map);
  EXPECT_TRUE(well_formed(drawing));
  EXPECT_NE(drawing.find(">age</text>"), std::string::npos);
  EXPECT_NE(drawing.find("&lt;b&gt;"), std::string::npos);
  EXPECT_NE(drawing.find("a name of very man…"), std::string::npos);
  map.values = Matrix::Ones(2, 200);  // and one name a column no longer fits
  map.column_names.assign(200, "age");
  EXPECT_EQ(svg::draw(map).find(">age</text>"), std::string::npos);
}

TEST(Svg, ImagesAndForests) {
  svg::Images images{.images = {Matrix::Identity(3, 2), Matrix::Zero(3, 2)}, .captions = {"<1>", "2"}};
  EXPECT_TRUE(well_formed(svg::draw(images)));
  EXPECT_TRUE(well_formed(svg::draw(svg::Images{})));
  images.captions.pop_back();
  EXPECT_THROW((void)svg::draw(images), std::invalid_argument);
  EXPECT_THROW((void)svg::draw(svg::Images{.images = {Matrix::Zero(1, 1), Matrix::Zero(2, 1)}}),
               std::invalid_argument);

  const svg::Forest forest{.names = {"<a>", "b", "c", "d"},
                           .values = {0.5, -0.3312, std::nan(""), 1e308},
                           .reaches = {0.75, 0.0021, 1, 1e308}};
  const std::string drawing = svg::draw(forest);
  EXPECT_TRUE(well_formed(drawing));
  EXPECT_EQ(drawing.find("nan"), std::string::npos);
  EXPECT_EQ(drawing.find("inf"), std::string::npos);
  EXPECT_EQ(circle_heights(drawing).size(), 2u);
  EXPECT_NE(drawing.find("0.50 ± 0.75"), std::string::npos);
  EXPECT_NE(drawing.find("−0.3312 ± 0.0021"), std::string::npos);
  EXPECT_NE(drawing.find("dashed"), std::string::npos);  // the first reaches over zero
  EXPECT_TRUE(well_formed(svg::draw(svg::Forest{})));
}

TEST(Svg, LabelsBelowAnAxisDoNotTouch) {
  const auto labels_of = [](double reach) {
    const svg::Chart chart{.series = {{.x = {-reach, reach}, .y = {0, 1}}}};
    const std::string drawn = svg::draw(chart);
    Index count = 0;
    for (std::size_t at = 0; (at = drawn.find("text-anchor=\"middle\"", at)) != std::string::npos; ++at)
      ++count;
    return count;
  };
  EXPECT_GT(labels_of(3.1), labels_of(3.1e-115));  // as many ticks, longer labels
  EXPECT_GE(labels_of(3.1e-115), 2);
}

TEST(Svg, AForestHasTwoNumbersOnItsAxisAtLeast) {
  const svg::Forest forest{
      .names = {"a long name of a weight", "b"}, .values = {-0.42, 0.35}, .reaches = {0.01, 0.01}};
  const std::string drawn = svg::draw(forest);
  Index grid = 0;
  for (std::size_t at = 0; (at = drawn.find("class=\"grid\"", at)) != std::string::npos; ++at) ++grid;
  EXPECT_GE(grid, 2);
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
}  // namespace exhume::svg_test
