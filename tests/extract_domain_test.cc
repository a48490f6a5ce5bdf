// Extraction in a box per input, within a time, from an oracle that is not what it seems; logs that lie.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <thread>

#include "base/random.h"
#include "exhume/error.h"
#include "exhume/extract.h"
#include "oracle/command_oracle.h"
#include "oracle/input_ranges.h"
#include "oracle/meter.h"
#include "random_deep.h"
#include "refusal.h"
#include "temp_dir.h"

namespace exhume::extract_domain_test {
namespace {

Network one_layer_network(Index d, Index k, Index m, std::uint64_t seed) {
  const Stream random(seed, "network of the domain test");
  Matrix W = random.normal_matrix(k, d);
  W.rowwise().normalize();
  return {W, 0.3 * Stream(seed, "b").normal_matrix(k, 1).col(0), Stream(seed, "A").normal_matrix(m, k),
          Stream(seed, "c").normal_matrix(m, 1).col(0)};
}

TEST(BoxPerInput, IsAChangeOfVariables) {
  const Vector lows = Eigen::Vector3d(0, -3, 100), highs = Eigen::Vector3d(60760, 3, 1200);
  const Frame frame(3, 2, 1, Box::of(lows, highs));
  EXPECT_EQ(frame.box().low, -1);
  const RowMatrix z = RowMatrix::Random(30, 3), x = frame.to_inputs(z);
  for (Index n = 0; n < 3; ++n) {
    EXPECT_GE(x.col(n).minCoeff(), lows(n));
    EXPECT_LE(x.col(n).maxCoeff(), highs(n));
  }
  EXPECT_LT((frame.from_inputs(x) - z).cwiseAbs().maxCoeff(), 1e-12);
  const Network network = one_layer_network(3, 4, 2, 1);
  EXPECT_LT((evaluate(frame.on_inputs(network), x) - evaluate(network, z)).cwiseAbs().maxCoeff(), 1e-11);
  EXPECT_FALSE(Box::of(Eigen::Vector2d(0, 0), Eigen::Vector2d(1, 1)).per_input());
  expect_refused<std::invalid_argument>([&] { Box::of(highs, lows).validate(); }, {"input 1"});
  expect_refused<std::invalid_argument>([&] { Box::of(lows, highs).validate(4); }, {"3 inputs", "4"});
  expect_refused<std::invalid_argument>([&] { Box::of(lows, lows).validate(); }, {"fixed"});
}

TEST(BoxPerInput, EveryQueryLiesInItAndTheNetworkIsThatOfTheInputs) {
  const Vector lows = (Vector(5) << -1, 0, 100, -0.01, 2).finished(),
               highs = (Vector(5) << 1, 50, 200, 0.01, 3).finished();
  // Units that bend within the box: in coordinates of one scale.
  const Frame frame(5, 2, 1, Box::of(lows, highs));
  for (const std::vector<Index>& sizes : {std::vector<Index>{5, 6, 3}, std::vector<Index>{5, 4, 1}}) {
    const Network network = frame.on_inputs(random_deep(sizes, 7, false));
    ExtractOptions options;
    options.box = Box::of(lows, highs);
    const OraclePtr oracle = function_oracle(
        [&](const Eigen::Ref<const RowMatrix>& x) {
          for (Index n = 0; n < 5; ++n) {
            EXPECT_GE(x.col(n).minCoeff(), lows(n));
            EXPECT_LE(x.col(n).maxCoeff(), highs(n));
          }
          return evaluate(network, x);
        },
        5);
    const ExtractResult result = extract(oracle, options);
    ASSERT_NE(result.certificate.status, Status::kRefused) << result.certificate.reason;
    RowMatrix z(500, 5);
    Stream(3, "z").fill_uniform(0, z);
    const RowMatrix x = frame.to_inputs((2 * z.array() - 1).matrix()), y = evaluate(network, x);
    EXPECT_LT((evaluate(result.network, x) - y).cwiseAbs().maxCoeff(), 1e-7 * y.cwiseAbs().maxCoeff());
    EXPECT_NE(result.certificate.conclusion.find("their own ends"), std::string::npos);
    const ExtractResult again = replay_extraction(result.log);
    EXPECT_EQ(again.network.layers[0].W, result.network.layers[0].W);
  }
}

TEST(BoxPerInput, AFixedInputGoesIntoTheConstants) {
  const Network network = one_layer_network(4, 5, 1, 3);
  ExtractOptions options;
  options.box = Box::of(Eigen::Vector4d(-2, -2, 1, -2), Eigen::Vector4d(2, 2, 1, 2));
  const ExtractResult result = extract(network_oracle(network), options);
  ASSERT_EQ(result.certificate.status, Status::kCertified) << result.certificate.reason;
  for (Index j = 0; j < result.network.hidden(); ++j) EXPECT_EQ(result.network.W()(j, 2), 0);
  RowMatrix x = RowMatrix::Random(50, 4);
  x.col(2).setOnes();
  EXPECT_LT((evaluate(result.network, x) - evaluate(network, x)).cwiseAbs().maxCoeff(), 1e-9);
}

TEST(InputRanges, ANumberAListAFileOrData) {
  EXPECT_EQ(ends_of_inputs("-1.5", 3, "low"), Vector(Vector::Constant(3, -1.5)));
  EXPECT_EQ(ends_of_inputs("1, 2,+3e1", 3, "low"), Vector(Eigen::Vector3d(1, 2, 30)));
  const TempDir folder;
  std::ofstream(folder / "low.csv") << "1\n2\n3\n";
  EXPECT_EQ(ends_of_inputs((folder / "low.csv").string(), 3, "low"), Vector(Eigen::Vector3d(1, 2, 3)));
  expect_refused<std::invalid_argument>([&] { (void)ends_of_inputs("1,2", 3, "low"); },
                                        {"low has 2 numbers"});
  expect_refused<std::invalid_argument>([&] { (void)ends_of_inputs("one", 3, "low"); }, {"'one'"});
  std::ofstream(folder / "data.csv") << "a,b\n1,5\n-2,7\n0,5\n";
  const Box box = box_of_table((folder / "data.csv").string(), 2, {});
  EXPECT_EQ(box.lows, Vector(Eigen::Vector2d(-2, 5)));
  EXPECT_EQ(box.highs, Vector(Eigen::Vector2d(1, 7)));
  expect_refused<DataError>([&] { (void)box_of_table((folder / "data.csv").string(), 3, {}); },
                            {"2 columns"});
}

TEST(ExtractEnds, AtItsDeadlineWithWhatWasFound) {
  const Network network = random_deep({20, 30, 30, 30, 1}, 5, false);
  Control control;
  const auto begin = std::chrono::steady_clock::now();
  const ExtractResult result = extract(network_oracle(network), {}, control.within(1.5));
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(passed.count(), 4);  // 1.5, and what a busy machine adds
  EXPECT_FALSE(stands(result.certificate.status));
  EXPECT_NE(result.certificate.reason.find("the time was over"), std::string::npos)
      << result.certificate.reason;
  EXPECT_FALSE(result.interrupted);
}

TEST(ExtractEnds, WhenItsCallerSaysSo) {
  const Network network = random_deep({20, 30, 30, 30, 1}, 5, false);
  Control control;
  const auto begin = std::chrono::steady_clock::now();
  control.should_stop = [&] { return std::chrono::steady_clock::now() - begin > std::chrono::seconds(1); };
  const ExtractResult result = extract(network_oracle(network), {}, control);
  EXPECT_TRUE(result.interrupted);
  EXPECT_NE(result.certificate.reason.find("interrupted"), std::string::npos);
}

TEST(ExtractEnds, SoonWhereOutputsAreRoundedOrBendEverywhere) {
  const Network network = one_layer_network(6, 8, 1, 4);
  const auto queries = [&](const std::function<RowMatrix(const RowMatrix&)>& f) {
    const ExtractResult result =
        extract(function_oracle([&](const Eigen::Ref<const RowMatrix>& x) { return f(x); }, 6), {});
    EXPECT_FALSE(stands(result.certificate.status)) << result.certificate.reason;
    EXPECT_FALSE(result.certificate.reason.empty());
    return result.queries;
  };
  constexpr Index kMost = 400'000;
  EXPECT_LT(queries([&](const RowMatrix& x) {
              return RowMatrix(((100 * evaluate(network, x).array()).round() / 100).matrix());
            }),
            kMost);
  EXPECT_LT(queries([&](const RowMatrix& x) {
              return evaluate(network, RowMatrix(((1000 * x.array()).round() / 1000).matrix()));
            }),
            kMost);
  EXPECT_LT(queries([&](const RowMatrix& x) {
              RowMatrix y = evaluate(network, x);
              y.col(0).array() += 1e-6 * (100 * x.col(0).array()).sin();
              return y;
            }),
            kMost);
}

TEST(ExtractEnds, AConstantIsNoTree) {
  for (const Index m : {1, 3}) {
    const auto constant = [m](const Eigen::Ref<const RowMatrix>& x) {
      RowMatrix y(x.rows(), m);
      for (Index o = 0; o < m; ++o) y.col(o).setConstant(1.0 + static_cast<double>(o));
      return y;
    };
    const ExtractResult result = extract(function_oracle(constant, 4), {});
    EXPECT_EQ(result.certificate.status, Status::kCertified) << result.certificate.reason;
    EXPECT_EQ(result.network.hidden(), 0);
    EXPECT_LT((evaluate(result.network, RowMatrix::Ones(1, 4)) - constant(RowMatrix::Ones(1, 4))).norm(),
              1e-12);
  }
}

TEST(QueryLogOf, AnotherOracleIsNotGoneOnFrom) {
  const TempDir folder;
  ExtractOptions options;
  options.log = folder / "q.log";
  const Network first = one_layer_network(8, 4, 1, 5);
  ASSERT_EQ(extract(network_oracle(first), options).certificate.status, Status::kCertified);
  options.resume = true;
  const ExtractResult again = extract(network_oracle(first), options);
  EXPECT_EQ(again.certificate.status, Status::kCertified);
  EXPECT_EQ(again.sent, 8);
  Network other = first;
  other.A()(0, 0) += 1e-3;
  expect_refused<DataError>([&] { (void)extract(network_oracle(other), options); }, {"not the one"});
}

TEST(QueryLogOf, TwoProcessesIsRefused) {
  const TempDir folder;
  const QueryLog log("{}", folder / "q.log");
  LogContents contents;
  expect_refused<DataError>([&] { QueryLog(folder / "q.log", contents); }, {"in use"});
}

TEST(QueryLogOf, WhatCannotBeIsRefusedBeforeItIsUsed) {
  const std::string header = R"({"inputs": 3})";
  const auto with = [&](const Queries& queries, RowMatrix answers) {
    QueryLog log(header);
    log.asking(2);
    log.answered({QueryStage::kProbe, plain_rows(RowMatrix::Ones(2, 3)), RowMatrix::Ones(2, 1)});
    log.asking(queries.count());
    log.answered({QueryStage::kColumns, queries, std::move(answers)});
    (void)parse_query_log(log.bytes(), "log");
  };
  const RowMatrix one = RowMatrix::Ones(1, 1);
  Queries good = in_subspace(RowMatrix::Ones(1, 2));
  EXPECT_NO_THROW(with(good, one));
  good.direction = {2};
  good.step = Vector::Ones(1);
  EXPECT_NO_THROW(with(good, one));
  for (const std::int32_t direction : {3, -1, 1 << 30}) {
    good.direction = {direction};
    EXPECT_THROW(with(good, one), DataError) << direction;
  }
  EXPECT_THROW(with(in_subspace(RowMatrix::Ones(1, 4)), one), DataError);
  EXPECT_THROW(with(plain_rows(RowMatrix::Ones(1, 2)), one), DataError);
  EXPECT_THROW(with(plain_rows(RowMatrix::Ones(1, 3)), RowMatrix::Ones(1, 2)), DataError);
  EXPECT_THROW(with(plain_rows(RowMatrix::Constant(1, 3, std::nan(""))), one), DataError);
  EXPECT_THROW((void)parse_query_log(QueryLog(R"({"inputs": 10.5})").bytes(), "log"), DataError);
  const Frame frame(3, 2, 1, {});
  good.direction = {7};
  EXPECT_THROW((void)frame.points(good), DataError);
}

}  // namespace
}  // namespace exhume::extract_domain_test
