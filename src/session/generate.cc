#include "session/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <stdexcept>

#include "base/parallel.h"
#include "data/planted.h"
#include "data/planted_deep.h"
#include "data/smoothed.h"
#include "exhume/error.h"
#include "io/npy.h"
#include "io/open.h"
#include "io/output_folder.h"
#include "io/safetensors.h"
#include "model/activation_table.h"
#include "session/overwrite.h"

namespace exhume {
namespace {

namespace fs = std::filesystem;

// Makes the rows and writes them in order, a few blocks for every thread at a time.
void write_rows(const SampleSource& source, NpyWriter& x, NpyWriter& y, const Control& control) {
  const Index blocks = (source.rows() + kBlockRows - 1) / kBlockRows;
  const Index batch = std::min<Index>(blocks, 4 * control.workers());
  std::vector<SampleBlock> made(static_cast<std::size_t>(batch));
  for (Index first = 0; first < blocks; first += batch) {
    const Index count = std::min(batch, blocks - first);
    parallel_for(count, control, [&](Index i) {
      const Index row = (first + i) * kBlockRows;
      source.read(row, std::min(kBlockRows, source.rows() - row), made[static_cast<std::size_t>(i)]);
    });
    for (Index i = 0; i < count; ++i) {
      x.append(made[static_cast<std::size_t>(i)].x());
      y.append(made[static_cast<std::size_t>(i)].y());
    }
    control.report("samples", static_cast<double>(first + count) / static_cast<double>(blocks));
  }
  x.finish();
  y.finish();
}

void require_room(const fs::path& folder, Index rows, Index columns) {
  constexpr double kGiB = 1024.0 * 1024 * 1024;
  const double needed = 8.0 * static_cast<double>(rows) * static_cast<double>(columns);
  std::error_code unknown;
  const fs::space_info space = fs::space(folder, unknown);
  if (unknown || needed <= static_cast<double>(space.available)) return;
  throw ResourceError(
      fmt::format("the samples take {:.3g} GiB, but the disk of {} has {:.3g} GiB left; ask for fewer",
                  needed / kGiB, folder.string(), static_cast<double>(space.available) / kGiB));
}

// An option that was given, by its name.
struct Given {
  const char* name;
  bool given;
};

// Options that are read for random networks of one hidden layer only.
std::vector<Given> about_one_layer(const GenerateOptions& o) {
  return {{"amplitudes", o.amplitudes.has_value()},
          {"orthonormal", o.orthonormal},
          {"weights_condition", o.weights_condition.has_value()},
          {"amplitudes_condition", o.amplitudes_condition.has_value()},
          {"perturb_weights", o.perturb_weights.has_value()},
          {"leak", o.leak.has_value()}};
}

void refuse_beside(const char* source, const char* kind, const std::vector<Given>& options) {
  for (const Given& option : options) {
    if (option.given) {
      throw std::invalid_argument(
          fmt::format("{} is about random networks{} and does not go with {}", option.name, kind, source));
    }
  }
}

Network given_network(const GenerateOptions& o) {
  refuse_beside("network", "",
                {{"hidden", o.hidden.has_value()},
                 {"layers", !o.layers.empty()},
                 {"bias", o.bias.has_value()},
                 {"bias_at", o.bias_at.has_value()},
                 {"inputs", o.inputs.has_value()},
                 {"outputs", o.outputs.has_value()}});
  refuse_beside("network", "", about_one_layer(o));
  refuse_beside("network", "", {{"activation", !o.activation.empty()}});
  Network network = o.network ? *o.network : open_network(o.network_file);
  return network.depth() > 0 ? network : to_one_layer(network);
}

Network random_network(const GenerateOptions& o) {
  const bool deep = !o.layers.empty();
  if (deep && o.hidden) {
    throw std::invalid_argument(
        "layers and hidden both give the hidden units: keep layers for several layers, hidden for one");
  }
  for (const auto& [name, given] : std::initializer_list<Given>{{"inputs", o.inputs.has_value()},
                                                                {"hidden", deep || o.hidden.has_value()},
                                                                {"outputs", o.outputs.has_value()}}) {
    if (!given) throw std::invalid_argument(fmt::format("{} is required unless a network is given", name));
  }
  const std::string bias_at = o.bias_at.value_or("mean");
  if (bias_at != "mean" && bias_at != "origin")
    throw std::invalid_argument(fmt::format("bias_at is '{}', but must be mean or origin", bias_at));
  const double centre = bias_at == "mean" ? o.mean : 0;
  if (deep) {
    refuse_beside("layers", " of one hidden layer", about_one_layer(o));
    PlantedDeepOptions options{*o.inputs, o.layers, *o.outputs};
    options.bias = o.bias.value_or(options.bias);
    options.centre = centre;
    options.seed = o.seed;
    return plant_deep(options);
  }
  PlantedOptions options;
  options.inputs = *o.inputs;
  options.hidden = *o.hidden;
  options.outputs = *o.outputs;
  options.bias = o.bias.value_or(options.bias);
  options.centre = centre;
  options.amplitudes = parse_amplitudes(o.amplitudes.value_or("normal"));
  options.orthonormal = o.orthonormal;
  options.weights_condition = o.weights_condition.value_or(options.weights_condition);
  options.amplitudes_condition = o.amplitudes_condition.value_or(options.amplitudes_condition);
  options.perturb_weights = o.perturb_weights.value_or(options.perturb_weights);
  options.leak = o.leak.value_or(options.leak);
  options.seed = o.seed;
  return plant(options);
}

Network perturb_network(Network network, double tau, std::uint64_t seed) {
  if (network.depth() == 1) return perturbed(network, tau, seed);
  if (tau != 0) {
    throw std::invalid_argument("perturb moves the weights of networks of one hidden layer: leave it away");
  }
  return network;
}

}  // namespace

Generated generate(const GenerateOptions& options, const Control& control) {
  if (options.threshold) {
    if (!options.layers.empty()) {
      throw std::invalid_argument(
          "a model with thresholds has a single layer of units: give hidden, not layers");
    }
    return generate_threshold(options, control);
  }
  const bool given = options.network || !options.network_file.empty();
  Generated made;
  made.network = perturb_network(given ? given_network(options) : random_network(options), options.perturb,
                                 options.seed);
  if (!options.activation.empty()) {
    if (find_activation(options.activation) == nullptr) {
      throw std::invalid_argument(fmt::format(
          "activation is '{}', expected one of the table of activations: tanh, sigmoid, gelu, ...",
          options.activation));
    }
    made.network->activation = options.activation;
  }
  SamplingOptions sampling;
  sampling.samples = options.samples;
  sampling.distribution = parse_distribution(options.distribution);
  const bool table = options.rows || !options.rows_file.empty();
  if (table != (sampling.distribution == Distribution::kRows))
    throw std::invalid_argument("rows and the distribution rows go together: give both or neither");
  sampling.rows = options.rows;
  if (!options.rows_file.empty())
    sampling.rows = std::make_shared<const RowMatrix>(read_all(*open_table(options.rows_file, control)));
  sampling.perturb_inputs = options.perturb_inputs;
  sampling.mean = options.mean;
  sampling.condition = options.condition;
  sampling.noise = options.noise;
  sampling.noise_relative = options.noise_relative;
  sampling.seed = options.seed;
  sampling.validate();
  made.samples = planted_samples(*made.network, sampling, control);
  return made;
}

void write_generated(const Generated& made, const std::string& folder_name, bool overwrite,
                     const Control& control) {
  if (!overwrite) refuse_result_folder(folder_name);
  const SampleSource& samples = *made.samples;
  OutputFolder folder(folder_name);
  require_room(folder.path(), samples.rows(), samples.inputs() + samples.outputs());
  NpyWriter x(folder.open("x.npy"), samples.rows(), samples.inputs());
  NpyWriter y(folder.open("y.npy"), samples.rows(), samples.outputs());
  if (made.network) folder.add("network.safetensors", network_bytes(*made.network));
  if (made.units) folder.add("units.safetensors", safetensors_bytes(*made.units));
  write_rows(samples, x, y, control);
  control.check();
  folder.commit();
}

}  // namespace exhume
