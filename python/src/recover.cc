// recover, and what its result has to say.
#include "session/recover.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>
#include <vector>

#include "arrays.h"
#include "call.h"
#include "documents.h"
#include "recover_options.h"
#include "routes/table.h"
#include "samples.h"

namespace exhume::python {
namespace {

Recovered run_recover(const Samples& samples, const std::string& layers, std::vector<Index> widths,
                      const std::optional<Rows>& first_layer, const std::string& route, double leak,
                      const std::string& activation, std::uint64_t seed, double budget,
                      std::vector<std::string> moments, std::vector<Index> shape,
                      const std::string& checkpoint, bool resume, const std::string& device, int threads,
                      nb::object progress) {
  RecoverJob job;
  job.options =
      recover_options(layers, std::move(widths), first_layer, route, leak, activation, seed, budget);
  job.moments = std::move(moments);
  job.device = device;
  job.checkpoint.folder = checkpoint;
  job.checkpoint.resume = resume;
  job.delivery.in_memory = true;
  job.delivery.input_shape = std::move(shape);
  Call call(threads, std::move(progress), samples.passes);
  return call.run([&](const Control& control) {
    if (!checkpoint.empty()) job.identity = samples.identity();
    return RecoverSession(std::move(job), control).run(samples.opened, {});
  });
}

std::vector<std::pair<std::string, double>> steps(const Diagnostics& diagnostics) {
  std::vector<std::pair<std::string, double>> list;
  for (const PolishStep& step : diagnostics.descent) list.emplace_back(step.stage, step.relative_mse);
  return list;
}

}  // namespace

void bind_recover(nb::module_& m) {
  using R = Recovered;
  nb::class_<R>(m, "Recovered")
      .def_prop_ro("network",
                   [](const R& r) {
                     const bool none = r.result.certificate.status == Status::kRefused;
                     return none ? std::nullopt : std::optional<Network>(r.result.network);
                   })
      .def_prop_ro("activation", [](const R& r) { return r.result.activation; })
      .def_prop_ro("standard_errors",
                   [](const R& r) {
                     const Network& errors = r.result.errors.standard_errors;
                     return errors.parameters() == 0 ? std::nullopt : std::optional<Network>(errors);
                   })
      .def_prop_ro(
          "singular_values", [](const R& r) { return array(Vector(r.result.diagnostics.singular_values)); },
          nb::rv_policy::move)
      .def_prop_ro(
          "predicted", [](const R& r) { return array(RowMatrix(r.result.diagnostics.predicted)); },
          nb::rv_policy::move)
      .def_prop_ro(
          "observed", [](const R& r) { return array(RowMatrix(r.result.diagnostics.observed)); },
          nb::rv_policy::move)
      .def_prop_ro("descent", [](const R& r) { return steps(r.result.diagnostics); })
      .def_prop_ro("certificate", [](const R& r) { return to_text(r.delivered.document); })
      .def_prop_ro("files", [](const R& r) { return named_bytes(r.delivered.files); });
  m.def("recover", &run_recover, nb::arg("samples"), nb::arg("layers"), nb::arg("widths"),
        nb::arg("first_layer").none(), nb::arg("route"), nb::arg("leak"), nb::arg("activation"),
        nb::arg("seed"), nb::arg("budget"), nb::arg("moments"), nb::arg("shape"), nb::arg("checkpoint"),
        nb::arg("resume"), nb::arg("device"), nb::arg("threads"), nb::arg("progress").none());
  m.def("route_name", &route_name, nb::arg("route"), nb::arg("method"));
  m.def(
      "read_first_layer", [](const std::string& file) { return array(RowMatrix(read_first_layer(file))); },
      nb::arg("file"), nb::rv_policy::move);

  nb::class_<RouteInfo>(m, "RouteInfo")
      .def_ro("name", &RouteInfo::name)
      .def_ro("group", &RouteInfo::group)
      .def_ro("about", &RouteInfo::about)
      .def_ro("condition", &RouteInfo::condition)
      .def_ro("automatic", &RouteInfo::automatic)
      .def_ro("options", &RouteInfo::options)
      .def_prop_ro("finds", [](const RouteInfo& r) { return std::string(to_string(r.finds)); });
  m.def("routes", [] { return route_table(); });
}

}  // namespace exhume::python
