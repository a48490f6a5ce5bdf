// Networks out of ONNX files: as PyTorch's exporters write them, and everything that is refused.
#include "io/onnx_reader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <cstring>

#include "corruption.h"
#include "exhume/error.h"
#include "io/onnx.h"
#include "io/onnx_units.h"
#include "io/protobuf_reader.h"
#include "io/protobuf_writer.h"
#include "property.h"
#include "random_deep.h"
#include "refusal.h"

namespace exhume::io_onnx_reader_test {
namespace {

using One = std::int64_t;

// f of a graph with one hidden layer of 2 units on 3 inputs, one output; `first` and `last` write its layers.
const Network& teacher() {
  static const Network network = random_deep({3, 2, 1}, 1, false);
  return network;
}

OnnxGraph graph_of_teacher() {
  OnnxGraph graph("g");
  graph.input("x", {"n", 3});
  graph.output("y", {"n", 1});
  graph.constant("W", teacher().layers[0].W);
  graph.constant("Wt", Matrix(teacher().layers[0].W.transpose()));
  graph.constant("b", teacher().layers[0].b);
  graph.constant("A", teacher().layers[1].W);
  graph.constant("c", teacher().layers[1].b);
  return graph;
}

Network parsed(const OnnxGraph& graph) { return parse_onnx(graph.bytes(), "n.onnx"); }

void expect_teacher(const OnnxGraph& graph) { EXPECT_TRUE(same_weights(parsed(graph), teacher())); }

void last(OnnxGraph& graph) { graph.node("Gemm", {"h", "A", "c"}, "y", {{"transB", One{1}}}); }

void refuse(const OnnxGraph& graph, std::initializer_list<const char*> words) {
  expect_refused<DataError>([&] { (void)parsed(graph); }, words);
}

TEST(IoOnnxReader, GemmEitherWayRound) {
  OnnxGraph turned = graph_of_teacher();
  turned.node("Gemm", {"x", "W", "b"}, "z", {{"transB", One{1}}, {"alpha", 1.0F}, {"beta", 1.0F}});
  turned.node("Relu", {"z"}, "h");
  last(turned);
  expect_teacher(turned);
  OnnxGraph straight = graph_of_teacher();
  straight.node("Gemm", {"x", "Wt", "b"}, "z");
  straight.node("Relu", {"z"}, "h");
  last(straight);
  expect_teacher(straight);
}

TEST(IoOnnxReader, MatMulAddFlattenIdentityTransposeCast) {
  OnnxGraph graph = graph_of_teacher();
  graph.node("Flatten", {"x"}, "flat", {{"axis", One{1}}});
  graph.node("Identity", {"flat"}, "same");
  graph.node("Cast", {"same"}, "cast", {{"to", One{11}}});
  graph.node("Transpose", {"W"}, "turned", {{"perm", std::vector<One>{1, 0}}});
  graph.node("Identity", {"turned"}, "turned_again");
  graph.node("MatMul", {"cast", "turned_again"}, "product");
  graph.node("Add", {"b", "product"}, "z");
  graph.node("Relu", {"z"}, "h");
  last(graph);
  expect_teacher(graph);
}

TEST(IoOnnxReader, AlphaAndBetaScale) {
  OnnxGraph graph = graph_of_teacher();
  graph.node("Gemm", {"x", "W", "b"}, "z", {{"transB", One{1}}, {"alpha", 0.5F}, {"beta", -2.0F}});
  graph.node("Relu", {"z"}, "h");
  last(graph);
  Network wanted = teacher();
  wanted.layers[0].W *= 0.5;
  wanted.layers[0].b *= -2;
  EXPECT_TRUE(same_weights(parsed(graph), wanted));
}

TEST(IoOnnxReader, TwoLayersWithoutReluBecomeOne) {
  OnnxGraph graph("g");
  graph.input("x", {"n", 2});
  graph.output("y", {"n", 1});
  graph.constant("P", Matrix{{1, 2}, {3, 4}, {5, 6}});
  graph.constant("p", Vector{{1, 0, -1}});
  graph.constant("Q", Matrix{{1, -1, 2}});
  graph.node("Gemm", {"x", "P", "p"}, "u", {{"transB", One{1}}});
  graph.node("Gemm", {"u", "Q"}, "y", {{"transB", One{1}}});
  const Network network = parsed(graph);
  ASSERT_EQ(network.depth(), 0);
  EXPECT_EQ(network.layers[0].W, (Matrix{{8, 10}}));
  EXPECT_EQ(network.layers[0].b, Vector{{-1}});
}

TEST(IoOnnxReader, SinglePrecisionAndTypedData) {
  const Network network = random_deep({3, 4, 2, 1}, 2, true);
  const Network single = parse_onnx(onnx_bytes(network, OnnxPrecision::kSingle), "n.onnx");
  for (std::size_t l = 0; l < 3; ++l)
    EXPECT_EQ(single.layers[l].W, network.layers[l].W.cast<float>().cast<double>());

  // float_data one at a time and packed, double_data packed, as onnx.helper.make_tensor writes them.
  const auto tensor = [](const char* name, int type, const std::vector<One>& dims) {
    ProtobufMessage message;
    for (const One extent : dims) message.integer(1, extent);
    message.integer(2, type);
    message.bytes(8, name);
    return message;
  };
  ProtobufMessage weights = tensor("W", 1, {1, 2}), bias = tensor("b", 11, {1}), node, graph, x, y, model;
  weights.single(4, 1.5F);
  weights.single(4, -2);
  const double half = 0.5;
  bias.bytes(10, std::string_view(reinterpret_cast<const char*>(&half), sizeof half));
  for (const char* name : {"x", "W", "b"}) node.bytes(1, name);
  node.bytes(2, "y");
  node.bytes(4, "Gemm");
  ProtobufMessage attribute;
  attribute.bytes(1, "transB");
  attribute.integer(3, 1);
  node.message(5, attribute);
  x.bytes(1, "x");
  y.bytes(1, "y");
  graph.message(1, node);
  graph.message(5, weights);
  graph.message(5, bias);
  graph.message(11, x);
  ProtobufMessage initialiser_as_input;
  initialiser_as_input.bytes(1, "W");
  graph.message(11, initialiser_as_input);
  graph.message(12, y);
  model.message(7, graph);
  const Network found = parse_onnx(model.str(), "n.onnx");
  EXPECT_EQ(found.layers[0].W, (Matrix{{1.5, -2}}));
  EXPECT_EQ(found.layers[0].b, Vector{{0.5}});
}

// 1.5 and -2 in 16 bits, as raw bytes and as int32_data, which onnx.helper.make_tensor writes.
TEST(IoOnnxReader, WeightsOfSixteenBits) {
  struct Case {
    int type;
    std::uint16_t bits[2];
  };
  for (const Case& each : {Case{10, {0x3e00, 0xc000}}, Case{16, {0x3fc0, 0xc000}}}) {
    for (const bool raw : {false, true}) {
      ProtobufMessage weights, node, graph, x, y, model;
      weights.integer(1, 2);
      weights.integer(1, 1);
      weights.integer(2, each.type);
      weights.bytes(8, "W");
      if (raw) {
        weights.bytes(9, std::string_view(reinterpret_cast<const char*>(each.bits), sizeof each.bits));
      } else {
        for (const std::uint16_t bits : each.bits) weights.integer(5, bits);
      }
      for (const char* name : {"x", "W"}) node.bytes(1, name);
      node.bytes(2, "y");
      node.bytes(4, "MatMul");
      x.bytes(1, "x");
      y.bytes(1, "y");
      graph.message(1, node);
      graph.message(5, weights);
      graph.message(11, x);
      graph.message(12, y);
      model.message(7, graph);
      EXPECT_EQ(parse_onnx(model.str(), "n.onnx").layers[0].W, (Matrix{{1.5, -2}})) << each.type << raw;
    }
  }
}

// PyTorch writes approximate="none" for the exact function.
TEST(IoOnnxReader, AnExactGeluIsNotTheOneByTanh) {
  for (const char* way : {"none", "tanh"}) {
    ProtobufMessage node, graph, model;
    node.bytes(1, "z");
    node.bytes(2, "h");
    node.bytes(4, "Gelu");
    ProtobufMessage attribute;
    attribute.bytes(1, "approximate");
    attribute.bytes(4, way);
    attribute.integer(20, 3);
    node.message(5, attribute);
    graph.message(1, node);
    model.message(7, graph);
    const OnnxModel parts = parse_onnx_model(model.str(), "n.onnx");
    const std::optional<Vector> values = followed(parts.nodes.at(0), unit_arguments());
    ASSERT_TRUE(values);
    EXPECT_EQ(recognised_unit(*values), way == std::string("tanh") ? "gelu_tanh" : "gelu");
  }
}

TEST(IoOnnxReader, LayersWithoutUnitsAreTheSameFunction) {
  for (const std::vector<Index>& sizes :
       {std::vector<Index>{2, 0, 3, 1}, {2, 3, 0, 2}, {2, 0, 0, 1}, {3, 2, 0, 2, 1}}) {
    const Network network = random_deep(sizes, 3, true);
    const Network found = parse_onnx(onnx_bytes(network), "n.onnx");
    const RowMatrix x = Stream(3, "x").normal_matrix(20, network.inputs());
    EXPECT_LE((evaluate(network, x) - evaluate(found, x)).cwiseAbs().maxCoeff(), 1e-13);
  }
}

TEST(IoOnnxReader, OperatorsThatAreNotReadAreNamed) {
  OnnxGraph graph = graph_of_teacher();
  graph.node("Gemm", {"x", "W", "b"}, "z", {{"transB", One{1}}});
  graph.node("Hardmax", {"z"}, "h");
  last(graph);
  refuse(graph, {"n.onnx", "operator Hardmax", "export"});
  OnnxGraph softmax = graph_of_teacher();
  softmax.node("Gemm", {"x", "W", "b"}, "z", {{"transB", One{1}}});
  softmax.node("Softmax", {"z"}, "y");
  refuse(softmax, {"operator Softmax"});
}

TEST(IoOnnxReader, GraphsThatAreNoChainOfLayers) {
  const auto with = [](auto build) {
    OnnxGraph graph = graph_of_teacher();
    build(graph);
    return graph;
  };
  const OnnxGraph::Attribute turned{"transB", One{1}};
  refuse(with([&](OnnxGraph& g) {
           g.node("Gemm", {"x", "W", "b"}, "y", {turned, {"transA", One{1}}});
         }),
         {"transA"});
  refuse(with([&](OnnxGraph& g) { g.node("Gemm", {"x", "x"}, "y"); }), {"Gemm", "not constants"});
  refuse(with([&](OnnxGraph& g) { g.node("Gemm", {"q", "W"}, "y"); }), {"not computed before"});
  refuse(with([&](OnnxGraph& g) { g.node("MatMul", {"W", "x"}, "y"); }), {"on the left"});
  refuse(with([&](OnnxGraph& g) { g.node("MatMul", {"x", "b"}, "y"); }), {"shape (2,)"});
  refuse(with([&](OnnxGraph& g) { g.node("Relu", {"x"}, "y"); }), {"Relu", "without weights"});
  refuse(with([&](OnnxGraph& g) { g.node("Add", {"x", "b"}, "y"); }), {"Add", "without weights"});
  refuse(with([&](OnnxGraph& g) { g.node("Add", {"b", "b"}, "y"); }), {"two constants"});
  refuse(with([&](OnnxGraph& g) { g.node("Flatten", {"x"}, "y", {{"axis", One{0}}}); }), {"Flatten"});
  refuse(with([&](OnnxGraph& g) {
           g.node("Cast", {"x"}, "y", {{"to", One{7}}});
         }),
         {"Cast", "whole numbers"});
  refuse(with([&](OnnxGraph& g) { g.node("Transpose", {"x"}, "y"); }), {"Transpose"});
  refuse(with([&](OnnxGraph& g) { g.node("Identity", {"x"}, "y"); }), {"its inputs"});
  refuse(with([&](OnnxGraph&) {}), {"nothing computes its output 'y'"});
  refuse(with([&](OnnxGraph& g) {
           g.node("Gemm", {"x", "W", "b"}, "z", {turned});
           g.node("Relu", {"z"}, "y");
         }),
         {"ends in a Relu"});
  refuse(with([&](OnnxGraph& g) {
           g.node("Gemm", {"x", "W", "b"}, "z", {turned});
           g.node("Relu", {"z"}, "h");
           g.node("Gemm", {"h", "W"}, "y", {turned});
         }),
         {"3 columns do not fit"});
  refuse(with([&](OnnxGraph& g) {
           g.node("Gemm", {"x", "W", "b"}, "z", {turned});
           g.node("Gemm", {"x", "W"}, "z", {turned});
         }),
         {"'z' exists already"});
  refuse(with([&](OnnxGraph& g) {
           g.node("Gemm", {"x", "W", "b"}, "z", {turned});
           g.node("Gemm", {"x", "W"}, "other", {turned});
           g.node("Relu", {"z"}, "h");
           g.node("Relu", {"other"}, "k");
         }),
         {"side by side"});
  refuse(with([&](OnnxGraph& g) {
           g.constant("five", Vector(Vector::Ones(5)));
           g.node("Gemm", {"x", "W", "five"}, "y", {turned});
         }),
         {"shape (5,)", "2 units"});
  refuse(with([&](OnnxGraph& g) {
           g.constant("whole", std::vector<One>{1, 2});
           g.node("Gemm", {"x", "W", "whole"}, "y", {turned});
         }),
         {"'whole' is not of a type of real numbers", "float16"});
  refuse(with([&](OnnxGraph& g) {
           g.constant("bad", Matrix(Matrix::Constant(2, 3, NAN)));
           g.node("Gemm", {"x", "bad"}, "y", {turned});
         }),
         {"'bad' is NaN at [0, 0]"});
  refuse(with([&](OnnxGraph& g) { g.input("second", {"n", 1}); }), {"2 inputs and 1 outputs"});
}

TEST(IoOnnxReader, ProductsThatNoMemoryHoldsAreRefused) {
  OnnxGraph graph("g");
  graph.input("x", {"n", 100});
  graph.output("y", {"n", 100});
  graph.constant("P", Matrix(Matrix::Ones(1, 100)));
  graph.constant("Q", Matrix(Matrix::Ones(100, 1)));
  graph.node("Gemm", {"x", "P"}, "u", {{"transB", One{1}}});
  graph.node("Gemm", {"u", "Q"}, "y", {{"transB", One{1}}});
  EXPECT_EQ(parse_onnx(graph.bytes(), "n", {.largest_product = 10000}).parameters(), 10100);
  expect_refused<DataError>([&] { (void)parse_onnx(graph.bytes(), "n", {.largest_product = 9999}); },
                            {"100 x 100", "too many"});
}

TEST(IoOnnxReader, BytesThatAreNoModel) {
  const auto bytes = [](const std::string& text, std::initializer_list<const char*> words) {
    expect_refused<DataError>([&] { (void)parse_onnx(text, "n.onnx"); }, words);
  };
  bytes("", {"no graph"});
  bytes(std::string("\x08\x07", 2), {"no graph"});
  bytes(std::string("\x3a\x7f", 2), {"127 bytes where 0 are left"});
  bytes(std::string("\x3b", 1), {"field of type 3"});
  bytes(std::string("\x00\x01", 2), {"number 0"});
  bytes(std::string(11, '\xff'), {"more than 64 bits"});
  bytes(std::string("\x08", 1), {"cut off"});
  bytes(std::string("\x38\x01", 2), {"should be bytes"});
  bytes(std::string("\x3a\x00\x3a\x00", 4), {"two graphs"});
  bytes(std::string("\x3a\x00", 2), {"0 inputs and 0 outputs"});
  ProtobufMessage tensor, graph, model;
  tensor.integer(1, 1 << 30);
  tensor.integer(1, 1 << 30);
  tensor.integer(2, 1);
  tensor.bytes(8, "W");
  graph.message(5, tensor);
  model.message(7, graph);
  bytes(model.str(), {"'W' has shape (1073741824, 1073741824) but 0 bytes"});
  tensor.integer(14, 1);
  graph = {};
  graph.message(5, tensor);
  model = {};
  model.message(7, graph);
  bytes(model.str(), {"'W' in a file of its own"});
}

TEST(IoOnnxReaderProperty, DamageIsRefusedOrHarmlessNeverFatal) {
  const std::string good = onnx_bytes(random_deep({2, 2, 2, 1}, 6, true));
  EXPECT_TRUE(property_holds([&] {
    try {
      parse_onnx(corrupted(good), "n.onnx").validate();
    } catch (const DataError&) {
    }
  }));
}

TEST(ProtobufReader, PackedAndSingleWholeNumbers) {
  ProtobufMessage message;
  message.integer(1, 300);
  message.bytes(1, std::string("\x01\xac\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 13));
  const std::string file = "f";
  std::vector<std::int64_t> list;
  ProtobufReader reader(message.str(), file);
  for (ProtobufField field; reader.next(field);) append_integers(field, file, list);
  EXPECT_EQ(list, (std::vector<std::int64_t>{300, 1, 300, -1}));
}

}  // namespace
}  // namespace exhume::io_onnx_reader_test
