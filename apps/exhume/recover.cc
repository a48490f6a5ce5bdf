// exhume recover: samples in, network, certificate and report out.
#include "exhume/recover.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <optional>

#include "command.h"
#include "exhume/io/atomic_file.h"
#include "exhume/io/digest.h"
#include "exhume/io/onnx.h"
#include "exhume/io/open.h"
#include "exhume/io/safetensors.h"
#include "exhume/report/report.h"
#include "exhume/routes/rectified/rectified.h"
#include "exhume/data/views.h"
#include "sample_files.h"
#include "summary.h"
#include "terminal.h"

namespace exhume::cli {
namespace {

namespace fs = std::filesystem;

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
                    "Road to take: depth2, symmetric, rectified, any_inputs, or auto [auto]");
    app->add_option(
        "--method", method_,
        "Of the rectified road: any, ica, tensor, symmetric, noise, few-outputs, arbitrary-noise or "
        "sparse-noise [tensor]");
    app->add_option("--activation", activation_,
                    "Of the rectified road, for z > 0: relu, square, cube or exp (e^z - 1) [relu]");
    app->add_option(
        "--mirrored", mirrored_,
        "Outputs at -x, row by row: both halves are used, and the inputs are symmetric by construction");
    app->add_option("--leak", options_.leak,
                    "Slope of the units below zero that the symmetric road assumes [0]");
    app->add_option("--seed", options_.seed, "Seed of every random choice [0]");
    app->add_option("--budget", options_.budget_seconds, "Seconds after which roads that search stop [300]")
        ->check(CLI::Validator(CLI::PositiveNumber).description(""));
    app->add_option("--out,-o", out_,
                    "Folder for network.safetensors, network.onnx, certificate.json and report.html");
    app->footer(
        "Exit code 0: recovered and certified; 3: finished, not certified. Everything is computed before "
        "anything is\n"
        "written, and files appear whole or not at all.\n\n"
        "Examples:\n"
        "  exhume recover x.npy y.npy --out result\n"
        "  exhume recover data.npz --hidden 16 --out result\n"
        "  exhume recover x.npy y.npy --mirrored y_of_minus_x.npy --route symmetric\n"
        "  exhume recover x.npy y.npy --route rectified --method sparse-noise --out result\n"
        "  exhume recover x.csv y.csv --json | jq .status");
    return app;
  }

  int run(const Session& session) override {
    const auto start = std::chrono::steady_clock::now();
    check_sample_files(files_);
    options_.hidden = parse_hidden(hidden_);
    const bool rectified = options_.route == "rectified";
    RectifiedOptions roads;
    if (rectified) {
      roads = rectified_options();
      roads.validate();
    } else {
      if (!method_.empty()) throw std::invalid_argument("--method belongs to --route rectified");
      if (!activation_.empty()) throw std::invalid_argument("--activation belongs to --route rectified");
      options_.validate();
    }
    // Opened before the long work: a folder that cannot be written to must not cost an hour.
    std::optional<OutputFolder> folder;
    AtomicFile* page = nullptr;
    if (!out_.empty()) {
      folder.emplace(out_);
      page = &folder->open("report.html");
    }
    SamplePtr samples = open_sample_files(files_, session.control);
    if (!mirrored_.empty()) {
      const TablePtr labels = open_table(mirrored_, session.control);
      samples = mirrored_view(samples, table_samples(labels, labels));
    }
    std::string support;
    const RecoverResult result = [&]() -> RecoverResult {
      if (!rectified) return exhume::recover(samples, options_, session.control);
      RectifiedResult found = recover_rectified(samples, roads, session.control);
      for (const auto& [row, output] : found.support) support += fmt::format("{},{}\n", row, output);
      return static_cast<RecoverResult&&>(found);
    }();
    const bool relu = !rectified || roads.rectifier.name == "relu";
    const std::string network = result.status == Status::kRefused ? "" : network_bytes(result.network);
    Provenance provenance{sample_file_roles(files_, mirrored_, session.control), session.command, ""};
    if (relu && !network.empty()) provenance.network_sha256 = sha256(network);
    const std::string json = to_json(result, provenance);
    std::vector<std::string> written;
    if (folder) {
      if (result.status != Status::kRefused) {
        if (relu) {
          folder->add("network.safetensors", network);
          folder->add("network.onnx", onnx_bytes(result.network));
          written = {"network.safetensors", "network.onnx"};
        } else {
          // Files of another name: what reads network.safetensors takes its units for ReLUs.
          folder->add("rectified.safetensors",
                      network_bytes(result.network, {{"activation", "rectified " + roads.rectifier.name}}));
          written = {"rectified.safetensors"};
        }
        if (!support.empty()) {
          folder->add("support.csv", "row,output\n" + support);
          written.push_back("support.csv");
        }
      }
      folder->add("certificate.json", json);
      page->write(to_html(json));
      written.insert(written.end(), {"certificate.json", "report.html"});
      session.control.check();
      folder->commit();
      forget_networks(written);
    }
    if (session.json) {
      put(json);
    } else if (!session.quiet) {
      const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
      put(summary(result, elapsed.count(), out_, written));
    }
    return result.status == Status::kCertified ? kOk : kNotCertified;
  }

 private:
  [[nodiscard]] RectifiedOptions rectified_options() const {
    RectifiedOptions out;
    if (!method_.empty()) out.method = parse_rectified_method(method_);
    if (!activation_.empty()) out.rectifier = parse_rectifier(activation_);
    out.hidden = options_.hidden;
    out.seed = options_.seed;
    out.budget_seconds = options_.budget_seconds;
    return out;
  }

  // A network of an earlier run must not lie beside the certificate of this one.
  void forget_networks(const std::vector<std::string>& written) const {
    std::error_code ignored;
    for (const char* name : {"network.safetensors", "network.onnx", "rectified.safetensors", "support.csv"}) {
      if (std::find(written.begin(), written.end(), name) == written.end())
        fs::remove(fs::path(out_) / name, ignored);
    }
  }

  std::vector<std::string> files_;
  std::string hidden_ = "auto", out_, mirrored_, method_, activation_;
  RecoverOptions options_;
};

}  // namespace

std::unique_ptr<Command> recover_command() { return std::make_unique<Recover>(); }

}  // namespace exhume::cli
