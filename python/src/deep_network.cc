// Networks of several hidden layers: made of arrays, evaluated, compared, stored.
#include "model/deep_network.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <tuple>
#include <vector>

#include "arrays.h"
#include "call.h"
#include "certify/verify.h"
#include "io/deep_tensors.h"
#include "io/npz.h"
#include "io/onnx.h"
#include "io/open.h"
#include "io/safetensors.h"
#include "samples.h"
#include "values.h"

namespace exhume::python {
namespace {

using LayerIn = std::tuple<Rows, Entries, std::optional<Rows>>;
using LayerOut = std::tuple<Array2, Array1, std::optional<Array2>>;

DeepNetwork make(const std::vector<LayerIn>& layers) {
  DeepNetwork network;
  for (const auto& [W, b, L] : layers)
    network.layers.push_back({map(W), map(b), L ? Matrix(map(*L)) : Matrix()});
  network.validate();
  return network;
}

std::vector<LayerOut> layers(const DeepNetwork& network) {
  std::vector<LayerOut> list;
  for (const Layer& layer : network.layers) {
    std::optional<Array2> L;
    if (layer.L.size() != 0) L = array(RowMatrix(layer.L));
    list.emplace_back(array(RowMatrix(layer.W)), array(Vector(layer.b)), std::move(L));
  }
  return list;
}

OnnxPrecision precision(bool single) { return single ? OnnxPrecision::kSingle : OnnxPrecision::kDouble; }

}  // namespace

void bind_deep_network(nb::module_& m) {
  nb::class_<DeepNetwork>(m, "DeepNetwork")
      .def(nb::new_(&make), nb::arg("layers"))
      .def("layers", &layers, nb::rv_policy::move)
      .def("values", &values<DeepNetwork>, nb::arg("x"), nb::arg("threads"))
      .def("canonical", [](const DeepNetwork& n) { return canonical(n); })
      .def("safetensors",
           [](const DeepNetwork& n) {
             const std::string bytes = network_bytes(n);
             return nb::bytes(bytes.data(), bytes.size());
           })
      .def(
          "onnx",
          [](const DeepNetwork& n, bool single) {
            const std::string bytes = onnx_bytes(n, precision(single));
            return nb::bytes(bytes.data(), bytes.size());
          },
          nb::arg("single"))
      .def(
          "save", [](const DeepNetwork& n, const std::string& path) { write_network(path, n); },
          nb::arg("path"))
      .def(
          "save_npz", [](const DeepNetwork& n, const std::string& path) { write_npz(path, to_tensors(n)); },
          nb::arg("path"))
      .def(
          "save_onnx",
          [](const DeepNetwork& n, const std::string& path, bool single) {
            write_onnx(path, n, precision(single));
          },
          nb::arg("path"), nb::arg("single"));

  nb::class_<DeepAlignment>(m, "DeepAlignment")
      .def_ro("match", &DeepAlignment::match)
      .def_ro("worst_of_layer", &DeepAlignment::worst_of_layer)
      .def_ro("worst_error", &DeepAlignment::worst_error)
      .def_ro("rms_error", &DeepAlignment::rms_error)
      .def_ro("comparable", &DeepAlignment::comparable);
  m.def(
      "align_layers",
      [](const DeepNetwork& first, const DeepNetwork& second, bool free_signs) {
        const nb::gil_scoped_release released;
        return align(first, second, AlignOptions{free_signs});
      },
      nb::arg("first"), nb::arg("second"), nb::arg("free_signs"));
  m.def(
      "open_deep_network", [](const std::string& path) { return open_deep_network(path); }, nb::arg("path"));
  m.def(
      "verify_layers",
      [](const DeepNetwork& network, const Samples& samples, int threads) {
        Call call(threads, nb::none());
        return call.run([&](const Control& control) { return verify(network, *samples.source, control); });
      },
      nb::arg("network"), nb::arg("samples"), nb::arg("threads"));
}

}  // namespace exhume::python
