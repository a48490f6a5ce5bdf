// compare: networks, files and Python functions against each other.
#include "exhume/compare.h"

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
#include "report/compare_report.h"
#include "session/compare.h"

namespace exhume::python {
namespace {

struct Compared {
  CompareResult result;
  Delivered delivered;
};

// Each of the two is a Network, or a function with its number of inputs.
Compared run_compare(const std::string& first_name, std::optional<Network> first, nb::object first_function,
                     const std::string& second_name, std::optional<Network> second,
                     nb::object second_function, Index inputs, std::optional<Rows> rows,
                     const std::vector<double>& low, const std::vector<double>& high,
                     std::optional<double> tolerance, Index budget, double ratio, Index queries, bool inside,
                     double confidence, bool free_signs, std::uint64_t seed,
                     const std::vector<std::pair<std::string, std::string>>& files, int threads,
                     nb::object progress) {
  CompareOptions options;
  options.low = Eigen::Map<const Vector>(low.data(), static_cast<Index>(low.size()));
  options.high = Eigen::Map<const Vector>(high.data(), static_cast<Index>(high.size()));
  if (rows) options.rows = map(*rows);
  options.tolerance = tolerance;
  options.budget = budget;
  options.ratio = ratio;
  options.queries = queries;
  options.inside = inside;
  options.confidence = confidence;
  options.free_signs = free_signs;
  options.seed = seed;
  options.validate();
  CalledFunction a(std::move(first_function)), b(std::move(second_function));
  const auto model = [&](const std::string& name, std::optional<Network>& network, CalledFunction& function) {
    if (network) return ComparedModel{name, std::move(network), {}};
    return ComparedModel{
        name,
        {},
        function_oracle([&function](const Eigen::Ref<const RowMatrix>& x) { return function(x); }, inputs,
                        name)};
  };
  Call call(threads, std::move(progress));
  try {
    return call.run([&](const Control& control) {
      Compared done;
      done.result = compare(model(first_name, first, a), model(second_name, second, b), options, control);
      add_files(files, done.result);
      Delivery delivery({.in_memory = true});
      for (const ResultFile& file : result_files(done.result)) delivery.add(file);
      done.delivered = finish(delivery, done.result, control);
      return done;
    });
  } catch (const Interrupted&) {
    a.rethrow();
    b.rethrow();
    throw;
  }
}

}  // namespace

void bind_compare(nb::module_& m) {
  nb::class_<Compared>(m, "Compared")
      .def_prop_ro("document", [](const Compared& c) { return document(comparison_json(c.result)); })
      .def_prop_ro("certificate", [](const Compared& c) { return to_text(c.delivered.document); })
      .def_prop_ro("files", [](const Compared& c) { return named_bytes(c.delivered.files); });
  m.def("compare", &run_compare, nb::arg("first_name"), nb::arg("first").none(),
        nb::arg("first_function").none(), nb::arg("second_name"), nb::arg("second").none(),
        nb::arg("second_function").none(), nb::arg("inputs"), nb::arg("rows").none(), nb::arg("low"),
        nb::arg("high"), nb::arg("tolerance").none(), nb::arg("budget"), nb::arg("ratio"), nb::arg("queries"),
        nb::arg("inside"), nb::arg("confidence"), nb::arg("free_signs"), nb::arg("seed"), nb::arg("files"),
        nb::arg("threads"), nb::arg("progress").none());
}

}  // namespace exhume::python
