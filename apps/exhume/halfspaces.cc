// exhume halfspaces: the union or intersection of halfspaces behind labels.
#include "exhume/routes/threshold/halfspaces.h"

#include <fmt/format.h>

#include <optional>

#include "command.h"
#include "lowest_layer_files.h"
#include "sample_files.h"
#include "terminal.h"

namespace exhume::cli {
namespace {

class Halfspaces final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    CLI::App* app =
        parent.add_subcommand("halfspaces", "Find the union or intersection of halfspaces behind labels");
    app->add_option("samples", files_, "X and labels (.npy, .csv), or one .npz with arrays x and y")
        ->required()
        ->expected(1, 2);
    hidden_option_ = app->add_option("--hidden,-k", hidden_, "Number of halfspaces [found]")
                         ->check(CLI::Validator(CLI::PositiveNumber).description(""));
    app->add_option("--seed", options_.seed, "Seed of every random choice [0]");
    app->add_option("--out,-o", out_, "Folder for units.safetensors (W, t), units.svg and certificate.json");
    app->footer(
        "Row i of W and entry i of t: the halfspace w.x <= t of an intersection, w.x > t of a union.\n"
        "Exit code 0: certified; 3: finished, not certified.\n\n"
        "Examples:\n"
        "  exhume generate --model threshold -d 10 -k 10 -m 1 -n 1000000 --activation sign --threshold 2.5 "
        "\\\n"
        "      --least-angle 60 --upper intersection --flips 0.01 --out polytope\n"
        "  exhume halfspaces polytope/x.npy polytope/y.npy --hidden 10 --out found");
    return app;
  }

  int run(const Session& session) override {
    check_sample_files(files_);
    if (hidden_option_->count() > 0) options_.hidden = hidden_;
    std::optional<OutputFolder> folder;
    if (!out_.empty()) folder.emplace(out_);
    const SamplePtr samples = open_sample_files(files_, session.control);
    const HalfspacesResult result = halfspaces(samples, options_, session.control);
    nlohmann::ordered_json json = lowest_layer_json(result.layer, files_, session.command);
    json["set"] = result.intersection ? "intersection" : "union";
    json["agreement"] = result.agreement;
    json["flip_rate"] = result.flip_rate;
    const std::string text = json.dump(2) + "\n";
    if (folder) {
      folder->add("units.safetensors", units_bytes(result.layer));
      folder->add("units.svg", units_picture(result.layer, *samples, session.control));
      folder->add("certificate.json", text);
      session.control.check();
      folder->commit();
    }
    if (session.json) {
      put(text);
    } else if (!session.quiet) {
      put(lowest_layer_summary(result.layer));
      put(
          fmt::format("  {} of {} halfspaces; agrees with {:.4f}% of the held-out labels; labels turned "
                      "around: {:.3g}%\n",
                      result.intersection ? "intersection" : "union", result.layer.W.rows(),
                      100 * result.agreement, 100 * result.flip_rate));
      if (folder) put(fmt::format("  written to {}: units.safetensors, units.svg, certificate.json\n", out_));
    }
    return result.layer.status == Status::kCertified ? kOk : kNotCertified;
  }

 private:
  std::vector<std::string> files_;
  std::string out_;
  CLI::Option* hidden_option_ = nullptr;
  Index hidden_ = 0;
  LowestLayerOptions options_;
};

}  // namespace

std::unique_ptr<Command> halfspaces_command() { return std::make_unique<Halfspaces>(); }

}  // namespace exhume::cli
