// exhume lowest-layer: the first layer of a network with high thresholds, whatever lies above it.
#include <fmt/format.h>

#include "command.h"
#include "deliver.h"
#include "exhume/papers/threshold.h"
#include "sample_arguments.h"
#include "session/papers/layer_files.h"

namespace exhume::cli {
namespace {

class LowestLayer final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    CLI::App* app = parent.add_subcommand(
        "lowest-layer", "Find the first layer of a network with high thresholds, whatever lies above it");
    samples_.declare(*app,
                     "X and Y (.npy, .csv), one table with the outputs last (.csv, or - for standard input), "
                     "or one .npz with arrays x and y; one output");
    samples_.declare_target(*app);
    hidden_option_ = app->add_option("--hidden,-k", hidden_, "Number of units of the layer [found]")
                         ->check(CLI::Validator(CLI::PositiveNumber).description(""));
    app->add_option("--activation", activation_, "relu, sign, sigmoid or auto [auto]");
    app->add_option("--start", start_, "How step 1 is done: tensor, one-by-one or simultaneous [tensor]");
    app->add_flag("--no-refine", no_refine_, "Step 1 only: directions to about 0.05");
    app->add_flag("--biased", options_.biased,
                  "Rows were kept with a probability proportional to the output (sigmoid units)");
    app->add_option("--seed", options_.seed, "Seed of every random choice [0]");
    add_folder(*app, "--out,-o", out_,
               "Folder for units.safetensors, units.svg, features.npy, certificate.json and report.html");
    app->footer(R"(features.npy holds the layer's outputs for every row, to fit the rest of the network on.
Exit code 0: certified; 3: finished, not certified.

Examples:
  exhume generate --model threshold -d 12 -k 8 -m 1 -n 1000000 --threshold 2 --upper deep --out deep
  exhume lowest-layer deep/x.npy deep/y.npy --hidden 8 --out first
  exhume recover first/features.npy deep/y.npy --out rest
  exhume recover x.npy y.npy --first-layer first/units.safetensors --out whole
  exhume generate --model threshold --activation sigmoid --threshold 5 --upper linear --biased -d 10 -k 10 \
      -m 1 -n 200000 --out kept
  exhume lowest-layer kept/x.npy kept/y.npy --activation sigmoid --biased --hidden 10)");
    return app;
  }

  [[nodiscard]] bool certifies() const override { return true; }

  int run(const Session& session) override {
    samples_.check();
    options_.activation = parse_lowest_activation(activation_);
    options_.start = parse_start_method(start_);
    options_.refine = !no_refine_;
    if (hidden_option_->count() > 0) options_.hidden = hidden_;
    Delivery delivery(delivery_options(session, out_, {"units.safetensors", "units.svg", "features.npy"}));
    AtomicFile* features =
        delivery.writes() ? &delivery.open("the layer's outputs", "features.npy") : nullptr;
    const OpenedSamples opened = samples_.open(session.control);
    LowestLayerResult result = lowest_layer(opened.samples, options_, session.control);
    const UnitProfiles profiles = add_layer(delivery, result.layer, *opened.samples, session.control);
    if (features != nullptr) write_features(*features, result.layer, *opened.samples, session.control);
    return deliver(session, delivery, result, opened, out_, profiles);
  }

 private:
  SampleArguments samples_;
  std::string activation_ = "auto", start_ = "tensor", out_;
  CLI::Option* hidden_option_ = nullptr;
  Index hidden_ = 0;
  bool no_refine_ = false;
  LowestLayerOptions options_;
};

}  // namespace

std::unique_ptr<Command> lowest_layer_command() { return std::make_unique<LowestLayer>(); }

}  // namespace exhume::cli
