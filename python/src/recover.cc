// recover, and what its result has to say.
#include "exhume/recover_layers.h"

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "arrays.h"
#include "call.h"
#include "certify/certificate_json.h"
#include "data/resident.h"
#include "io/digest.h"
#include "io/output_folder.h"
#include "io/signature.h"
#include "recover_options.h"
#include "report/report.h"
#include "report/result_files.h"
#include "report/view.h"
#include "routes/depth2.h"
#include "routes/table.h"
#include "samples.h"

namespace exhume::python {
namespace {

RecoverResult run_recover(const Samples& samples, std::optional<Index> hidden, const std::string& route,
                          double leak, const std::string& activation, std::uint64_t seed, double budget,
                          const std::optional<Rows>& units, const std::string& device, int threads,
                          nb::object progress) {
  const RecoverOptions options = one_layer_options(hidden, route, leak, activation, seed, budget, units);
  const SampleSource& rows = *samples.source;
  const bool worth = device != "auto" || worth_a_device(rows.rows(), rows.inputs(), rows.outputs());
  Call call(threads, std::move(progress), worth ? device : "cpu", samples.passes);
  RecoverResult result =
      call.run([&](const Control& control) { return recover(samples.source, options, control); });
  result.options = options_said(options, "1");
  return result;
}

DeepResult run_deep(const Samples& samples, Index layers, std::optional<std::vector<Index>> widths,
                    const std::optional<Rows>& first_layer, std::uint64_t seed, double budget,
                    const std::string& device, int threads, nb::object progress) {
  const DeepOptions options =
      deep_options(layers, std::move(widths), first_layer, seed, budget, samples.source->inputs());
  Call call(threads, std::move(progress), device, samples.passes);
  DeepResult result =
      call.run([&](const Control& control) { return recover_deep(samples.source, options, control); });
  result.options = options_said(options);
  return result;
}

AnyDepth run_any_depth(const Samples& samples, std::uint64_t seed, double budget, const std::string& device,
                       int threads, nb::object progress) {
  RecoverOptions options;
  options.seed = seed;
  options.budget_seconds = budget;
  options.validate();
  Call call(threads, std::move(progress), device, samples.passes);
  AnyDepth any =
      call.run([&](const Control& control) { return recover_layers(samples.source, options, control); });
  std::visit([&](Certificate& result) { result.options = options_said(options, "auto"); }, any);
  return any;
}

// The rough units that moments of several sites tell of: pairs of a file's name and its bytes.
Array2 units_of_moments(const std::vector<std::pair<std::string, nb::bytes>>& parts,
                        std::optional<Index> hidden, std::uint64_t seed) {
  std::optional<PartialMoments> all;
  for (const auto& [name, sums] : parts) {
    PartialMoments part = PartialMoments::deserialise({sums.c_str(), sums.size()}, name);
    if (all) {
      all->merge(part);
    } else {
      all = std::move(part);
    }
  }
  if (!all) throw std::invalid_argument("moments names no file");
  Depth2Options options;
  options.hidden = hidden;
  options.seed = seed;
  return array(RowMatrix(moments_start(*all, options, {}).V));
}

std::optional<Network> unless_empty(const Network& network) {
  if (network.parameters() == 0) return std::nullopt;
  return network;
}

// Names and shape of the data, into a result that is about to be written.
template <class Result>
Result described(Result result, const Samples& samples, const std::vector<Index>& shape) {
  samples.describe(result);
  if (!shape.empty()) check_shape(shape, samples.source->inputs());
  result.input_shape = shape;
  return result;
}

template <class Result>
std::string certificate(const Result& found, const Samples& samples, const std::vector<Index>& shape,
                        int threads) {
  Result result = described(found, samples, shape);
  for (const ResultFile& file : result_files(result))
    result.written.push_back({file.role, file.name, sha256(file.bytes)});
  Control control;
  control.threads = threads;
  stamp(result, control.workers());
  return to_json(result);
}

template <class Result>
std::vector<std::pair<std::string, nb::bytes>> files(const Result& result, const Samples& samples) {
  std::vector<std::pair<std::string, nb::bytes>> list;
  for (const ResultFile& file : result_files(described(result, samples, {})))
    list.emplace_back(file.name, bytes(file.bytes));
  return list;
}

}  // namespace

void bind_recover(nb::module_& m) {
  nb::class_<RecoverResult>(m, "RecoverResult")
      .def_prop_ro("network", [](const RecoverResult& r) { return unless_empty(r.network); })
      .def_prop_ro("standard_errors", [](const RecoverResult& r) { return unless_empty(r.standard_errors); })
      .def_prop_ro(
          "singular_values", [](const RecoverResult& r) { return array(Vector(r.singular_values)); },
          nb::rv_policy::move)
      .def_prop_ro(
          "predicted", [](const RecoverResult& r) { return array(RowMatrix(r.predicted)); },
          nb::rv_policy::move)
      .def_prop_ro(
          "observed", [](const RecoverResult& r) { return array(RowMatrix(r.observed)); },
          nb::rv_policy::move)
      .def_prop_ro("descent",
                   [](const RecoverResult& r) {
                     std::vector<std::pair<std::string, double>> steps;
                     for (const PolishStep& step : r.descent)
                       steps.emplace_back(step.stage, step.relative_mse);
                     return steps;
                   })
      .def("certificate", &certificate<RecoverResult>, nb::arg("samples"), nb::arg("shape"),
           nb::arg("threads"))
      .def("files", &files<RecoverResult>, nb::arg("samples"))
      .def_ro("activation", &RecoverResult::activation)
      .def_ro("support", &RecoverResult::support);
  nb::class_<DeepResult>(m, "DeepResult")
      .def_prop_ro("network", [](const DeepResult& r) { return unless_empty(r.network); })
      .def_prop_ro("standard_errors", [](const DeepResult& r) { return unless_empty(r.standard_errors); })
      .def_prop_ro(
          "predicted", [](const DeepResult& r) { return array(RowMatrix(r.predicted)); }, nb::rv_policy::move)
      .def_prop_ro(
          "observed", [](const DeepResult& r) { return array(RowMatrix(r.observed)); }, nb::rv_policy::move)
      .def("certificate", &certificate<DeepResult>, nb::arg("samples"), nb::arg("shape"), nb::arg("threads"))
      .def("files", &files<DeepResult>, nb::arg("samples"));
  m.def("recover_deep", &run_deep, nb::arg("samples"), nb::arg("layers"), nb::arg("widths").none(),
        nb::arg("first_layer").none(), nb::arg("seed"), nb::arg("budget"), nb::arg("device"),
        nb::arg("threads"), nb::arg("progress").none());
  m.def("recover_any_depth", &run_any_depth, nb::arg("samples"), nb::arg("seed"), nb::arg("budget"),
        nb::arg("device"), nb::arg("threads"), nb::arg("progress").none());
  nb::class_<RouteInfo>(m, "RouteInfo")
      .def_ro("name", &RouteInfo::name)
      .def_ro("group", &RouteInfo::group)
      .def_ro("about", &RouteInfo::about)
      .def_ro("condition", &RouteInfo::condition)
      .def_ro("automatic", &RouteInfo::automatic)
      .def_ro("options", &RouteInfo::options)
      .def_prop_ro("finds", [](const RouteInfo& r) { return std::string(to_string(r.finds)); });
  m.def("routes", [] { return route_table(); });
  m.def("recover", &run_recover, nb::arg("samples"), nb::arg("hidden").none(), nb::arg("route"),
        nb::arg("leak"), nb::arg("activation"), nb::arg("seed"), nb::arg("budget"), nb::arg("units").none(),
        nb::arg("device"), nb::arg("threads"), nb::arg("progress").none());
  m.def("units_of_moments", &units_of_moments, nb::arg("parts"), nb::arg("hidden").none(), nb::arg("seed"),
        nb::rv_policy::move);
  m.def(
      "sign",
      [](const std::string& key, const std::string& text) {
        return bytes(PrivateKey(key).sign(text));
      },
      nb::arg("key"), nb::arg("text"));
  m.def(
      "report_html", [](const std::string& certificate) { return to_html(certificate); },
      nb::arg("certificate"));
  // The certificate with the true network beside the one found; files of both.
  m.def(
      "with_truth",
      [](const std::string& certificate, const std::string& found, const std::string& truth,
         const std::string& name) {
        return with_truth(certificate, open_model(found), open_model(truth),
                          {"truth", name, sha256_file(truth)});
      },
      nb::arg("certificate"), nb::arg("found"), nb::arg("truth"), nb::arg("name"));
  m.def(
      "with_shape",
      [](const std::string& certificate, const std::string& found, const std::vector<Index>& shape) {
        return with_shape(certificate, open_model(found), shape);
      },
      nb::arg("certificate"), nb::arg("found"), nb::arg("shape"));
  m.def(
      "write_files",
      [](const std::string& folder, const std::vector<std::pair<std::string, nb::bytes>>& files) {
        OutputFolder out(folder);
        for (const auto& [name, content] : files) out.add(name, {content.c_str(), content.size()});
        out.commit();
      },
      nb::arg("folder"), nb::arg("files"));
}

}  // namespace exhume::python
