#include "oracle/queried_model.h"

#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "exhume/files.h"
#include "io/nnet.h"
#include "io/onnx_reader.h"
#include "io/open.h"

namespace exhume {
namespace {

RowMatrix with_head(OnnxHead head, RowMatrix y) {
  if (head == OnnxHead::kSigmoid) return (1 / (1 + (-y.array()).exp())).matrix();
  if (head == OnnxHead::kTanh) return y.array().tanh().matrix();
  if (head == OnnxHead::kNone) return y;
  y.colwise() -= Vector(y.rowwise().maxCoeff());
  const Vector sums = y.array().exp().rowwise().sum().matrix();
  if (head == OnnxHead::kLogSoftmax) {
    y.colwise() -= Vector(sums.array().log().matrix());
    return y;
  }
  return (y.array().exp().colwise() / sums.array()).matrix();
}

}  // namespace

QueriedModel open_queried_model(const std::filesystem::path& path) {
  const std::string name = path.string();
  if (has_ending(path, ".onnx")) {
    OnnxFunction model = read_onnx_function(path);
    if (model.head == OnnxHead::kNone) return {network_oracle(std::move(model.network), name)};
    const Index inputs = model.network.inputs();
    auto shared = std::make_shared<const OnnxFunction>(std::move(model));
    return {function_oracle(
        [shared](const Eigen::Ref<const RowMatrix>& x) {
          return with_head(shared->head, evaluate(shared->network, x));
        },
        inputs, name)};
  }
  if (has_ending(path, ".nnet")) {
    NnetFile file = read_nnet(path);
    return {network_oracle(std::move(file.network), name), std::move(file.domain)};
  }
  return {network_oracle(open_network(path), name)};
}

}  // namespace exhume
