#include "io/onnx_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <variant>

#include "exhume/error.h"
#include "io/finite.h"
#include "io/onnx_model.h"
#include "io/onnx_units.h"
#include "io/random_access_file.h"
#include "io/shape.h"

namespace exhume {
namespace {

// Inputs and hidden layers side by side: 0 is the inputs, l the hidden layer l.
using Sources = std::vector<std::size_t>;
// sum over sources s of M_s h_s, plus b.
struct Affine {
  std::map<std::size_t, Matrix> terms;
  Vector b;
};
// Entry by entry a function of a layer's preactivations: what it is at unit_arguments().
struct Followed {
  std::string of;  // the value with the preactivations, an Affine
  Vector values;
};
using Value = std::variant<Sources, Affine, Followed>;

class GraphReader {
 public:
  GraphReader(OnnxModel model, const std::string& file, const OnnxReadOptions& options, bool heads)
      : model_(std::move(model)), file_(file), options_(options), heads_(heads) {}

  OnnxFunction run() {
    if (model_.inputs.size() != 1 || model_.outputs.size() != 1) {
      throw DataError(fmt::format("{} has {} inputs and {} outputs; a network has one of each", file_,
                                  model_.inputs.size(), model_.outputs.size()));
    }
    values_[model_.inputs[0]] = Sources{0};
    inputs_ = inputs_said(model_.inputs[0]);
    for (const OnnxNode& node : model_.nodes) step(node);
    const auto found = values_.find(model_.outputs[0]);
    if (found != values_.end()) settle(found->first);
    if (found == values_.end()) {
      throw DataError(fmt::format("{}: nothing computes its output '{}'; save the model again", file_,
                                  shown(model_.outputs[0])));
    }
    const auto* last = std::get_if<Affine>(&found->second);
    if (last == nullptr) {
      throw DataError(fmt::format(
          "{} ends in a Relu, in other units or in its inputs; its last layer must be Gemm or MatMul",
          file_));
    }
    add_layer(*last, "its last layer");
    Network network{std::move(layers_)};
    if (!activation_.empty()) network.activation = activation_;
    network.validate();
    return {std::move(network), head_};
  }

 private:
  [[noreturn]] void refuse(const OnnxNode& node, std::string_view why) const {
    throw DataError(fmt::format("{} has a {} {}; a network of Gemm, MatMul, Add and Relu can be read", file_,
                                shown(node.op), why));
  }

  // Numbers per row, as the file says; -1 where it does not.
  [[nodiscard]] Index inputs_said(const std::string& name) const {
    const auto found = model_.shapes.find(name);
    if (found == model_.shapes.end() || found->second.size() < 2) return -1;
    Index product = 1;
    for (std::size_t i = 1; i < found->second.size(); ++i) {
      const Index extent = found->second[i];
      if (extent < 1 || extent > options_.largest_product / product) return -1;
      product *= extent;
    }
    return product;
  }

  void step(const OnnxNode& node) {
    const bool standard = node.domain.empty() || node.domain == "ai.onnx";
    using Reader = void (GraphReader::*)(const OnnxNode&);
    static const std::map<std::string, Reader> readers = {
        {"Gemm", &GraphReader::gemm},       {"MatMul", &GraphReader::matmul},
        {"Add", &GraphReader::add},         {"Relu", &GraphReader::relu},
        {"Concat", &GraphReader::concat},   {"Identity", &GraphReader::same},
        {"Flatten", &GraphReader::flatten}, {"Transpose", &GraphReader::transpose},
        {"Cast", &GraphReader::cast},       {"Reshape", &GraphReader::reshape},
        {"Dropout", &GraphReader::dropout}, {"Squeeze", &GraphReader::squeeze},
        {"Sub", &GraphReader::subtract},    {"Mul", &GraphReader::multiply},
        {"Div", &GraphReader::divide},      {"BatchNormalization", &GraphReader::normalise_batch},
        {"LeakyRelu", &GraphReader::leaky}, {"Softmax", &GraphReader::head},
        {"LogSoftmax", &GraphReader::head}, {"Sigmoid", &GraphReader::head},
        {"Tanh", &GraphReader::head}};
    if (standard && only_shapes(node)) return;
    const auto reader = readers.find(node.op);
    const bool is_head = reader != readers.end() && reader->second == &GraphReader::head;
    // A sigmoid or tanh at the end belongs to the oracle where heads are read; elsewhere it is a unit.
    const bool ends = is_head && heads_ && !node.outputs.empty() && node.outputs[0] == model_.outputs[0];
    if (standard && !ends && follow(node)) return;
    if (!standard || reader == readers.end() || (is_head && !heads_)) {
      throw DataError(fmt::format(
          "{} holds the operator {}, which is not read: a network may consist of Gemm, MatMul, Add and "
          "Relu, or units that the table of activations has; export the layers without it, or query the "
          "model through a program that runs it",
          file_, shown(node.op.empty() ? "without a name" : node.op)));
    }
    if (head_ != OnnxHead::kNone) refuse(node, "behind the classifier's last function");
    // Of several outputs the first is the value; masks and running means are of no use here.
    const bool more = node.op == "Dropout" || node.op == "BatchNormalization";
    if (node.outputs.empty() || (node.outputs.size() != 1 && !more) || node.inputs.empty())
      refuse(node, "without an input or with several outputs");
    if (values_.count(node.outputs[0]) > 0 || model_.constants.count(node.outputs[0]) > 0)
      refuse(node, fmt::format("whose result '{}' exists already", shown(node.outputs[0])));
    (this->*reader->second)(node);
  }

  [[nodiscard]] bool is_constant(const std::string& name) const { return model_.constants.count(name) > 0; }

  const Value& value(const OnnxNode& node, std::size_t input) {
    const auto found = input < node.inputs.size() ? values_.find(node.inputs[input]) : values_.end();
    if (found == values_.end()) refuse(node, "of something that was not computed before it");
    settle(found->first);
    return found->second;
  }

  // One number, where a constant is one.
  [[nodiscard]] std::optional<double> scalar(const std::string& name) const {
    const auto found = model_.constants.find(name);
    if (found == model_.constants.end() || found->second.data.size() != 1) return std::nullopt;
    return found->second.data[0];
  }

  // A value as a function of one layer's preactivations; nothing where it is none.
  [[nodiscard]] std::optional<Followed> as_followed(const std::string& name) const {
    const auto found = values_.find(name);
    if (found == values_.end()) return std::nullopt;
    if (const auto* already = std::get_if<Followed>(&found->second)) return *already;
    if (std::holds_alternative<Affine>(found->second)) return Followed{name, unit_arguments()};
    return std::nullopt;
  }

  // Functions of preactivations, entry by entry. A ReLU of a layer is one too, but is read at once.
  bool follow(const OnnxNode& node) {
    if (node.outputs.size() != 1 || node.inputs.empty()) return false;
    if (values_.count(node.outputs[0]) > 0 || model_.constants.count(node.outputs[0]) > 0) return false;
    const std::optional<Followed> first = as_followed(node.inputs[0]);
    if (node.inputs.size() == 1) {
      if (!first || (node.op == "Relu" && first->of == node.inputs[0])) return false;
      const std::optional<Vector> made = followed(node, first->values);
      if (made) give(node, Followed{first->of, *made});
      return made.has_value();
    }
    if (node.inputs.size() != 2) return false;
    const bool known = node.op == "Mul" || node.op == "Div" || node.op == "Sub" || node.op == "Pow" ||
                       (node.op == "Add" && (is_followed(node.inputs[0]) || is_followed(node.inputs[1])));
    const std::optional<Followed> second = as_followed(node.inputs[1]);
    const std::optional<double> left = scalar(node.inputs[0]), right = scalar(node.inputs[1]);
    if (!known || !(first || left) || !(second || right) || (!first && !second)) return false;
    if (first && second && first->of != second->of) return false;
    const Index size = unit_arguments().size();
    const Vector a = first ? first->values : Vector::Constant(size, left.value_or(0));
    const Vector b = second ? second->values : Vector::Constant(size, right.value_or(0));
    Vector made = a + b;
    if (node.op == "Mul") made = a.cwiseProduct(b);
    if (node.op == "Div") made = a.cwiseQuotient(b);
    if (node.op == "Sub") made = a - b;
    if (node.op == "Pow") made = a.binaryExpr(b, [](double x, double y) { return std::pow(x, y); });
    give(node, Followed{first ? first->of : second->of, made});
    return true;
  }
  [[nodiscard]] bool is_followed(const std::string& name) const {
    const auto found = values_.find(name);
    return found != values_.end() && std::holds_alternative<Followed>(found->second);
  }

  // A function of preactivations that is needed as a value: units of a hidden layer, or a factor and a
  // constant.
  void settle(const std::string& name) {
    Value& slot = values_.at(name);
    const auto* function = std::get_if<Followed>(&slot);
    if (function == nullptr) return;
    const Vector values = function->values;
    const Vector& z = unit_arguments();
    Affine layer = std::get<Affine>(values_.at(function->of));
    const double slope = (values(values.size() - 1) - values(0)) / (z(z.size() - 1) - z(0));
    const double constant = values(0) - slope * z(0);
    if ((values - slope * z).isConstant(constant, 1e-9)) {
      for (auto& [s, term] : layer.terms) term *= slope;
      layer.b = (slope * layer.b).array() + constant;
      slot = std::move(layer);
      return;
    }
    const std::optional<std::string> unit = recognised_unit(values);
    if (!unit) {
      throw DataError(
          fmt::format("{}: '{}' is a function of its units that the table of activations does not have; "
                      "networks of ReLU, "
                      "tanh, sigmoid, GELU, SiLU, softplus, ELU and other units of the table can be read",
                      file_, shown(name)));
    }
    use_activation(*unit);
    add_layer(layer, "a hidden layer");
    slot = Sources{layers_.size()};
  }

  void use_activation(const std::string& unit) {
    if (!activation_.empty() && activation_ != unit) {
      throw DataError(fmt::format("{}: some hidden units are {}, others {}; networks of one kind can be read",
                                  file_, activation_, unit));
    }
    activation_ = unit;
  }

  // The numbers of an input that must be a constant.
  const OnnxConstant& constant(const OnnxNode& node, std::size_t input) const {
    const auto found =
        input < node.inputs.size() ? model_.constants.find(node.inputs[input]) : model_.constants.end();
    if (found == model_.constants.end()) refuse(node, "with weights that are not constants");
    const OnnxConstant& numbers = found->second;
    const std::string name = shown(found->first);
    if (numbers.type != kOnnxFloat && numbers.type != kOnnxDouble && numbers.type != kOnnxHalf &&
        numbers.type != kOnnxBfloat) {
      throw DataError(fmt::format(
          "{}: '{}' is not of a type of real numbers; save the model in double, float, float16 or bfloat16",
          file_, name));
    }
    const std::size_t bad = first_not_finite(numbers.data.data(), numbers.data.size());
    if (bad < numbers.data.size()) {
      throw DataError(fmt::format("{}: '{}' is {} at {}; weights must be finite, so save the model again",
                                  file_, name, name_not_finite(numbers.data[bad]),
                                  show_position(numbers.shape, bad)));
    }
    if (numbers.data.empty())
      throw DataError(fmt::format("{}: '{}' is empty; save the model again", file_, name));
    return numbers;
  }

  Matrix weights(const OnnxNode& node, std::size_t input) const {
    const OnnxConstant& numbers = constant(node, input);
    if (numbers.shape.size() != 2)
      refuse(node, fmt::format("with weights of shape {}, not of two dimensions", show_shape(numbers.shape)));
    return Eigen::Map<const RowMatrix>(numbers.data.data(), numbers.shape[0], numbers.shape[1]);
  }

  // A constant that is added to every row: k numbers, 1 x k of them, or one.
  Vector bias(const OnnxNode& node, std::size_t input, Index size) const {
    const OnnxConstant& numbers = constant(node, input);
    const Index count = static_cast<Index>(numbers.data.size());
    const bool row = numbers.shape.empty() || numbers.shape.back() == count;
    if (row && count == size) return Eigen::Map<const Vector>(numbers.data.data(), size);
    if (count == 1) return Vector::Constant(size, numbers.data[0]);
    refuse(node, fmt::format("of a constant of shape {} and {} units", show_shape(numbers.shape), size));
  }

  static double real(const OnnxNode& node, const char* name, double otherwise) {
    const auto found = node.attributes.find(name);
    return found == node.attributes.end() ? otherwise : static_cast<double>(found->second.real);
  }
  static std::int64_t whole(const OnnxNode& node, const char* name, std::int64_t otherwise) {
    const auto found = node.attributes.find(name);
    return found == node.attributes.end() ? otherwise : found->second.whole;
  }

  void give(const OnnxNode& node, Value value) { values_[node.outputs[0]] = std::move(value); }

  // M applied to a value: the columns of M go to its sources one after the other, or M into every term.
  Affine product(const OnnxNode& node, const Matrix& M, const Value& of) {
    Affine out{{}, Vector::Zero(M.rows())};
    if (const auto* sources = std::get_if<Sources>(&of)) {
      Index left = M.cols();
      // The number of inputs is only known from the weights on them.
      for (const std::size_t s : *sources) left -= s == 0 && inputs_ < 0 ? 0 : size_of(s);
      if (inputs_ < 0 && std::count(sources->begin(), sources->end(), 0) == 1 && left > 0) {
        inputs_ = left;
        left = 0;
      }
      if (left != 0) refuse(node, fmt::format("whose {} columns do not fit what is below", M.cols()));
      Index column = 0;
      for (const std::size_t s : *sources) {
        const Matrix part = M.middleCols(column, size_of(s));
        column += size_of(s);
        const auto [term, is_new] = out.terms.emplace(s, part);
        if (!is_new) term->second += part;
      }
      return out;
    }
    const Affine& inner = std::get<Affine>(of);
    if (inner.b.size() != M.cols())
      refuse(node, fmt::format("whose {} columns do not fit the {} units below", M.cols(), inner.b.size()));
    for (const auto& [s, term] : inner.terms) {
      if (term.cols() > options_.largest_product / std::max<Index>(M.rows(), 1)) {
        refuse(node,
               fmt::format("that makes {} x {} weights of two layers, too many", M.rows(), term.cols()));
      }
      out.terms[s] = M * term;
    }
    out.b = M * inner.b;
    return out;
  }

  void gemm(const OnnxNode& node) {
    if (whole(node, "transA", 0) != 0) refuse(node, "with transA");
    const Value& of = value(node, 0);
    const Matrix B = weights(node, 1);
    const double alpha = real(node, "alpha", 1), beta = real(node, "beta", 1);
    Affine out = product(node, whole(node, "transB", 0) != 0 ? B : Matrix(B.transpose()), of);
    if (alpha != 1) {
      for (auto& [s, term] : out.terms) term *= alpha;
      out.b *= alpha;
    }
    if (node.inputs.size() > 2 && !node.inputs[2].empty()) out.b += beta * bias(node, 2, out.b.size());
    give(node, finite(node, std::move(out)));
  }

  void matmul(const OnnxNode& node) {
    if (is_constant(node.inputs[0])) refuse(node, "with its weights on the left");
    give(node, finite(node, product(node, weights(node, 1).transpose(), value(node, 0))));
  }

  void add(const OnnxNode& node) {
    if (node.inputs.size() != 2) refuse(node, "of other than two values");
    const bool first = is_constant(node.inputs[0]), second = is_constant(node.inputs[1]);
    if (first && second) refuse(node, "of two constants");
    const auto affine = [&](std::size_t input) -> const Affine& {
      const auto* found = std::get_if<Affine>(&value(node, input));
      if (found == nullptr) refuse(node, "of inputs or hidden units without weights");
      return *found;
    };
    Affine out = affine(first ? 1 : 0);
    if (first || second) {
      out.b += bias(node, first ? 0 : 1, out.b.size());
    } else {
      const Affine& other = affine(1);
      if (other.b.size() != out.b.size())
        refuse(node, fmt::format("of {} and of {} units", out.b.size(), other.b.size()));
      out.b += other.b;
      for (const auto& [s, term] : other.terms) {
        const auto [own, is_new] = out.terms.emplace(s, term);
        if (!is_new) own->second += term;
      }
    }
    give(node, finite(node, std::move(out)));
  }

  void relu(const OnnxNode& node) {
    const auto* layer = std::get_if<Affine>(&value(node, 0));
    if (layer == nullptr) refuse(node, "of inputs or hidden units without weights");
    use_activation("relu");
    add_layer(*layer, "a Relu");
    give(node, Sources{layers_.size()});
  }

  void concat(const OnnxNode& node) {
    const std::int64_t axis = whole(node, "axis", 0);
    if (axis != 1 && axis != -1) refuse(node, "along other than the columns");
    Sources all;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const auto* sources = std::get_if<Sources>(&value(node, i));
      if (sources == nullptr) refuse(node, "of other than inputs and hidden layers");
      all.insert(all.end(), sources->begin(), sources->end());
      if (all.size() > kMostSources) refuse(node, "of very many values");
    }
    give(node, std::move(all));
  }

  void same(const OnnxNode& node) {
    if (is_constant(node.inputs[0])) {
      model_.constants[node.outputs[0]] = OnnxConstant(model_.constants.at(node.inputs[0]));
    } else {
      give(node, Value(value(node, 0)));
    }
  }

  // Sizes that a Reshape is told, made from the shape of a value: nothing of a row depends on them.
  bool only_shapes(const OnnxNode& node) {
    static const std::set<std::string> makers = {"Shape",  "Gather", "Unsqueeze", "Slice",
                                                 "Concat", "Cast",   "Squeeze"};
    if (makers.count(node.op) == 0 || node.inputs.empty() || node.outputs.size() != 1) return false;
    bool any = node.op == "Shape";
    for (const std::string& name : node.inputs) {
      const bool shape = sizes_.count(name) > 0;
      any = any || shape;
      if (node.op != "Shape" && !shape && !is_constant(name)) return false;
    }
    if (!any) return false;
    sizes_.insert(node.outputs[0]);
    return true;
  }

  void reshape(const OnnxNode& node) {
    if (is_constant(node.inputs[0])) refuse(node, "of weights");
    const std::string to = node.inputs.size() > 1 ? node.inputs[1] : "";
    if (is_constant(to)) {
      // The first extent is that of the rows; the others must hold one row.
      const OnnxConstant& shape = model_.constants.at(to);
      if (shape.type != kOnnxInt64 || shape.data.size() < 2) refuse(node, "to a shape without rows");
      double product = 1;
      bool open = false;
      for (std::size_t i = 1; i < shape.data.size(); ++i) {
        open = open || shape.data[i] <= 0;
        product *= shape.data[i];
      }
      const Index size = size_of_value(value(node, 0));
      if (!open && size >= 0 && product != static_cast<double>(size))
        refuse(node, fmt::format("of rows of {} numbers to rows of {:g}", size, product));
      if (!open && size < 0 && product >= 1 && product <= static_cast<double>(options_.largest_product))
        inputs_ = static_cast<Index>(product);
    } else if (sizes_.count(to) == 0) {
      refuse(node, "to a shape that is not known");
    }
    give(node, Value(value(node, 0)));
  }

  void dropout(const OnnxNode& node) { give(node, Value(value(node, 0))); }

  void squeeze(const OnnxNode& node) {
    if (size_of_value(value(node, 0)) != 1) refuse(node, "of rows of more than one number");
    give(node, Value(value(node, 0)));
  }

  // Entries of a row; -1 where they are inputs whose number is not known yet.
  [[nodiscard]] Index size_of_value(const Value& of) const {
    if (const auto* affine = std::get_if<Affine>(&of)) return affine->b.size();
    Index sum = 0;
    for (const std::size_t s : std::get<Sources>(of)) {
      if (s == 0 && inputs_ < 0) return -1;
      sum += size_of(s);
    }
    return sum;
  }

  // A value times numbers, one per unit or one for all, plus others.
  Affine scaled(const OnnxNode& node, const Value& of, const Vector& factors, const Vector& plus) {
    Affine out;
    if (const auto* affine = std::get_if<Affine>(&of)) {
      out = *affine;
      for (auto& [s, term] : out.terms) term = (factors.asDiagonal() * term).eval();
      out.b = out.b.cwiseProduct(factors);
    } else {
      if (factors.size() > options_.largest_product / std::max<Index>(factors.size(), 1))
        refuse(node, "of very many units");
      out = product(node, factors.asDiagonal(), of);
    }
    out.b += plus;
    return finite(node, std::move(out));
  }

  // Units that a constant is combined with: those of the value, or as many as the constant has.
  [[nodiscard]] Index units_of(const OnnxNode& node, const Value& of, std::size_t constant_input) const {
    const Index size = size_of_value(of);
    return size >= 0 ? size : static_cast<Index>(constant(node, constant_input).data.size());
  }

  void subtract(const OnnxNode& node) { combine(node, '-'); }
  void multiply(const OnnxNode& node) { combine(node, '*'); }
  void divide(const OnnxNode& node) { combine(node, '/'); }
  void combine(const OnnxNode& node, char how) {
    if (node.inputs.size() != 2) refuse(node, "of other than two values");
    const bool first = is_constant(node.inputs[0]), second = is_constant(node.inputs[1]);
    if (first == second || (first && how == '/')) refuse(node, "of other than a value and a constant");
    const std::size_t at = first ? 0 : 1;
    const Value of = value(node, 1 - at);
    const Index units = units_of(node, of, at);
    Vector numbers = bias(node, at, units), factors = Vector::Ones(units), plus = Vector::Zero(units);
    if (how == '*') factors = numbers;
    if (how == '/') factors = numbers.cwiseInverse();
    if (how == '-') {
      factors.setConstant(first ? -1 : 1);
      plus = first ? numbers : Vector(-numbers);
    }
    give(node, scaled(node, of, factors, plus));
  }

  // y = (x - mean) / (variance + epsilon)^(1/2) scale + shift, as after training.
  void normalise_batch(const OnnxNode& node) {
    if (node.inputs.size() < 5) refuse(node, "without its five values");
    if (whole(node, "training_mode", 0) != 0) refuse(node, "in the mode of training");
    const Value of = value(node, 0);
    const Index units = units_of(node, of, 1);
    const Vector scale = bias(node, 1, units), shift = bias(node, 2, units), mean = bias(node, 3, units),
                 variance = bias(node, 4, units);
    const Vector factors =
        scale.cwiseQuotient((variance.array() + real(node, "epsilon", 1e-5)).sqrt().matrix());
    give(node, scaled(node, of, factors, shift - factors.cwiseProduct(mean)));
  }

  // max(z, a z) = a z + (1 - a) max(z, 0): what stands on it gets a skip term.
  void leaky(const OnnxNode& node) {
    const auto* found = std::get_if<Affine>(&value(node, 0));
    if (found == nullptr) refuse(node, "of inputs or hidden units without weights");
    const Affine below = *found;
    const double alpha = real(node, "alpha", 0.01);
    const Index units = below.b.size();
    if (units > options_.largest_product / std::max<Index>(units, 1)) refuse(node, "of very many units");
    add_layer(below, "a LeakyRelu");
    Affine out = below;
    for (auto& [s, term] : out.terms) term *= alpha;
    out.b *= alpha;
    out.terms[layers_.size()] = (1 - alpha) * Matrix::Identity(units, units);
    give(node, finite(node, std::move(out)));
  }

  void head(const OnnxNode& node) {
    static const std::map<std::string, OnnxHead> heads = {{"Softmax", OnnxHead::kSoftmax},
                                                          {"LogSoftmax", OnnxHead::kLogSoftmax},
                                                          {"Sigmoid", OnnxHead::kSigmoid},
                                                          {"Tanh", OnnxHead::kTanh}};
    const std::int64_t axis = whole(node, "axis", -1);
    if (axis != 1 && axis != -1) refuse(node, "along other than the columns");
    if (node.outputs[0] != model_.outputs[0]) {
      throw DataError(fmt::format(
          "{} has a {} that is not its last function; only networks of ReLUs are read", file_, node.op));
    }
    head_ = heads.at(node.op);
    give(node, Value(value(node, 0)));
  }

  void flatten(const OnnxNode& node) {
    if (whole(node, "axis", 1) != 1) refuse(node, "along another axis than 1");
    if (is_constant(node.inputs[0])) refuse(node, "of weights");
    same(node);
  }

  void transpose(const OnnxNode& node) {
    if (!is_constant(node.inputs[0])) refuse(node, "of values");
    const RowMatrix turned = weights(node, 0).transpose();
    const auto perm = node.attributes.find("perm");
    if (perm != node.attributes.end() && perm->second.whole_list != std::vector<std::int64_t>{1, 0})
      refuse(node, "that does not exchange rows and columns");
    model_.constants[node.outputs[0]] = {{turned.rows(), turned.cols()},
                                         std::vector<double>(turned.data(), turned.data() + turned.size()),
                                         model_.constants.at(node.inputs[0]).type};
  }

  void cast(const OnnxNode& node) {
    const std::int64_t to = whole(node, "to", 0);
    const bool narrow = to == kOnnxHalf || to == kOnnxBfloat;
    if (to != kOnnxFloat && to != kOnnxDouble && !narrow) refuse(node, "to a type of whole numbers");
    same(node);
    if (!is_constant(node.outputs[0])) return;
    if (narrow) refuse(node, "of constants to 16 bits");
    (void)constant(node, 0);
    OnnxConstant& numbers = model_.constants.at(node.outputs[0]);
    numbers.type = to;
    if (to == kOnnxFloat)
      for (double& number : numbers.data) number = static_cast<float>(number);
  }

  [[nodiscard]] Affine finite(const OnnxNode& node, Affine value) const {
    bool good = value.b.allFinite();
    for (const auto& [s, term] : value.terms) good = good && term.allFinite();
    if (!good) refuse(node, "whose weights are beyond double precision");
    return value;
  }

  // Units of a source; inputs once they are known.
  [[nodiscard]] Index size_of(std::size_t source) const {
    return source == 0 ? std::max<Index>(inputs_, 0) : layers_[source - 1].W.rows();
  }

  // The next layer: W is what stands on the last hidden layer, L on everything below that.
  void add_layer(const Affine& affine, const char* what) {
    const std::size_t below = layers_.size();
    if (affine.terms.empty() || affine.terms.rbegin()->first != below) {
      throw DataError(
          fmt::format("{}: {} does not stand on the hidden layer before it; layers side by side are not read",
                      file_, what));
    }
    Layer layer{affine.terms.at(below), affine.b, Matrix()};
    if (affine.terms.size() > 1) {
      Index columns = 0;
      for (std::size_t s = 0; s < below; ++s) columns += size_of(s);
      if (columns > options_.largest_product / std::max<Index>(layer.W.rows(), 1)) {
        throw DataError(
            fmt::format("{}: {} has {} x {} skip weights, too many", file_, what, layer.W.rows(), columns));
      }
      layer.L = Matrix::Zero(layer.W.rows(), columns);
      Index column = 0;
      for (std::size_t s = 0; s < below; ++s) {
        const auto term = affine.terms.find(s);
        if (term != affine.terms.end()) layer.L.middleCols(column, size_of(s)) = term->second;
        column += size_of(s);
      }
    }
    layers_.push_back(std::move(layer));
  }

  static constexpr std::size_t kMostSources = 4096;

  OnnxModel model_;
  const std::string& file_;
  const OnnxReadOptions& options_;
  std::map<std::string, Value> values_;
  std::vector<Layer> layers_;
  std::set<std::string> sizes_;  // names of what only a Reshape may use
  Index inputs_ = -1;            // not known yet
  bool heads_;
  OnnxHead head_ = OnnxHead::kNone;
  std::string activation_;  // of the hidden layers so far
};

OnnxModel read_onnx_model(const std::filesystem::path& path) {
  const RandomAccessFile file(path);
  constexpr std::uint64_t kMostFileBytes = 0x7fffffff;  // of a protocol buffer
  if (file.size() > kMostFileBytes) {
    throw DataError(fmt::format("{} has {} bytes, more than an ONNX file can have; check the path",
                                file.name(), file.size()));
  }
  std::string bytes(static_cast<std::size_t>(file.size()), '\0');
  file.read(0, bytes.data(), bytes.size());
  return parse_onnx_model(bytes, file.name(), path.has_parent_path() ? path.parent_path() : ".");
}

}  // namespace

Network parse_onnx(std::string_view bytes, const std::string& file, const OnnxReadOptions& options) {
  return GraphReader(parse_onnx_model(bytes, file), file, options, false).run().network;
}

Network read_onnx(const std::filesystem::path& path, const OnnxReadOptions& options) {
  return GraphReader(read_onnx_model(path), path.string(), options, false).run().network;
}

OnnxFunction read_onnx_function(const std::filesystem::path& path, const OnnxReadOptions& options) {
  return GraphReader(read_onnx_model(path), path.string(), options, true).run();
}

}  // namespace exhume
