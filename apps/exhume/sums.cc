// exhume sums, exhume step: a polish by rounds of sums, where rows may not travel.
#include <fmt/format.h>

#include "base/json.h"
#include "command.h"
#include "fit/partial_sums.h"
#include "io/open.h"
#include "io/safetensors.h"
#include "partial_files.h"
#include "sample_arguments.h"
#include "terminal.h"

namespace exhume::cli {
namespace {

class Sums final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    CLI::App* app =
        parent.add_subcommand("sums", "Sum up how far a network is from one site's rows, for 'step'");
    app->add_option("network", network_, "The network to be polished: .safetensors, .npz")->required();
    samples_.declare(*app, kSamplesHelp);
    app->add_option("--out,-o", out_, "File to write; .sums is added to its name")->required();
    app->footer(
        "Every site runs this at the same network; 'exhume step' makes the next network of all their sums. "
        "Only sums\n"
        "are written, never a row.\n\n"
        "Examples:\n"
        "  exhume sums network.safetensors x-0.npy y-0.npy --out part0\n"
        "  exhume step network.safetensors 'part*.sums' --out next.safetensors");
    return app;
  }

  int run(const Session& session) override {
    samples_.check();
    const Network network = open_network(network_);
    const OpenedSamples opened = samples_.open(session.control);
    const PartialSums made = partial_sums(network, opened.samples, session.control);
    const std::string path = with_ending(out_, ".sums"), bytes = made.serialise();
    write_new_file(path, bytes, session.force);
    const Json json = {{"written", path},
                       {"rows", static_cast<Index>(made.rows)},
                       {"relative_mse", made.relative_mse()},
                       {"bytes", bytes.size()}};
    if (session.json) {
      put(to_text(json) + "\n");
    } else if (!session.quiet) {
      put(fmt::format("{}: sums over {} rows, of whose variance the network leaves {:.2e}\n", path,
                      grouped(static_cast<Index>(made.rows)), made.relative_mse()));
    }
    return kOk;
  }
  [[nodiscard]] bool overwrites() const override { return true; }

 private:
  std::string network_, out_;
  SampleArguments samples_;
};

class Step final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    CLI::App* app = parent.add_subcommand("step", "Polish a network by one step, from the sums of all sites");
    app->add_option("network", network_, "The network at which the sums were made")->required();
    app->add_option("sums", sums_, "What 'exhume sums' wrote at every site")->required();
    app->add_option("--out,-o", out_, "The next network, .safetensors")->required();
    app->add_option("--damping", damping_,
                    "Of the step: more where the last one made things worse, less near the end [1e-4]")
        ->check(CLI::Validator(CLI::NonNegativeNumber).description(""));
    app->footer(
        "Prints what the network before the step leaves of the outputs' variance, over the rows of all "
        "sites.\n\n"
        "Examples:\n"
        "  exhume step network.safetensors 'part*.sums' --out next.safetensors");
    return app;
  }

  int run(const Session& session) override {
    const Network network = open_network(network_);
    const PartialSums sums = read_sums(sums_);
    const Network next = stepped(network, sums, damping_);
    write_new_file(out_, network_bytes(next), session.force);
    const Json json = {{"written", out_},
                       {"rows", static_cast<Index>(sums.rows)},
                       {"relative_mse_before", sums.relative_mse()}};
    if (session.json) {
      put(to_text(json) + "\n");
    } else if (!session.quiet) {
      put(fmt::format("{}: one step from a network that leaves {:.2e} of the variance of {} rows\n", out_,
                      sums.relative_mse(), grouped(static_cast<Index>(sums.rows))));
    }
    return kOk;
  }
  [[nodiscard]] bool overwrites() const override { return true; }

 private:
  std::string network_, out_;
  std::vector<std::string> sums_;
  double damping_ = 1e-4;
};

}  // namespace

std::unique_ptr<Command> sums_command() { return std::make_unique<Sums>(); }
std::unique_ptr<Command> step_command() { return std::make_unique<Step>(); }

}  // namespace exhume::cli
