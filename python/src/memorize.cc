// Networks with quadratic units that fit any labels.
#include "exhume/memorize.h"

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <utility>

#include "arrays.h"
#include "call.h"
#include "certify/certificate_json.h"
#include "io/atomic_file.h"
#include "io/quadratic_files.h"
#include "io/safetensors.h"
#include "report/report.h"
#include "values.h"

namespace exhume::python {
namespace {

QuadraticNetwork make(const std::optional<Rows>& R, int power, const Rows& W, const Rows& A) {
  QuadraticNetwork network{R ? Matrix(map(*R)) : Matrix(), power, map(W), map(A)};
  network.validate();
  return network;
}

MemorizeResult run_memorize(const Rows& x, const Rows& y, const std::string& method, int layers, Index hidden,
                            Index features, int power, double perturb, bool normalize, bool classes,
                            double tolerance, int iterations, double epsilon, int decay_epochs,
                            double memory_gib, std::uint64_t seed, int threads, nb::object progress) {
  MemorizeOptions options;
  const std::optional<MemorizeMethod> chosen = memorize_method(method);
  if (!chosen) {
    throw std::invalid_argument(
        fmt::format("method is '{}', expected closed, pgd, pgd-printed or adam", method));
  }
  options.method = *chosen;
  options.layers = layers;
  options.hidden = hidden;
  options.features = features;
  options.power = power;
  options.perturb = perturb;
  options.normalize = normalize;
  options.classes = classes;
  options.tolerance = tolerance;
  options.descent.max_iterations = iterations;
  options.descent.epsilon = epsilon;
  options.descent.decay_epochs = decay_epochs;
  options.closed_form.memory_bytes = memory_gib * 0x1p30;
  options.seed = seed;
  options.validate();
  const ConstRows inputs = map(x), labels = map(y);
  Call call(threads, std::move(progress));
  return call.run([&](const Control& control) { return memorize(inputs, labels, options, control); });
}

}  // namespace

void bind_memorize(nb::module_& m) {
  nb::class_<QuadraticNetwork>(m, "QuadraticNetwork")
      .def(nb::new_(&make), nb::arg("R").none(), nb::arg("power"), nb::arg("W"), nb::arg("A"))
      .def_prop_ro(
          "R",
          [](const QuadraticNetwork& n) -> std::optional<Array2> {
            if (!n.three_layers()) return std::nullopt;
            return array(RowMatrix(n.R));
          },
          nb::rv_policy::move)
      .def_ro("power", &QuadraticNetwork::power)
      .def_prop_ro(
          "W", [](const QuadraticNetwork& n) { return array(RowMatrix(n.W)); }, nb::rv_policy::move)
      .def_prop_ro(
          "A", [](const QuadraticNetwork& n) { return array(RowMatrix(n.A)); }, nb::rv_policy::move)
      .def_prop_ro("parameters", &QuadraticNetwork::parameters)
      .def("values", &values<QuadraticNetwork>, nb::arg("x"), nb::arg("threads"))
      .def("safetensors", [](const QuadraticNetwork& n) { return bytes(safetensors_bytes(to_tensors(n))); })
      .def(
          "save",
          [](const QuadraticNetwork& n, const std::string& path) { write_safetensors(path, to_tensors(n)); },
          nb::arg("path"))
      .def(
          "save_onnx",
          [](const QuadraticNetwork& n, const std::string& path) { write_file(path, onnx_bytes(n)); },
          nb::arg("path"));
  m.def(
      "open_quadratic_network",
      [](const std::string& path) { return to_quadratic_network(read_safetensors(path), path); },
      nb::arg("path"));

  nb::class_<MemorizeResult>(m, "MemorizeResult")
      .def_prop_ro("memorized", &MemorizeResult::memorized)
      .def("certificate",
           [](MemorizeResult result) {
             stamp(result.certificate);
             return to_json(result);
           })
      .def_prop_ro("reason", [](const MemorizeResult& r) { return r.certificate.reason; })
      .def_ro("network", &MemorizeResult::network)
      .def_ro("layers", &MemorizeResult::layers)
      .def_ro("power", &MemorizeResult::power)
      .def_ro("relative_error", &MemorizeResult::relative_error)
      .def_ro("given_relative_error", &MemorizeResult::given_relative_error)
      .def_ro("worst_error", &MemorizeResult::worst_error)
      .def_ro("accuracy", &MemorizeResult::accuracy)
      .def_ro("capacity", &MemorizeResult::capacity)
      .def_ro("classes", &MemorizeResult::classes)
      .def_prop_ro(
          "inputs", [](const MemorizeResult& r) { return array(RowMatrix(r.inputs)); }, nb::rv_policy::move)
      .def_prop_ro(
          "targets", [](const MemorizeResult& r) { return array(RowMatrix(r.targets)); },
          nb::rv_policy::move);
  m.def("memorize", &run_memorize, nb::arg("x"), nb::arg("y"), nb::arg("method"), nb::arg("layers"),
        nb::arg("hidden"), nb::arg("features"), nb::arg("power"), nb::arg("perturb"), nb::arg("normalize"),
        nb::arg("classes"), nb::arg("tolerance"), nb::arg("iterations"), nb::arg("epsilon"),
        nb::arg("decay_epochs"), nb::arg("memory"), nb::arg("seed"), nb::arg("threads"),
        nb::arg("progress").none());
}

}  // namespace exhume::python
