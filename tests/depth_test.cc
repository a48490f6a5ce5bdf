// The number of hidden layers: what is asked for, and what is found.
#include <gtest/gtest.h>

#include "data/planted.h"
#include "data/planted_deep.h"
#include "exhume/recover.h"
#include "judge/deep/deep_layers.h"
#include "refusal.h"

namespace exhume::depth_test {
namespace {

TEST(Depth, IsWhatTheFieldsImply) {
  RecoverOptions options;
  EXPECT_EQ(options.depth(), 1);
  options.widths = {20, 20};
  EXPECT_EQ(options.depth(), 2);
  options.layers = RecoverOptions::kAnyDepth;
  EXPECT_EQ(options.depth(), 2);  // widths leave nothing to find
  options.widths = {};
  EXPECT_EQ(options.depth(), RecoverOptions::kAnyDepth);
  options.layers = 3;
  EXPECT_EQ(options.depth(), 3);
}

// --layers 2 --hidden 16 ignored the 16, --layers 3 --hidden 20,20 became two layers.
TEST(Depth, WidthsOfAnotherNumberOfLayersAreRefused) {
  for (const auto& [layers, widths] :
       {std::pair<Index, std::vector<Index>>{2, {16}}, {3, {20, 20}}, {1, {4, 4}}}) {
    RecoverOptions options;
    options.layers = layers;
    options.widths = widths;
    expect_refused<std::invalid_argument>([&] { options.validate(); }, {"hidden is", "layers is"});
  }
}

// --layers auto --first-layer F forgot F.
TEST(Depth, AnyDepthKeepsAGivenFirstLayer) {
  RecoverOptions options;
  options.layers = RecoverOptions::kAnyDepth;
  options.first_layer = Matrix::Ones(3, 5);
  EXPECT_EQ(options.depth(), 2);
  EXPECT_NO_THROW(options.validate());
  options.layers = 3;
  expect_refused<std::invalid_argument>([&] { options.validate(); }, {"first layer", "3"});
  const SamplePtr samples =
      planted_samples(plant({.inputs = 6, .hidden = 3, .outputs = 1}), {.samples = 600});
  options.layers = 2;
  expect_refused<std::invalid_argument>([&] { (void)recover(samples, options); }, {"4 inputs", "have 6"});
}

TEST(Depth, ActivationAndLeakAreOfOneLayer) {
  RecoverOptions options;
  options.layers = 2;
  options.activation = "square";
  expect_refused<std::invalid_argument>([&] { options.validate(); }, {"activation"});
  options.activation = "relu";
  options.route = "symmetric";
  expect_refused<std::invalid_argument>([&] { options.validate(); }, {"symmetric", "several hidden layers"});
}

TEST(Depth, TextIsReadOnce) {
  EXPECT_EQ(parse_layers("auto"), RecoverOptions::kAnyDepth);
  EXPECT_EQ(parse_layers("3"), 3);
  EXPECT_TRUE(parse_widths("auto").empty());
  EXPECT_EQ(parse_widths("20,7"), (std::vector<Index>{20, 7}));
  for (const char* text : {"", "0", "9", "-1", "2.5", "many"})
    expect_refused<std::invalid_argument>([&] { (void)parse_layers(text); }, {"layers is"});
  for (const char* text : {"", "0", "3,", ",3", "3,x", "auto,3"})
    expect_refused<std::invalid_argument>([&] { (void)parse_widths(text); }, {"hidden is"});
}

// Below 500 rows several layers are refused: the one-layer result was thrown away with an error.
TEST(Depth, FewRowsKeepTheResultOfOneLayer) {
  const SamplePtr samples = planted_samples(
      plant_deep({.inputs = 3, .widths = {5, 5}, .outputs = 1, .seed = 2}), {.samples = 300, .seed = 2});
  RecoverOptions options;
  options.layers = RecoverOptions::kAnyDepth;
  options.budget_seconds = 20;
  const Result result = recover(samples, options);
  EXPECT_EQ(result.certificate.status, Status::kUncertified) << result.certificate.reason;
  EXPECT_FALSE(result.is_deep());
  ASSERT_FALSE(result.certificate.tried.empty());
  EXPECT_EQ(result.certificate.tried.back().route, "deep");
  EXPECT_NE(result.certificate.tried.back().outcome.find("too few"), std::string::npos);
}

// The activation was dropped: units of another kind are looked for in one layer, and no deeper ReLUs then.
TEST(Depth, AnyDepthKeepsActivationAndRoute) {
  const SamplePtr samples = planted_samples(plant({.inputs = 4, .hidden = 3, .outputs = 3, .seed = 4}),
                                            {.samples = 900, .seed = 4});
  RecoverOptions options;
  options.layers = RecoverOptions::kAnyDepth;
  options.route = "rectified-tensor";
  options.activation = "square";
  const Result result = recover(samples, options);
  EXPECT_EQ(result.activation, "square");
  EXPECT_EQ(result.certificate.route, "rectified-tensor");
  for (const Attempt& attempt : result.certificate.tried) EXPECT_NE(attempt.route, "deep");
}

// "10-9-0 hidden units, with skip terms" is a network of two hidden layers.
TEST(Depth, LayersWithoutUnitsAreLeftOut) {
  Network empty;
  empty.layers = {{Matrix::Random(4, 3), Vector::Random(4), {}},
                  {Matrix::Random(2, 4), Vector::Random(2), Matrix::Random(2, 3)},
                  {Matrix(0, 2), Vector(0), Matrix(0, 7)},
                  {Matrix(1, 0), Vector::Random(1), Matrix::Random(1, 9)}};
  const Network fewer = without_empty_layers(empty);
  EXPECT_EQ(fewer.widths(), (std::vector<Index>{4, 2}));
  const RowMatrix x = RowMatrix::Random(20, 3);
  EXPECT_LT((evaluate(fewer, x) - evaluate(empty, x)).norm(), 1e-13 * evaluate(empty, x).norm());
  // The first layer, too; and one hidden layer stays.
  Network first;
  first.layers = {{Matrix(0, 3), Vector(0), {}},
                  {Matrix(4, 0), Vector::Random(4), Matrix::Random(4, 3)},
                  {Matrix::Random(1, 4), Vector::Random(1), {}}};
  const Network one = without_empty_layers(first);
  EXPECT_EQ(one.widths(), (std::vector<Index>{4}));
  EXPECT_FALSE(one.has_skip_terms());
  EXPECT_LT((evaluate(one, x) - evaluate(first, x)).norm(), 1e-13 * evaluate(first, x).norm());
}

}  // namespace
}  // namespace exhume::depth_test
