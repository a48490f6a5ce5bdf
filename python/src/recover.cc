// recover, and what its result has to say.
#include "exhume/recover.h"

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
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

Result run_recover(const Samples& samples, Index layers, std::vector<Index> widths,
                   const std::optional<Rows>& first_layer, const std::string& route, double leak,
                   const std::string& activation, std::uint64_t seed, double budget,
                   const std::optional<Rows>& units, const std::string& device, int threads,
                   nb::object progress) {
  const RecoverOptions options = recover_options(layers, std::move(widths), first_layer, route, leak,
                                                 activation, seed, budget, units);
  const SampleSource& rows = *samples.source;
  const bool worth = options.depth() != 1 || device != "auto" ||
                     worth_a_device(rows.rows(), rows.inputs(), rows.outputs());
  Call call(threads, std::move(progress), worth ? device : "cpu", samples.passes);
  Result result = call.run([&](const Control& control) { return recover(samples.source, options, control); });
  result.certificate.options = options_said(options);
  return result;
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

// None where there is no network, or one without inputs and outputs.
std::optional<Network> unless_empty(const Network& network) {
  return network.parameters() == 0 ? std::nullopt : std::optional<Network>(network);
}

// The result with names and shape of the data, about to be written.
Result described(Result result, const Samples& samples, const std::vector<Index>& shape) {
  samples.describe(result.certificate);
  if (!shape.empty()) check_shape(shape, samples.source->inputs());
  result.certificate.input_shape = shape;
  return result;
}

std::string certificate(const Result& found, const Samples& samples, const std::vector<Index>& shape,
                        int threads) {
  Result result = described(found, samples, shape);
  for (const ResultFile& file : result_files(result))
    result.certificate.written.push_back({file.role, file.name, sha256(file.bytes)});
  Control control;
  control.threads = threads;
  stamp(result.certificate, control.workers());
  return to_json(result);
}

std::vector<std::pair<std::string, nb::bytes>> files(const Result& result, const Samples& samples) {
  std::vector<std::pair<std::string, nb::bytes>> list;
  for (const ResultFile& file : result_files(described(result, samples, {})))
    list.emplace_back(file.name, bytes(file.bytes));
  return list;
}

}  // namespace

void bind_recover(nb::module_& m) {
  nb::class_<Result>(m, "Result")
      .def_prop_ro("is_deep", &Result::is_deep)
      .def_prop_ro("network", [](const Result& r) { return unless_empty(r.network); })
      .def_prop_ro("standard_errors", [](const Result& r) { return unless_empty(r.errors.standard_errors); })
      .def_prop_ro(
          "singular_values", [](const Result& r) { return array(Vector(r.diagnostics.singular_values)); },
          nb::rv_policy::move)
      .def_prop_ro(
          "predicted", [](const Result& r) { return array(RowMatrix(r.diagnostics.predicted)); },
          nb::rv_policy::move)
      .def_prop_ro(
          "observed", [](const Result& r) { return array(RowMatrix(r.diagnostics.observed)); },
          nb::rv_policy::move)
      .def_prop_ro("descent",
                   [](const Result& r) {
                     std::vector<std::pair<std::string, double>> steps;
                     for (const PolishStep& step : r.diagnostics.descent)
                       steps.emplace_back(step.stage, step.relative_mse);
                     return steps;
                   })
      .def("certificate", &certificate, nb::arg("samples"), nb::arg("shape"), nb::arg("threads"))
      .def("files", &files, nb::arg("samples"))
      .def_ro("activation", &Result::activation)
      .def_ro("support", &Result::support);
  nb::class_<RouteInfo>(m, "RouteInfo")
      .def_ro("name", &RouteInfo::name)
      .def_ro("group", &RouteInfo::group)
      .def_ro("about", &RouteInfo::about)
      .def_ro("condition", &RouteInfo::condition)
      .def_ro("automatic", &RouteInfo::automatic)
      .def_ro("options", &RouteInfo::options)
      .def_prop_ro("finds", [](const RouteInfo& r) { return std::string(to_string(r.finds)); });
  m.def("routes", [] { return route_table(); });
  m.def("recover", &run_recover, nb::arg("samples"), nb::arg("layers"), nb::arg("widths"),
        nb::arg("first_layer").none(), nb::arg("route"), nb::arg("leak"), nb::arg("activation"),
        nb::arg("seed"), nb::arg("budget"), nb::arg("units").none(), nb::arg("device"), nb::arg("threads"),
        nb::arg("progress").none());
  // What layers may be beside a number.
  m.attr("IMPLIED_DEPTH") = RecoverOptions::kImplied + 0;
  m.attr("ANY_DEPTH") = RecoverOptions::kAnyDepth + 0;
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
        Document document = read_document(certificate);
        add_truth(document, open_model(found), open_model(truth), {"truth", name, sha256_file(truth)});
        return to_text(document);
      },
      nb::arg("certificate"), nb::arg("found"), nb::arg("truth"), nb::arg("name"));
  m.def(
      "with_shape",
      [](const std::string& certificate, const std::string& found, const std::vector<Index>& shape) {
        Document document = read_document(certificate);
        add_shape(document, open_model(found), shape);
        return to_text(document);
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
