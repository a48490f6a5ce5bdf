// exhume verify: an independent re-check of a network against samples.
#include "exhume/verify.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "command.h"
#include "exhume/error.h"
#include "exhume/io/open.h"
#include "exhume/io/safetensors.h"
#include "exhume/memorize/files.h"
#include "sample_files.h"
#include "terminal.h"

namespace exhume::cli {
namespace {

using Json = nlohmann::ordered_json;

class Verify final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    CLI::App* app =
        parent.add_subcommand("verify", "Check a network against samples, independently of the solvers");
    app->add_option("network", network_, "A network (.safetensors, .npz)")->required();
    app->add_option("samples", files_, "X and Y (.npy, .csv), or one .npz with arrays x and y")
        ->required()
        ->expected(1, 2);
    app->add_option("--tolerance", tolerance_, "Largest relative mean squared error to accept [1e-12]")
        ->check(CLI::Validator(CLI::NonNegativeNumber).description(""));
    app->footer(
        "The relative mse is the mean squared error over the variance of the outputs. Plain loops in long "
        "double.\n"
        "Exit code 0 within the tolerance, 3 above it.\n\n"
        "Examples:\n"
        "  exhume verify result/network.safetensors demo/x.npy demo/y.npy\n"
        "  exhume verify result/network.safetensors noisy.npz --tolerance 0.02 --json");
    return app;
  }

  int run(const Session& session) override {
    check_sample_files(files_);
    const SamplePtr samples = open_sample_files(files_, session.control);
    Verification v;
    if (const std::optional<QuadraticNetwork> quadratic = open_quadratic()) {
      v = check(*quadratic, *samples, session.control);
    } else {
      v = check(open_network(network_), *samples, session.control);
    }
    const bool good = v.relative_mse <= tolerance_;
    if (session.json) {
      const auto number = [](double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); };
      const Json json = {{"verified", good},
                         {"relative_mse", number(v.relative_mse)},
                         {"tolerance", number(tolerance_)},
                         {"rms_error", number(v.rms_error)},
                         {"worst_error", number(v.worst_error)},
                         {"worst_row", v.worst_row + 1},
                         {"worst_output", v.worst_output + 1},
                         {"rows", v.rows}};
      put(json.dump(2) + "\n");
    } else if (!session.quiet) {
      put(fmt::format(
          "{} on {} rows: relative mse {:.3e} ({} {:g}), rms error {:.3e}, worst error {:.3e} in row {}, "
          "output {}.\n",
          toned(good ? Tone::kGood : Tone::kBad, good ? "Agrees" : "Does not agree"), grouped(v.rows),
          v.relative_mse, good ? "at most" : "above", tolerance_, v.rms_error, v.worst_error,
          grouped(v.worst_row + 1), v.worst_output + 1));
    }
    return good ? kOk : kNotCertified;
  }

 private:
  // A network of `memorize`, told by the activation its metadata name.
  [[nodiscard]] std::optional<QuadraticNetwork> open_quadratic() const {
    if (std::filesystem::path(network_).extension() != ".safetensors") return std::nullopt;
    const Tensors tensors = read_safetensors(network_);
    if (!is_quadratic(tensors)) return std::nullopt;
    return to_quadratic_network(tensors, network_);
  }

  template <class AnyNetwork>
  [[nodiscard]] Verification check(const AnyNetwork& network, const SampleSource& samples,
                                   const Control& control) const {
    if (samples.inputs() != network.inputs() || samples.outputs() != network.outputs()) {
      throw DataError(fmt::format(
          "{} has {} inputs and {} outputs, but the samples in {} have {} and {}; are they of "
          "another network?",
          network_, network.inputs(), network.outputs(), files_[0], samples.inputs(), samples.outputs()));
    }
    return exhume::verify(network, samples, control);
  }

  std::string network_;
  std::vector<std::string> files_;
  double tolerance_ = 1e-12;
};

}  // namespace

std::unique_ptr<Command> verify_command() { return std::make_unique<Verify>(); }

}  // namespace exhume::cli
