// Thresholds under anything: the lowest layer, and halfspaces from labels.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>
#include <utility>

#include "arrays.h"
#include "call.h"
#include "exhume/papers/threshold.h"
#include "samples.h"
#include "session/delivery.h"

namespace exhume::python {
namespace {

LowestLayerOptions options_of(std::optional<Index> hidden, std::uint64_t seed) {
  LowestLayerOptions options;
  options.hidden = hidden;
  options.seed = seed;
  return options;
}

LowestLayerResult run_lowest_layer(const Samples& samples, std::optional<Index> hidden,
                                   const std::string& activation, const std::string& start, bool refine,
                                   bool biased, std::uint64_t seed, int threads, nb::object progress) {
  LowestLayerOptions options = options_of(hidden, seed);
  options.activation = parse_lowest_activation(activation);
  options.start = parse_start_method(start);
  options.refine = refine;
  options.biased = biased;
  options.validate();
  Call call(threads, std::move(progress));
  return call.run([&](const Control& control) { return lowest_layer(samples.source(), options, control); });
}

LowestLayerResult run_halfspaces(const Samples& samples, std::optional<Index> hidden, std::uint64_t seed,
                                 int threads, nb::object progress) {
  const LowestLayerOptions options = options_of(hidden, seed);
  options.validate();
  Call call(threads, std::move(progress));
  return call.run([&](const Control& control) { return halfspaces(samples.source(), options, control); });
}

std::string certificate(LowestLayerResult result, const Samples& samples) {
  return to_text(Delivery(DeliveryOptions()).finish(result, samples.opened, Control()).document);
}

}  // namespace

void bind_threshold(nb::module_& m) {
  using Found = LowestLayerResult;
  nb::class_<HalfspaceSet>(m, "HalfspaceSet")
      .def_ro("intersection", &HalfspaceSet::intersection)
      .def_prop_ro("labels", [](const HalfspaceSet& s) { return std::pair(s.labels[0], s.labels[1]); })
      .def_ro("flip_rate", &HalfspaceSet::flip_rate)
      .def_ro("agreement", &HalfspaceSet::agreement);
  nb::class_<Found>(m, "LowestLayerResult")
      .def_prop_ro("status", [](const Found& r) { return std::string(to_string(r.certificate.status)); })
      .def_prop_ro("reason", [](const Found& r) { return r.certificate.reason; })
      .def_prop_ro("activation", [](const Found& r) { return std::string(to_string(r.layer.activation)); })
      .def_prop_ro(
          "W", [](const Found& r) { return array(RowMatrix(r.layer.W)); }, nb::rv_policy::move)
      .def_prop_ro(
          "t", [](const Found& r) { return array(Vector(r.layer.t)); }, nb::rv_policy::move)
      .def_prop_ro(
          "start", [](const Found& r) { return array(RowMatrix(r.layer.start)); }, nb::rv_policy::move)
      .def_prop_ro("worst_error", [](const Found& r) { return r.layer.worst_error; })
      .def_prop_ro("set", [](const Found& r) { return r.set; })
      .def("certificate", &certificate, nb::arg("samples"))
      .def_prop_ro("assumptions", [](const Found& r) {
        std::vector<std::tuple<std::string, double, double, bool>> list;
        for (const Assumption& a : r.certificate.assumptions)
          list.emplace_back(a.name, a.value, a.threshold, a.holds);
        return list;
      });
  m.def("lowest_layer", &run_lowest_layer, nb::arg("samples"), nb::arg("hidden").none(),
        nb::arg("activation"), nb::arg("start"), nb::arg("refine"), nb::arg("biased"), nb::arg("seed"),
        nb::arg("threads"), nb::arg("progress").none());
  m.def("halfspaces", &run_halfspaces, nb::arg("samples"), nb::arg("hidden").none(), nb::arg("seed"),
        nb::arg("threads"), nb::arg("progress").none());
}

}  // namespace exhume::python
