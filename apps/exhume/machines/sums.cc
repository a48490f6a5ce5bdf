// exhume sums, exhume step: a polish by rounds of sums, where rows may not travel.
#include <fmt/format.h>

#include "command.h"
#include "sample_arguments.h"
#include "session/machines/site_sums.h"
#include "terminal.h"

namespace exhume::cli {
namespace {

class Sums final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    CLI::App* app = parent.add_subcommand("sums", "Compute one site's sums for 'exhume step'");
    add_file(*app, "network", network_, "The network to improve: .safetensors, .npz")->required();
    samples_.declare(*app, kSamplesHelp);
    add_file(*app, "--out,-o", out_, "File to write; .sums is added to its name")->required();
    app->footer(R"(Every site runs this at the same network; 'exhume step' makes the next network from all
their sums. Only sums are written, never a row.

Examples:
  exhume sums network.safetensors x-0.npy y-0.npy --out part0
  exhume step network.safetensors 'part*.sums' --out next.safetensors)");
    return app;
  }

  int run(const Session& session) override {
    samples_.check();
    const OpenedSamples opened = samples_.open(session.control);
    const SiteFile made = write_sums(network_, opened.samples, out_, session.force, session.control);
    session.show({{"written", made.path},
                  {"rows", made.rows},
                  {"relative_mse", made.relative_mse},
                  {"bytes", made.bytes}},
                 [&] {
                   return fmt::format("{}: sums over {} rows; the network leaves {:.2e} of their variance\n",
                                      made.path, grouped(made.rows), made.relative_mse);
                 });
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
    CLI::App* app = parent.add_subcommand(
        "step", "Improve a network by one Gauss-Newton step, from the sums of all sites");
    add_file(*app, "network", network_, "The network at which the sums were made")->required();
    add_file(*app, "sums", sums_, "The files that 'exhume sums' wrote at the sites")->required();
    add_file(*app, "--out,-o", out_, "The next network, .safetensors")->required();
    app->add_option(
           "--damping", damping_,
           "Damping of the step: larger if the last step made the error larger, smaller near the end [1e-4]")
        ->check(CLI::Validator(CLI::NonNegativeNumber).description(""));
    app->footer(R"(Prints the share of the outputs' variance that the network before the step leaves, over the
rows of all sites.

Examples:
  exhume step network.safetensors 'part*.sums' --out next.safetensors)");
    return app;
  }

  int run(const Session& session) override {
    const SiteFile made = write_step(network_, sums_, out_, damping_, session.force);
    session.show({{"written", out_}, {"rows", made.rows}, {"relative_mse_before", made.relative_mse}}, [&] {
      return fmt::format("{}: one step from a network that leaves {:.2e} of the variance of {} rows\n", out_,
                         made.relative_mse, grouped(made.rows));
    });
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
