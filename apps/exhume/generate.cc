// exhume generate: samples of a random network, or of a given one.
#include "session/generate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <stdexcept>
#include <vector>

#include "base/counted.h"
#include "command.h"
#include "data/input_distribution.h"
#include "session/overwrite.h"

namespace exhume::cli {
namespace {

class Generate final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    CLI::App* app = parent.add_subcommand("generate", "Make samples of a random network, or of a given one");
    app->add_option("--inputs,-d", options_.inputs, "Number of inputs d");
    app->add_option("--hidden,-k", options_.hidden, "Number of hidden units k");
    app->add_option("--outputs,-m", options_.outputs, "Number of outputs m");
    app->add_option("--layers", options_.layers, "Units of several hidden layers, instead of --hidden: 20,20")
        ->delimiter(',');
    samples_ = app->add_option("--samples,-n", options_.samples, "Number of rows n");
    app->add_option(
        "--bias", options_.bias,
        "Biases are uniform in [-R, R] [0.5]; with --layers, normal of standard deviation R [0.3]");
    app->add_option("--bias-at", options_.bias_at,
                    "Where biases are measured: mean (of the inputs) or origin [mean]")
        ->check(CLI::IsMember({"mean", "origin"}).description(""));
    app->add_option("--amplitudes", options_.amplitudes,
                    "Entries of A: normal, or signs (size in [0.5, 1.5], random sign) [normal]")
        ->check(CLI::IsMember({"normal", "signs"}).description(""));
    add_file(*app, "--network", options_.network_file,
             "Sample this network instead of a random one (.safetensors, .npz, .onnx)");
    app->add_flag("--orthonormal", options_.orthonormal, "W and A orthonormal instead of random");
    app->add_option("--weights-condition", options_.weights_condition,
                    "Condition number of W, with --orthonormal [1]");
    app->add_option("--amplitudes-condition", options_.amplitudes_condition,
                    "Condition number of A, with --orthonormal [1]");
    app->add_option("--perturb-weights", options_.perturb_weights,
                    "Add RHO times a standard normal to every entry of W [0]");
    app->add_option("--activation", activation_,
                    "Activation of the hidden units: relu, tanh, sigmoid, gelu, silu, softplus, elu, erf, "
                    "...; with --model "
                    "threshold relu, sign, sigmoid, exponential, square or absolute [relu]");
    app->add_option("--leak", options_.leak, "Slope below zero (leaky ReLU) [0]");
    std::string known;
    for (const std::string& name : distribution_names()) known += (known.empty() ? "" : ", ") + name;
    app->add_option("--distribution", options_.distribution,
                    "Distribution of the inputs: " + known + " [gaussian]")
        ->check(CLI::IsMember(distribution_names()).description(""));
    add_file(*app, "--rows", options_.rows_file,
             "Table of data rows for --distribution rows, each drawn with a random sign");
    app->add_option(
        "--perturb-inputs", options_.perturb_inputs,
        "Replace a row, with probability LAMBDA, by Q z: Q a random matrix, z standard normal [0]");
    app->add_option("--perturb", options_.perturb,
                    "Add N(0, TAU^2/d) to every weight, then scale rows to unit norm [0]");
    app->add_option("--mean", options_.mean, "Mean of every input [0]");
    app->add_option("--condition", options_.condition, "Condition number of the inputs' covariance [1]");
    app->add_option("--noise", options_.noise, "Standard deviation of the noise on the outputs [0]");
    app->add_option("--noise-relative", options_.noise_relative,
                    "The same as a multiple of the outputs' standard deviation [0]");
    add_file(*app, "--cnf", cnf_,
             "Instead of samples: the ReLU-separability instance of this 6-CNF (DIMACS), as hard as the "
             "formula; missing complements of clauses are added");
    app->add_option("--model", model_,
                    "network, or threshold: a first layer with high thresholds below others [network]")
        ->check(CLI::IsMember({"network", "threshold"}).description(""));
    declare_threshold(*app);
    app->add_option("--seed", options_.seed, "Seed of all random numbers [0]");
    add_folder(*app, "--out,-o", out_, "Folder for x.npy, y.npy and network.safetensors")->required();
    app->footer(
        R"(Row i depends only on the seed and on i: the number of threads does not matter, and a longer run
begins with the rows of a shorter one.

Examples:
  exhume generate --inputs 20 --hidden 20 --outputs 20 --samples 3000 --out demo
  exhume generate -d 10 -k 10 -m 1 -n 20000 --bias 0.8 --amplitudes signs --seed 7 --out one-output
  exhume generate -d 10 -k 10 -m 10 -n 10000 --mean 2 --condition 25 --noise-relative 0.1 --out noisy
  exhume generate -d 10 -k 10 -m 10 -n 2000 --bias 0 --orthonormal --distribution mixture --out symmetric
  exhume generate -d 10 --layers 20,20 -m 1 -n 50000 --out deep
  exhume generate --network trained.onnx --samples 200000 --out queries
  exhume generate --cnf formula.cnf --out hard)");
    return app;
  }

  [[nodiscard]] bool overwrites() const override { return true; }

  int run(const Session& session) override {
    if (!session.force) refuse_result_folder(out_);
    if (!cnf_.empty()) {
      const Generated made = generate_formula(cnf_);
      write_generated(made, out_, session.force, session.control);
      say_formula(session, *made.samples);
      return kOk;
    }
    if (samples_->count() == 0) throw std::invalid_argument("--samples is required: the number of rows");
    if (model_ == "threshold") {
      if (!activation_.empty()) threshold_.activation = activation_;
      options_.threshold = threshold_;
    } else {
      options_.activation = activation_;
    }
    const Generated made = generate(options_, session.control);
    write_generated(made, out_, session.force, session.control);
    say(session, made);
    return kOk;
  }

 private:
  void declare_threshold(CLI::App& app) {
    const char* group = "With --model threshold";
    app.add_option("--threshold", threshold_.threshold, "Threshold t of the units [2]")->group(group);
    app.add_option("--threshold-spread", threshold_.threshold_spread,
                   "Thresholds are uniform in [t - s, t + s] [0]")
        ->group(group);
    app.add_option("--least-angle", threshold_.least_angle,
                   "Random directions at least this many degrees apart [orthonormal]")
        ->group(group);
    app.add_option("--upper", threshold_.upper,
                   "linear, products, pairs, powers, union, intersection or deep [products]")
        ->group(group);
    app.add_option("--flips", threshold_.flips, "Probability that a label is flipped [0]")->group(group);
    app.add_flag("--biased", threshold_.biased, "Keep a row with a probability proportional to its output")
        ->group(group);
  }

  void say_formula(const Session& session, const SampleSource& made) const {
    session.show({{"inputs", made.inputs()}, {"hidden_units", 2}, {"outputs", 1}, {"samples", made.rows()}},
                 [&] {
                   return fmt::format(
                       "{} of {}, in {}: x.npy, y.npy. Two units with equal output weights have these "
                       "outputs exactly where the formula is satisfiable.\n",
                       counted(made.rows(), "row"), counted(made.inputs(), "input"), out_);
                 });
  }

  void say(const Session& session, const Generated& made) const {
    const SampleSource& samples = *made.samples;
    std::vector<Index> widths = made.network ? made.network->widths() : std::vector<Index>{};
    if (made.units) widths = {made.units->matrix("W", out_).rows()};
    Json json = {{"inputs", samples.inputs()},
                 {"hidden_units", widths.size() == 1 ? Json(widths[0]) : Json(widths)},
                 {"outputs", samples.outputs()},
                 {"samples", samples.rows()},
                 {"seed", options_.seed}};
    if (made.network) {
      json["files"] = Json::array();
      for (const char* name : {"x.npy", "y.npy", "network.safetensors"})
        json["files"].push_back((std::filesystem::path(out_) / name).string());
    }
    session.show(json, [&] {
      if (made.units) {
        return fmt::format(
            "{} samples of {} with thresholds under another network, in {}: x.npy, y.npy, "
            "units.safetensors.\n",
            grouped(samples.rows()), counted(widths[0], "unit"), out_);
      }
      return fmt::format(
          "{} samples of a network with {} input{}, {} hidden unit{} and {} output{}, in {}: x.npy, y.npy, "
          "network.safetensors.\n",
          grouped(samples.rows()), samples.inputs(), samples.inputs() == 1 ? "" : "s",
          fmt::join(widths, " + "), widths.size() == 1 && widths[0] == 1 ? "" : "s", samples.outputs(),
          samples.outputs() == 1 ? "" : "s", out_);
    });
  }

  const CLI::Option* samples_ = nullptr;
  GenerateOptions options_;
  ThresholdLayerOptions threshold_;
  std::string model_ = "network", activation_, cnf_, out_;
};

}  // namespace

std::unique_ptr<Command> generate_command() { return std::make_unique<Generate>(); }

}  // namespace exhume::cli
