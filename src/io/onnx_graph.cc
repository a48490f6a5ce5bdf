#include "io/onnx_graph.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <stdexcept>

#include "exhume/error.h"
#include "exhume/version.h"
#include "io/protobuf_writer.h"

namespace exhume {
namespace {

// Field numbers of onnx.proto.
namespace model_field {
constexpr int kIrVersion = 1, kProducerName = 2, kProducerVersion = 3, kGraph = 7, kOpsetImport = 8;
}
namespace opset_field {
constexpr int kVersion = 2;
}
namespace graph_field {
constexpr int kNode = 1, kName = 2, kInitializer = 5, kInput = 11, kOutput = 12;
}
namespace node_field {
constexpr int kInput = 1, kOutput = 2, kName = 3, kOpType = 4, kAttribute = 5;
}
namespace attribute_field {
constexpr int kName = 1, kFloat = 2, kInt = 3, kInts = 8, kType = 20;
}
namespace tensor_field {
constexpr int kDims = 1, kDataType = 2, kName = 8, kRawData = 9;
}
namespace value_field {
constexpr int kName = 1, kType = 2;
}
namespace type_field {
constexpr int kTensor = 1, kElement = 1, kShape = 2;
}
namespace shape_field {
constexpr int kDim = 1, kValue = 1, kSymbol = 2;
}

constexpr int kIrVersion = 7, kOpset = 13;
constexpr int kFloatType = 1, kInt64Type = 7, kDoubleType = 11;            // TensorProto.DataType
constexpr int kFloatAttribute = 1, kIntAttribute = 2, kIntsAttribute = 7;  // AttributeProto.AttributeType
constexpr std::size_t kMostBytes = 0x7fffffff;

ProtobufMessage tensor(std::string_view name, const std::vector<Index>& dims, int type,
                       std::string_view raw) {
  ProtobufMessage message;
  for (const Index extent : dims) message.integer(tensor_field::kDims, extent);
  message.integer(tensor_field::kDataType, type);
  message.bytes(tensor_field::kName, name);
  message.bytes(tensor_field::kRawData, raw);
  return message;
}

ProtobufMessage value_info(std::string_view name, const std::vector<OnnxGraph::Extent>& shape, int type) {
  ProtobufMessage dims;
  for (const OnnxGraph::Extent& extent : shape) {
    ProtobufMessage dim;
    if (const auto* symbol = std::get_if<std::string>(&extent)) {
      dim.bytes(shape_field::kSymbol, *symbol);
    } else {
      dim.integer(shape_field::kValue, std::get<Index>(extent));
    }
    dims.message(shape_field::kDim, dim);
  }
  ProtobufMessage tensor_type;
  tensor_type.integer(type_field::kElement, type);
  tensor_type.message(type_field::kShape, dims);
  ProtobufMessage any_type;
  any_type.message(type_field::kTensor, tensor_type);
  ProtobufMessage message;
  message.bytes(value_field::kName, name);
  message.message(value_field::kType, any_type);
  return message;
}

template <class T>
std::string_view raw_view(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

}  // namespace

struct OnnxGraph::Parts {
  std::string name;
  OnnxPrecision precision;
  ProtobufMessage nodes, initializers, inputs, outputs;  // each a run of fields of GraphProto
  std::size_t node_count = 0;

  int type() const { return precision == OnnxPrecision::kDouble ? kDoubleType : kFloatType; }

  void constant(std::string_view tensor_name, const std::vector<Index>& dims, const double* values,
                Index count) {
    std::vector<float> singles;
    std::string_view raw(reinterpret_cast<const char*>(values),
                         static_cast<std::size_t>(count) * sizeof(double));
    if (precision == OnnxPrecision::kSingle) {
      for (Index i = 0; i < count; ++i) {
        singles.push_back(static_cast<float>(values[i]));
        if (!std::isfinite(singles.back())) {
          throw std::invalid_argument(fmt::format(
              "onnx: {} in '{}' does not fit single precision; write double", values[i], tensor_name));
        }
      }
      raw = raw_view(singles);
    }
    initializers.message(graph_field::kInitializer, tensor(tensor_name, dims, type(), raw));
  }
};

OnnxGraph::OnnxGraph(std::string_view name, OnnxPrecision precision)
    : parts_(new Parts{std::string(name), precision, {}, {}, {}, {}, 0}) {}
OnnxGraph::~OnnxGraph() = default;
OnnxGraph::OnnxGraph(OnnxGraph&&) noexcept = default;
OnnxGraph& OnnxGraph::operator=(OnnxGraph&&) noexcept = default;

void OnnxGraph::input(std::string_view name, const std::vector<Extent>& shape) {
  parts_->inputs.message(graph_field::kInput, value_info(name, shape, parts_->type()));
}

void OnnxGraph::output(std::string_view name, const std::vector<Extent>& shape) {
  parts_->outputs.message(graph_field::kOutput, value_info(name, shape, parts_->type()));
}

void OnnxGraph::constant(std::string_view name, const Matrix& value) {
  const RowMatrix rows = value;
  parts_->constant(name, {rows.rows(), rows.cols()}, rows.data(), rows.size());
}

void OnnxGraph::constant(std::string_view name, const Vector& value) {
  parts_->constant(name, {value.size()}, value.data(), value.size());
}

void OnnxGraph::constant(std::string_view name, const std::vector<std::int64_t>& value) {
  parts_->initializers.message(graph_field::kInitializer,
                               tensor(name, {static_cast<Index>(value.size())}, kInt64Type, raw_view(value)));
}

void OnnxGraph::node(std::string_view op, const std::vector<std::string>& inputs, const std::string& output,
                     const std::vector<Attribute>& attributes) {
  ProtobufMessage node;
  for (const std::string& name : inputs) node.bytes(node_field::kInput, name);
  node.bytes(node_field::kOutput, output);
  node.bytes(node_field::kName, fmt::format("{}_{}", op, parts_->node_count++));
  node.bytes(node_field::kOpType, op);
  for (const auto& [name, value] : attributes) {
    ProtobufMessage attribute;
    attribute.bytes(attribute_field::kName, name);
    if (const auto* whole = std::get_if<std::int64_t>(&value)) {
      attribute.integer(attribute_field::kInt, *whole);
      attribute.integer(attribute_field::kType, kIntAttribute);
    } else if (const auto* real = std::get_if<float>(&value)) {
      attribute.single(attribute_field::kFloat, *real);
      attribute.integer(attribute_field::kType, kFloatAttribute);
    } else {
      for (const std::int64_t each : std::get<std::vector<std::int64_t>>(value)) {
        attribute.integer(attribute_field::kInts, each);
      }
      attribute.integer(attribute_field::kType, kIntsAttribute);
    }
    node.message(node_field::kAttribute, attribute);
  }
  parts_->nodes.message(graph_field::kNode, node);
}

std::string OnnxGraph::bytes() const {
  // Runs of fields of one message may simply follow each other.
  ProtobufMessage name;
  name.bytes(graph_field::kName, parts_->name);
  const std::string graph = parts_->nodes.str() + name.str() + parts_->initializers.str() +
                            parts_->inputs.str() + parts_->outputs.str();
  ProtobufMessage opset;
  opset.integer(opset_field::kVersion, kOpset);
  ProtobufMessage model;
  model.integer(model_field::kIrVersion, kIrVersion);
  model.bytes(model_field::kProducerName, "exhume");
  model.bytes(model_field::kProducerVersion, kVersion);
  model.bytes(model_field::kGraph, graph);
  model.message(model_field::kOpsetImport, opset);
  if (model.str().size() > kMostBytes) {
    throw ResourceError(
        fmt::format("the network needs {} MiB as ONNX, which can hold 2047; write it as .safetensors",
                    model.str().size() >> 20));
  }
  return model.str();
}

}  // namespace exhume
