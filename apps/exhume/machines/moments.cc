// exhume moments: the moments of one site's rows, to be merged with those of others.
#include <fmt/format.h>

#include "command.h"
#include "sample_arguments.h"
#include "session/machines/site_sums.h"
#include "terminal.h"

namespace exhume::cli {
namespace {

class Moments final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    CLI::App* app = parent.add_subcommand(
        "moments", "Compute the moments of one site's rows, to be added to those of other sites");
    samples_.declare(*app, kSamplesHelp);
    add_file(*app, "--out,-o", options_.out, "File to write; .moments is added to its name")->required();
    add_file(*app, "--like", options_.like, "Moments of the first site, whose coordinates all others use");
    app->add_option("--order", options_.order,
                    "Highest order, 2 to 4; 2 is enough with as many outputs as units [4]")
        ->check(CLI::Range(2, 4).description(""));
    app->footer(R"(Only sums are written, never a row; docs/distributed.md says what they reveal. 'recover
--moments' starts from the moments of all sites and polishes on the rows of one.

Examples:
  exhume moments x-0.npy y-0.npy --out part0
  exhume moments x-1.npy y-1.npy --like part0.moments --out part1
  exhume recover x-0.npy y-0.npy --moments 'part*.moments' --out result)");
    return app;
  }

  int run(const Session& session) override {
    samples_.check();
    const OpenedSamples opened = samples_.open(session.control);
    options_.overwrite = session.force;
    const SiteFile made = write_moments(opened.samples, options_, session.control);
    session.show(
        {{"written", made.path}, {"rows", made.rows}, {"order", options_.order}, {"bytes", made.bytes}}, [&] {
          return fmt::format("{}: moments up to order {} of {} rows, {} bytes\n", made.path, options_.order,
                             grouped(made.rows), grouped(static_cast<Index>(made.bytes)));
        });
    return kOk;
  }
  [[nodiscard]] bool overwrites() const override { return true; }

 private:
  SampleArguments samples_;
  MomentsOptions options_;
};

}  // namespace

std::unique_ptr<Command> moments_command() { return std::make_unique<Moments>(); }

}  // namespace exhume::cli
