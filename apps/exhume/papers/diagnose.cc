// exhume diagnose: does the symmetric route apply to these samples, and how many would it take?
#include "session/diagnose.h"

#include <fmt/format.h>

#include "command.h"
#include "io/open.h"
#include "sample_arguments.h"
#include "session/documents.h"

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
    add_file(*app, "--network", network_,
             "A network: adds the singular values of its distinguishing matrices N and M on these inputs");
    app->add_option("--hidden,-k", hidden_, "Number of hidden units; 0: by the rank of the linear part [0]")
        ->check(CLI::Validator(CLI::NonNegativeNumber).description(""));
    app->add_option("--leak", options_.leak, "Slope of the units below zero [0]");
    app->add_option("--seed", options_.seed, "Seed of every random choice [0]");
    app->footer(R"(Exit code 0 where the inputs are symmetric and the pure neurons stand out from sampling
noise, 3 otherwise.

Examples:
  exhume diagnose demo/x.npy demo/y.npy
  exhume diagnose demo/x.npy demo/y.npy --network demo/network.safetensors --json)");
    return app;
  }

  int run(const Session& session) override {
    samples_.check();
    const SamplePtr samples = samples_.open(session.control).samples;
    if (hidden_ > 0) options_.hidden = hidden_;
    if (!network_.empty()) options_.network = open_network(network_);
    const SymmetricOutlook found = diagnose(samples, options_, session.control);
    session.show(to_document(found), [&] { return to_terminal(found); });
    return found.applies() ? kOk : kNotCertified;
  }

 private:
  static std::string sentence(std::string words) {
    if (!words.empty() && words[0] >= 'a' && words[0] <= 'z' && words.rfind("x and", 0) != 0) {
      words[0] = static_cast<char>(words[0] - 'a' + 'A');
    }
    return words + ".";
  }

  [[nodiscard]] std::string to_terminal(const SymmetricOutlook& found) const {
    std::string text = fmt::format(
        "{}\n{}\n", sentence(found.symmetry.words()),
        sentence(found.outcome == DetectorOutcome::kFound ? found.detector.words()
                                                          : std::string(to_string(found.outcome))));
    if (found.distinguishing) {
      const DistinguishingSummary& s = *found.distinguishing;
      text += fmt::format(
          "Distinguishing matrix of {}: singular values of N from {:.3g} to {:.3g}, of M from {:.3g} to "
          "{:.3g}.\n",
          network_, s.least_n, s.largest_n, s.least_m, s.largest_m);
    }
    return text;
  }

  SampleArguments samples_;
  std::string network_;
  Index hidden_ = 0;
  DiagnoseOptions options_;
};

}  // namespace

std::unique_ptr<Command> diagnose_command() { return std::make_unique<Diagnose>(); }

}  // namespace exhume::cli
