// Networks: made of arrays, evaluated, compared, stored.
#include "exhume/network.h"

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
#include "exhume/activation.h"
#include "exhume/files.h"
#include "io/onnx.h"
#include "io/open.h"
#include "io/safetensors.h"
#include "samples.h"
#include "values.h"

namespace exhume::python {
namespace {

using LayerIn = std::tuple<Rows, Entries, std::optional<Rows>>;
using LayerOut = std::tuple<Array2, Array1, std::optional<Array2>>;

Network make(const std::vector<LayerIn>& layers, const std::string& activation) {
  Network network;
  (void)parse_rectifier(activation);
  network.activation = activation;
  for (const auto& [W, b, L] : layers)
    network.layers.push_back({map(W), map(b), L ? Matrix(map(*L)) : Matrix()});
  network.validate();
  return network;
}

std::vector<LayerOut> layers(const Network& network) {
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

void bind_network(nb::module_& m) {
  nb::class_<Network>(m, "Network")
      .def(nb::new_(&make), nb::arg("layers"), nb::arg("activation") = "relu")
      .def_ro("activation", &Network::activation)
      .def("layers", &layers, nb::rv_policy::move)
      .def("values", &values<Network>, nb::arg("x"), nb::arg("threads"))
      .def("canonical", [](const Network& n) { return canonical(n); })
      .def("safetensors", [](const Network& n) { return bytes(network_bytes(n)); })
      .def(
          "onnx", [](const Network& n, bool single) { return bytes(onnx_bytes(n, precision(single))); },
          nb::arg("single"))
      .def(
          "save", [](const Network& n, const std::string& path) { save_network(path, n); }, nb::arg("path"))
      .def(
          "save_onnx",
          [](const Network& n, const std::string& path, bool single) {
            write_onnx(path, n, precision(single));
          },
          nb::arg("path"), nb::arg("single"));
  m.def(
      "open_network", [](const std::string& path) { return open_network(path); }, nb::arg("path"));

  nb::class_<Alignment>(m, "Alignment")
      .def_ro("match", &Alignment::match)
      .def_ro("turned", &Alignment::turned)
      .def_ro("worst_of_layer", &Alignment::worst_of_layer)
      .def_ro("worst_error", &Alignment::worst_error)
      .def_ro("rms_error", &Alignment::rms_error)
      .def_ro("worst_layer", &Alignment::worst_layer)
      .def_ro("worst_unit", &Alignment::worst_unit)
      .def_ro("comparable", &Alignment::comparable);
  m.def(
      "align",
      [](const Network& first, const Network& second, bool free_signs) {
        const nb::gil_scoped_release released;
        return align(first, second, AlignOptions{free_signs});
      },
      nb::arg("first"), nb::arg("second"), nb::arg("free_signs"));

  nb::class_<Verification>(m, "Verification")
      .def_ro("rows", &Verification::rows)
      .def_ro("relative_mse", &Verification::relative_mse)
      .def_ro("rms_error", &Verification::rms_error)
      .def_ro("worst_error", &Verification::worst_error)
      .def_ro("worst_row", &Verification::worst_row)
      .def_ro("worst_output", &Verification::worst_output);
  m.def(
      "verify",
      [](const Network& network, const Samples& samples, int threads) {
        Call call(threads, nb::none());
        return call.run([&](const Control& control) { return verify(network, *samples.source(), control); });
      },
      nb::arg("network"), nb::arg("samples"), nb::arg("threads"));
}

}  // namespace exhume::python
