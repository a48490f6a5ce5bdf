#include "io/onnx_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "exhume/error.h"
#include "io/protobuf_reader.h"
#include "io/shape.h"

namespace exhume {
namespace {

constexpr std::int64_t kExternal = 1;        // TensorProto.DataLocation
constexpr std::size_t kMostDimensions = 32;  // more than any program has

// Numbers of one field: a packed run, or one at a time.
template <class Number>
void append_numbers(const ProtobufField& field, std::vector<double>& list) {
  if (field.type != 2) {
    Number one;
    std::memcpy(&one, &field.value, sizeof one);
    list.push_back(one);
    return;
  }
  for (std::size_t at = 0; at + sizeof(Number) <= field.bytes.size(); at += sizeof(Number)) {
    Number one;
    std::memcpy(&one, field.bytes.data() + at, sizeof one);
    list.push_back(one);
  }
}

std::pair<std::string, OnnxConstant> parse_tensor(std::string_view bytes, const std::string& file) {
  OnnxConstant constant;
  std::string name;
  std::vector<std::int64_t> dims;
  std::vector<double> floats, doubles;
  std::optional<std::string_view> raw;
  bool elsewhere = false;
  ProtobufReader reader(bytes, file);
  for (ProtobufField field; reader.next(field);) {
    if (field.number == 1) append_integers(field, file, dims);
    if (field.number == 2) constant.type = field.integer();
    if (field.number == 4) append_numbers<float>(field, floats);
    if (field.number == 8) name = bytes_of(field, file);
    if (field.number == 9) raw = bytes_of(field, file);
    if (field.number == 10) append_numbers<double>(field, doubles);
    if (field.number == 14) elsewhere = field.integer() == kExternal;
  }
  if (dims.size() > kMostDimensions) {
    throw DataError(
        fmt::format("{}: '{}' has {} dimensions; save the model again", file, shown(name), dims.size()));
  }
  for (const std::int64_t extent : dims) {
    if (extent < 0)
      throw DataError(
          fmt::format("{}: '{}' has an extent of {}; save the model again", file, shown(name), extent));
    constant.shape.push_back(extent);
  }
  if (constant.type != kOnnxFloat && constant.type != kOnnxDouble) return {name, constant};
  if (elsewhere) {
    throw DataError(fmt::format("{} keeps '{}' in a file of its own; save the model with its weights inside",
                                file, shown(name)));
  }
  const std::size_t size = constant.type == kOnnxFloat ? sizeof(float) : sizeof(double);
  constant.data = constant.type == kOnnxFloat ? std::move(floats) : std::move(doubles);
  if (raw) {
    constant.data.clear();
    const ProtobufField run{9, 2, 0, *raw};
    if (constant.type == kOnnxFloat) append_numbers<float>(run, constant.data);
    if (constant.type == kOnnxDouble) append_numbers<double>(run, constant.data);
  }
  const auto expected = array_bytes(constant.shape, size);
  const std::size_t found = raw ? raw->size() : constant.data.size() * size;
  if (!expected || *expected != found) {
    throw DataError(fmt::format("{}: '{}' has shape {} but {} bytes of numbers; save the model again", file,
                                shown(name), show_shape(constant.shape), found));
  }
  return {name, constant};
}

// The attribute's name, itself, and the tensor that it holds where it holds one.
struct ParsedAttribute {
  std::string name;
  OnnxAttribute attribute;
  std::optional<std::string_view> tensor;
};
ParsedAttribute parse_attribute(std::string_view bytes, const std::string& file) {
  ParsedAttribute parsed;
  ProtobufReader reader(bytes, file);
  for (ProtobufField field; reader.next(field);) {
    if (field.number == 1) parsed.name = bytes_of(field, file);
    if (field.number == 2) parsed.attribute.real = field.single();
    if (field.number == 3) parsed.attribute.whole = field.integer();
    if (field.number == 5) parsed.tensor = bytes_of(field, file);
    if (field.number == 8) append_integers(field, file, parsed.attribute.whole_list);
  }
  return parsed;
}

void add_node(std::string_view bytes, const std::string& file, OnnxModel& model) {
  OnnxNode node;
  std::optional<std::string_view> tensor;
  ProtobufReader reader(bytes, file);
  for (ProtobufField field; reader.next(field);) {
    if (field.number == 1) node.inputs.emplace_back(bytes_of(field, file));
    if (field.number == 2) node.outputs.emplace_back(bytes_of(field, file));
    if (field.number == 4) node.op = bytes_of(field, file);
    if (field.number == 7) node.domain = bytes_of(field, file);
    if (field.number != 5) continue;
    ParsedAttribute parsed = parse_attribute(bytes_of(field, file), file);
    if (parsed.tensor) tensor = parsed.tensor;
    node.attributes[parsed.name] = std::move(parsed.attribute);
  }
  if (node.op == "Constant" && tensor && node.outputs.size() == 1) {
    model.constants[node.outputs[0]] = parse_tensor(*tensor, file).second;
  } else {
    model.nodes.push_back(std::move(node));
  }
}

std::string value_name(std::string_view bytes, const std::string& file) {
  std::string name;
  ProtobufReader reader(bytes, file);
  for (ProtobufField field; reader.next(field);)
    if (field.number == 1) name = bytes_of(field, file);
  return name;
}

}  // namespace

std::string shown(const std::string& name) {
  constexpr std::size_t kLongest = 80;
  return name.size() <= kLongest ? name : name.substr(0, kLongest) + "...";
}

OnnxModel parse_onnx_model(std::string_view bytes, const std::string& file) {
  std::optional<std::string_view> graph;
  ProtobufReader whole(bytes, file);
  for (ProtobufField field; whole.next(field);) {
    if (field.number != 7) continue;
    if (graph) throw DataError(fmt::format("{} holds two graphs; save the model again", file));
    graph = bytes_of(field, file);
  }
  if (!graph)
    throw DataError(fmt::format("{} holds no graph, so it is not an ONNX model; check the path", file));
  OnnxModel model;
  ProtobufReader reader(*graph, file);
  for (ProtobufField field; reader.next(field);) {
    if (field.number == 1) add_node(bytes_of(field, file), file, model);
    if (field.number == 5) {
      auto [name, constant] = parse_tensor(bytes_of(field, file), file);
      model.constants[name] = std::move(constant);
    }
    if (field.number == 11) model.inputs.push_back(value_name(bytes_of(field, file), file));
    if (field.number == 12) model.outputs.push_back(value_name(bytes_of(field, file), file));
    if (field.number == 15)
      throw DataError(fmt::format("{} holds sparse weights; save the model with dense ones", file));
  }
  // Older exporters name initialisers among the inputs.
  std::erase_if(model.inputs, [&](const std::string& name) { return model.constants.count(name) > 0; });
  return model;
}

}  // namespace exhume
