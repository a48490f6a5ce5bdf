// exhume recover: samples in, network, certificate and report out.
#include "session/recover.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/ended.h"
#include "command.h"
#include "deliver.h"
#include "interrupt.h"
#include "report/view.h"
#include "routes/table.h"
#include "sample_arguments.h"

namespace exhume::cli {
namespace {

// Names of the routes that find a network, in the order of the table.
std::vector<std::string> route_names() {
  std::vector<std::string> names;
  for (const RouteInfo& route : route_table()) {
    if (route.finds == Finds::kNetwork) names.push_back(route.name);
  }
  return names;
}

class Recover final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    CLI::App* app = parent.add_subcommand(
        "recover", "Recover a network from samples of its inputs and outputs, with a certificate");
    samples_.declare(*app, kSamplesHelp);
    samples_.declare_target(*app);
    app->add_option("--hidden,-k", hidden_,
                    "Number of hidden units, such as 20, or 20,20 for two layers; auto finds it [auto]");
    app->add_option(
        "--layers", layers_,
        "Number of hidden layers; auto tries one, then more until the rows are reproduced [as many "
        "as --hidden has numbers]");
    add_file(*app, "--first-layer", first_layer_,
             "The first of two hidden layers, if known up to scale and sign (.safetensors, .npz: W and b): "
             "only the rest is searched for");
    app->add_option("--route", job_.options.route,
                    fmt::format("Route to take: {}, or auto [auto]; 'exhume routes' says what they are",
                                fmt::join(route_names(), ", ")));
    app->add_option("--method", method_,
                    "With --route rectified: which one, METHOD of the route rectified-METHOD [tensor]");
    app->add_option("--activation", job_.options.activation,
                    "Activation of the hidden units: auto, relu, tanh, sigmoid, gelu, silu, softplus, elu, "
                    "erf, sin, ..., or square, cube, "
                    "exp (rectified; some routes) [auto]");
    add_file(*app, "--mirrored", mirrored_,
             "Outputs at -x, row by row: x and -x are both used, so the inputs are symmetric");
    app->add_option("--leak", job_.options.leak,
                    "Slope of leaky ReLUs below zero, for --route symmetric [0]");
    app->add_option("--device", job_.device, "Device for large sums: auto, cpu or cuda [auto]")
        ->check(CLI::Validator(CLI::IsMember({"auto", "cpu", "cuda"})).description(""));
    app->add_option("--shape", shape_,
                    "Rows and columns of the inputs, such as 8x8: the report shows units as images");
    add_file(*app, "--truth", truth_,
             "The network that generated the samples, if known: the report compares with it");
    app->add_option("--seed", job_.options.seed, "Seed of every random choice [0]");
    app->add_option("--budget", job_.options.budget_seconds,
                    "Seconds after which the search ends with the best network so far [300]")
        ->check(CLI::Validator(CLI::PositiveNumber).description(""));
    app->add_option("--require", require_,
                    "Verdict that exit code 0 requires: certified, or at least estimated [estimated]")
        ->check(CLI::Validator(CLI::IsMember({"certified", "estimated"})).description(""));
    add_folder(*app, "--out,-o", out_,
               "Folder for network.safetensors, network.onnx, certificate.json and report.html");
    add_file(
        *app, "--moments", job_.moments,
        "Moments of several sites' rows ('exhume moments'): starts from them, polishes on these samples");
    add_folder(*app, "--checkpoint", job_.checkpoint.folder,
               "Folder for intermediate results, so that a killed run can be continued");
    app->add_flag("--resume", job_.checkpoint.resume,
                  "With --checkpoint: continue an earlier run of the same command");
    app->footer(R"(Exit code 0: certified, or estimated from noisy samples; 3: finished with neither (or only
estimated, with --require certified). Files are written at the end, whole or not at all.

Examples:
  exhume recover x.npy y.npy --out result
  exhume recover data.npz --hidden 16 --out result
  exhume recover table.csv --target y1,y2 --out result
  exhume recover x.npy y.npy --mirrored y_of_minus_x.npy --route symmetric
  exhume recover x.npy y.npy --route rectified-sparse-noise --out result
  exhume recover x.npy y.npy --layers 2 --out result
  exhume recover x.csv y.csv --json | jq .status)");
    return app;
  }

  [[nodiscard]] bool certifies() const override { return true; }
  [[nodiscard]] bool shares() const override { return true; }

  int run(const Session& session) override {
    samples_.check();
    RecoverOptions& options = job_.options;
    options.widths = parse_widths(hidden_);
    if (!layers_.empty()) options.layers = parse_layers(layers_);
    if (!first_layer_.empty()) options.first_layer = read_first_layer(first_layer_);
    options.route = route_name(options.route, method_);
    job_.checkpoint.restart = session.force;
    job_.delivery = delivery_options(session, out_);
    if (!shape_.empty()) job_.delivery.input_shape = parse_shape(shape_);
    job_.delivery.truth = truth_;
    job_.delivery.inputs = samples_.paths();
    job_.estimate = !session.json;
    RecoverSession recovery(job_, keeps_best(session.control));
    OpenedSamples opened = samples_.open(session.control);
    if (!mirrored_.empty()) opened.mirror(mirrored_, session.control);
    session.checkpoint = job_.checkpoint.folder;
    const Notes note = [](const std::string& words) { complain(words); };
    const Recovered found = recovery.run(opened, session.quiet ? Notes() : note);
    if (session.leads())
      show_result(session, found.delivered, verdict(found.result), facts(found.result), out_);
    const Status status = found.result.certificate.status;
    if (status == Status::kCertified || (stands(status) && require_ == to_string(Status::kEstimated)))
      return kOk;
    return interrupted() ? kInterrupted : kNotCertified;
  }

 private:
  // Makes Ctrl-C end the search, so that its best network so far becomes the result. Where a checkpoint keeps
  // the work, or other processes share it, Ctrl-C ends the command instead.
  [[nodiscard]] Control keeps_best(const Control& control) const {
    if (control.passes || !job_.checkpoint.folder.empty()) return control;
    Control out = control;
    out.should_stop = [control] {
      if (interrupted() && !terminated()) end_searches(control);
      return terminated();
    };
    return out;
  }

  SampleArguments samples_;
  std::string hidden_ = "auto", layers_, first_layer_, out_, mirrored_, method_, shape_, truth_,
              require_ = to_string(Status::kEstimated);
  RecoverJob job_;
};

}  // namespace

std::unique_ptr<Command> recover_command() { return std::make_unique<Recover>(); }

}  // namespace exhume::cli
