#include "io/onnx.h"

#include "base/json.h"
#include "io/atomic_file.h"
#include "io/protobuf_writer.h"

namespace exhume {
namespace {

// Field numbers of onnx.proto: a model's metadata, and the entries that it is made of.
constexpr int kMetadata = 14, kKey = 1, kValue = 2;

}  // namespace

std::string with_names(std::string onnx, const std::vector<std::string>& inputs,
                       const std::vector<std::string>& outputs) {
  // Fields of a protocol buffer may come in any order, so what is added may stand at the end.
  const auto add = [&](const char* key, const std::vector<std::string>& names) {
    if (names.empty()) return;
    ProtobufMessage entry, model;
    entry.bytes(kKey, key);
    entry.bytes(kValue, to_line(Json(names)));
    model.message(kMetadata, entry);
    onnx += model.str();
  };
  add("input_names", inputs);
  add("output_names", outputs);
  return onnx;
}

std::string onnx_bytes(const Network& network, OnnxPrecision precision) {
  network.validate();
  OnnxGraph graph("exhume", precision);
  graph.input("x", {"n", network.inputs()});
  graph.output("y", {"n", network.outputs()});
  const OnnxGraph::Attribute transposed{"transB", std::int64_t{1}};
  graph.constant("c", network.c);
  if (network.hidden() == 0) {
    // Runtimes do not agree on products over zero units, so an affine function is written as one.
    graph.constant("L", network.has_linear_term()
                            ? network.L
                            : Matrix(Matrix::Zero(network.outputs(), network.inputs())));
    graph.node("Gemm", {"x", "L", "c"}, "y", {transposed});
    return graph.bytes();
  }
  graph.constant("W", network.W);
  graph.constant("b", network.b);
  graph.constant("A", network.A);
  graph.node("Gemm", {"x", "W", "b"}, "preactivation", {transposed});
  graph.node("Relu", {"preactivation"}, "hidden");
  if (network.has_linear_term()) {
    graph.constant("L", network.L);
    graph.node("Gemm", {"hidden", "A", "c"}, "units", {transposed});
    graph.node("Gemm", {"x", "L"}, "linear", {transposed});
    graph.node("Add", {"units", "linear"}, "y");
  } else {
    graph.node("Gemm", {"hidden", "A", "c"}, "y", {transposed});
  }
  return graph.bytes();
}

void write_onnx(const std::filesystem::path& path, const Network& network, OnnxPrecision precision) {
  write_file(path, onnx_bytes(network, precision));
}

}  // namespace exhume
