// extract: a Python function is asked.
#include "exhume/extract.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <exception>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "arrays.h"
#include "call.h"
#include "certify/certificate_json.h"
#include "io/digest.h"
#include "io/onnx.h"
#include "io/safetensors.h"
#include "report/report.h"

namespace exhume::python {
namespace {

// function(x: n x d array) -> n x m array of float64, called with the GIL. What it raises ends the work and
// is what the caller sees.
class FunctionCall {
 public:
  explicit FunctionCall(nb::object function) : function_(std::move(function)) {}

  RowMatrix operator()(const Eigen::Ref<const RowMatrix>& x) {
    const nb::gil_scoped_acquire held;
    try {
      const Rows rows = nb::cast<Rows>(function_(array(RowMatrix(x))));
      return map(rows);
    } catch (...) {
      raised_ = std::current_exception();
      throw Interrupted();
    }
  }
  void rethrow() {
    if (raised_) std::rethrow_exception(raised_);
  }

 private:
  nb::object function_;
  std::exception_ptr raised_;
};

ExtractResult run_extract(nb::object function, Index inputs, const std::string& name, Index batch,
                          Index queries, std::optional<double> low, std::optional<double> high,
                          std::uint64_t seed, Index fresh, const std::string& log, bool resume, int threads,
                          nb::object progress) {
  ExtractOptions options;
  options.queries = queries;
  if (low || high) {
    options.box = {low.value_or(-std::numeric_limits<double>::infinity()),
                   high.value_or(std::numeric_limits<double>::infinity())};
  }
  options.seed = seed;
  options.fresh = fresh;
  options.log = log;
  options.resume = resume;
  options.validate();
  FunctionCall asked(std::move(function));
  Call call(threads, std::move(progress));
  try {
    return call.run([&](const Control& control) {
      return extract(function_oracle([&](const Eigen::Ref<const RowMatrix>& x) { return asked(x); }, inputs,
                                     name, batch),
                     options, control);
    });
  } catch (const Interrupted&) {
    asked.rethrow();
    throw;
  }
}

std::string certificate(ExtractResult result) {
  if (result.certificate.status != Status::kRefused) {
    const std::string stored = network_bytes(result.network);
    const std::string exported = onnx_bytes(result.network);
    result.certificate.written = {{"network", "network.safetensors", sha256(stored)},
                      {"network for other programs", "network.onnx", sha256(exported)}};
  }
  result.certificate.written.push_back({"queries and answers", "queries.log", sha256(result.log)});
  stamp(result.certificate);
  return to_json(result);
}

}  // namespace

void bind_extract(nb::module_& m) {
  nb::class_<ExtractResult>(m, "ExtractResult")
      .def_prop_ro("network",
                   [](const ExtractResult& r) -> std::optional<Network> {
                     if (r.certificate.status == Status::kRefused) return std::nullopt;
                     return r.network;
                   })
      .def("certificate", &certificate)
      .def_prop_ro("log", [](const ExtractResult& r) { return bytes(r.log); });
  m.def("extract", &run_extract, nb::arg("function"), nb::arg("inputs"), nb::arg("name"), nb::arg("batch"),
        nb::arg("queries"), nb::arg("low").none(), nb::arg("high").none(), nb::arg("seed"), nb::arg("fresh"),
        nb::arg("log"), nb::arg("resume"), nb::arg("threads"), nb::arg("progress").none());
  m.def("estimated_questions", &estimated_questions, nb::arg("inputs"), nb::arg("hidden"), nb::arg("outputs"),
        nb::arg("dimensions") = 10);
  m.def("estimated_deep_questions", &estimated_deep_questions, nb::arg("inputs"), nb::arg("widths"),
        nb::arg("outputs"), nb::arg("dimensions") = 10);
}

}  // namespace exhume::python
