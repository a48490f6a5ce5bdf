// exhume moments: the moments of one site's rows, to be merged with those of others.
#include <fmt/format.h>

#include <optional>

#include "base/json.h"
#include "command.h"
#include "io/open.h"
#include "moments/partial_moments.h"
#include "partial_files.h"
#include "sample_arguments.h"
#include "terminal.h"

namespace exhume::cli {
namespace {

class Moments final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    CLI::App* app =
        parent.add_subcommand("moments", "Sum up one site's rows, to be merged with other sites' sums");
    samples_.declare(*app, kSamplesHelp);
    app->add_option("--out,-o", out_, "File to write; .moments is added to its name")->required();
    app->add_option("--like", like_, "Moments of the first site: all others are made in its frame");
    app->add_option("--order", order_,
                    "Highest order, 2 to 4; 2 is enough where there are as many outputs as units [4]")
        ->check(CLI::Range(2, 4).description(""));
    app->footer(
        "Only sums are written, never a row; docs/distributed.md says what they tell. 'recover --moments' "
        "starts from\n"
        "the moments of all sites and polishes on the rows of one.\n\n"
        "Examples:\n"
        "  exhume moments x-0.npy y-0.npy --out part0\n"
        "  exhume moments x-1.npy y-1.npy --like part0.moments --out part1\n"
        "  exhume recover x-0.npy y-0.npy --moments 'part*.moments' --out result");
    return app;
  }

  int run(const Session& session) override {
    samples_.check();
    const OpenedSamples opened = samples_.open(session.control);
    std::optional<PartialMoments> like;
    if (!like_.empty()) like = read_moments(like_);
    const PartialMoments made =
        partial_moments(opened.samples, order_, like ? &*like : nullptr, session.control);
    const std::string path = with_ending(out_, ".moments"), bytes = made.serialise();
    write_new_file(path, bytes, session.force);
    const Json json = {{"written", path}, {"rows", made.rows()}, {"order", order_}, {"bytes", bytes.size()}};
    if (session.json) {
      put(to_text(json) + "\n");
    } else if (!session.quiet) {
      put(fmt::format("{}: moments up to order {} of {} rows, {} bytes\n", path, order_, grouped(made.rows()),
                      grouped(static_cast<Index>(bytes.size()))));
    }
    return kOk;
  }
  [[nodiscard]] bool overwrites() const override { return true; }

 private:
  SampleArguments samples_;
  std::string out_, like_;
  int order_ = 4;
};

}  // namespace

std::unique_ptr<Command> moments_command() { return std::make_unique<Moments>(); }

}  // namespace exhume::cli
