#include "io/onnx_units.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <map>

#include "model/activation_table.h"

namespace exhume {
namespace {

constexpr double kAlike = 1e-5;
constexpr Index kArguments = 81;
constexpr double kFarthest = 5;

double attribute(const OnnxNode& node, const char* name, double otherwise) {
  const auto found = node.attributes.find(name);
  return found == node.attributes.end() ? otherwise : static_cast<double>(found->second.real);
}

bool agree(const Vector& a, const Vector& b) {
  return ((a - b).array().abs() <= kAlike * (1 + b.array().abs())).all();
}

std::function<double(double)> of_row(const std::string& name) {
  return [unit = parse_rectifier(name)](double z) { return unit(z); };
}

}  // namespace

void write_units(OnnxGraph& graph, const std::string& activation, const std::string& z,
                 const std::string& h) {
  const auto scalar = [&](const char* what, double value) {
    const std::string name = h + "." + what;
    graph.constant(name, Vector(Vector::Constant(1, value)));
    return name;
  };
  const auto node = [&](const char* op, const std::vector<std::string>& inputs, const char* part) {
    const std::string name = *part == '\0' ? h : h + "." + part;
    graph.node(op, inputs, name);
    return name;
  };
  const ActivationRow* row = find_activation(activation);
  const std::string name = row == nullptr ? activation : row->name;
  if (name == "gelu") {
    const std::string inside =
        node("Erf", {node("Mul", {z, scalar("root", std::sqrt(0.5))}, "scaled")}, "erf");
    const std::string twice = node("Mul", {z, node("Add", {inside, scalar("one", 1)}, "sum")}, "twice");
    node("Mul", {twice, scalar("half", 0.5)}, "");
  } else if (name == "gelu_tanh") {
    const std::string square = node("Mul", {z, z}, "square");
    const std::string cubic = node("Mul", {square, scalar("cubic", 0.044715)}, "cubic_part");
    const std::string factor = node("Add", {cubic, scalar("one", 1)}, "factor");
    const std::string inner = node(
        "Mul", {node("Mul", {z, factor}, "product"), scalar("scale", std::sqrt(8 / 3.14159265358979323846))},
        "inner");
    node("Mul", {z, node("Sigmoid", {inner}, "gate")}, "");
  } else if (name == "silu") {
    node("Mul", {z, node("Sigmoid", {z}, "gate")}, "");
  } else if (name == "gaussian") {
    node("Exp", {node("Neg", {node("Mul", {z, z}, "square")}, "negative")}, "");
  } else if (name == "elu" || name == "leaky_relu") {
    graph.node(row->onnx, {z}, h, {{"alpha", static_cast<float>(activation_parameter(activation))}});
  } else if (row != nullptr) {
    graph.node(row->onnx, {z}, h);
  } else {
    throw std::invalid_argument(fmt::format("activation {} cannot be written to ONNX", activation));
  }
}

const Vector& unit_arguments() {
  static const Vector kAll = Vector::LinSpaced(kArguments, -kFarthest, kFarthest);
  return kAll;
}

std::optional<Vector> followed(const OnnxNode& node, const Vector& values) {
  const std::string& op = node.op;
  const auto map = [&](const std::function<double(double)>& f) { return Vector(values.unaryExpr(f)); };
  static const std::map<std::string, std::string> kRows = {
      {"Relu", "relu"},         {"Tanh", "tanh"}, {"Sigmoid", "sigmoid"}, {"Erf", "erf"},
      {"Softplus", "softplus"}, {"Sin", "sin"},   {"Abs", "abs"},         {"Swish", "silu"}};
  if (const auto row = kRows.find(op); row != kRows.end()) return map(of_row(row->second));
  if (op == "Elu") return map(of_row(fmt::format("elu:{}", attribute(node, "alpha", 1))));
  if (op == "LeakyRelu") return map(of_row(fmt::format("leaky_relu:{}", attribute(node, "alpha", 0.01))));
  if (op == "Selu" && node.attributes.empty()) return map(of_row("selu"));
  if (op == "Exp") return map([](double v) { return std::exp(v); });
  if (op == "Neg") return map([](double v) { return -v; });
  if (op == "Cos") return map([](double v) { return std::cos(v); });
  if (op == "Sqrt") return map([](double v) { return std::sqrt(v); });
  if (op == "Reciprocal") return map([](double v) { return 1 / v; });
  if (op == "Gelu") {
    const auto way = node.attributes.find("approximate");
    const bool by_tanh = way != node.attributes.end() && way->second.text == "tanh";
    return map(of_row(by_tanh ? "gelu_tanh" : "gelu"));
  }
  return std::nullopt;
}

std::optional<std::string> recognised_unit(const Vector& values) {
  const Vector& z = unit_arguments();
  // A name without a parameter goes first: a leaky ReLU of slope -1 is the absolute value.
  for (const bool free : {false, true}) {
    for (const ActivationRow& row : activation_table()) {
      if (std::isfinite(row.parameter) != free) continue;
      std::string name = row.name;
      if (free) {
        // What stands at the leftmost argument tells the parameter.
        const double p = row.value(z(0), 1) != 0 ? values(0) / row.value(z(0), 1) : row.parameter;
        if (std::abs(p - row.parameter) > kAlike) name = fmt::format("{}:{}", row.name, p);
        if (p == 0) continue;
      }
      const Rectifier unit = parse_rectifier(name);
      if (agree(values, z.unaryExpr([&](double v) { return unit(v); }))) return name;
    }
  }
  return std::nullopt;
}

}  // namespace exhume
