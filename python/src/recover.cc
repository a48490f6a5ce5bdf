// recover, and what its result has to say.
#include "exhume/recover_layers.h"

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "arrays.h"
#include "call.h"
#include "exhume/certify/certificate_json.h"
#include "exhume/io/digest.h"
#include "exhume/io/onnx.h"
#include "exhume/io/output_folder.h"
#include "exhume/io/safetensors.h"
#include "exhume/io/signature.h"
#include "exhume/report/report.h"
#include "exhume/routes/depth2.h"
#include "exhume/routes/table.h"
#include "samples.h"

namespace exhume::python {
namespace {

RecoverResult run_recover(const Samples& samples, std::optional<Index> hidden, const std::string& route,
                          double leak, const std::string& activation, std::uint64_t seed, double budget,
                          const std::optional<Rows>& units, int threads, nb::object progress) {
  RecoverOptions options;
  options.hidden = hidden;
  options.route = route;
  options.leak = leak;
  options.rectifier = parse_rectifier(activation);
  options.seed = seed;
  options.budget_seconds = budget;
  if (units) options.units = map(*units);
  options.validate();
  Call call(threads, std::move(progress), "cpu", samples.passes);
  return call.run([&](const Control& control) { return recover(samples.source, options, control); });
}

DeepResult run_deep(const Samples& samples, Index layers, std::optional<std::vector<Index>> widths,
                    const std::optional<Rows>& first_layer, std::uint64_t seed, double budget,
                    const std::string& device, int threads, nb::object progress) {
  DeepOptions options;
  options.layers = layers;
  options.widths = std::move(widths);
  if (first_layer) options.first_layer = map(*first_layer);
  options.seed = seed;
  options.budget_seconds = budget;
  options.validate(samples.source->inputs());
  Call call(threads, std::move(progress), device, samples.passes);
  return call.run([&](const Control& control) { return recover_deep(samples.source, options, control); });
}

AnyDepth run_any_depth(const Samples& samples, std::uint64_t seed, double budget, const std::string& device,
                       int threads, nb::object progress) {
  RecoverOptions options;
  options.seed = seed;
  options.budget_seconds = budget;
  options.validate();
  Call call(threads, std::move(progress), device, samples.passes);
  return call.run([&](const Control& control) { return recover_layers(samples.source, options, control); });
}

// The rough units that moments of several sites tell of: pairs of a file's name and its bytes.
Array2 units_of_moments(const std::vector<std::pair<std::string, nb::bytes>>& parts,
                        std::optional<Index> hidden, std::uint64_t seed) {
  std::optional<PartialMoments> all;
  for (const auto& [name, bytes] : parts) {
    PartialMoments part = PartialMoments::deserialise({bytes.c_str(), bytes.size()}, name);
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

std::string deep_certificate(DeepResult result, const Samples& samples) {
  result.files = samples.digests();
  result.written = {{"network", "network.safetensors", sha256(network_bytes(result.network))},
                    {"network for other programs", "network.onnx", sha256(onnx_bytes(result.network))}};
  stamp(result);
  return to_json(result);
}

std::optional<Network> unless_empty(const Network& network) {
  if (network.W.size() == 0 && network.A.size() == 0 && network.c.size() == 0) return std::nullopt;
  return network;
}

// What lies beside a certificate, as the command line writes it: role, name, bytes.
std::vector<std::array<std::string, 3>> files_beside(const RecoverResult& result) {
  std::vector<std::array<std::string, 3>> files;
  if (result.status == Status::kRefused) return files;
  if (result.activation == "relu") {
    files.push_back({"network", "network.safetensors", network_bytes(result.network)});
    files.push_back({"network for other programs", "network.onnx", onnx_bytes(result.network)});
  } else {
    // Another name: what reads network.safetensors takes its units for ReLUs.
    files.push_back({"network", "rectified.safetensors",
                     network_bytes(result.network, {{"activation", "rectified " + result.activation}})});
  }
  if (result.support.empty()) return files;
  std::string support = "row,output\n";
  for (const auto& [row, output] : result.support) support += fmt::format("{},{}\n", row, output);
  files.push_back({"entries hit by noise", "support.csv", support});
  return files;
}

std::string certificate(RecoverResult result, const Samples& samples) {
  result.files = samples.digests();
  for (const auto& [role, name, bytes] : files_beside(result))
    result.written.push_back({role, name, sha256(bytes)});
  stamp(result);
  return to_json(result);
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
      .def("certificate", &certificate, nb::arg("samples"))
      .def_prop_ro("files",
                   [](const RecoverResult& r) {
                     std::vector<std::pair<std::string, nb::bytes>> list;
                     for (const auto& [role, name, bytes] : files_beside(r))
                       list.emplace_back(name, nb::bytes(bytes.data(), bytes.size()));
                     return list;
                   })
      .def_ro("activation", &RecoverResult::activation)
      .def_ro("support", &RecoverResult::support);
  nb::class_<DeepResult>(m, "DeepResult")
      .def_prop_ro("network", [](const DeepResult& r) { return r.network; })
      .def_prop_ro(
          "predicted", [](const DeepResult& r) { return array(RowMatrix(r.predicted)); }, nb::rv_policy::move)
      .def_prop_ro(
          "observed", [](const DeepResult& r) { return array(RowMatrix(r.observed)); }, nb::rv_policy::move)
      .def("certificate", &deep_certificate, nb::arg("samples"));
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
        nb::arg("threads"), nb::arg("progress").none());
  m.def("units_of_moments", &units_of_moments, nb::arg("parts"), nb::arg("hidden").none(), nb::arg("seed"),
        nb::rv_policy::move);
  m.def(
      "sign",
      [](const std::string& key, const std::string& text) {
        const std::string signature = PrivateKey(key).sign(text);
        return nb::bytes(signature.data(), signature.size());
      },
      nb::arg("key"), nb::arg("text"));
  m.def(
      "report_html", [](const std::string& certificate) { return to_html(certificate); },
      nb::arg("certificate"));
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
