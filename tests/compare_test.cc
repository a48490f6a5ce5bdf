// Are two networks the same: matching, proved bounds, arithmetic, black boxes.
#include "exhume/compare.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "compare/arithmetic.h"
#include "compare/match.h"
#include "compare/pair_bounds.h"
#include "compare/search.h"
#include "compare/split.h"
#include "compare/unit_function.h"
#include "exhume/activation.h"
#include "exhume/error.h"
#include "model/activation_table.h"

namespace exhume::compare_test {
namespace {

Network random_relus(std::uint64_t seed, const std::vector<Index>& widths) {
  Network network;
  for (std::size_t l = 0; l + 1 < widths.size(); ++l) {
    const std::string name = std::to_string(l);
    const double size = std::sqrt(2.0 / static_cast<double>(widths[l]));
    network.layers.push_back({Stream(seed, "W" + name).normal_matrix(widths[l + 1], widths[l]) * size,
                              Stream(seed, "b" + name).normal_matrix(widths[l + 1], 1).col(0) * 0.3,
                              Matrix()});
  }
  return network;
}

// Every weight times 1 + size * normal.
Network perturbed(Network network, std::uint64_t seed, double size) {
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    Layer& layer = network.layers[l];
    const Matrix factor =
        Stream(seed, "p" + std::to_string(l)).normal_matrix(layer.W.rows(), layer.W.cols() + 1);
    layer.W.array() *= 1 + size * factor.leftCols(layer.W.cols()).array();
    layer.b.array() *= 1 + size * factor.rightCols(1).array();
  }
  return network;
}

// Units of every hidden layer in reverse order, scaled.
Network exchanged(const Network& network) {
  Network out = network;
  for (std::size_t l = 0; l + 1 < out.layers.size(); ++l) {
    const Index k = out.layers[l].W.rows();
    const Vector scale = Stream(7, "scale" + std::to_string(l)).uniform_vector(k, 0.3, 3);
    Matrix W = scale.asDiagonal() * out.layers[l].W,
           above = out.layers[l + 1].W * scale.cwiseInverse().asDiagonal();
    Vector b = scale.cwiseProduct(out.layers[l].b);
    out.layers[l].W = W.colwise().reverse();
    out.layers[l].b = b.reverse();
    out.layers[l + 1].W = above.rowwise().reverse();
  }
  return out;
}

ComparedModel model(Network network) { return {"a network", std::move(network), {}}; }

CompareOptions within(double low, double high) {
  CompareOptions options;
  options.low = Vector::Constant(1, low);
  options.high = Vector::Constant(1, high);
  options.budget = 200;
  return options;
}

TEST(Compare, UnitsExchangedAndScaledAreTheSameNetwork) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Network f = random_relus(seed, {4, 9, 7, 5, 2});
    const CompareResult found = compare(model(f), model(exchanged(f)), within(-1, 1));
    EXPECT_EQ(found.verdict, CompareVerdict::kSameNetwork) << seed << found.reason;
    EXPECT_EQ(found.matched, 21);
    EXPECT_LT(found.upper, 1e-10);
  }
}

TEST(Compare, IdleUnitsAndTwinsDoNotCount) {
  const Network f = random_relus(4, {3, 6, 2});
  Matrix W(8, 3), A(2, 8);
  Vector b(8);
  W << f.W(), 2 * f.W().row(1), f.W().row(0);
  b << f.b(), 2 * f.b()(1), -0.3;
  A << f.A(), 0.25 * f.A().col(1), Vector::Zero(2);
  A.col(1) *= 0.5;
  const CompareResult found = compare(model(f), model(Network(W, b, A, f.c())), within(-1, 1));
  EXPECT_EQ(found.verdict, CompareVerdict::kSameNetwork) << found.reason;
  EXPECT_LT(found.upper, 1e-13);
}

TEST(Compare, AUnitThatIsAlwaysOnMayBeALinearTerm) {
  Network f = random_relus(5, {3, 6, 2});
  f.b()(2) = 10;  // on in the whole domain
  Network g(f.W(), f.b(), f.A(), f.c() + 10 * f.A().col(2), f.A().col(2) * f.W().row(2));
  g.A().col(2).setZero();
  const CompareResult found = compare(model(f), model(g), within(-1, 1));
  EXPECT_EQ(found.verdict, CompareVerdict::kSameNetwork) << found.reason;
  EXPECT_LT(found.upper, 1e-12);
}

// Bounds of random pairs against random inputs and ascent, over boxes of many sizes: no bound is below.
TEST(Compare, NoBoundIsBelowADifference) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const Network f = random_relus(seed, {3, 8, 8, 2});
    Network g = perturbed(f, seed, seed % 3 == 0 ? 0.3 : 1e-4);
    if (seed % 4 == 0) g = random_relus(seed + 100, {3, 9, 5, 2});  // nothing matches
    const double size = std::pow(2.0, -static_cast<double>(seed % 6));
    const Vector low = Vector::Constant(3, -size), high = Vector::Constant(3, size);
    const Matching pair = match_units(f, g, low, high, false, 0);
    const PairBounds bounds(pair.first, pair.second);
    const RowMatrix x = uniform_inputs(low, high, 4000, seed, "test");
    const Vector gap = sure_difference(f, g, x);
    const DifferenceResult search = find_difference(pair.first, pair.second, low, high, {}, {});
    EXPECT_GE(bounds.bound(low, high).upper, gap.maxCoeff()) << seed;
    SplitOptions limits;
    limits.boxes = limits.boxes_decided = 300;
    const SplitResult proof = split(bounds, low, high, {},
                                    [&](const RowMatrix& r) { return sure_difference(f, g, r); }, limits, {});
    EXPECT_GE(proof.upper, gap.maxCoeff()) << seed;
    EXPECT_GE(proof.upper * (1 + 1e-12), search.worst) << seed;
    EXPECT_LE(proof.lower, proof.upper) << seed;
    EXPECT_LE(bound_of_leaves(bounds, low, high, proof.tree, proof.upper, {}), proof.upper) << seed;
  }
}

TEST(Compare, BoundsAreTightWhereUnitsAreSettled) {
  const Network f = random_relus(9, {2, 6, 2});
  const Network g = perturbed(f, 9, 1e-4);
  const Vector low = Vector::Constant(2, 0.3), high = Vector::Constant(2, 0.3 + 1e-6);
  const Matching pair = match_units(f, g, low, high, false, 0);
  const BoxBound bound = PairBounds(pair.first, pair.second).bound(low, high);
  EXPECT_NEAR(bound.upper / sure_difference(f, g, low.transpose())(0), 1, 1e-3);
}

TEST(Compare, ABrokenTreeIsRefused) {
  const Network f = random_relus(1, {2, 3, 1});
  const Vector low = Vector::Zero(2), high = Vector::Ones(2);
  const PairBounds bounds(to_blocks(f), to_blocks(f));
  for (const char* tree : {"0 .", "2 . .", ". .", "0 . . .", "x", "", "-1 . ."})
    EXPECT_THROW((void)bound_of_leaves(bounds, low, high, tree, 0, {}), DataError) << tree;
  EXPECT_EQ(bound_of_leaves(bounds, low, high, "0 1 . . .", 0, {}), 0);
}

TEST(Compare, TheVerdictDoesNotDependOnThreads) {
  const Network f = random_relus(3, {4, 12, 12, 2}), g = perturbed(f, 3, 1e-3);
  Control two;
  two.threads = 2;
  const CompareResult a = compare(model(f), model(g), within(-1, 1)),
                      b = compare(model(f), model(g), within(-1, 1), two);
  EXPECT_EQ(a.tree, b.tree);
  EXPECT_EQ(a.upper, b.upper);
  EXPECT_EQ(a.lower, b.lower);
}

TEST(Compare, OneWeightIsNamed) {
  const Network f = random_relus(11, {5, 20, 15, 3});
  Network g = exchanged(f);
  g.layers[1].W(4, 7) *= 1.001;
  const CompareResult found = compare(model(f), model(g), within(-1, 1));
  EXPECT_EQ(found.verdict, CompareVerdict::kDifferent) << found.reason;
  ASSERT_EQ(found.changed.size(), 1U);
  EXPECT_EQ(found.changed[0].layer, 1);
  EXPECT_EQ(found.changed[0].second_row, 4);
  EXPECT_EQ(found.changed[0].weight, "weight on unit 13 of layer 1");
}

TEST(Compare, AUnitOfTheSecondLayerIsSetOff) {
  const Network f = random_relus(12, {6, 20, 15, 2});
  Network g = f;
  Layer &layer = g.layers[1], &above = g.layers[2];
  layer.W.conservativeResize(16, 20);
  layer.W.row(15) = Stream(1, "planted").normal_matrix(1, 20);
  layer.b.conservativeResize(16);
  const RowMatrix h =
      features(to_blocks(f), uniform_inputs(Vector::Constant(6, -1), Vector::Ones(6), 20000, 1, "t"))[1];
  layer.b(15) = -1.1 * (h * layer.W.row(15).transpose()).maxCoeff();  // beyond 20,000 random inputs
  above.W.conservativeResize(2, 16);
  above.W.col(15).setConstant(5);
  const CompareResult found = compare(model(f), model(g), within(-1, 1));
  EXPECT_EQ(found.verdict, CompareVerdict::kDifferent) << found.reason;
  ASSERT_EQ(found.extra.size(), 1U);
  EXPECT_EQ(found.extra[0].second_row, 15);
  EXPECT_TRUE(found.extra[0].acts);
  EXPECT_EQ(found.random_differences.maxCoeff(), 0);
}

TEST(Compare, StoredInAnotherFormatIsRounding) {
  const Network f = random_relus(13, {6, 14, 9, 2});
  const auto stored = [&](auto&& round) {
    Network g = f;
    for (Layer& layer : g.layers) {
      layer.W = layer.W.unaryExpr(round);
      layer.b = layer.b.unaryExpr(round);
    }
    return g;
  };
  const auto said = [&](const Network& g) {
    const CompareResult found = compare(model(f), model(g), within(-1, 1));
    return std::string(to_string(found.verdict)) + " " + found.arithmetic;
  };
  EXPECT_EQ(said(stored([](double v) { return double(float(v)); })), "rounding float32");
  EXPECT_EQ(said(stored([](double v) { return double(float(Eigen::half(float(v)))); })), "rounding float16");
  Network g = f;
  for (Layer& layer : g.layers) {
    const double step = layer.W.cwiseAbs().maxCoeff() / 127;
    layer.W = layer.W.unaryExpr([step](double v) { return std::round(v / step) * step; });
  }
  EXPECT_EQ(said(g), "rounding weights in int8, a scale per matrix");
  g.layers[1].W(2, 2) += 0.3;
  EXPECT_EQ(said(g), "different ");
}

TEST(Compare, ABlackBoxIsToldFromRounding) {
  const Network f = random_relus(14, {6, 14, 9, 2});
  const auto asked = [&](const AnswerFunction& answer) {
    CompareOptions options = within(-1, 1);
    options.queries = 4000;
    return compare(model(f), {"a function", {}, function_oracle(answer, 6)}, options);
  };
  const auto in = [&](Arithmetic arithmetic) {
    return asked(
        [&f, arithmetic](const Eigen::Ref<const RowMatrix>& x) { return evaluate_in(arithmetic, f, x); });
  };
  EXPECT_EQ(asked([&](const auto& x) { return evaluate(f, x); }).verdict, CompareVerdict::kSameFunction);
  EXPECT_EQ(in(Arithmetic::kFloat32).arithmetic, "float32");
  EXPECT_EQ(in(Arithmetic::kInt8Weights).verdict, CompareVerdict::kRounding);
  EXPECT_EQ(in(Arithmetic::kInt8).verdict, CompareVerdict::kRounding);
  const CompareResult changed = asked([&](const auto& x) { return evaluate(perturbed(f, 1, 1e-3), x); });
  EXPECT_EQ(changed.verdict, CompareVerdict::kDifferent) << changed.reason;
  EXPECT_LE(changed.queries, 4000);
  EXPECT_GT(changed.worst_difference, 0);
}

// Where a changed unit switches the difference jumps: at one place of the few that are looked at it is rough.
TEST(Compare, OneKinkDoesNotMakeAChangeRough) {
  for (int seed = 1; seed <= 60; ++seed) {
    const Network f = random_relus(seed, {6, 5, 5});
    Network g = f;
    g.layers[0].W(2, 3) *= 1.001;
    CompareOptions options = within(-1, 1);
    options.queries = 2000;
    const CompareResult found = compare(model(f), {"a function", {}, network_oracle(g)}, options);
    EXPECT_EQ(found.verdict, CompareVerdict::kDifferent) << "seed " << seed << ": " << found.reason;
  }
}

// Int8 whose scale is that of the batch: coarser for a row among larger ones, at corners and far out.
TEST(Compare, Int8MayBeScaledByTheBatch) {
  for (int seed = 1; seed <= 12; ++seed) {
    const Network f = seed % 2 == 0 ? random_relus(seed, {8, 43, 1}) : random_relus(seed, {4, 30, 40, 2});
    const OraclePtr oracle =
        function_oracle([&](const auto& x) { return evaluate_in(Arithmetic::kInt8, f, x); }, f.inputs());
    const CompareResult found = compare(model(f), {"a function", {}, oracle}, within(-1, 1));
    EXPECT_EQ(found.verdict, CompareVerdict::kRounding) << "seed " << seed << ": " << found.reason;
  }
}

// Noise is as rough as the rounding of int8, and no arithmetic of the file.
TEST(Compare, NoiseIsNoRounding) {
  const Network f = random_relus(14, {6, 14, 9, 2});
  std::uint64_t asked = 0;
  const auto noisy = [&](const Eigen::Ref<const RowMatrix>& x) {
    RowMatrix noise(x.rows(), 2);
    Stream(++asked, "noise of a black box").fill_normal(0, noise);
    return RowMatrix(evaluate(f, x) + 1e-3 * noise);
  };
  CompareOptions options = within(-1, 1);
  options.queries = 3000;
  const ComparedModel box{"a service", {}, function_oracle(noisy, 6, "a service")};
  for (const ComparedModel& other : {model(f), ComparedModel{"another", {}, network_oracle(f)}}) {
    options.tolerance.reset();
    const CompareResult found = compare(other, box, options);
    EXPECT_EQ(found.verdict, CompareVerdict::kUndecided) << found.reason;
    EXPECT_NE(found.reason.find("a service answers the same query differently, by up to 0.00"),
              std::string::npos)
        << found.reason;
    options.tolerance = 0.02;
    EXPECT_EQ(compare(other, box, options).verdict, CompareVerdict::kSameFunction);
  }
  options.tolerance.reset();
  Network g = f;
  g.layers[1].W(2, 3) += 1;  // far beyond the noise
  EXPECT_EQ(compare(model(g), box, options).verdict, CompareVerdict::kDifferent);
}

TEST(Compare, TwoBlackBoxes) {
  const Network f = random_relus(16, {5, 9, 2}), g = perturbed(f, 2, 1e-3);
  const auto box = [](const Network& network) {
    return ComparedModel{"a function", {}, network_oracle(network)};
  };
  CompareOptions options = within(-1, 1);
  options.queries = 1000;
  EXPECT_EQ(compare(box(f), box(f), options).verdict, CompareVerdict::kSameFunction);
  EXPECT_EQ(compare(box(f), box(g), options).verdict, CompareVerdict::kDifferent);
}

TEST(Compare, AUnitFoundFarOutIsFollowedHome) {
  const Network f = random_relus(15, {40, 20, 2});
  // On at one corner of forty dimensions, and nowhere near any random input or corner.
  Vector w = Stream(2, "planted").normal_matrix(40, 1).col(0).cwiseSign();
  const auto answer = [&](const Eigen::Ref<const RowMatrix>& x) {
    RowMatrix y = evaluate(f, x);
    y.col(0) += 2 * ((x * w).array() - 39.0).max(0.0).matrix();
    return y;
  };
  CompareOptions options = within(-1, 1);
  const CompareResult found = compare(model(f), {"a function", {}, function_oracle(answer, 40)}, options);
  EXPECT_EQ(found.verdict, CompareVerdict::kDifferent) << found.reason;
  ASSERT_EQ(found.worst_input.size(), 40);
  EXPECT_GT(found.worst_input.dot(w), 39);
  options.inside = true;
  const CompareResult missed = compare(model(f), {"a function", {}, function_oracle(answer, 40)}, options);
  EXPECT_TRUE(missed.same());
  EXPECT_GT(missed.unseen_share, 0);
}

// Weights below zero alone on units that are never below zero: the unit is off, by intervals.
TEST(Compare, AUnitThatReadsNothingAboveZeroIsProvedToBeOff) {
  const Network f = random_relus(21, {6, 20, 4, 9, 2});
  Network g = f;
  Matrix& W = g.layers[2].W;
  W.conservativeResize(10, 4);
  W.row(9) << -1, -0.5, -2, -0.1;
  g.layers[2].b.conservativeResize(10);
  g.layers[2].b(9) = 0;
  g.layers[3].W.conservativeResize(2, 10);
  g.layers[3].W.col(9) << 1, -1;
  const CompareResult found = compare(model(f), model(g), within(-1, 1));
  EXPECT_EQ(found.verdict, CompareVerdict::kSameFunction) << found.reason;
  EXPECT_LT(found.upper, 1e-12);
  EXPECT_EQ(found.extra.size(), 1U);
}

// Answers in single precision, and one weight changed by a thousandth of itself: of the size of rounding
// where it acts, and told from it. Networks as they are, in other scales: rounding.
TEST(Compare, AChangeOfTheSizeOfRoundingIsNoRounding) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const Network f = random_relus(seed, {8, 30, 20, 2});
    const bool changed = seed % 2 == 0;
    Network g = f;
    if (changed) {
      Network file = f;
      file.layers[1].W(3, 4) = 0.1 * f.layers[1].W(3, 4);
      g.layers[1].W(3, 4) = file.layers[1].W(3, 4) * (1 + 1e-3);
      const OraclePtr oracle = function_oracle(
          [&](const auto& x) { return evaluate_in(Arithmetic::kFloat32, g, x); }, 8, "changed");
      const CompareResult found = compare(model(file), {"changed", {}, oracle}, within(-1, 1));
      ASSERT_EQ(found.verdict, CompareVerdict::kDifferent) << seed << found.reason;
      ASSERT_FALSE(found.changed.empty()) << seed;
      EXPECT_EQ(found.changed[0].layer, 1) << seed;
      EXPECT_EQ(found.changed[0].first_row, 3) << seed;
      EXPECT_NEAR(found.changed[0].second_weight, g.layers[1].W(3, 4), 1e-3 * std::abs(g.layers[1].W(3, 4)))
          << seed;
      continue;
    }
    // Other scales, so that other weights are stored.
    const Network other = exchanged(g);
    const OraclePtr oracle = function_oracle(
        [&](const auto& x) { return evaluate_in(Arithmetic::kFloat32, other, x); }, 8, "single");
    const CompareResult found = compare(model(f), {"single", {}, oracle}, within(-1, 1));
    EXPECT_EQ(found.verdict, CompareVerdict::kRounding) << seed << found.reason;
  }
}

// Every activation: ranges of values, slopes and lines hold at inputs between.
TEST(Compare, RangesOfUnitFunctionsHold) {
  for (const std::string& name : activation_names()) {
    const Rectifier sigma = parse_rectifier(name);
    if (name == "relu" || name == "leaky_relu" || name == "abs" || name == "identity") continue;  // as ReLUs
    const UnitFunction unit(sigma);
    const Stream stream(3, "ranges " + name);
    for (std::uint64_t k = 0; k < 200; ++k) {
      RowMatrix ends(2, 1);
      stream.fill_normal(k, ends);
      const double scale = std::pow(10.0, static_cast<double>(k % 4) - 2);
      const double low = scale * ends.minCoeff(), high = scale * ends.maxCoeff();
      const Range slopes = unit.slopes(low, high), values = unit.values(low, high);
      const UnitFunction::Line line = unit.line(low, high);
      for (int i = 0; i <= 50; ++i) {
        const double z = low + (high - low) * i / 50;
        const double value = sigma(z), slope = sigma.everywhere || z > 0 ? sigma.slope(z) : 0;
        ASSERT_TRUE(values.low <= value && value <= values.high) << name << " " << z;
        ASSERT_TRUE(slopes.low <= slope && slope <= slopes.high)
            << name << " " << z << " " << low << " " << high;
        const double rest = value - line.lambda * z, room = 1e-15 * (1 + std::abs(value));
        ASSERT_TRUE(line.rest.low - room <= rest && rest <= line.rest.high + room) << name << " " << z;
      }
    }
  }
}

// Networks of every activation: exchanged units are the same network, one weight is named, no bound is below
// a difference, and another activation with the same weights is another function.
TEST(Compare, UnitsOfEveryActivation) {
  for (const std::string& name : activation_names()) {
    if (name == "relu" || name == "square" || name == "cube" || name == "exp") continue;
    Network f = random_relus(31, {3, 7, 6, 2});
    f.activation = name;
    Network g = f;
    g.layers[0].W = f.layers[0].W.colwise().reverse();
    g.layers[0].b = f.layers[0].b.reverse();
    g.layers[1].W = f.layers[1].W.rowwise().reverse();
    const CompareResult same = compare(model(f), model(g), within(-1, 1));
    EXPECT_EQ(same.verdict, CompareVerdict::kSameNetwork) << name << same.reason;
    EXPECT_LT(same.upper, 1e-10) << name;
    g = f;
    g.layers[1].W(2, 3) *= 1.001;
    const CompareResult found = compare(model(f), model(g), within(-1, 1));
    EXPECT_EQ(found.verdict, CompareVerdict::kDifferent) << name << found.reason;
    ASSERT_EQ(found.changed.size(), 1U) << name;
    EXPECT_EQ(found.changed[0].layer, 1) << name;
    EXPECT_EQ(found.changed[0].first_row, 2) << name;
    const RowMatrix x = uniform_inputs(found.low, found.high, 20'000, 5, "test");
    const double most = (evaluate(f, x) - evaluate(g, x)).cwiseAbs().maxCoeff();
    EXPECT_GE(found.upper, most * (1 - 1e-9)) << name;
    EXPECT_LT(found.upper, 3 * found.lower) << name;
    g = f;
    g.activation = name == "tanh" ? "gelu" : "tanh";
    const CompareResult other = compare(model(f), model(g), within(-1, 1));
    EXPECT_EQ(other.verdict, CompareVerdict::kDifferent) << name << other.reason;
  }
}

TEST(Compare, ASigmoidIsATanh) {
  Network f = random_relus(33, {3, 7, 2});
  f.activation = "sigmoid";
  const CompareResult found = compare(model(f), model(in_tanh_units(f)), within(-1, 1));
  EXPECT_EQ(found.verdict, CompareVerdict::kSameNetwork) << found.reason;
  EXPECT_LT(found.upper, 1e-13);
}

// A black box of smooth units in single precision, and one of them changed.
TEST(Compare, ABlackBoxOfSmoothUnits) {
  for (const char* name : {"tanh", "gelu", "elu"}) {
    Network f = random_relus(35, {4, 12, 8, 2});
    f.activation = name;
    Network g = f;
    g.layers[1].W(2, 3) *= 1.001;
    for (const bool changed : {false, true}) {
      const Network& behind = changed ? g : f;
      const OraclePtr oracle = function_oracle(
          [&](const auto& x) { return evaluate_in(Arithmetic::kFloat32, behind, x); }, 4, "a function");
      const CompareResult found = compare(model(f), {"a function", {}, oracle}, within(-1, 1));
      EXPECT_EQ(found.verdict, changed ? CompareVerdict::kDifferent : CompareVerdict::kRounding)
          << name << found.reason;
      if (changed) {
        ASSERT_FALSE(found.changed.empty()) << name;
        EXPECT_EQ(found.changed[0].first_row, 2) << name;
      }
    }
  }
}

TEST(Compare, OptionsThatDoNotFitAreRefused) {
  const Network f = random_relus(1, {2, 3, 1});
  CompareOptions options;
  options.low = Vector::Constant(3, 0);
  options.high = Vector::Constant(3, 1);
  EXPECT_THROW((void)compare(model(f), model(f), options), std::invalid_argument);
  options.high = Vector::Constant(2, 1);
  EXPECT_THROW((void)compare(model(f), model(f), options), std::invalid_argument);
  const CompareResult other = compare(model(f), model(random_relus(1, {3, 3, 1})));
  EXPECT_EQ(other.verdict, CompareVerdict::kDifferent);
}

}  // namespace
}  // namespace exhume::compare_test
