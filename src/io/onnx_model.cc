#include "io/onnx_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "exhume/error.h"
#include "io/narrow_floats.h"
#include "io/protobuf_reader.h"
#include "io/random_access_file.h"
#include "io/shape.h"

namespace exhume {
namespace {

constexpr std::int64_t kExternal = 1;        // TensorProto.DataLocation
constexpr std::size_t kMostDimensions = 32;  // more than any program has
constexpr std::int64_t kLongestExtent = std::int64_t{1} << 32;

// Numbers of one field: a packed run, or one at a time.
template <class Number>
void append_numbers(const ProtobufField& field, std::vector<double>& list) {
  if (field.type != 2) {
    Number one;
    std::memcpy(&one, &field.value, sizeof one);
    list.push_back(static_cast<double>(one));
    return;
  }
  for (std::size_t at = 0; at + sizeof(Number) <= field.bytes.size(); at += sizeof(Number)) {
    Number one;
    std::memcpy(&one, field.bytes.data() + at, sizeof one);
    list.push_back(static_cast<double>(one));
  }
}

// Where the numbers of a tensor are that are not in the model: a file beside it.
struct OtherPlace {
  std::string location;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
};

void add_entry(std::string_view bytes, const std::string& file, OtherPlace& place) {
  std::string key, value;
  ProtobufReader reader(bytes, file);
  for (ProtobufField field; reader.next(field);) {
    if (field.number == 1) key = bytes_of(field, file);
    if (field.number == 2) value = bytes_of(field, file);
  }
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  const bool whole = error == std::errc() && end == value.data() + value.size();
  if ((key == "offset" || key == "length") && !whole)
    throw DataError(fmt::format("{}: a tensor's {} in another file is '{}'", file, key, shown(value)));
  if (key == "location") place.location = value;
  if (key == "offset") place.offset = number;
  if (key == "length") place.length = number;
}

std::string numbers_elsewhere(const OtherPlace& place, std::uint64_t expected, const std::string& name,
                              const std::string& file, const std::filesystem::path& folder) {
  const std::filesystem::path plain(place.location);
  if (folder.empty() || place.location.empty() || plain.filename() != plain || place.location == ".." ||
      place.location == ".") {
    throw DataError(fmt::format(
        "{} keeps '{}' in a file of its own{}; save the model with its weights inside", file, shown(name),
        place.location.empty() ? "" : fmt::format(" ('{}')", shown(place.location))));
  }
  const RandomAccessFile other(folder / plain);
  const std::uint64_t length = place.length.value_or(expected);
  if (length != expected || place.offset > other.size() || length > other.size() - place.offset) {
    throw DataError(fmt::format("{}: '{}' is said to be at byte {} of {}, which has {}; save the model again",
                                file, shown(name), place.offset, other.name(), other.size()));
  }
  std::string bytes(static_cast<std::size_t>(length), '\0');
  other.read(place.offset, bytes.data(), bytes.size());
  return bytes;
}

// 0: a type that is not read.
std::size_t bytes_per_number(std::int64_t type) {
  if (type == kOnnxDouble || type == kOnnxInt64) return 8;
  if (type == kOnnxFloat) return 4;
  return type == kOnnxHalf || type == kOnnxBfloat ? 2 : 0;
}

std::pair<std::string, OnnxConstant> parse_tensor(std::string_view bytes, const std::string& file,
                                                  const std::filesystem::path& folder) {
  OnnxConstant constant;
  std::string name;
  std::vector<std::int64_t> dims;
  std::vector<double> floats, doubles;
  std::vector<std::int64_t> wholes;
  std::optional<std::string_view> raw;
  OtherPlace place;
  std::string other;
  bool elsewhere = false;
  ProtobufReader reader(bytes, file);
  for (ProtobufField field; reader.next(field);) {
    if (field.number == 1) append_integers(field, file, dims);
    if (field.number == 2) constant.type = field.integer();
    if (field.number == 4) append_numbers<float>(field, floats);
    if (field.number == 5 || field.number == 7) append_integers(field, file, wholes);
    if (field.number == 13) add_entry(bytes_of(field, file), file, place);
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
    if (extent < 0) {
      throw DataError(
          fmt::format("{}: '{}' has an extent of {}; save the model again", file, shown(name), extent));
    }
    constant.shape.push_back(extent);
  }
  const std::size_t size = bytes_per_number(constant.type);
  if (size == 0) return {name, constant};
  const bool half = constant.type == kOnnxHalf, brain = constant.type == kOnnxBfloat;
  const auto narrow = half ? from_half : from_bfloat;
  const auto expected = array_bytes(constant.shape, size);
  if (elsewhere) {
    if (!expected)
      throw DataError(fmt::format("{}: '{}' is beyond any file; save the model again", file, shown(name)));
    other = numbers_elsewhere(place, *expected, name, file, folder);
    raw = other;
  }
  if (constant.type == kOnnxFloat) constant.data = std::move(floats);
  if (constant.type == kOnnxDouble) constant.data = std::move(doubles);
  if (constant.type == kOnnxInt64) constant.data.assign(wholes.begin(), wholes.end());
  if (half || brain)  // typed, their bits stand among the whole numbers
    for (const std::int64_t bits : wholes) constant.data.push_back(narrow(static_cast<std::uint16_t>(bits)));
  if (raw) {
    constant.data.clear();
    const ProtobufField run{9, 2, 0, *raw};
    if (constant.type == kOnnxFloat) append_numbers<float>(run, constant.data);
    if (constant.type == kOnnxDouble) append_numbers<double>(run, constant.data);
    if (constant.type == kOnnxInt64) append_numbers<std::int64_t>(run, constant.data);
    if (half || brain) {
      append_numbers<std::uint16_t>(run, constant.data);
      for (double& number : constant.data) number = narrow(static_cast<std::uint16_t>(number));
    }
  }
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
    if (field.number == 4) parsed.attribute.text = bytes_of(field, file);
    if (field.number == 5) parsed.tensor = bytes_of(field, file);
    if (field.number == 8) append_integers(field, file, parsed.attribute.whole_list);
  }
  return parsed;
}

void add_node(std::string_view bytes, const std::string& file, const std::filesystem::path& folder,
              OnnxModel& model) {
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
    model.constants[node.outputs[0]] = parse_tensor(*tensor, file, folder).second;
  } else {
    model.nodes.push_back(std::move(node));
  }
}

// ValueInfoProto: its name, and the extents of its tensor type where it has one: type (2) > tensor_type (1) >
// shape (2) > dim (1) > dim_value (1).
std::string value_name(std::string_view bytes, const std::string& file, std::vector<Index>* shape = nullptr) {
  std::string name;
  ProtobufReader reader(bytes, file);
  const auto inner = [&](std::string_view message, int number, const auto& visit) {
    ProtobufReader fields(message, file);
    for (ProtobufField field; fields.next(field);)
      if (field.number == number && field.type == 2) visit(field.bytes);
  };
  for (ProtobufField field; reader.next(field);) {
    if (field.number == 1) name = bytes_of(field, file);
    if (field.number != 2 || field.type != 2 || shape == nullptr) continue;
    inner(field.bytes, 1, [&](std::string_view tensor) {
      inner(tensor, 2, [&](std::string_view dims) {
        inner(dims, 1, [&](std::string_view dim) {
          Index extent = 0;
          ProtobufReader one(dim, file);
          for (ProtobufField value; one.next(value);) {
            if (value.number == 1 && value.type == 0 && value.integer() > 0 &&
                value.integer() < kLongestExtent)
              extent = static_cast<Index>(value.integer());
          }
          if (shape->size() < kMostDimensions) shape->push_back(extent);
        });
      });
    });
  }
  return name;
}

}  // namespace

std::string shown(const std::string& name) {
  constexpr std::size_t kLongest = 80;
  return name.size() <= kLongest ? name : name.substr(0, kLongest) + "...";
}

OnnxModel parse_onnx_model(std::string_view bytes, const std::string& file,
                           const std::filesystem::path& folder) {
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
    if (field.number == 1) add_node(bytes_of(field, file), file, folder, model);
    if (field.number == 5) {
      auto [name, constant] = parse_tensor(bytes_of(field, file), file, folder);
      model.constants[name] = std::move(constant);
    }
    if (field.number == 11) {
      std::vector<Index> shape;
      model.inputs.push_back(value_name(bytes_of(field, file), file, &shape));
      if (!shape.empty()) model.shapes[model.inputs.back()] = std::move(shape);
    }
    if (field.number == 12) model.outputs.push_back(value_name(bytes_of(field, file), file));
    if (field.number == 15)
      throw DataError(fmt::format("{} holds sparse weights; save the model with dense ones", file));
  }
  // Older exporters name initialisers among the inputs.
  std::erase_if(model.inputs, [&](const std::string& name) { return model.constants.count(name) > 0; });
  return model;
}

}  // namespace exhume
