// Networks as text (.nnet), and models in ONNX as other programs export them.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "exhume/error.h"
#include "exhume/files.h"
#include "io/nnet.h"
#include "io/onnx_graph.h"
#include "io/onnx_reader.h"
#include "oracle/queried_model.h"
#include "refusal.h"
#include "temp_dir.h"

namespace exhume::io_nnet_test {
namespace {

const std::string kText =
    "// a comment\n// another\n2,2,1,3,\n2,3,1,\n0,\n0,-1,\n10,1,\n5,0,0.5,\n10,2,3,\n"
    "1,2,\n-1,0.5,\n0,3e-1,\n0.1,\n-0.2,\n0.3,\n1,-2,3,\n0.25,\n";

TEST(Nnet, IsReadWithTheEndsOfItsInputs) {
  const NnetFile file = parse_nnet(kText, "a.nnet");
  ASSERT_EQ(file.network.widths(), std::vector<Index>{3});
  EXPECT_EQ(file.network.W()(2, 1), 0.3);
  EXPECT_EQ(file.network.b()(1), -0.2);
  EXPECT_EQ(file.network.A()(0, 2), 3);
  EXPECT_EQ(file.network.c()(0), 0.25);
  // (0 - 5) / 10 to (10 - 5) / 10, and (-1 - 0) / 2 to 1 / 2: the same.
  EXPECT_FALSE(file.domain.per_input());
  EXPECT_EQ(file.domain.low, -0.5);
  EXPECT_EQ(file.domain.high, 0.5);
  const TempDir folder;
  std::ofstream(folder / "a.nnet") << kText;
  EXPECT_EQ(open_network(folder / "a.nnet").W(), file.network.W());
  EXPECT_EQ(open_queried_model(folder / "a.nnet").domain.high, 0.5);
}

TEST(Nnet, WhatIsWrongIsNamedByItsLine) {
  const auto with = [](const std::string& from, const std::string& to) {
    std::string text = kText;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  expect_refused<DataError>([&] { (void)parse_nnet(with("2,3,1,\n", "2,3,1,4,\n"), "a"); }, {"line 4"});
  expect_refused<DataError>([&] { (void)parse_nnet(with("1,2,\n", "1,x,\n"), "a"); }, {"line 10", "weights"});
  expect_refused<DataError>([&] { (void)parse_nnet(with("1,2,\n", "1,nan,\n"), "a"); }, {"line 10"});
  expect_refused<DataError>([&] { (void)parse_nnet(with("2,2,1,3,", "9999999,2,1,3,"), "a"); }, {"layers"});
  expect_refused<DataError>([&] { (void)parse_nnet(with("2,3,1,\n", "2,3000000,1,\n"), "a"); }, {"weights"});
  expect_refused<DataError>([&] { (void)parse_nnet(kText.substr(0, kText.size() - 6), "a"); }, {"constant"});
  expect_refused<DataError>([&] { (void)parse_nnet(kText + "1,\n", "a"); }, {"last weight"});
  expect_refused<DataError>([&] { (void)parse_nnet("", "a"); }, {"a, line"});
}

// x: n x 1 x 2 x 2, flattened, normalised, one hidden layer with normalised batches and dropout, a head.
std::string exported(const std::string& activation, const std::string& head, const std::string& flattens) {
  OnnxGraph graph("g");
  graph.input("x", {Index{1}, Index{1}, Index{2}, Index{2}});
  graph.constant("mean", Vector(Vector::Constant(1, 0.5)));
  graph.constant("std", Vector(Vector::Constant(1, 0.25)));
  Matrix W(3, 4), A(2, 3);
  W << 1, -2, 0.5, 0.25, 0, 1, 1, -1, 2, 0.5, -0.5, 1;
  A << 1, 2, -1, 0.5, -1, 1;
  graph.constant("W", W);
  graph.constant("A", A);
  graph.constant("b", Vector(Eigen::Vector3d(0.1, -0.2, 0.3)));
  graph.constant("scale", Vector(Eigen::Vector3d(1, 2, 0.5)));
  graph.constant("shift", Vector(Eigen::Vector3d(0, 0.1, -0.1)));
  graph.constant("m", Vector(Eigen::Vector3d(0.2, 0, -0.3)));
  graph.constant("v", Vector(Eigen::Vector3d(1, 4, 0.25)));
  graph.constant("rows", std::vector<std::int64_t>{1, 4});
  graph.node("Sub", {"x", "mean"}, "centred");
  graph.node("Div", {"centred", "std"}, "standard");
  graph.node(flattens,
             flattens == "Reshape" ? std::vector<std::string>{"standard", "rows"}
                                   : std::vector<std::string>{"standard"},
             "flat");
  graph.node("Gemm", {"flat", "W", "b"}, "z", {{"transB", std::int64_t{1}}});
  graph.node("BatchNormalization", {"z", "scale", "shift", "m", "v"}, "n", {{"epsilon", 0.0f}});
  if (activation == "LeakyRelu") {
    graph.node("LeakyRelu", {"n"}, "h", {{"alpha", 0.25f}});
  } else {
    graph.node("Relu", {"n"}, "h");
  }
  graph.node("Dropout", {"h"}, "dropped");
  graph.node("Gemm", {"dropped", "A"}, head.empty() ? "y" : "last", {{"transB", std::int64_t{1}}});
  if (!head.empty()) graph.node(head, {"last"}, "y");
  graph.output("y", {Index{1}, Index{2}});
  return graph.bytes();
}

RowMatrix by_hand(const RowMatrix& x, double slope) {
  Matrix W(3, 4), A(2, 3);
  W << 1, -2, 0.5, 0.25, 0, 1, 1, -1, 2, 0.5, -0.5, 1;
  A << 1, 2, -1, 0.5, -1, 1;
  RowMatrix z = ((x.array() - 0.5) / 0.25).matrix() * W.transpose();
  z.rowwise() += Eigen::RowVector3d(0.1, -0.2, 0.3);
  z.rowwise() -= Eigen::RowVector3d(0.2, 0, -0.3);
  z = (z * Eigen::Vector3d(1, 1, 1).asDiagonal()).eval();  // scale / sqrt(variance): 1/1, 2/2, 0.5/0.5
  z.rowwise() += Eigen::RowVector3d(0, 0.1, -0.1);
  z = z.cwiseMax(slope * z).eval();
  return z * A.transpose();
}

TEST(OnnxExports, NormalisedBatchesDropoutImagesAndFlatteningAreUnderstood) {
  const RowMatrix x = RowMatrix::Random(20, 4);
  for (const char* flattens : {"Flatten", "Reshape"}) {
    for (const char* activation : {"Relu", "LeakyRelu"}) {
      const Network network = parse_onnx(exported(activation, "", flattens), "a.onnx");
      const double slope = std::string(activation) == "Relu" ? 0 : 0.25;
      EXPECT_LT((evaluate(network, x) - by_hand(x, slope)).cwiseAbs().maxCoeff(), 1e-13)
          << flattens << activation;
    }
  }
}

TEST(OnnxExports, HeadsBelongToTheOracleAndToNoNetwork) {
  const TempDir folder;
  const RowMatrix x = RowMatrix::Random(20, 4), z = by_hand(x, 0);
  const auto ask = [&](const std::string& head) {
    std::ofstream(folder / "m.onnx", std::ios::binary) << exported("Relu", head, "Flatten");
    return open_queried_model(folder / "m.onnx").oracle->answer(x, {});
  };
  EXPECT_LT((ask("") - z).cwiseAbs().maxCoeff(), 1e-13);
  EXPECT_LT((ask("Tanh") - z.array().tanh().matrix()).cwiseAbs().maxCoeff(), 1e-13);
  const RowMatrix p = ask("Softmax"), logs = ask("LogSoftmax");
  EXPECT_LT((p.rowwise().sum().array() - 1).abs().maxCoeff(), 1e-13);
  EXPECT_LT((p.array().log() - logs.array()).abs().maxCoeff(), 1e-12);
  expect_refused<DataError>([&] { (void)open_network(folder / "m.onnx"); }, {"LogSoftmax"});
}

TEST(OnnxExports, ReshapingRowsIntoOthersIsRefused) {
  OnnxGraph graph("g");
  graph.input("x", {Index{1}, Index{8}});
  graph.constant("W", Matrix(Matrix::Ones(1, 4)));
  graph.constant("rows", std::vector<std::int64_t>{-1, 4});
  graph.node("Reshape", {"x", "rows"}, "flat");
  graph.node("Gemm", {"flat", "W"}, "y", {{"transB", std::int64_t{1}}});
  graph.output("y", {Index{2}, Index{1}});
  expect_refused<DataError>([&] { (void)parse_onnx(graph.bytes(), "a.onnx"); }, {"rows of 8 numbers"});
}

}  // namespace
}  // namespace exhume::io_nnet_test
