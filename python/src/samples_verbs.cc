// What samples tell without a network: inspect, diagnose, and the sums of several sites.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "call.h"
#include "documents.h"
#include "exhume/inspect.h"
#include "samples.h"
#include "session/diagnose.h"
#include "session/documents.h"
#include "session/machines/site_sums.h"

namespace exhume::python {
namespace {

nb::object run_inspect(const Samples& samples, int threads) {
  const std::vector<std::string>&inputs = samples.opened.input_names, &outputs = samples.opened.output_names;
  Call call(threads, nb::none());
  const Outlook found =
      call.run([&](const Control& control) { return inspect(samples.source(), inputs, outputs, control); });
  return document(to_document(found, inputs, outputs));
}

nb::object run_diagnose(const Samples& samples, std::optional<Index> hidden, double leak, std::uint64_t seed,
                        std::optional<Network> network, int threads) {
  const DiagnoseOptions options{hidden, leak, seed, std::move(network)};
  Call call(threads, nb::none());
  return document(to_document(
      call.run([&](const Control& control) { return diagnose(samples.source(), options, control); })));
}

nb::object moments(const Samples& samples, const std::string& out, const std::string& like, int order,
                   int threads) {
  const MomentsOptions options{out, like, order};
  Call call(threads, nb::none());
  const SiteFile made =
      call.run([&](const Control& control) { return write_moments(samples.source(), options, control); });
  return document({{"written", made.path}, {"rows", made.rows}, {"order", order}, {"bytes", made.bytes}});
}

nb::object sums(const std::string& network, const Samples& samples, const std::string& out, int threads) {
  Call call(threads, nb::none());
  const SiteFile made = call.run(
      [&](const Control& control) { return write_sums(network, samples.source(), out, false, control); });
  return document({{"written", made.path},
                   {"rows", made.rows},
                   {"relative_mse", made.relative_mse},
                   {"bytes", made.bytes}});
}

nb::object step(const std::string& network, const std::vector<std::string>& files, const std::string& out,
                double damping) {
  const SiteFile made = write_step(network, files, out, damping, false);
  return document({{"written", out}, {"rows", made.rows}, {"relative_mse_before", made.relative_mse}});
}

}  // namespace

void bind_samples_verbs(nb::module_& m) {
  m.def("inspect", &run_inspect, nb::arg("samples"), nb::arg("threads"));
  m.def("diagnose", &run_diagnose, nb::arg("samples"), nb::arg("hidden").none(), nb::arg("leak"),
        nb::arg("seed"), nb::arg("network").none(), nb::arg("threads"));
  m.def("moments", &moments, nb::arg("samples"), nb::arg("out"), nb::arg("like"), nb::arg("order"),
        nb::arg("threads"));
  m.def("sums", &sums, nb::arg("network"), nb::arg("samples"), nb::arg("out"), nb::arg("threads"));
  m.def("step", &step, nb::arg("network"), nb::arg("sums"), nb::arg("out"), nb::arg("damping"));
}

}  // namespace exhume::python
