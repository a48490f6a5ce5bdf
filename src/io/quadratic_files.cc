#include "io/quadratic_files.h"

#include <charconv>
#include <stdexcept>

#include <fmt/format.h>

#include "exhume/error.h"

namespace exhume {

Tensors to_tensors(const QuadraticNetwork& network) {
  network.validate();
  Tensors tensors;
  tensors.metadata["activation"] = "square";
  if (network.three_layers()) {
    tensors.metadata["first_activation"] = "power";
    tensors.metadata["power"] = fmt::format("{}", network.power);
    tensors.add("R", network.R);
  }
  tensors.add("W", network.W);
  tensors.add("A", network.A);
  return tensors;
}

bool is_quadratic(const Tensors& tensors) {
  const auto found = tensors.metadata.find("activation");
  return found != tensors.metadata.end() && found->second == "square";
}

QuadraticNetwork to_quadratic_network(const Tensors& tensors, const std::string& file) {
  if (!is_quadratic(tensors)) {
    throw DataError(fmt::format(
        "{} does not name the activation \"square\" in its metadata; it is not a network that memorize wrote",
        file));
  }
  QuadraticNetwork network;
  network.W = tensors.matrix("W", file);
  network.A = tensors.matrix("A", file);
  std::size_t known = 2;
  if (tensors.find("R") != nullptr) {
    ++known;
    network.R = tensors.matrix("R", file);
    const auto power = tensors.metadata.find("power");
    const std::string text = power == tensors.metadata.end() ? "" : power->second;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), network.power);
    if (error != std::errc() || end != text.data() + text.size() || network.power < 1) {
      throw DataError(fmt::format(
          "{}: the metadata must give the power of the first layer as a whole number of at least 1, not '{}'",
          file, text));
    }
  }
  if (tensors.list.size() != known) {
    throw DataError(fmt::format("{} holds {} tensors; a quadratic network is W, A and perhaps R", file,
                                tensors.list.size()));
  }
  try {
    network.validate();
  } catch (const std::invalid_argument& error) {
    throw DataError(fmt::format("{}: {}", file, error.what()));
  }
  return network;
}

std::string onnx_bytes(const QuadraticNetwork& network, OnnxPrecision precision) {
  network.validate();
  OnnxGraph graph("memorize", precision);
  graph.input("x", {"n", network.inputs()});
  std::string z = "x";
  if (network.three_layers()) {
    graph.constant("R", network.R);
    graph.node("Gemm", {"x", "R"}, "z1", {{"transB", std::int64_t{1}}});
    z = "z1";
    for (int p = 2; p <= network.power; ++p) {
      const std::string next = fmt::format("z{}", p);
      graph.node("Mul", {z, "z1"}, next);
      z = next;
    }
  }
  graph.constant("W", network.W);
  graph.constant("A", network.A);
  graph.node("Gemm", {z, "W"}, "h", {{"transB", std::int64_t{1}}});
  graph.node("Mul", {"h", "h"}, "s");
  graph.node("Gemm", {"s", "A"}, "y", {{"transB", std::int64_t{1}}});
  graph.output("y", {"n", network.outputs()});
  return graph.bytes();
}

}  // namespace exhume
