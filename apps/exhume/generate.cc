// exhume generate: samples of a random network, or of a given one.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/parallel.h"
#include "command.h"
#include "data/planted.h"
#include "data/planted_deep.h"
#include "data/smoothed.h"
#include "exhume/error.h"
#include "generate_formula.h"
#include "generate_threshold.h"
#include "io/npy.h"
#include "io/open.h"
#include "io/output_folder.h"
#include "io/safetensors.h"
#include "io/tensors.h"
#include "overwrite.h"
#include "terminal.h"

namespace exhume::cli {
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

class Generate final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    CLI::App* app = parent.add_subcommand("generate", "Make samples of a random network, or of a given one");
    shape_.push_back(app->add_option("--inputs,-d", network_.inputs, "Number of inputs d"));
    hidden_ = app->add_option("--hidden,-k", network_.hidden, "Number of hidden units k");
    shape_.push_back(hidden_);
    shape_.push_back(app->add_option("--outputs,-m", network_.outputs, "Number of outputs m"));
    layers_ =
        app->add_option("--layers", widths_, "Units of several hidden layers, instead of --hidden: 20,20")
            ->delimiter(',');
    samples_ = app->add_option("--samples,-n", sampling_.samples, "Number of rows n");
    bias_ = app->add_option("--bias", network_.bias,
                            "Biases are uniform in [-R, R] [0.5]; with --layers, R times a normal [0.3]");
    bias_at_option_ = app->add_option("--bias-at", bias_at_,
                                      "Where biases are measured: mean (of the inputs) or origin [mean]")
                          ->check(CLI::IsMember({"mean", "origin"}).description(""));
    drawn_.push_back(
        app->add_option("--amplitudes", amplitudes_,
                        "Entries of A: normal, or signs (size in [0.5, 1.5], random sign) [normal]")
            ->check(CLI::IsMember({"normal", "signs"}).description("")));
    app->add_option("--network", file_,
                    "Sample this network instead of a random one (.safetensors, .npz, .onnx)");
    drawn_.push_back(
        app->add_flag("--orthonormal", network_.orthonormal, "W and A orthonormal instead of random"));
    drawn_.push_back(app->add_option("--weights-condition", network_.weights_condition,
                                     "Condition number of W, with --orthonormal [1]"));
    drawn_.push_back(app->add_option("--amplitudes-condition", network_.amplitudes_condition,
                                     "Condition number of A, with --orthonormal [1]"));
    drawn_.push_back(app->add_option("--perturb-weights", network_.perturb_weights,
                                     "Add RHO times a standard normal to every entry of W [0]"));
    drawn_.push_back(
        app->add_option("--leak", network_.leak, "Slope of the units below zero (leaky ReLU) [0]"));
    std::string known;
    for (const std::string& name : distribution_names()) known += (known.empty() ? "" : ", ") + name;
    app->add_option("--distribution", distribution_, "Distribution of the inputs: " + known + " [gaussian]")
        ->check(CLI::IsMember(distribution_names()).description(""));
    app->add_option("--rows", rows_,
                    "Table of data rows for --distribution rows, each drawn with a random sign");
    app->add_option("--perturb-inputs", sampling_.perturb_inputs,
                    "Replace a row with probability LAMBDA by Q z, Q a random square matrix [0]");
    app->add_option("--perturb", perturb_,
                    "Move every weight by N(0, TAU^2/d) first; rows stay of unit norm [0]");
    app->add_option("--mean", sampling_.mean, "Mean of every input [0]");
    app->add_option("--condition", sampling_.condition, "Condition number of the inputs' covariance [1]");
    app->add_option("--noise", sampling_.noise, "Standard deviation of the noise on the outputs [0]");
    app->add_option("--noise-relative", sampling_.noise_relative,
                    "The same as a multiple of the outputs' standard deviation [0]");
    app->add_option(
        "--cnf", cnf_,
        "Instead of samples: the ReLU-separability instance of this 6-CNF (DIMACS), as hard as the "
        "formula; complements of clauses are added where they are missing");
    threshold_.declare(*app);
    app->add_option("--seed", seed_, "Seed of all random numbers [0]");
    app->add_option("--out,-o", out_, "Folder for x.npy, y.npy and network.safetensors")->required();
    app->footer(
        "Rows depend on the seed and their number alone: the same for any number of threads, and the first "
        "rows of a\n"
        "longer run are those of a shorter one.\n\n"
        "Examples:\n"
        "  exhume generate --inputs 20 --hidden 20 --outputs 20 --samples 3000 --out demo\n"
        "  exhume generate -d 10 -k 10 -m 1 -n 20000 --bias 0.8 --amplitudes signs --seed 7 --out "
        "one-output\n"
        "  exhume generate -d 10 -k 10 -m 10 -n 10000 --mean 2 --condition 25 --noise-relative 0.1 --out "
        "noisy\n"
        "  exhume generate -d 10 -k 10 -m 10 -n 2000 --bias 0 --orthonormal --distribution mixture --out "
        "symmetric\n"
        "  exhume generate -d 10 --layers 20,20 -m 1 -n 50000 --out deep\n"
        "  exhume generate --network trained.onnx --samples 200000 --out queries\n"
        "  exhume generate --cnf formula.cnf --out hard");
    return app;
  }

  [[nodiscard]] bool overwrites() const override { return true; }

  int run(const Session& session) override {
    if (!session.force) refuse_result_folder(out_);
    if (!cnf_.empty()) return generate_formula(cnf_, out_, session);
    if (samples_->count() == 0) throw std::invalid_argument("--samples is required: the number of rows");
    if (threshold_.wanted() && layers_->count() > 0) {
      throw std::invalid_argument(
          "--model threshold has a single layer of units: give --hidden, not --layers");
    }
    if (threshold_.wanted()) return run_threshold(session);
    const Network network = perturb(teacher());
    sampling_.seed = seed_;
    sampling_.distribution = parse_distribution(distribution_);
    if (rows_.empty() == (sampling_.distribution == Distribution::kRows)) {
      throw std::invalid_argument("--rows and --distribution rows go together: give both or neither");
    }
    if (!rows_.empty()) {
      sampling_.rows = std::make_shared<const RowMatrix>(read_all(*open_table(rows_, session.control)));
    }
    sampling_.validate();
    const SamplePtr samples = planted_samples(network, sampling_, session.control);

    OutputFolder folder(out_);
    require_room(folder.path(), samples->rows(), samples->inputs() + samples->outputs());
    NpyWriter x(folder.open("x.npy"), samples->rows(), samples->inputs());
    NpyWriter y(folder.open("y.npy"), samples->rows(), samples->outputs());
    folder.add("network.safetensors", network_bytes(network));
    write_rows(*samples, x, y, session.control);
    session.control.check();
    folder.commit();
    say(session, network);
    return kOk;
  }

 private:
  int run_threshold(const Session& session) {
    const auto planted = threshold_.make(network_.inputs, network_.hidden, sampling_.samples, sampling_.noise,
                                         seed_, session.control);
    OutputFolder folder(out_);
    require_room(folder.path(), planted.samples->rows(), planted.inputs + 1);
    NpyWriter x(folder.open("x.npy"), planted.samples->rows(), planted.inputs);
    NpyWriter y(folder.open("y.npy"), planted.samples->rows(), 1);
    folder.add("units.safetensors", planted.units);
    write_rows(*planted.samples, x, y, session.control);
    session.control.check();
    folder.commit();
    if (session.json) {
      const Json json = {{"inputs", planted.inputs},
                         {"hidden_units", planted.hidden},
                         {"outputs", 1},
                         {"samples", sampling_.samples},
                         {"seed", seed_}};
      put(to_text(json) + "\n");
    } else if (!session.quiet) {
      put(
          fmt::format("{} samples of {} units with thresholds under another network, in {}: x.npy, y.npy, "
                      "units.safetensors.\n",
                      grouped(sampling_.samples), planted.hidden, out_));
    }
    return kOk;
  }

  Network teacher() {
    if (!file_.empty()) {
      refuse_beside("--network", {hidden_, layers_, bias_, bias_at_option_});
      refuse_beside("--network", shape_);
      refuse_beside("--network", drawn_);
      Network network = open_network(file_);
      return network.depth() > 0 ? network : to_one_layer(network);
    }
    const bool deep = layers_->count() > 0;
    if (deep && hidden_->count() > 0) {
      throw std::invalid_argument(
          "--layers and --hidden both give the hidden units: keep --layers for several layers, --hidden for "
          "one");
    }
    for (const CLI::Option* option : shape_) {
      if (option->count() == 0 && !(deep && option == hidden_)) {
        throw std::invalid_argument(
            fmt::format("{} is required unless --network gives the network", option->get_name()));
      }
    }
    const double centre = bias_at_ == "mean" ? sampling_.mean : 0;
    if (deep) {
      refuse_beside("--layers", drawn_);
      PlantedDeepOptions options{network_.inputs, widths_, network_.outputs};
      if (bias_->count() > 0) options.bias = network_.bias;
      options.centre = centre;
      options.seed = seed_;
      return plant_deep(options);
    }
    network_.seed = seed_;
    network_.amplitudes = parse_amplitudes(amplitudes_);
    network_.centre = centre;
    return plant(network_);
  }

  // Options about random networks of one hidden layer that were given beside another source of the network.
  static void refuse_beside(const char* source, const std::vector<CLI::Option*>& options) {
    for (const CLI::Option* option : options) {
      if (option->count() == 0) continue;
      throw std::invalid_argument(
          fmt::format("{} is about random networks{} and does not go with {}", option->get_name(),
                      source == std::string_view("--layers") ? " of one hidden layer" : "", source));
    }
  }

  [[nodiscard]] Network perturb(Network network) const {
    if (network.depth() == 1) return perturbed(network, perturb_, seed_);
    if (perturb_ != 0) {
      throw std::invalid_argument(
          "--perturb moves the weights of networks of one hidden layer: leave it away");
    }
    return network;
  }

  void say(const Session& session, const Network& network) const {
    const char* names[] = {"x.npy", "y.npy", "network.safetensors"};
    const std::vector<Index> widths = network.widths();
    if (session.json) {
      Json json = {{"inputs", network.inputs()},
                   {"hidden_units", widths.size() == 1 ? Json(widths[0]) : Json(widths)},
                   {"outputs", network.outputs()},
                   {"samples", sampling_.samples},
                   {"seed", seed_},
                   {"files", Json::array()}};
      for (const char* name : names) json["files"].push_back((fs::path(out_) / name).string());
      put(to_text(json) + "\n");
    } else if (!session.quiet) {
      put(fmt::format(
          "{} samples of a network with {} inputs, {} hidden units and {} output{}, in {}: {}, {}, {}.\n",
          grouped(sampling_.samples), network.inputs(), fmt::join(widths, " + "), network.outputs(),
          network.outputs() == 1 ? "" : "s", out_, names[0], names[1], names[2]));
    }
  }

  CLI::Option *samples_ = nullptr, *hidden_ = nullptr, *layers_ = nullptr, *bias_ = nullptr;
  CLI::Option* bias_at_option_ = nullptr;
  std::vector<CLI::Option*> shape_, drawn_;  // of random networks: their shape; of one hidden layer alone
  std::vector<Index> widths_;
  PlantedOptions network_;
  ThresholdGenerator threshold_;
  SamplingOptions sampling_;
  std::uint64_t seed_ = 0;
  double perturb_ = 0;
  std::string bias_at_ = "mean", amplitudes_ = "normal", distribution_ = "gaussian", rows_, file_, cnf_, out_;
};

}  // namespace

std::unique_ptr<Command> generate_command() { return std::make_unique<Generate>(); }

}  // namespace exhume::cli
