// exhume diagnose: does the symmetric route apply to these samples, and how many would it take?
#include <fmt/format.h>

#include <charconv>

#include "base/json.h"
#include "certify/symmetry_test.h"
#include "command.h"
#include "exhume/error.h"
#include "io/open.h"
#include "moments/detector.h"
#include "routes/symmetric.h"
#include "sample_arguments.h"
#include "terminal.h"

namespace exhume::cli {
namespace {

class Diagnose final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    CLI::App* app = parent.add_subcommand(
        "diagnose", "Test the inputs for symmetry, and measure how well pure neurons can be told apart");
    samples_.declare(*app,
                     "X and Y (.npy, .csv), one table with the outputs last (.csv, or - for standard input), "
                     "or one .npz with arrays x and y");
    samples_.declare_target(*app);
    app->add_option(
        "--network", network_,
        "A network: adds the singular values of its distinguishing matrices N and M on these inputs");
    app->add_option("--hidden,-k", hidden_, "Number of hidden units; 0: by the rank of the linear part [0]")
        ->check(CLI::Validator(CLI::NonNegativeNumber).description(""));
    app->add_option("--leak", leak_, "Slope of the units below zero [0]");
    app->add_option("--seed", seed_, "Seed of every random choice [0]");
    app->footer(
        "Exit code 0 where the inputs are symmetric and the pure neurons stand out from sampling noise, 3 "
        "otherwise.\n\n"
        "Examples:\n"
        "  exhume diagnose demo/x.npy demo/y.npy\n"
        "  exhume diagnose demo/x.npy demo/y.npy --network demo/network.safetensors --json");
    return app;
  }

  int run(const Session& session) override {
    samples_.check();
    const SamplePtr samples = samples_.open(session.control).samples;
    const SymmetryTest symmetry = test_symmetry(*samples, seed_, session.control);
    SymmetricOptions options;
    if (hidden_ > 0) options.hidden = hidden_;
    options.leak = leak_;
    options.seed = seed_;
    const SymmetricNetwork found = symmetric_network(samples, options, session.control);
    const bool applies = found.outcome == DetectorOutcome::kFound;
    const bool good = symmetry.holds() && applies && found.diagnosis.clear();
    Json json = {{"symmetric", symmetry.holds()},
                 {"symmetry_statistic", symmetry.statistic},
                 {"symmetry_threshold", symmetry.threshold},
                 {"hidden_units", found.units},
                 {"detector", to_string(found.outcome)},
                 {"detector_gap", found.diagnosis.signal},
                 {"detector_noise", found.diagnosis.noise},
                 {"samples", samples->rows()},
                 {"samples_needed", found.diagnosis.samples_needed}};
    std::string text =
        fmt::format("{}\n{}\n", sentence(symmetry.words()),
                    sentence(applies ? found.diagnosis.words() : std::string(to_string(found.outcome))));
    if (!network_.empty()) {
      const Network network = open_network(network_);
      if (network.inputs() != samples->inputs()) {
        throw DataError(
            fmt::format("{} has {} inputs, but the samples have {}; give the network of these samples",
                        network_, network.inputs(), samples->inputs()));
      }
      const DistinguishingSummary s = distinguishing_summary(network.W(), *samples, session.control);
      json["distinguishing_least"] = s.least_n;
      json["distinguishing_largest"] = s.largest_n;
      json["augmented_least"] = s.least_m;
      json["augmented_largest"] = s.largest_m;
      text += fmt::format(
          "Distinguishing matrix of {}: singular values of N from {:.3g} to {:.3g}, of M from {:.3g} to "
          "{:.3g}.\n",
          network_, s.least_n, s.largest_n, s.least_m, s.largest_m);
    }
    if (session.json) {
      put(to_text(json) + "\n");
    } else if (!session.quiet) {
      put(text);
    }
    return good ? kOk : kNotCertified;
  }

 private:
  static std::string sentence(std::string words) {
    if (!words.empty() && words[0] >= 'a' && words[0] <= 'z' && words.rfind("x and", 0) != 0) {
      words[0] = static_cast<char>(words[0] - 'a' + 'A');
    }
    return words + ".";
  }

  SampleArguments samples_;
  std::string network_;
  Index hidden_ = 0;
  double leak_ = 0;
  std::uint64_t seed_ = 0;
};

}  // namespace

std::unique_ptr<Command> diagnose_command() { return std::make_unique<Diagnose>(); }

}  // namespace exhume::cli
