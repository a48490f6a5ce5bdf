#include <gtest/gtest.h>

#include <cstring>

#include "base/random.h"
#include "exhume/error.h"
#include "exhume/network.h"
#include "io/onnx.h"
#include "onnx_fields.h"
#include "refusal.h"

namespace exhume::io_onnx_test {
namespace {

using testing::all;
using testing::fields;
using testing::one;
using Names = std::vector<std::string>;

Network random_network(Index d, Index k, Index m, bool linear) {
  Network network;
  network.W() = Stream(1, "W").normal_matrix(k, d);
  network.b() = Stream(1, "b").normal_matrix(k, 1);
  network.A() = Stream(1, "A").normal_matrix(m, k);
  network.c() = Stream(1, "c").normal_matrix(m, 1);
  if (linear) network.L() = Stream(1, "L").normal_matrix(m, d);
  return network;
}

TEST(IoOnnx, FieldsAreWhereTheFormatWantsThem) {
  const Network network = random_network(4, 3, 2, true);
  const auto model = fields(onnx_bytes(network));
  EXPECT_EQ(one(model, 1), "7");
  EXPECT_EQ(one(model, 2), "exhume");
  EXPECT_EQ(one(fields(one(model, 8)), 2), "13");
  const auto graph = fields(one(model, 7));
  const auto nodes = all(graph, 1);
  ASSERT_EQ(nodes.size(), 5u);
  Names ops;
  for (const std::string& node : nodes) ops.push_back(one(fields(node), 4));
  EXPECT_EQ(ops, (Names{"Gemm", "Relu", "Gemm", "Gemm", "Add"}));
  const auto first = fields(nodes[0]);
  EXPECT_EQ(all(first, 1), (Names{"x", "W", "b"}));
  const auto attribute = fields(one(first, 5));
  EXPECT_EQ(one(attribute, 1), "transB");
  EXPECT_EQ(one(attribute, 3), "1");
  EXPECT_EQ(one(attribute, 20), "2");

  bool seen = false;
  for (const std::string& bytes : all(graph, 5)) {
    const auto tensor = fields(bytes);
    EXPECT_EQ(one(tensor, 2), "11");
    if (one(tensor, 8) != "W") continue;
    seen = true;
    EXPECT_EQ(all(tensor, 1), (Names{"3", "4"}));
    const RowMatrix rows = network.W();
    EXPECT_EQ(one(tensor, 9), std::string(reinterpret_cast<const char*>(rows.data()), 96));
  }
  EXPECT_TRUE(seen);

  const auto input = fields(one(graph, 11));
  EXPECT_EQ(one(input, 1), "x");
  const auto type = fields(one(fields(one(input, 2)), 1));
  EXPECT_EQ(one(type, 1), "11");
  const auto dims = all(fields(one(type, 2)), 1);
  ASSERT_EQ(dims.size(), 2u);
  EXPECT_EQ(one(fields(dims[0]), 2), "n");
  EXPECT_EQ(one(fields(dims[1]), 1), "4");
  EXPECT_EQ(one(fields(one(graph, 12)), 1), "y");
}

TEST(IoOnnx, AttributesOfAllKinds) {
  OnnxGraph graph("g");
  graph.node("Op", {"a"}, "b",
             {{"alpha", 0.5f}, {"axes", std::vector<std::int64_t>{0, -1}}, {"to", std::int64_t{300}}});
  graph.constant("shape", std::vector<std::int64_t>{-1, 2});
  const auto content = fields(one(fields(graph.bytes()), 7));
  const auto attributes = all(fields(one(content, 1)), 5);
  ASSERT_EQ(attributes.size(), 3u);
  float alpha = 0;
  std::memcpy(&alpha, one(fields(attributes[0]), 2).data(), sizeof alpha);
  EXPECT_EQ(alpha, 0.5f);
  EXPECT_EQ(all(fields(attributes[1]), 8), (Names{"0", "18446744073709551615"}));  // -1 in two's complement
  EXPECT_EQ(one(fields(attributes[2]), 3), "300");
  EXPECT_EQ(one(fields(one(content, 5)), 2), "7");
}

TEST(IoOnnx, SinglePrecisionRefusesWhatItCannotHold) {
  Network network = random_network(2, 2, 1, false);
  EXPECT_NO_THROW((void)onnx_bytes(network, OnnxPrecision::kSingle));
  network.W()(0, 0) = 1e300;
  expect_refused<std::invalid_argument>([&] { (void)onnx_bytes(network, OnnxPrecision::kSingle); },
                                        {"'W'", "single precision"});
  network.b().resize(3);
  EXPECT_THROW((void)onnx_bytes(network), std::invalid_argument);
}

}  // namespace
}  // namespace exhume::io_onnx_test
