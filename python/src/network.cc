// Networks: made of arrays, evaluated, compared, stored.
#include "exhume/network.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "arrays.h"
#include "call.h"
#include "certify/verify.h"
#include "io/onnx.h"
#include "io/open.h"
#include "io/safetensors.h"
#include "samples.h"
#include "values.h"

namespace exhume::python {
namespace {

Network make(const Rows& W, const Entries& b, const Rows& A, const Entries& c, const std::optional<Rows>& L) {
  Network network{map(W), map(b), map(A), map(c), L ? Matrix(map(*L)) : Matrix()};
  network.validate();
  return network;
}

nb::bytes bytes(const std::string& text) { return nb::bytes(text.data(), text.size()); }

OnnxPrecision precision(bool single) { return single ? OnnxPrecision::kSingle : OnnxPrecision::kDouble; }

}  // namespace

void bind_network(nb::module_& m) {
  nb::class_<Network>(m, "Network")
      .def(nb::new_(&make), nb::arg("W"), nb::arg("b"), nb::arg("A"), nb::arg("c"), nb::arg("L") = nb::none())
      .def_prop_ro(
          "W", [](const Network& n) { return array(RowMatrix(n.W())); }, nb::rv_policy::move)
      .def_prop_ro(
          "b", [](const Network& n) { return array(Vector(n.b())); }, nb::rv_policy::move)
      .def_prop_ro(
          "A", [](const Network& n) { return array(RowMatrix(n.A())); }, nb::rv_policy::move)
      .def_prop_ro(
          "c", [](const Network& n) { return array(Vector(n.c())); }, nb::rv_policy::move)
      .def_prop_ro(
          "L",
          [](const Network& n) -> std::optional<Array2> {
            if (!n.has_skip_terms()) return std::nullopt;
            return array(RowMatrix(n.L()));
          },
          nb::rv_policy::move)
      .def("values", &values<Network>, nb::arg("x"), nb::arg("threads"))
      .def("canonical", [](const Network& n) { return canonical(n); })
      .def("safetensors", [](const Network& n) { return bytes(network_bytes(n)); })
      .def(
          "onnx", [](const Network& n, bool single) { return bytes(onnx_bytes(n, precision(single))); },
          nb::arg("single"))
      .def(
          "save", [](const Network& n, const std::string& path) { write_network(path, n); }, nb::arg("path"))
      .def(
          "save_onnx",
          [](const Network& n, const std::string& path, bool single) {
            write_onnx(path, n, precision(single));
          },
          nb::arg("path"), nb::arg("single"));

  nb::class_<Alignment>(m, "Alignment")
      .def_ro("match", &Alignment::match)
      .def_ro("turned", &Alignment::turned)
      .def_ro("worst_error", &Alignment::worst_error)
      .def_ro("rms_error", &Alignment::rms_error)
      .def_ro("worst_unit", &Alignment::worst_unit)
      .def_ro("comparable", &Alignment::comparable);
  m.def(
      "align",
      [](const Network& first, const Network& second, bool free_signs) {
        const nb::gil_scoped_release released;
        return align(first, second, AlignOptions{free_signs});
      },
      nb::arg("first"), nb::arg("second"), nb::arg("free_signs"));
  m.def(
      "open_network", [](const std::string& path) { return open_network(path); }, nb::arg("path"));

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
        return call.run([&](const Control& control) { return verify(network, *samples.source, control); });
      },
      nb::arg("network"), nb::arg("samples"), nb::arg("threads"));
}

}  // namespace exhume::python
