// What is made of results: pages, folders, whether they are true; keys; the papers' experiments again.
#include "documents.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <variant>

#include "call.h"
#include "exhume/verify.h"
#include "experiment.h"
#include "io/digest.h"
#include "io/open.h"
#include "io/safetensors.h"
#include "io/signature.h"
#include "report/report.h"
#include "report/view.h"
#include "session/delivery.h"
#include "session/documents.h"

namespace exhume::python {
namespace {

// A network and what its units are.
using Units = std::pair<Network, std::string>;

StoredModel stored(const Units& units) {
  return units.first.activation != "relu" || units.second == "relu"
             ? StoredModel(units.first)
             : RectifiedNetwork{units.first, units.second};
}

// The certificate with images of `shape` and beside the true network, where they are given.
std::string view(const std::string& certificate, const Units& found, const std::vector<Index>& shape,
                 const std::variant<std::monostate, Units, std::string>& truth) {
  Document page = read_document(certificate);
  if (!shape.empty()) add_shape(page, stored(found), shape);
  if (const auto* network = std::get_if<Units>(&truth)) {
    const FileDigest file{"truth", "a network in memory", sha256(network_bytes(network->first))};
    add_truth(page, stored(found), stored(*network), file);
  } else if (const auto* path = std::get_if<std::string>(&truth)) {
    add_truth(page, stored(found), open_model(*path), {"truth", *path, sha256_file(*path)});
  }
  return to_text(page);
}

void save(const std::string& folder, const NamedBytes& files, const std::string& certificate,
          const std::string& key) {
  std::vector<ResultFile> list;
  for (const auto& [name, content] : files) list.push_back({"", name, {content.c_str(), content.size()}});
  write_result(folder, list, read_document(certificate), key);
}

nb::object run_verify(const std::string& model, std::vector<std::string> samples,
                      std::optional<std::string> target, std::optional<double> tolerance, bool network_only,
                      const std::string& key, int threads) {
  const VerifyOptions options{model, std::move(samples), std::move(target), tolerance, network_only, key};
  Call call(threads, nb::none());
  return document(to_document(call.run([&](const Control& control) { return verify(options, control); })));
}

nb::object reproduce(const std::string& name, const std::string& out, const std::string& data,
                     std::uint64_t seed, bool quick, int threads) {
  const experiments::Experiment& experiment = experiments::find_experiment(name);
  Call call(threads, nb::none());
  experiments::Options options{out, data, seed, quick, {}};
  const experiments::Report report = call.run([&](const Control& control) {
    options.control = control;
    return experiment.run(options);
  });
  return document(experiments::to_document(name, options, report));
}

}  // namespace

void bind_documents(nb::module_& m) {
  m.def("view", &view, nb::arg("certificate"), nb::arg("found"), nb::arg("shape"), nb::arg("truth").none());
  m.def(
      "report_html", [](const std::string& certificate) { return to_html(certificate); },
      nb::arg("certificate"));
  m.def("save_result", &save, nb::arg("folder"), nb::arg("files"), nb::arg("certificate"), nb::arg("key"));
  m.def("verify_folder", &run_verify, nb::arg("model"), nb::arg("samples"), nb::arg("target").none(),
        nb::arg("tolerance").none(), nb::arg("network_only"), nb::arg("key"), nb::arg("threads"));
  m.def("reproduce", &reproduce, nb::arg("experiment"), nb::arg("out"), nb::arg("data"), nb::arg("seed"),
        nb::arg("quick"), nb::arg("threads"));
  m.def("write_new_keys", &write_new_keys, nb::arg("name"));
}

}  // namespace exhume::python
