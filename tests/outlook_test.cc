// What is said of samples before anything is fitted.
#include "routes/outlook.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace exhume::outlook_test {
namespace {

RowMatrix normal_rows(Index n, Index d) { return Stream(1, "outlook").normal_matrix(d, n).transpose(); }

bool says(const std::vector<std::string>& sentences, std::string_view words) {
  return std::any_of(sentences.begin(), sentences.end(),
                     [&](const std::string& s) { return s.find(words) != std::string::npos; });
}

const RouteOutlook& of(const Outlook& found, std::string_view route) {
  return *std::find_if(found.routes.begin(), found.routes.end(),
                       [&](const RouteOutlook& r) { return r.route == route; });
}

TEST(Outlook, GaussianRowsOfANetwork) {
  const RowMatrix x = normal_rows(3000, 4);
  const RowMatrix y = (x.col(0) + x.col(1)).cwiseMax(0) - x.col(2).cwiseMax(0.3);
  const Outlook found = outlook(memory_samples(x, y), {});
  EXPECT_EQ(found.rows, 3000);
  EXPECT_EQ(found.distinct, 3000);
  EXPECT_TRUE(found.inspection.gaussian);
  EXPECT_TRUE(of(found, "depth2").applies);
  EXPECT_TRUE(of(found, "any_inputs").applies);
  EXPECT_GT(found.linear_share, 0.5);
  EXPECT_LT(found.linear_share, 0.99);
  // 12 (k (4 + 1) + 1 (4 + 1)) <= 3000
  EXPECT_EQ(found.most_hidden, 49);
  EXPECT_TRUE(found.obstacles.empty());
  EXPECT_EQ(found.precision, "double precision");
}

TEST(Outlook, LinearOutputs) {
  const RowMatrix x = normal_rows(1000, 3);
  const RowMatrix y = x.col(0) - 2 * x.col(2);
  const Outlook found = outlook(memory_samples(x, y), {});
  EXPECT_NEAR(found.linear_share, 1, 1e-12);
  EXPECT_TRUE(says(found.advice, "linear function"));
}

TEST(Outlook, AnIndexAmongTheInputs) {
  for (const double first : {0.0, 1.0}) {
    RowMatrix x = normal_rows(2000, 3);
    for (Index i = 0; i < x.rows(); ++i) x(i, 1) = first + static_cast<double>(i);
    const SamplePtr samples = memory_samples(x, x.col(0).cwiseMax(0));
    ASSERT_EQ(index_remarks(*samples).size(), 1u);
    EXPECT_TRUE(says(outlook(samples, {}).advice, "input 2 counts the rows"));
  }
  // The index of a table from which rows were removed.
  RowMatrix x = normal_rows(2000, 3);
  for (Index i = 0; i < x.rows(); ++i) x(i, 1) = static_cast<double>(3 * i + i % 2);
  EXPECT_TRUE(
      says(outlook(memory_samples(x, x.col(0).cwiseMax(0)), {}).advice, "input 2 holds whole numbers"));
  // Counts, in an order of their own, and a time that increases by fractions.
  x(10, 1) = x(9, 1);
  EXPECT_TRUE(index_remarks(*memory_samples(x, x.col(0))).empty());
  x.col(1).setLinSpaced(0.5, 900.3);
  EXPECT_TRUE(index_remarks(*memory_samples(x, x.col(0))).empty());
}

TEST(Outlook, AConstantInputIsAnObstacle) {
  RowMatrix x = normal_rows(1000, 3);
  x.col(2).setConstant(7);
  const Outlook found = outlook(memory_samples(x, x.col(0).cwiseMax(0)), {});
  EXPECT_TRUE(says(found.obstacles, "constant"));
  EXPECT_TRUE(found.routes.empty());
}

TEST(Outlook, LabelsAndFewRows) {
  const RowMatrix x = normal_rows(40, 3);
  const RowMatrix y = (x.col(0).array() > 0).cast<double>();
  const Outlook found = outlook(memory_samples(x, y), {});
  EXPECT_TRUE(says(found.advice, "whole numbers"));
  EXPECT_TRUE(says(found.advice, "40 rows are few"));
  EXPECT_EQ(found.most_hidden, 0);
}

TEST(Outlook, FilesThatAreExchanged) {
  const RowMatrix x = normal_rows(500, 1), y = normal_rows(500, 9);
  EXPECT_TRUE(says(outlook(memory_samples(x, y), {}).advice, "exchanged"));
}

}  // namespace
}  // namespace exhume::outlook_test
