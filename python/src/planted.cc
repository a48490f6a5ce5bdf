// Planted networks and their samples.
#include "data/planted.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <utility>

#include "arrays.h"
#include "base/parallel.h"
#include "call.h"

namespace exhume::python {
namespace {

Network run_plant(Index inputs, Index hidden, Index outputs, double bias, double centre,
                  const std::string& amplitudes, std::uint64_t seed) {
  PlantedOptions options;
  options.inputs = inputs;
  options.hidden = hidden;
  options.outputs = outputs;
  options.bias = bias;
  options.centre = centre;
  options.amplitudes = parse_amplitudes(amplitudes);
  options.seed = seed;
  options.validate();
  return plant(options);
}

std::pair<Array2, Array2> run_sample(const Network& network, Index samples, const std::string& distribution,
                                     double mean, double condition, double noise, double noise_relative,
                                     std::uint64_t seed, int threads, nb::object progress) {
  SamplingOptions options;
  options.samples = samples;
  options.distribution = parse_distribution(distribution);
  options.mean = mean;
  options.condition = condition;
  options.noise = noise;
  options.noise_relative = noise_relative;
  options.seed = seed;
  options.validate();
  Call call(threads, std::move(progress));
  auto [x, y] = call.run([&](const Control& control) {
    const SamplePtr source = planted_samples(network, options, control);
    RowMatrix xs(source->rows(), source->inputs()), ys(source->rows(), source->outputs());
    const Index blocks = (source->rows() + kBlockRows - 1) / kBlockRows;
    parallel_for(blocks, control, [&](Index i) {
      const Index first = i * kBlockRows, count = std::min(kBlockRows, source->rows() - first);
      SampleBlock block;
      source->read(first, count, block);
      xs.middleRows(first, count) = block.x();
      ys.middleRows(first, count) = block.y();
    });
    return std::pair(std::move(xs), std::move(ys));
  });
  return {array(std::move(x)), array(std::move(y))};
}

}  // namespace

void bind_planted(nb::module_& m) {
  m.def("plant", &run_plant, nb::arg("inputs"), nb::arg("hidden"), nb::arg("outputs"), nb::arg("bias"),
        nb::arg("centre"), nb::arg("amplitudes"), nb::arg("seed"));
  m.def("sample", &run_sample, nb::arg("network"), nb::arg("samples"), nb::arg("distribution"),
        nb::arg("mean"), nb::arg("condition"), nb::arg("noise"), nb::arg("noise_relative"), nb::arg("seed"),
        nb::arg("threads"), nb::arg("progress").none());
}

}  // namespace exhume::python
