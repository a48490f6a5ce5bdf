// Samples whose rows lie elsewhere, the process that leads, and those that add (exhume/passes/driver.h, worker.h); and
// checkpoints (exhume/passes/journal.h).
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
#include "exhume/error.h"
#include "io/digest.h"
#include "passes/driver.h"
#include "passes/journal.h"
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
    nb::list asked;
    for (const RowRun& run : runs) asked.append(nb::make_tuple(run.first, run.count));
    const auto [x, y] = nb::cast<std::pair<Rows, Rows>>((*call)(asked));
    return FetchedRows{map(x), map(y)};
  };
  engine.publish = [call = kept(std::move(publish))](Index number, const std::string& entry) {
    const nb::gil_scoped_acquire held;
    (*call)(number, bytes(entry));
  };
  auto driver = std::make_shared<Driver>(std::move(engine), rows, inputs, outputs);
  Samples samples;
  samples.source = driver->samples();
  samples.passes = driver;
  return samples;
}

// Owned by its caller.
Worker* make_worker(Index rows, Index inputs, Index outputs, int threads, Index layers,
                    std::vector<Index> widths, const std::optional<Rows>& first_layer,
                    const std::string& route, double leak, const std::string& activation, std::uint64_t seed,
                    double budget, const std::optional<Rows>& units) {
  const RecoverOptions options = recover_options(layers, std::move(widths), first_layer, route, leak,
                                                 activation, seed, budget, units);
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

// The samples, and a journal that remembers the passes over them.
Samples with_checkpoint(Samples samples, const std::string& file, const std::string& header, bool resume) {
  samples.passes = std::make_shared<Journal>(file, header, resume, samples.passes);
  return samples;
}

// What tells samples from others: the digests of their files, or of their numbers.
std::vector<std::pair<std::string, std::string>> identity(const Samples& samples) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const FileDigest& file : samples.digests()) out.emplace_back(file.role, file.sha256);
  const auto add = [&](const char* role, const Rows& rows) {
    if (rows.size() > 0)
      out.emplace_back(role,
                       sha256({reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof(double)}));
  };
  add("inputs", samples.x);
  add("outputs", samples.y);
  add("mirrored outputs", samples.mirrored);
  return out;
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
        nb::arg("units").none(), nb::rv_policy::take_ownership);
  m.def("with_checkpoint", &with_checkpoint, nb::arg("samples"), nb::arg("file"), nb::arg("header"),
        nb::arg("resume"));
  m.def("identity", &identity, nb::arg("samples"), nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace exhume::python
