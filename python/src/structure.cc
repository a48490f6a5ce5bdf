// Detectors of a direction, and layers with structure.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <tuple>
#include <utility>

#include "arrays.h"
#include "call.h"
#include "papers/threshold/detectors.h"
#include "papers/threshold/structure.h"
#include "samples.h"

namespace exhume::python {
namespace {

using GroupList = std::tuple<std::vector<std::vector<Index>>, double, double>;

Detector detector_of(const std::string& name) {
  if (name == "step") return Detector::kStep;
  if (name == "kink") return Detector::kKink;
  throw std::invalid_argument("detector is '" + name + "', but must be step or kink");
}

GroupList plain(const Groups& groups) { return {groups.groups, groups.gap, groups.contrast}; }

}  // namespace

void bind_structure(nb::module_& m) {
  m.def(
      "correlation_groups",
      [](const Samples& samples, int threads, nb::object progress) {
        Call call(threads, std::move(progress));
        return plain(call.run([&](const Control& c) { return correlation_groups(samples.source(), c); }));
      },
      nb::arg("samples"), nb::arg("threads"), nb::arg("progress").none());
  m.def(
      "exponential_groups",
      [](const Samples& samples, int threads, nb::object progress) {
        Call call(threads, std::move(progress));
        return plain(call.run([&](const Control& c) { return exponential_groups(samples.source(), {}, c); }));
      },
      nb::arg("samples"), nb::arg("threads"), nb::arg("progress").none());
  m.def(
      "even_directions",
      [](const Samples& samples, Index hidden, std::uint64_t seed, int threads, nb::object progress) {
        Call call(threads, std::move(progress));
        const EvenDirections found =
            call.run([&](const Control& c) { return even_directions(samples.source(), hidden, seed, c); });
        return std::pair(array(RowMatrix(found.directions.transpose())), found.misfit);
      },
      nb::arg("samples"), nb::arg("hidden"), nb::arg("seed"), nb::arg("threads"), nb::arg("progress").none());
  m.def(
      "detect",
      [](const Samples& samples, const std::string& detector, const Rows& directions, const Entries& at,
         double width, int threads, nb::object progress) {
        const Detector kind = detector_of(detector);
        const Matrix columns = map(directions).transpose();
        const Vector thresholds = map(at);
        Call call(threads, std::move(progress));
        const Detection seen = call.run(
            [&](const Control& c) { return detect(*samples.source(), kind, columns, thresholds, width, c); });
        return std::pair(array(Vector(seen.value)), array(Vector(seen.error)));
      },
      nb::arg("samples"), nb::arg("detector"), nb::arg("directions"), nb::arg("at"), nb::arg("width"),
      nb::arg("threads"), nb::arg("progress").none());
  m.def(
      "climb",
      [](const Samples& samples, const std::string& detector, const Entries& direction, double at,
         double width, int threads, nb::object progress) {
        const Detector kind = detector_of(detector);
        const Vector start = map(direction);
        Call call(threads, std::move(progress));
        const Detected found = call.run([&](const Control& c) {
          return climb_detector(*samples.source(), kind, start, at, {.width = width}, c);
        });
        return std::tuple(array(Vector(found.direction)), found.threshold, found.value, found.error);
      },
      nb::arg("samples"), nb::arg("detector"), nb::arg("direction"), nb::arg("at"), nb::arg("width"),
      nb::arg("threads"), nb::arg("progress").none());
}

}  // namespace exhume::python
