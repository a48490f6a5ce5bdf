#include "report/network_picture.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "random_deep.h"
#include "report/sections.h"
#include "report/svg.h"
#include "well_formed.h"

namespace exhume::network_picture_test {
namespace {

std::size_t count(const std::string& text, std::string_view word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

TEST(NetworkPicture, OneCircleAUnitAndOneLineAWeight) {
  Network network;
  network.layers = {{Matrix{{1, -1}, {2, 2}, {1, 0}}, Vector{{0, 0, 0}}, Matrix()},
                    {Matrix{{1, -2, 3}, {2, 1, -1}}, Vector{{1, 1}}, Matrix()},
                    {Matrix{{1, 1}}, Vector{{0}}, Matrix()}};
  const std::string drawn = draw(svg::picture_of(network));
  EXPECT_TRUE(well_formed(drawn));
  EXPECT_EQ(count(drawn, "<circle"), 8U);
  EXPECT_EQ(count(drawn, "M"), 13U);  // 5 + 6 + 2: a weight of zero has no line
  for (const char* words :
       {"2 inputs", "3 units", "2 units", "1 output<", "The layers of the network: 2, 3, 2, 1"})
    EXPECT_NE(drawn.find(words), std::string::npos) << words;
}

TEST(NetworkPicture, LargeLayersAreThinnedAndCounted) {
  const svg::NetworkPicture picture = svg::picture_of(random_deep({64, 100, 41, 10}, 1, true), 40);
  EXPECT_EQ(picture.columns[1].units, 100);
  EXPECT_EQ(picture.columns[1].shown, 40);
  EXPECT_EQ(picture.columns[3].shown, 10);
  for (const auto& lines : picture.lines) {
    EXPECT_LE(static_cast<Index>(lines.size()), svg::kMostLines);
    for (const auto& line : lines) EXPECT_LE(std::abs(line.weight), 1);
  }
  const std::string drawn = draw(picture);
  EXPECT_TRUE(well_formed(drawn));
  EXPECT_EQ(count(drawn, "<circle"), 130U);
  EXPECT_NE(drawn.find("64 inputs"), std::string::npos);
  EXPECT_EQ(count(drawn, "40 shown"), 3U);
  EXPECT_NE(drawn.find("further below"), std::string::npos);
  EXPECT_LT(drawn.size(), 80'000U);
}

TEST(NetworkPicture, WellFormedWhateverIsAskedFor) {
  EXPECT_TRUE(well_formed(draw(svg::picture_of(random_deep({2, 1}, 1, false)))));
  EXPECT_TRUE(well_formed(draw(svg::picture_of(random_deep({2, 3, 0, 1}, 1, true)))));
  EXPECT_TRUE(well_formed(draw(svg::NetworkPicture{})));
  svg::NetworkPicture hostile;
  hostile.title = "<script>";
  hostile.columns = {{-1, 5}, {3, 1'000'000'000}, {1'000'000'000, 1'000'000'000}};
  hostile.lines = {{{0, 0, 1}, {-1, 2, 1}},
                   {{0, 0, std::nan("")}, {2, 1, -std::numeric_limits<double>::infinity()}, {99, 0, 1}},
                   {},
                   {}};
  const std::string drawn = draw(hostile);
  EXPECT_TRUE(well_formed(drawn));
  EXPECT_EQ(drawn.find("nan"), std::string::npos);
  EXPECT_EQ(drawn.find("<script"), std::string::npos);
  EXPECT_LT(drawn.size(), 100'000U);
}

TEST(NetworkPicture, ASectionOfTheCertificateDrawsTheSamePicture) {
  const svg::NetworkPicture picture = svg::picture_of(random_deep({5, 4, 3, 2}, 2, false));
  const Json json = network_section("Layers", "A few words.", picture);
  const std::string drawn = draw_section(Json::parse(json.dump()));
  EXPECT_TRUE(well_formed(drawn));
  EXPECT_EQ(count(drawn, "<circle"), 14U);
  EXPECT_NE(drawn.find("A few words."), std::string::npos);
  for (const char* hostile :
       {R"({"kind": "network"})",
        R"({"kind": "network", "columns": [1, [2], [1e9, "x"]], "lines": [3, [[1]]]})",
        R"({"kind": "network", "columns": [[1, 1], [1, 1]], "lines": [[[0, 0, null], [0.5, 0, 1]]]})"})
    EXPECT_TRUE(well_formed(draw_section(Json::parse(hostile)))) << hostile;
}

}  // namespace
}  // namespace exhume::network_picture_test
