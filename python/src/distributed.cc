// Samples whose rows lie elsewhere, the process that leads, and its workers (passes/driver.h, worker.h).
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "arrays.h"
#include "exhume/recover.h"
#include "passes/driver.h"
#include "passes/worker.h"
#include "recover_options.h"
#include "samples.h"

namespace exhume::python {
namespace {

// An engine made of Python callables, which are called with the GIL held.
Samples distant_samples(Index rows, Index inputs, Index outputs, nb::object shares, nb::object fetch,
                        nb::object publish) {
  // Held by pointers that are let go with the GIL held: the last copy of a function may die without it.
  const auto kept = [](nb::object callable) {
    return std::shared_ptr<nb::object>(new nb::object(std::move(callable)), [](nb::object* p) {
      const nb::gil_scoped_acquire held;
      delete p;
    });
  };
  Engine engine;
  engine.shares = [call = kept(std::move(shares))](Index number) {
    const nb::gil_scoped_acquire held;
    std::vector<std::string> out;
    for (nb::handle part : (*call)(number)) {
      const auto sums = nb::cast<nb::bytes>(part);
      out.emplace_back(sums.c_str(), sums.size());
    }
    return out;
  };
  engine.fetch = [call = kept(std::move(fetch))](std::span<const RowRun> runs) {
    const nb::gil_scoped_acquire held;
    nb::list wanted;
    for (const RowRun& run : runs) wanted.append(nb::make_tuple(run.first, run.count));
    const auto [x, y] = nb::cast<std::pair<Rows, Rows>>((*call)(wanted));
    return FetchedRows{map(x), map(y)};
  };
  engine.publish = [call = kept(std::move(publish))](Index number, const std::string& entry) {
    const nb::gil_scoped_acquire held;
    (*call)(number, bytes(entry));
  };
  auto driver = std::make_shared<Driver>(std::move(engine), rows, inputs, outputs);
  Samples samples;
  samples.opened.samples = driver->samples();
  samples.passes = driver;
  return samples;
}

// Owned by its caller.
Worker* make_worker(Index rows, Index inputs, Index outputs, int threads, const std::string& layers,
                    std::vector<Index> widths, const std::optional<Rows>& first_layer,
                    const std::string& route, double leak, const std::string& activation, std::uint64_t seed,
                    double budget) {
  const RecoverOptions options =
      recover_options(layers, std::move(widths), first_layer, route, leak, activation, seed, budget);
  return new Worker(rows, inputs, outputs, threads, [=](const SamplePtr& samples, const Control& control) {
    (void)recover(samples, options, control);
  });
}

nb::bytes share(Worker& worker, Index first, const Rows& x, const Rows& y) {
  const std::string sums = [&] {
    const nb::gil_scoped_release released;
    return worker.share(first, static_cast<Index>(x.shape(0)), x.data(), y.data());
  }();
  return bytes(sums);
}

}  // namespace

void bind_distributed(nb::module_& m) {
  m.def("distant_samples", &distant_samples, nb::arg("rows"), nb::arg("inputs"), nb::arg("outputs"),
        nb::arg("shares"), nb::arg("fetch"), nb::arg("publish"));
  nb::class_<Worker>(m, "Worker")
      .def_prop_ro("next", &Worker::next)
      .def(
          "learn",
          [](Worker& worker, const nb::bytes& entry) {
            worker.learn({entry.c_str(), entry.size()});
          },
          nb::arg("entry"))
      .def("share", &share, nb::arg("first"), nb::arg("x"), nb::arg("y"));
  m.def("make_worker", &make_worker, nb::arg("rows"), nb::arg("inputs"), nb::arg("outputs"),
        nb::arg("threads"), nb::arg("layers"), nb::arg("widths"), nb::arg("first_layer").none(),
        nb::arg("route"), nb::arg("leak"), nb::arg("activation"), nb::arg("seed"), nb::arg("budget"),
        nb::rv_policy::take_ownership);
}

}  // namespace exhume::python
