// Networks of several hidden layers as ONNX models (exhume/io/onnx.h).
#include <fmt/format.h>

#include "io/atomic_file.h"
#include "io/deep_tensors.h"
#include "io/onnx.h"

namespace exhume {
namespace {

// Runtimes do not agree on products over zero units, so a layer without units gets one that does nothing.
DeepNetwork without_empty_layers(DeepNetwork network) {
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

std::string chain(const DeepNetwork& network, OnnxPrecision precision) {
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
    if (!last) graph.node("Relu", {z}, h);
    lower.push_back(below);
    below = h;
  }
  return graph.bytes();
}

}  // namespace

std::string onnx_bytes(const DeepNetwork& network, OnnxPrecision precision) {
  network.validate();
  if (network.depth() <= 1) return onnx_bytes(to_one_layer(network), precision);
  return chain(without_empty_layers(network), precision);
}

void write_onnx(const std::filesystem::path& path, const DeepNetwork& network, OnnxPrecision precision) {
  write_file(path, onnx_bytes(network, precision));
}

}  // namespace exhume
