// memorize: what is fitted, what is refused and in which words.
#include "exhume/memorize.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>

#include "base/random.h"
#include "exhume/error.h"
#include "exhume/papers/memorize.h"
#include "normal_rows.h"

namespace exhume::memorize_test {
namespace {

RowMatrix digits_like_labels(Index n) {
  RowMatrix y(n, 1);
  for (Index i = 0; i < n; ++i)
    y(i, 0) = static_cast<double>(Stream(1, "labels").below(10, static_cast<std::uint64_t>(i)));
  return y;
}

template <class Call>
std::string refusal(const Call& call) {
  try {
    (void)call();
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

// Must show: N = 300, d = 100: relative error at most 1e-20 with at most 100 units.
TEST(Memorize, SyntheticExample) {
  RowMatrix x(300, 100), y(300, 1);
  Stream(0, "x").fill_uniform(0, x);
  Stream(0, "y").fill_uniform(0, y);
  x = unit_rows(2 * x.array() - 1);
  y = 2 * y.array() - 1;
  const MemorizeResult result = memorize(x, y);
  EXPECT_TRUE(result.memorized()) << result.certificate.reason;
  EXPECT_EQ(result.layers, 2);
  EXPECT_LE(result.relative_error, 1e-20);
  EXPECT_LE(result.network.hidden(), 100);
}

// Must show: n = d (d+1) / 2 fits; one row more is refused, naming three layers, which then fit.
TEST(Memorize, CapacityIsSharpAndTheWayOutWorks) {
  const RowMatrix x = normal_rows(821, 40, 1), y = normal_rows(821, 1, 2);
  MemorizeOptions two;
  two.layers = 2;
  const MemorizeResult full = memorize(x.topRows(820), y.topRows(820), two);
  EXPECT_LE(full.relative_error, 1e-12);
  EXPECT_TRUE(full.memorized()) << full.certificate.reason;
  const std::string words = refusal([&] { return memorize(x, y, two); });
  EXPECT_NE(words.find("820"), std::string::npos) << words;
  EXPECT_NE(words.find("three layers"), std::string::npos) << words;
  EXPECT_NE(words.find("features 58 (2 ceil(sqrt n)), power 2"), std::string::npos) << words;
  MemorizeOptions three;
  three.layers = 3;
  three.features = 58;
  three.power = 2;
  const MemorizeResult out = memorize(x, y, three);
  EXPECT_TRUE(out.memorized()) << out.certificate.reason;
  EXPECT_EQ(out.network.R.rows(), 58);
  EXPECT_TRUE(memorize(x, y).memorized()) << "automatic layers take the same way out";
}

TEST(Memorize, ThreeLayersTooSmallAreRefusedWithSizes) {
  const RowMatrix x = normal_rows(100, 6, 1), y = normal_rows(100, 1, 2);
  MemorizeOptions options;
  options.layers = 3;
  options.features = 10;
  std::string words = refusal([&] { return memorize(x, y, options); });
  EXPECT_NE(words.find("features 20"), std::string::npos) << words;
  options.features = 0;
  options.power = 1;
  words = refusal([&] { return memorize(x, y, options); });
  EXPECT_NE(words.find("power 2"), std::string::npos) << words;
  words = refusal([&] { return memorize(normal_rows(5, 1, 1), normal_rows(5, 1, 2)); });
  EXPECT_NE(words.find("no size"), std::string::npos) << words;
}

TEST(Memorize, DuplicatesWithDifferentLabelsAreNamed) {
  RowMatrix x = normal_rows(40, 10, 1), y = digits_like_labels(40);
  x.row(31) = x.row(7);
  y(31, 0) = y(7, 0) + 1;
  const std::string words = refusal([&] { return memorize(x, y); });
  EXPECT_NE(words.find("rows 7 and 31"), std::string::npos) << words;
  MemorizeOptions options;
  options.perturb = 0.05;
  const MemorizeResult result = memorize(x, y, options);
  EXPECT_TRUE(result.memorized()) << result.certificate.reason;
  EXPECT_EQ(result.accuracy, 1);
  EXPECT_LT(result.given_accuracy, 1) << "the rows as given cannot all be right";
  y(31, 0) = y(7, 0);
  EXPECT_TRUE(memorize(x, y).memorized()) << "duplicates that agree are no obstacle";
}

TEST(Memorize, RowsNotInGeneralPositionAreReported) {
  RowMatrix x = normal_rows(40, 10, 1);
  x.rightCols(4).setZero();  // 6 columns: capacity 21
  const MemorizeResult result = memorize(x, normal_rows(40, 1, 2));
  EXPECT_FALSE(result.memorized());
  EXPECT_EQ(result.closed_form.rank, 21);
  EXPECT_NE(result.certificate.reason.find("general position"), std::string::npos)
      << result.certificate.reason;
}

TEST(Memorize, SeveralOutputsAndClasses) {
  const RowMatrix x = normal_rows(150, 20, 1), y = digits_like_labels(150);
  MemorizeOptions options;
  const MemorizeResult integer = memorize(x, y, options);
  EXPECT_EQ(integer.labels, LabelKind::kInteger);
  EXPECT_EQ(integer.accuracy, 1);
  options.classes = true;
  const MemorizeResult classes = memorize(x, y, options);
  EXPECT_EQ(classes.labels, LabelKind::kOneHot);
  EXPECT_EQ(classes.network.outputs(), 10);
  EXPECT_EQ(classes.classes.size(), 10u);
  EXPECT_EQ(classes.accuracy, 1);
  EXPECT_TRUE(classes.memorized());
  const MemorizeResult columns = memorize(x, one_hot(y));
  EXPECT_EQ(columns.labels, LabelKind::kOneHot);
  EXPECT_TRUE(columns.network.W == classes.network.W);
  const MemorizeResult real = memorize(x, normal_rows(150, 3, 2));
  EXPECT_EQ(real.labels, LabelKind::kReal);
  EXPECT_LE(real.relative_error, 1e-20);
}

TEST(Memorize, EveryMethodFits) {
  const RowMatrix x = normal_rows(25, 12, 1), y = normal_rows(25, 2, 2);
  for (const MemorizeMethod method : {MemorizeMethod::kPgd, MemorizeMethod::kAdam}) {
    MemorizeOptions options;
    options.method = method;
    options.normalize = true;
    options.tolerance = 1e-6;
    options.descent.decay_epochs = 5000;
    options.descent.max_iterations = 50000;
    const MemorizeResult result = memorize(x, y, options);
    EXPECT_TRUE(result.memorized()) << to_string(method) << ": " << result.certificate.reason;
    EXPECT_EQ(result.network.hidden(), 2 * 26);
    ASSERT_EQ(result.stationarity.size(), 2u);
    for (const SecondOrder& second : result.stationarity) EXPECT_TRUE(second.lemma1_holds);
    EXPECT_EQ(memorize_method(to_string(method)), method);
  }
  MemorizeOptions options;
  options.method = MemorizeMethod::kPgdPrinted;
  options.descent.max_iterations = 50;
  const MemorizeResult printed = memorize(x, y, options);
  EXPECT_FALSE(printed.memorized());
  EXPECT_GT(printed.descents[0].constants.ell, 1);
  EXPECT_FALSE(memorize_method("newton"));
}

TEST(Memorize, RefusesNonsense) {
  const RowMatrix x = normal_rows(5, 4, 1), y = normal_rows(5, 1, 2);
  MemorizeOptions options;
  options.layers = 4;
  EXPECT_THROW((void)memorize(x, y, options), std::invalid_argument);
  options = {};
  options.hidden = 7;
  EXPECT_THROW((void)memorize(x, y, options), std::invalid_argument);
  options = {};
  options.perturb = -1;
  EXPECT_THROW((void)memorize(x, y, options), std::invalid_argument);
  options = {};
  options.layers = 2;
  options.power = 3;
  EXPECT_THROW((void)memorize(x, y, options), std::invalid_argument);
  EXPECT_THROW((void)memorize(x, y.topRows(4)), DataError);
  RowMatrix bad = x;
  bad(3, 2) = std::nan("");
  const std::string words = refusal([&] { return memorize(bad, y); });
  EXPECT_NE(words.find("row 3, column 2"), std::string::npos) << words;
  EXPECT_THROW((void)one_hot(y), DataError);
}

}  // namespace
}  // namespace exhume::memorize_test
