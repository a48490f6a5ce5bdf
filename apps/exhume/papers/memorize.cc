// exhume memorize: a small network that fits any labels.
#include "exhume/memorize.h"

#include "command.h"
#include "deliver.h"
#include "io/npy.h"
#include "io/quadratic_files.h"
#include "io/safetensors.h"
#include "sample_arguments.h"

namespace exhume::cli {
namespace {

class Memorize final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    CLI::App* app =
        parent.add_subcommand("memorize", "Fit any labels with a small network of quadratic units");
    samples_.declare(*app,
                     "X and Y (.npy, .csv), one table with the outputs last (.csv, or - for standard input), "
                     "or one .npz with arrays x and y; rows are samples");
    samples_.declare_target(*app);
    app->add_option("--method", method_,
                    "closed: one linear solve; pgd: perturbed gradient descent, practical steps; "
                    "pgd-printed: with Theorem 4's constants; adam [closed]")
        ->check(CLI::IsMember({"closed", "pgd", "pgd-printed", "adam"}));
    app->add_option("--layers", layers_, "2: n <= d(d+1)/2 rows; 3: more; auto [auto]")
        ->check(CLI::IsMember({"2", "3", "auto"}));
    app->add_option("--hidden", options_.hidden,
                    "Quadratic units per output for pgd and adam, even; 0: 2k + 2 [0]")
        ->check(CLI::NonNegativeNumber);
    app->add_option("--features", options_.features,
                    "Random features k of three layers; 0: 2 ceil(sqrt n) [0]")
        ->check(CLI::NonNegativeNumber);
    app->add_option("--power", options_.power, "Power p of three layers; 0: the smallest that will do [0]")
        ->check(CLI::Range(0, 64));
    app->add_option("--perturb", options_.perturb,
                    "Standard deviation of Gaussian noise added to the inputs [0]")
        ->check(CLI::NonNegativeNumber);
    app->add_flag("--normalize", options_.normalize, "Divide rows by their norms first");
    app->add_flag("--classes", options_.classes, "Whole-number labels become one output per class");
    app->add_option("--tolerance", options_.tolerance,
                    "Relative error up to which labels count as memorised [1e-12]")
        ->check(CLI::PositiveNumber);
    app->add_option("--iterations", options_.descent.max_iterations, "Most iterations of a descent [20000]")
        ->check(CLI::PositiveNumber);
    app->add_option("--epsilon", options_.descent.epsilon, "Target for f of pgd-printed [1e-3]")
        ->check(CLI::PositiveNumber);
    app->add_option("--decay-epochs", options_.descent.decay_epochs,
                    "Epochs between cuts of Adam's rate to 0.3 [15]")
        ->check(CLI::PositiveNumber);
    app->add_option(
           "--memory", memory_,
           "Most memory for the solve, in GiB; conjugate gradients where the kernel would not fit [4]")
        ->check(CLI::PositiveNumber);
    app->add_option("--seed", options_.seed, "Seed of every random choice [0]");
    add_folder(*app, "--out,-o", out_,
               "Folder for network.safetensors, network.onnx, inputs.npy and labels.npy (the rows "
               "memorised), certificate.json and report.html");
    app->footer(R"(The relative error is the mean squared error over the variance of the labels. With
--perturb or --normalize the network fits the rows in inputs.npy: exhume verify DIR checks it. Exit code
0: memorised; 3: not to the tolerance; 4: no such network exists (labels that disagree, too many rows).

Examples:
  exhume memorize x.npy y.npy --out memory
  exhume memorize digits.npz --normalize --perturb 0.01 --classes
  exhume memorize x.npy y.npy --method pgd --hidden 202 --json)");
    return app;
  }

  [[nodiscard]] bool certifies() const override { return true; }

  int run(const Session& session) override {
    samples_.check();
    options_.method = *memorize_method(method_);
    options_.layers = layers_ == "auto" ? 0 : layers_ == "2" ? 2 : 3;
    options_.closed_form.memory_bytes = memory_ * 0x1p30;
    options_.validate();
    Delivery delivery(delivery_options(session, out_, {"inputs.npy", "labels.npy"}));
    const OpenedSamples opened = samples_.open(session.control);
    const SamplePtr rows = load(*opened.samples);
    SampleBlock block;
    rows->read(0, rows->rows(), block);
    MemorizeResult result = exhume::memorize(block.x(), block.y(), options_, session.control);
    if (delivery.writes()) {
      delivery.add({"network", "network.safetensors", safetensors_bytes(to_tensors(result.network))});
      delivery.add({"network for other programs", "network.onnx", onnx_bytes(result.network)});
      const auto table = [&](const char* role, const char* name, const RowMatrix& values) {
        NpyWriter writer(delivery.open(role, name), values.rows(), values.cols());
        writer.append(values);
        writer.finish();
      };
      table("rows memorised", "inputs.npy", result.inputs);
      table("labels memorised", "labels.npy", result.targets);
    }
    return deliver(session, delivery, result, opened, out_);
  }

 private:
  SampleArguments samples_;
  std::string method_ = "closed", layers_ = "auto", out_;
  double memory_ = 4;
  MemorizeOptions options_;
};

}  // namespace

std::unique_ptr<Command> memorize_command() { return std::make_unique<Memorize>(); }

}  // namespace exhume::cli
