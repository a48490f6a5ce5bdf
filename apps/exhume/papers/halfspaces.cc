// exhume halfspaces: the union or intersection of halfspaces behind labels.
#include "exhume/papers/threshold.h"

#include "command.h"
#include "deliver.h"
#include "sample_arguments.h"
#include "session/papers/layer_files.h"

namespace exhume::cli {
namespace {

class Halfspaces final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    CLI::App* app =
        parent.add_subcommand("halfspaces", "Find the union or intersection of halfspaces behind labels");
    samples_.declare(*app,
                     "X and labels (.npy, .csv), one table with the outputs last (.csv, or - for standard "
                     "input), or one .npz with arrays x and y");
    samples_.declare_target(*app);
    hidden_option_ = app->add_option("--hidden,-k", hidden_, "Number of halfspaces [found]")
                         ->check(CLI::Validator(CLI::PositiveNumber).description(""));
    app->add_option("--seed", options_.seed, "Seed of every random choice [0]");
    add_folder(*app, "--out,-o", out_,
               "Folder for units.safetensors (W, t), units.svg, certificate.json and report.html");
    app->footer(R"(Row i of W and entry i of t: the halfspace w.x <= t of an intersection, w.x > t of a
union. Exit code 0: certified; 3: finished, not certified.

Examples:
  exhume generate --model threshold -d 10 -k 10 -m 1 -n 1000000 --activation sign --threshold 2.5 \
      --least-angle 60 --upper intersection --flips 0.01 --out polytope
  exhume halfspaces polytope/x.npy polytope/y.npy --hidden 10 --out found)");
    return app;
  }

  [[nodiscard]] bool certifies() const override { return true; }

  int run(const Session& session) override {
    samples_.check();
    if (hidden_option_->count() > 0) options_.hidden = hidden_;
    Delivery delivery(delivery_options(session, out_, {"units.safetensors", "units.svg"}));
    const OpenedSamples opened = samples_.open(session.control);
    LowestLayerResult result = halfspaces(opened.samples, options_, session.control);
    const UnitProfiles profiles = add_layer(delivery, result.layer, *opened.samples, session.control);
    return deliver(session, delivery, result, opened, out_, profiles);
  }

 private:
  SampleArguments samples_;
  std::string out_;
  CLI::Option* hidden_option_ = nullptr;
  Index hidden_ = 0;
  LowestLayerOptions options_;
};

}  // namespace

std::unique_ptr<Command> halfspaces_command() { return std::make_unique<Halfspaces>(); }

}  // namespace exhume::cli
