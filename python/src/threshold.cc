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
#include "certify/certificate_json.h"
#include "report/report.h"
#include "routes/threshold/halfspaces.h"
#include "routes/threshold/lowest_layer.h"
#include "samples.h"

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
  return call.run([&](const Control& control) { return lowest_layer(samples.source, options, control); });
}

HalfspacesResult run_halfspaces(const Samples& samples, std::optional<Index> hidden, std::uint64_t seed,
                                int threads, nb::object progress) {
  const LowestLayerOptions options = options_of(hidden, seed);
  options.validate();
  Call call(threads, std::move(progress));
  return call.run([&](const Control& control) { return halfspaces(samples.source, options, control); });
}

template <class Result>
std::string certificate(Result result, const Samples& samples) {
  samples.describe(result);
  stamp(result);
  return to_json(result);
}

}  // namespace

void bind_threshold(nb::module_& m) {
  nb::class_<LowestLayerResult>(m, "LowestLayerResult")
      .def_prop_ro("status", [](const LowestLayerResult& r) { return std::string(to_string(r.status)); })
      .def_ro("reason", &LowestLayerResult::reason)
      .def_prop_ro("activation",
                   [](const LowestLayerResult& r) { return std::string(to_string(r.activation)); })
      .def_prop_ro(
          "W", [](const LowestLayerResult& r) { return array(RowMatrix(r.W)); }, nb::rv_policy::move)
      .def_prop_ro(
          "t", [](const LowestLayerResult& r) { return array(Vector(r.t)); }, nb::rv_policy::move)
      .def_prop_ro(
          "start", [](const LowestLayerResult& r) { return array(RowMatrix(r.start)); }, nb::rv_policy::move)
      .def_ro("worst_error", &LowestLayerResult::worst_error)
      .def("certificate", &certificate<LowestLayerResult>, nb::arg("samples"))
      .def_prop_ro("assumptions", [](const LowestLayerResult& r) {
        std::vector<std::tuple<std::string, double, double, bool>> list;
        for (const Assumption& a : r.assumptions) list.emplace_back(a.name, a.value, a.threshold, a.holds);
        return list;
      });
  m.def("lowest_layer", &run_lowest_layer, nb::arg("samples"), nb::arg("hidden").none(),
        nb::arg("activation"), nb::arg("start"), nb::arg("refine"), nb::arg("biased"), nb::arg("seed"),
        nb::arg("threads"), nb::arg("progress").none());

  nb::class_<HalfspacesResult, LowestLayerResult>(m, "HalfspacesResult")
      .def_ro("intersection", &HalfspacesResult::intersection)
      .def_prop_ro("labels", [](const HalfspacesResult& r) { return std::pair(r.labels[0], r.labels[1]); })
      .def_ro("flip_rate", &HalfspacesResult::flip_rate)
      .def_ro("agreement", &HalfspacesResult::agreement)
      .def("certificate", &certificate<HalfspacesResult>, nb::arg("samples"));
  m.def("halfspaces", &run_halfspaces, nb::arg("samples"), nb::arg("hidden").none(), nb::arg("seed"),
        nb::arg("threads"), nb::arg("progress").none());
}

}  // namespace exhume::python
