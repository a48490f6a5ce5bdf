// extract: a Python function is the oracle.
#include "exhume/extract.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <utility>

#include "arrays.h"
#include "call.h"
#include "called_function.h"
#include "documents.h"
#include "session/delivery.h"

namespace exhume::python {
namespace {

struct Extracted {
  ExtractResult result;
  Delivered delivered;
};

Extracted run_extract(nb::object function, Index inputs, const std::string& name, Index batch, Index queries,
                      const std::vector<double>& low, const std::vector<double>& high, std::uint64_t seed,
                      Index fresh, const std::string& log, bool resume, double budget, int threads,
                      nb::object progress) {
  ExtractOptions options;
  options.queries = queries;
  const auto ends = [&](const std::vector<double>& list) {
    return list.size() == 1 ? Vector(Vector::Constant(inputs, list[0]))
                            : Vector(Eigen::Map<const Vector>(list.data(), static_cast<Index>(list.size())));
  };
  if (!low.empty() || !high.empty()) options.box = Box::of(ends(low), ends(high));
  options.box.validate(inputs);
  options.seed = seed;
  options.fresh = fresh;
  options.log = log;
  options.resume = resume;
  options.validate();
  CalledFunction queried(std::move(function));
  Call call(threads, std::move(progress));
  try {
    return call.run([&](const Control& control) {
      Extracted done;
      const auto oracle = function_oracle([&](const Eigen::Ref<const RowMatrix>& x) { return queried(x); },
                                          inputs, name, batch);
      done.result = extract(oracle, options, control.within(budget));
      Delivery delivery({.in_memory = true});
      for (const ResultFile& file : result_files(done.result)) delivery.add(file);
      done.delivered = delivery.finish(done.result, {}, control);
      return done;
    });
  } catch (const Interrupted&) {
    queried.rethrow();
    throw;
  }
}

}  // namespace

void bind_extract(nb::module_& m) {
  using R = Extracted;
  nb::class_<R>(m, "Extracted")
      .def_prop_ro("network",
                   [](const R& r) -> std::optional<Network> {
                     if (r.result.certificate.status == Status::kRefused) return std::nullopt;
                     return r.result.network;
                   })
      .def_prop_ro(
          "predicted", [](const R& r) { return array(RowMatrix(r.result.predicted)); }, nb::rv_policy::move)
      .def_prop_ro(
          "observed", [](const R& r) { return array(RowMatrix(r.result.observed)); }, nb::rv_policy::move)
      .def_prop_ro("certificate", [](const R& r) { return to_text(r.delivered.document); })
      .def_prop_ro("files", [](const R& r) { return named_bytes(r.delivered.files); });
  m.def("extract", &run_extract, nb::arg("function"), nb::arg("inputs"), nb::arg("name"), nb::arg("batch"),
        nb::arg("queries"), nb::arg("low"), nb::arg("high"), nb::arg("seed"), nb::arg("fresh"),
        nb::arg("log"), nb::arg("resume"), nb::arg("budget"), nb::arg("threads"), nb::arg("progress").none());
  m.def("estimate_queries", &estimate_queries, nb::arg("inputs"), nb::arg("hidden"), nb::arg("outputs"),
        nb::arg("dimensions") = 10);
  m.def("estimate_deep_queries", &estimate_deep_queries, nb::arg("inputs"), nb::arg("widths"),
        nb::arg("outputs"), nb::arg("dimensions") = 10);
}

}  // namespace exhume::python
