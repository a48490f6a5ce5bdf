// A small builder for ONNX models: inputs, constants, nodes, outputs; then bytes.
//
//   OnnxGraph graph("network");
//   graph.input("x", {"n", 4});
//   graph.constant("W", W);                                 // k x 4
//   graph.node("Gemm", {"x", "W"}, "h", {{"transB", 1}});   // h = x W'
//   graph.output("h", {"n", 3});
//   write_file("network.onnx", graph.bytes());
//
// IR version 7 and opset 13, which runtimes since 2020 know. All numbers are of one precision. The caller
// keeps the names unique and gives nodes in an order in which every value is made before it is used.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "exhume/types.h"

namespace exhume {

enum class OnnxPrecision { kDouble, kSingle };

class OnnxGraph {
 public:
  using Extent = std::variant<std::string, Index>;  // a symbol such as "n", or a number
  using Attribute = std::pair<std::string, std::variant<std::int64_t, float, std::vector<std::int64_t>>>;

  explicit OnnxGraph(std::string_view name, OnnxPrecision precision = OnnxPrecision::kDouble);
  ~OnnxGraph();
  OnnxGraph(OnnxGraph&&) noexcept;
  OnnxGraph& operator=(OnnxGraph&&) noexcept;

  void input(std::string_view name, const std::vector<Extent>& shape);
  void output(std::string_view name, const std::vector<Extent>& shape);
  // Weights, in the graph's precision. Throw std::invalid_argument for a number that
  // single precision cannot hold.
  void constant(std::string_view name, const Matrix& value);  // 2-D
  void constant(std::string_view name, const Vector& value);  // 1-D
  // Whole numbers, as Reshape, Slice and their like take them; always INT64, 1-D.
  void constant(std::string_view name, const std::vector<std::int64_t>& value);
  void node(std::string_view op, const std::vector<std::string>& inputs, const std::string& output,
            const std::vector<Attribute>& attributes = {});

  // The whole model. Throws ResourceError beyond 2 GiB, the most a protocol buffer can be.
  [[nodiscard]] std::string bytes() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace exhume
