// Samples: arrays that are only looked at, or files.
#include "samples.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/parallel.h"
#include "call.h"
#include "data/views.h"
#include "exhume/error.h"
#include "io/finite.h"
#include "io/open.h"
#include "report/result_files.h"

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
  SamplePtr source = call.run([&](const Control& control) {
    refuse_not_finite(x, "x", control);
    refuse_not_finite(y, "y", control);
    return memory_view(x.data(), y.data(), static_cast<Index>(x.shape(0)), static_cast<Index>(x.shape(1)),
                       static_cast<Index>(y.shape(1)));
  });
  return {std::move(source), std::move(x), std::move(y), {}, {}, {}, {}};
}

// Files of one's own that nobody will see again are not `named`: the certificate does not speak of them.
Samples open(const std::string& x, const std::string& y, std::vector<std::string> target, int threads,
             bool named) {
  Call call(threads, nb::none());
  SampleFiles files{{x}, {std::move(target), {}}, {}};
  if (!y.empty()) files.paths.push_back(y);
  OpenedSamples opened = call.run([&](const Control& control) { return open_sample_files(files, control); });
  SamplePtr source = opened.samples;
  std::vector<std::string> inputs = opened.input_names, outputs = opened.output_names;
  return {std::move(source), {}, {}, {}, named ? std::move(opened) : OpenedSamples(), std::move(inputs),
          std::move(outputs)};
}

// The same samples with their mirror images: labels holds the outputs at -x.
Samples mirror(Samples samples, Rows labels) {
  Call call(1, nb::none());
  call.run([&](const Control& control) {
    refuse_not_finite(labels, "mirrored", control);
    return true;
  });
  const auto rows = static_cast<Index>(labels.shape(0)), outputs = static_cast<Index>(labels.shape(1));
  samples.source =
      mirrored_view(samples.source, memory_view(labels.data(), labels.data(), rows, outputs, outputs));
  samples.mirrored = std::move(labels);
  return samples;
}

Samples mirror_file(Samples samples, const std::string& labels, int threads) {
  Call call(threads, nb::none());
  call.run([&](const Control& control) {
    samples.opened.mirror(labels, control);
    return true;
  });
  samples.source = samples.opened.samples;
  return samples;
}

}  // namespace

void Samples::describe(Certificate& certificate) const {
  certificate.files = digests();
  certificate.input_names = input_names;
  certificate.output_names = output_names;
  certificate.target = opened.target;
  if (!source->distant()) certificate.remarks = data_remarks(*source, input_names);
}

void bind_samples(nb::module_& m) {
  nb::class_<Samples>(m, "Samples")
      .def_prop_ro("rows", [](const Samples& s) { return s.source->rows(); })
      .def_prop_ro("inputs", [](const Samples& s) { return s.source->inputs(); })
      .def_prop_ro("outputs", [](const Samples& s) { return s.source->outputs(); })
      .def_rw("input_names", &Samples::input_names)
      .def_rw("output_names", &Samples::output_names);
  m.def("view_samples", &view, nb::arg("x").noconvert(), nb::arg("y").noconvert());
  m.def("mirror_samples", &mirror, nb::arg("samples"), nb::arg("labels").noconvert());
  m.def("mirror_file", &mirror_file, nb::arg("samples"), nb::arg("labels"), nb::arg("threads"));
  m.def("open_samples", &open, nb::arg("x"), nb::arg("y"), nb::arg("target"), nb::arg("threads"),
        nb::arg("named"));
}

}  // namespace exhume::python
