// exhume recover: samples in, network, certificate and report out.
#include "exhume/recover_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <future>
#include <optional>
#include <stdexcept>
#include <variant>

#include "base/packed.h"
#include "checkpoint.h"
#include "command.h"
#include "data/resident.h"
#include "delivery.h"
#include "engine/open_device.h"
#include "exhume/error.h"
#include "io/digest.h"
#include "io/npz.h"
#include "io/open.h"
#include "io/safetensors.h"
#include "partial_files.h"
#include "report/result_files.h"
#include "report/view.h"
#include "routes/depth2.h"
#include "routes/expected_cost.h"
#include "routes/table.h"
#include "sample_arguments.h"
#include "terminal.h"

namespace exhume::cli {
namespace {

constexpr const char* kRectified = "rectified";

// Of routes to a network, in the order of the table.
std::vector<std::string> route_names() {
  std::vector<std::string> names;
  for (const RouteInfo& route : route_table()) {
    if (route.finds == Finds::kNetwork) names.push_back(route.name);
  }
  return names;
}

std::optional<Index> parse_hidden(const std::string& text) {
  if (text == "auto") return std::nullopt;
  Index value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1) {
    throw std::invalid_argument(
        fmt::format("--hidden is '{}', but must be auto or a whole number of at least 1", text));
  }
  return value;
}

// "20,20": the widths of several hidden layers; empty for one number or auto.
std::vector<Index> parse_widths(const std::string& text) {
  std::vector<Index> widths;
  if (text.find(',') == std::string::npos) return widths;
  std::size_t from = 0;
  while (from <= text.size()) {
    const std::size_t to = std::min(text.find(',', from), text.size());
    const std::optional<Index> width = parse_hidden(text.substr(from, to - from));
    if (!width) throw std::invalid_argument(fmt::format("--hidden is '{}', but auto is not a width", text));
    widths.push_back(*width);
    from = to + 1;
  }
  return widths;
}

// Number of hidden layers; 0 for auto.
Index parse_layers(const std::string& text) {
  if (text == "auto") return 0;
  Index value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > 8) {
    throw std::invalid_argument(
        fmt::format("--layers is '{}', but must be auto or a whole number from 1 to 8", text));
  }
  return value;
}

class Recover final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    CLI::App* app =
        parent.add_subcommand("recover", "Recover the network behind samples, with a certificate");
    samples_.declare(*app, kSamplesHelp);
    samples_.declare_target(*app);
    app->add_option("--hidden,-k", hidden_,
                    "Number of hidden units, 20,20 for those of several layers, or auto [auto]");
    app->add_option("--layers", layers_,
                    "Number of hidden layers, or auto: one first, then more while structure is left [1]");
    app->add_option(
        "--first-layer", first_layer_,
        "A file with the first of two hidden layers, up to scale and sign (.safetensors, .npz: W and "
        "b): the rest is found on top of it");
    app->add_option("--route", options_.route,
                    fmt::format("Route to take: {}, or auto [auto]; 'exhume routes' says what they are",
                                fmt::join(route_names(), ", ")));
    app->add_option(
        "--method", method_,
        "With --route rectified: the route rectified-METHOD, METHOD being one of its names [tensor]");
    app->add_option("--activation", activation_,
                    "Of the units, for z > 0: relu, square, cube or exp (e^z - 1); some routes [relu]");
    app->add_option(
        "--mirrored", mirrored_,
        "Outputs at -x, row by row: both halves are used, and the inputs are symmetric by construction");
    app->add_option("--leak", options_.leak, "Slope of the units below zero; route symmetric [0]");
    app->add_option("--device", device_, "Where heavy sums run: auto, cpu or cuda [auto]")
        ->check(CLI::Validator(CLI::IsMember({"auto", "cpu", "cuda"})).description(""));
    app->add_option("--shape", shape_,
                    "Rows and columns of the inputs, such as 8x8: the report shows units as images");
    app->add_option("--truth", truth_,
                    "The network behind the samples, where it is known: the report compares");
    app->add_option("--seed", options_.seed, "Seed of every random choice [0]");
    app->add_option("--budget", options_.budget_seconds, "Seconds after which routes that search stop [300]")
        ->check(CLI::Validator(CLI::PositiveNumber).description(""));
    app->add_option("--require", require_,
                    "What exit code 0 asks for: certified, or estimated (noise) at least [estimated]")
        ->check(CLI::Validator(CLI::IsMember({"certified", "estimated"})).description(""));
    app->add_option("--out,-o", out_,
                    "Folder for network.safetensors, network.onnx, certificate.json and report.html");
    app->add_option(
        "--moments", moments_,
        "Moments of several sites' rows ('exhume moments'): starts from them, polishes on these samples");
    checkpoint_.declare(*app);
    app->footer(
        "Exit code 0: recovered and certified, or estimated from noisy samples; 3: finished, neither (or "
        "only\n"
        "estimated, with --require certified). Everything is computed before anything is written, and files\n"
        "appear whole or not at all.\n\n"
        "Examples:\n"
        "  exhume recover x.npy y.npy --out result\n"
        "  exhume recover data.npz --hidden 16 --out result\n"
        "  exhume recover table.csv --target y1,y2 --out result\n"
        "  exhume recover x.npy y.npy --mirrored y_of_minus_x.npy --route symmetric\n"
        "  exhume recover x.npy y.npy --route rectified-sparse-noise --out result\n"
        "  exhume recover x.npy y.npy --layers 2 --out result\n"
        "  exhume recover x.csv y.csv --json | jq .status");
    return app;
  }

  [[nodiscard]] bool certifies() const override { return true; }
  [[nodiscard]] bool shares() const override { return true; }

  int run(const Session& session) override {
    samples_.check();
    const std::vector<Index> widths = parse_widths(hidden_);
    Index layers = parse_layers(layers_);
    if (!widths.empty()) layers = static_cast<Index>(widths.size());
    if (!first_layer_.empty() && layers_ == "1") layers = 2;
    if (widths.empty()) options_.hidden = parse_hidden(hidden_);
    if (!activation_.empty()) options_.rectifier = parse_rectifier(activation_);
    if (options_.route == kRectified) {
      options_.route += "-" + (method_.empty() ? "tensor" : method_);
    } else if (!method_.empty()) {
      throw std::invalid_argument("--method belongs to --route rectified");
    }
    if (!moments_.empty()) {
      if (layers != 1) throw std::invalid_argument("--moments finds one hidden layer; leave out --layers");
      if (options_.route != "auto" && options_.route != "depth2")
        throw std::invalid_argument("--moments belongs to --route depth2");
      options_.route = "depth2";
      Depth2Options spectral;
      spectral.hidden = options_.hidden;
      spectral.seed = options_.seed;
      options_.units = moments_start(read_moments(moments_), spectral, session.control).V;
    }
    options_.validate();
    Control control = session.control;
    Delivery delivery(session, out_);
    delivery.view(shape_, truth_);
    OpenedSamples opened = samples_.open(session.control);
    // A device takes its time to start: not for what is done here in less.
    if (layers != 1 || device_ == "cuda" ||
        worth_a_device(opened.samples->rows(), opened.samples->inputs(), opened.samples->outputs()))
      control.device = open_device(device_).device;
    if (layers == 1 && !session.quiet && !session.json && session.leads())
      say_expected(*opened.samples, control);
    if (!shape_.empty()) check_shape(parse_shape(shape_), opened.samples->inputs());
    if (!mirrored_.empty()) opened.mirror(mirrored_, session.control);
    checkpoint_.open(session, opened, about(layers, widths), control);
    // With a device, reading the files for their digests may take longer than all the rest: beside it, then.
    std::future<void> hashing;
    if (control.device && session.leads())
      hashing = std::async(std::launch::async, [&] { (void)opened.digests(session.control); });
    const auto run_here = [&] {
      return named_columns(opened, [&] { return work(delivery, opened, layers, widths, control); });
    };
    int code = kOk;
    try {
      code = run_here();
    } catch (const ResourceError& failure) {
      if (!control.device || device_ != "auto") throw;
      complain(fmt::format("{}. The work starts again on the processor.", failure.what()));
      control.device.reset();
      code = run_here();
    }
    checkpoint_.done();
    return code;
  }

 private:
  // Of a long run: what to expect of it.
  void say_expected(const SampleSource& samples, const Control& control) const {
    constexpr double kLong = 10;  // seconds
    const ExpectedCost cost = expected_cost({.rows = samples.rows(),
                                             .inputs = samples.inputs(),
                                             .outputs = samples.outputs(),
                                             .hidden = options_.hidden,
                                             .threads = control.workers(),
                                             .thread_flops = measured_thread_flops(),
                                             .device = control.device != nullptr});
    if (cost.seconds < kLong) return;
    std::string memory = fmt::format("{:.2g} GB of memory", cost.bytes / 1e9);
    if (control.device)
      memory += fmt::format(" and {:.2g} GB of {}", cost.device_bytes / 1e9, control.device->name());
    complain(fmt::format(
        "up to about {:.2g} s and {} are expected for Gaussian inputs{}; --budget is {:.4g} s.", cost.seconds,
        memory, options_.hidden ? "" : " and no more units than inputs", options_.budget_seconds));
  }

  int work(Delivery& delivery, const OpenedSamples& opened, Index layers, const std::vector<Index>& widths,
           const Control& control) const {
    if (layers >= 2) return run_deep(delivery, opened, layers, widths, control);
    if (layers == 0 && !options_.hidden) {
      AnyDepth any = recover_layers(opened.samples, options_, control);
      if (auto* deep = std::get_if<DeepResult>(&any)) return deliver(delivery, opened, *deep, said());
      return deliver(delivery, opened, std::get<RecoverResult>(any), said());
    }
    RecoverResult result = exhume::recover(opened.samples, options_, control);
    return deliver(delivery, opened, result, said());
  }

  // All that the result depends on, but the samples.
  [[nodiscard]] Json about(Index layers, const std::vector<Index>& widths) const {
    return {{"hidden", hidden_},
            {"layers", layers},
            {"widths", widths},
            {"first_layer", first_layer_.empty() ? "" : sha256_file(first_layer_)},
            {"route", options_.route},
            {"activation", activation_},
            {"leak", options_.leak},
            {"device", device_},
            {"units", options_.units ? sha256(packed(*options_.units)) : ""},
            {"seed", options_.seed},
            {"budget", options_.budget_seconds}};
  }

  [[nodiscard]] int code_of(int code, const Certificate& result) const {
    const bool enough = require_ != to_string(Status::kCertified) || result.status == Status::kCertified;
    return enough ? code : kNotCertified;
  }

  using Said = std::vector<std::pair<std::string, std::string>>;
  [[nodiscard]] Said said() const { return options_said(options_, layers_); }

  template <class Result>
  int deliver(Delivery& delivery, const OpenedSamples& opened, Result& result, Said options) const {
    result.options = std::move(options);
    delivery.describe(result, opened);
    for (const ResultFile& file : result_files(result)) {
      if (delivery.writes()) delivery.add(file.role, file.name, file.bytes);
    }
    return code_of(delivery.finish(result, opened), result);
  }

  int run_deep(Delivery& delivery, const OpenedSamples& opened, Index layers,
               const std::vector<Index>& widths, const Control& control) const {
    if (options_.route != "auto" && options_.route != "deep") {
      throw std::invalid_argument(fmt::format(
          "--route {} finds one hidden layer; several are found by the route deep", options_.route));
    }
    DeepOptions options;
    options.layers = layers;
    options.seed = options_.seed;
    options.budget_seconds = options_.budget_seconds;
    if (!widths.empty()) options.widths = widths;
    if (!first_layer_.empty()) options.first_layer = read_first_layer(first_layer_);
    DeepResult result = recover_deep(opened.samples, options, control);
    return deliver(delivery, opened, result, options_said(options));
  }

  static Matrix read_first_layer(const std::string& file) {
    const bool zipped = file.size() >= 4 && file.substr(file.size() - 4) == ".npz";
    const Tensors tensors = zipped ? read_npz(file) : read_safetensors(file);
    const Matrix W = tensors.matrix("W", file);
    const bool thresholds = tensors.find("b") == nullptr && tensors.find("t") != nullptr;
    const Vector b = thresholds ? Vector(-tensors.vector("t", file)) : tensors.vector("b", file);
    if (b.size() != W.rows()) {
      throw DataError(fmt::format("{}: W has {} rows but {} has {} entries", file, W.rows(),
                                  thresholds ? "t" : "b", b.size()));
    }
    Matrix V(W.rows(), W.cols() + 1);
    V << W, b;
    return V;
  }

  SampleArguments samples_;
  std::vector<std::string> moments_;
  std::string hidden_ = "auto", layers_ = "1", first_layer_, out_, mirrored_, method_, activation_, shape_,
              truth_, device_ = "auto", require_ = to_string(Status::kEstimated);
  RecoverOptions options_;
  Checkpoint checkpoint_;
};

}  // namespace

std::unique_ptr<Command> recover_command() { return std::make_unique<Recover>(); }

}  // namespace exhume::cli
