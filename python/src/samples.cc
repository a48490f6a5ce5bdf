// Samples: arrays that are only looked at, or files.
#include "samples.h"

#include <fmt/format.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <string_view>
#include <utility>

#include "base/parallel.h"
#include "call.h"
#include "data/views.h"
#include "exhume/error.h"
#include "io/column_names.h"
#include "io/digest.h"
#include "io/finite.h"
#include "io/safetensors.h"
#include "io/table.h"

namespace exhume::python {
namespace {

// The same sentence as for a file.
void refuse_not_finite(const Rows& rows, const char* name, const Control& control) {
  const ConstRows values = map(rows);
  for (Index first = 0; first < values.rows(); first += kBlockRows) {
    control.check();
    const auto total = static_cast<std::size_t>(std::min(kBlockRows, values.rows() - first) * values.cols());
    const double* start = values.data() + first * values.cols();
    const std::size_t bad = first_not_finite(start, total);
    if (bad < total) {
      const Index at = static_cast<Index>(bad);
      throw DataError(fmt::format("{}: row {}, column {} (counting from 0) is {}; fill it or remove the row",
                                  name, first + at / values.cols(), at % values.cols(),
                                  name_not_finite(start[bad])));
    }
  }
}

Samples view(Rows x, Rows y) {
  if (x.shape(0) != y.shape(0)) {
    throw DataError(fmt::format("x has {} rows but y has {}; row i of one must belong to row i of the other",
                                x.shape(0), y.shape(0)));
  }
  Call call(1, nb::none());
  Samples samples;
  samples.opened.samples = call.run([&](const Control& control) {
    refuse_not_finite(x, "x", control);
    refuse_not_finite(y, "y", control);
    return memory_view(x.data(), y.data(), static_cast<Index>(x.shape(0)), static_cast<Index>(x.shape(1)),
                       static_cast<Index>(y.shape(1)));
  });
  samples.x = std::move(x);
  samples.y = std::move(y);
  return samples;
}

// Temporary files, which nobody will see again, are not `named`: the certificate does not mention them.
Samples open(const std::string& x, const std::string& y, std::vector<std::string> target, int threads,
             bool named) {
  Call call(threads, nb::none());
  SampleFiles files{{x}, {std::move(target), {}}, {}};
  if (!y.empty()) files.paths.push_back(y);
  OpenedSamples opened = call.run([&](const Control& control) { return open_sample_files(files, control); });
  Samples samples;
  if (named) {
    samples.opened = std::move(opened);
  } else {
    samples.opened.samples = opened.samples;
  }
  return samples;
}

// The same samples with their mirror images: labels holds the outputs at -x.
Samples mirror(Samples samples, Rows labels) {
  Call call(1, nb::none());
  call.run([&](const Control& control) {
    refuse_not_finite(labels, "mirrored", control);
    return true;
  });
  const auto rows = static_cast<Index>(labels.shape(0)), outputs = static_cast<Index>(labels.shape(1));
  samples.opened.samples =
      mirrored_view(samples.source(), memory_view(labels.data(), labels.data(), rows, outputs, outputs));
  samples.mirrored = std::move(labels);
  return samples;
}

Samples mirror_file(Samples samples, const std::string& labels, int threads) {
  Call call(threads, nb::none());
  call.run([&](const Control& control) {
    samples.opened.mirror(labels, control);
    return true;
  });
  return samples;
}

}  // namespace

std::optional<std::vector<FileDigest>> Samples::identity() const {
  if (x.size() == 0) return std::nullopt;
  std::vector<FileDigest> list;
  using Part = std::pair<const char*, const Rows*>;
  for (const auto& [role, rows] :
       {Part("inputs", &x), Part("outputs", &y), Part("mirrored outputs", &mirrored)}) {
    if (rows->size() == 0) continue;
    const std::string_view numbers(reinterpret_cast<const char*>(rows->data()),
                                   rows->size() * sizeof(double));
    list.push_back({role, "", sha256(numbers)});
  }
  return list;
}

void bind_samples(nb::module_& m) {
  nb::class_<Samples>(m, "Samples")
      .def_prop_ro("rows", [](const Samples& s) { return s.source()->rows(); })
      .def_prop_ro("inputs", [](const Samples& s) { return s.source()->inputs(); })
      .def_prop_ro("outputs", [](const Samples& s) { return s.source()->outputs(); })
      .def_prop_rw(
          "input_names", [](const Samples& s) { return s.opened.input_names; },
          [](Samples& s, std::vector<std::string> names) { s.opened.input_names = std::move(names); })
      .def_prop_rw(
          "output_names", [](const Samples& s) { return s.opened.output_names; },
          [](Samples& s, std::vector<std::string> names) { s.opened.output_names = std::move(names); });
  m.def("with_column_names", &with_column_names, nb::arg("sentence"), nb::arg("inputs"), nb::arg("outputs"));
  m.def(
      "read_table", [](const std::string& path) { return array(read_all(*open_table(path))); },
      nb::arg("path"), nb::rv_policy::move);
  m.def(
      "read_tensors",
      [](const std::string& path) {
        const Tensors tensors = read_safetensors(path);
        std::map<std::string, nb::object> arrays;
        for (const StoredTensor& t : tensors.list) {
          arrays[t.name] = t.shape.size() == 2 ? nb::cast(array(RowMatrix(tensors.matrix(t.name, path))))
                                               : nb::cast(array(tensors.vector(t.name, path)));
        }
        return std::pair(arrays, tensors.metadata);
      },
      nb::arg("path"));
  m.def("view_samples", &view, nb::arg("x").noconvert(), nb::arg("y").noconvert());
  m.def("mirror_samples", &mirror, nb::arg("samples"), nb::arg("labels").noconvert());
  m.def("mirror_file", &mirror_file, nb::arg("samples"), nb::arg("labels"), nb::arg("threads"));
  m.def("open_samples", &open, nb::arg("x"), nb::arg("y"), nb::arg("target"), nb::arg("threads"),
        nb::arg("named"));
}

}  // namespace exhume::python
