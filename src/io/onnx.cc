#include "io/onnx.h"

#include <fmt/format.h>

#include "base/json.h"
#include "io/atomic_file.h"
#include "io/onnx_units.h"
#include "io/protobuf_writer.h"
#include "io/tensors.h"

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

namespace {

std::string one_layer_graph(const Network& network, OnnxPrecision precision) {
  OnnxGraph graph("exhume", precision);
  graph.input("x", {"n", network.inputs()});
  graph.output("y", {"n", network.outputs()});
  const OnnxGraph::Attribute transposed{"transB", std::int64_t{1}};
  graph.constant("c", network.c());
  if (network.hidden() == 0) {
    // Runtimes do not agree on products over zero units, so an affine function is written as one.
    graph.constant("L", network.has_skip_terms() ? network.L()
                                                 : Matrix(Matrix::Zero(network.outputs(), network.inputs())));
    graph.node("Gemm", {"x", "L", "c"}, "y", {transposed});
    return graph.bytes();
  }
  graph.constant("W", network.W());
  graph.constant("b", network.b());
  graph.constant("A", network.A());
  graph.node("Gemm", {"x", "W", "b"}, "preactivation", {transposed});
  write_units(graph, network.activation, "preactivation", "hidden");
  if (network.has_skip_terms()) {
    graph.constant("L", network.L());
    graph.node("Gemm", {"hidden", "A", "c"}, "units", {transposed});
    graph.node("Gemm", {"x", "L"}, "linear", {transposed});
    graph.node("Add", {"units", "linear"}, "y");
  } else {
    graph.node("Gemm", {"hidden", "A", "c"}, "y", {transposed});
  }
  return graph.bytes();
}

// Runtimes do not agree on products over zero units, so a layer without units gets one that does nothing.
Network without_empty_layers(Network network) {
  Index column = network.inputs();  // of a skip term, of the first unit of hidden layer l
  for (std::size_t l = 0; l + 1 < network.layers.size(); ++l) {
    Layer& layer = network.layers[l];
    if (layer.W.rows() == 0) {
      layer = {Matrix::Zero(1, layer.W.cols()), Vector::Zero(1), Matrix()};
      network.layers[l + 1].W = Matrix::Zero(network.layers[l + 1].W.rows(), 1);
      for (std::size_t u = l + 2; u < network.layers.size(); ++u) {
        const Matrix old = network.layers[u].L;
        if (old.size() == 0) continue;
        Matrix wider(old.rows(), old.cols() + 1);
        wider << old.leftCols(column), Matrix::Zero(old.rows(), 1), old.rightCols(old.cols() - column);
        network.layers[u].L = std::move(wider);
      }
    }
    column += network.layers[l].W.rows();
  }
  return network;
}

std::string chain(const Network& network, OnnxPrecision precision) {
  OnnxGraph graph("exhume", precision);
  graph.input("x", {"n", network.inputs()});
  graph.output("y", {"n", network.outputs()});
  const OnnxGraph::Attribute transposed{"transB", std::int64_t{1}}, columns{"axis", std::int64_t{1}};
  const auto depth = static_cast<std::size_t>(network.depth());
  std::vector<std::string> lower;  // x, h_1, ..., h_{l-2}
  std::string below = "x";
  for (std::size_t l = 0; l <= depth; ++l) {
    const Layer& layer = network.layers[l];
    const bool last = l == depth, skip = layer.L.size() != 0;
    const std::string W = last ? "A" : fmt::format("layers.{}.W", l),
                      b = last ? "c" : fmt::format("layers.{}.b", l);
    const std::string z = last ? "y" : fmt::format("z{}", l + 1), h = fmt::format("h{}", l + 1);
    graph.constant(W, layer.W);
    graph.constant(b, layer.b);
    graph.node("Gemm", {below, W, b}, skip ? fmt::format("units{}", l + 1) : z, {transposed});
    if (skip) {
      const std::string L = last ? "L" : fmt::format("layers.{}.L", l);
      graph.constant(L, layer.L);
      std::string from = lower.front();
      if (lower.size() > 1) graph.node("Concat", lower, from = fmt::format("lower{}", l + 1), {columns});
      graph.node("Gemm", {from, L}, fmt::format("skip{}", l + 1), {transposed});
      graph.node("Add", {fmt::format("units{}", l + 1), fmt::format("skip{}", l + 1)}, z);
    }
    if (!last) write_units(graph, network.activation, z, h);
    lower.push_back(below);
    below = h;
  }
  return graph.bytes();
}

}  // namespace

std::string onnx_bytes(const Network& network, OnnxPrecision precision) {
  network.validate();
  if (network.depth() <= 1) return one_layer_graph(to_one_layer(network), precision);
  return chain(without_empty_layers(network), precision);
}

void write_onnx(const std::filesystem::path& path, const Network& network, OnnxPrecision precision) {
  write_file(path, onnx_bytes(network, precision));
}

}  // namespace exhume
