// Samples of a random network, of a given one, of a layer with thresholds, or of a formula.
#include "session/generate.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "arrays.h"
#include "base/parallel.h"
#include "call.h"

namespace exhume::python {
namespace {

// All rows: inputs, outputs.
std::pair<RowMatrix, RowMatrix> read_rows(const SampleSource& source, const Control& control) {
  RowMatrix x(source.rows(), source.inputs()), y(source.rows(), source.outputs());
  const Index blocks = (source.rows() + kBlockRows - 1) / kBlockRows;
  parallel_for(blocks, control, [&](Index i) {
    const Index first = i * kBlockRows, count = std::min(kBlockRows, source.rows() - first);
    SampleBlock block;
    source.read(first, count, block);
    x.middleRows(first, count) = block.x();
    y.middleRows(first, count) = block.y();
  });
  return {std::move(x), std::move(y)};
}

// x, y, the network behind them, and W and t of a lowest layer.
using Made = std::tuple<Array2, Array2, std::optional<Network>, std::optional<std::tuple<Array2, Array1>>>;

Made run(const GenerateOptions& options, const std::string& cnf, int threads, nb::object progress) {
  Call call(threads, std::move(progress));
  auto [made, rows] = call.run([&](const Control& control) {
    Generated all = cnf.empty() ? generate(options, control) : generate_formula(cnf);
    std::pair<RowMatrix, RowMatrix> values = read_rows(*all.samples, control);
    return std::pair(std::move(all), std::move(values));
  });
  std::optional<std::tuple<Array2, Array1>> units;
  if (made.units)
    units.emplace(array(RowMatrix(made.units->matrix("W", "units"))),
                  array(made.units->vector("t", "units")));
  return {array(std::move(rows.first)), array(std::move(rows.second)), std::move(made.network),
          std::move(units)};
}

}  // namespace

void bind_generate(nb::module_& m) {
  using Layer = ThresholdLayerOptions;
  nb::class_<Layer>(m, "ThresholdLayerOptions")
      .def(nb::init<>())
      .def_rw("activation", &Layer::activation)
      .def_rw("threshold", &Layer::threshold)
      .def_rw("threshold_spread", &Layer::threshold_spread)
      .def_rw("least_angle", &Layer::least_angle)
      .def_rw("upper", &Layer::upper)
      .def_rw("flips", &Layer::flips)
      .def_rw("biased", &Layer::biased);
  using Options = GenerateOptions;
  nb::class_<Options>(m, "GenerateOptions")
      .def(nb::init<>())
      .def_rw("samples", &Options::samples)
      .def_rw("seed", &Options::seed)
      .def_rw("network", &Options::network)
      .def_rw("inputs", &Options::inputs)
      .def_rw("hidden", &Options::hidden)
      .def_rw("outputs", &Options::outputs)
      .def_rw("layers", &Options::layers)
      .def_rw("bias", &Options::bias)
      .def_rw("bias_at", &Options::bias_at)
      .def_rw("amplitudes", &Options::amplitudes)
      .def_rw("orthonormal", &Options::orthonormal)
      .def_rw("weights_condition", &Options::weights_condition)
      .def_rw("amplitudes_condition", &Options::amplitudes_condition)
      .def_rw("perturb_weights", &Options::perturb_weights)
      .def_rw("leak", &Options::leak)
      .def_rw("activation", &Options::activation)
      .def_rw("perturb", &Options::perturb)
      .def_rw("distribution", &Options::distribution)
      .def_prop_rw(
          "rows", [](const Options& o) { return o.rows != nullptr; },
          [](Options& o, const Rows& rows) { o.rows = std::make_shared<const RowMatrix>(map(rows)); })
      .def_rw("perturb_inputs", &Options::perturb_inputs)
      .def_rw("mean", &Options::mean)
      .def_rw("condition", &Options::condition)
      .def_rw("noise", &Options::noise)
      .def_rw("noise_relative", &Options::noise_relative)
      .def_rw("threshold", &Options::threshold);
  m.def("generate", &run, nb::arg("options"), nb::arg("cnf"), nb::arg("threads"), nb::arg("progress").none());
}

}  // namespace exhume::python
