// exhume recover: samples in, network, certificate and report out.
#include "exhume/recover.h"

#include <fmt/format.h>

#include <charconv>
#include <stdexcept>

#include "command.h"
#include "delivery.h"
#include "exhume/io/onnx.h"
#include "exhume/io/open.h"
#include "exhume/io/safetensors.h"
#include "exhume/routes/table.h"

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

class Recover final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    CLI::App* app =
        parent.add_subcommand("recover", "Recover the network behind samples, with a certificate");
    app->add_option("samples", files_,
                    "X and Y (.npy, .csv), or one .npz with arrays x and y; rows are samples")
        ->required()
        ->expected(1, 2);
    app->add_option("--hidden,-k", hidden_, "Number of hidden units, or auto [auto]");
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
    app->add_option("--seed", options_.seed, "Seed of every random choice [0]");
    app->add_option("--budget", options_.budget_seconds, "Seconds after which routes that search stop [300]")
        ->check(CLI::Validator(CLI::PositiveNumber).description(""));
    app->add_option("--require", require_,
                    "What exit code 0 asks for: certified, or estimated (noise) at least [estimated]")
        ->check(CLI::Validator(CLI::IsMember({"certified", "estimated"})).description(""));
    app->add_option("--out,-o", out_,
                    "Folder for network.safetensors, network.onnx, certificate.json and report.html");
    app->footer(
        "Exit code 0: recovered and certified, or estimated from noisy samples; 3: finished, neither (or "
        "only\n"
        "estimated, with --require certified). Everything is computed before anything is written, and files\n"
        "appear whole or not at all.\n\n"
        "Examples:\n"
        "  exhume recover x.npy y.npy --out result\n"
        "  exhume recover data.npz --hidden 16 --out result\n"
        "  exhume recover x.npy y.npy --mirrored y_of_minus_x.npy --route symmetric\n"
        "  exhume recover x.npy y.npy --route rectified-sparse-noise --out result\n"
        "  exhume recover x.csv y.csv --json | jq .status");
    return app;
  }

  [[nodiscard]] bool certifies() const override { return true; }

  int run(const Session& session) override {
    check_sample_files(files_);
    options_.hidden = parse_hidden(hidden_);
    if (!activation_.empty()) options_.rectifier = parse_rectifier(activation_);
    if (options_.route == kRectified) {
      options_.route += "-" + (method_.empty() ? "tensor" : method_);
    } else if (!method_.empty()) {
      throw std::invalid_argument("--method belongs to --route rectified");
    }
    options_.validate();
    Delivery delivery(session, out_);
    OpenedSamples opened = open_sample_files(files_, session.control);
    if (!mirrored_.empty()) opened.mirror(mirrored_, session.control);
    RecoverResult result = exhume::recover(opened.samples, options_, session.control);
    if (delivery.writes() && result.status != Status::kRefused) add_files(delivery, result);
    const int code = delivery.finish(result, opened);
    const bool enough = require_ != to_string(Status::kCertified) || result.status == Status::kCertified;
    return enough ? code : kNotCertified;
  }

 private:
  static void add_files(Delivery& delivery, const RecoverResult& result) {
    if (result.activation == "relu") {
      delivery.add("network", "network.safetensors", network_bytes(result.network));
      delivery.add("network for other programs", "network.onnx", onnx_bytes(result.network));
    } else {
      // Another name: what reads network.safetensors takes its units for ReLUs.
      delivery.add("network", "rectified.safetensors",
                   network_bytes(result.network, {{"activation", "rectified " + result.activation}}));
    }
    if (result.support.empty()) return;
    std::string support = "row,output\n";
    for (const auto& [row, output] : result.support) support += fmt::format("{},{}\n", row, output);
    delivery.add("entries hit by noise", "support.csv", support);
  }

  std::vector<std::string> files_;
  std::string hidden_ = "auto", out_, mirrored_, method_, activation_,
              require_ = to_string(Status::kEstimated);
  RecoverOptions options_;
};

}  // namespace

std::unique_ptr<Command> recover_command() { return std::make_unique<Recover>(); }

}  // namespace exhume::cli
