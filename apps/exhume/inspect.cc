// exhume inspect: do these samples fit the problem, and what would help?
#include "exhume/inspect.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "command.h"
#include "deliver.h"
#include "io/open.h"
#include "sample_arguments.h"
#include "session/documents.h"
#include "terminal.h"
#include "wrap.h"

namespace exhume::cli {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

constexpr int kIndent = 20;

std::string wrapped_line(std::string_view name, std::string_view value) {
  return fmt::format("  {}  {}\n", toned(Tone::kSoft, fmt::format("{:<16}", name)),
                     wrapped(value, std::max(columns(STDOUT_FILENO), 2 * kIndent), kIndent, kIndent));
}

class Inspect final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    CLI::App* app = parent.add_subcommand("inspect", "Say what samples can give, before anything is fitted");
    samples_.declare(*app, kSamplesHelp);
    samples_.declare_target(*app);
    app->footer(R"(Looks at up to 100,000 rows, which takes seconds: shape, repeats, precision,
distribution, the routes that apply, the largest network that so many rows can determine, and what would
help. Exit code 0: a route applies; 3: recover would refuse these samples.

Examples:
  exhume inspect x.npy y.npy
  exhume inspect table.csv --target y1,y2
  exhume inspect x.csv y.csv --json | jq .advice)");
    return app;
  }

  int run(const Session& session) override {
    samples_.check();
    const OpenedSamples opened = samples_.open(session.control);
    const Outlook found = inspect(opened.samples, opened.input_names, opened.output_names, session.control);
    session.show(to_document(found, opened.input_names, opened.output_names),
                 [&] { return to_terminal(found, opened); });
    return found.fits() ? kOk : kNotCertified;
  }

 private:
  static std::string to_terminal(const Outlook& found, const OpenedSamples& opened) {
    std::string out =
        found.fits()
            ? fmt::format("{} {} rows, {} input{} and {} output{}.\n\n", toned(Tone::kGood, "Can be tried."),
                          grouped(found.rows), found.inputs, found.inputs == 1 ? "" : "s", found.outputs,
                          found.outputs == 1 ? "" : "s")
            : fmt::format("{} {}.\n\n", toned(Tone::kBad, "Will be refused."),
                          printable(found.obstacles.empty() ? "no route applies" : found.obstacles[0]));
    for (const Fact& fact : column_facts(opened.input_names, opened.output_names, opened.target))
      out += wrapped_line(fact.name, printable(fact.value));
    out += wrapped_line("precision", "outputs in " + found.precision);
    out += wrapped_line("linear part",
                        fmt::format("explains {:.3g}% of the outputs' variance", 100 * found.linear_share));
    out += wrapped_line(
        "units", fmt::format("up to {} can be determined with so many rows", grouped(found.most_hidden)));
    out += wrapped_line(
        "rows", found.distinct == found.looked_at
                    ? fmt::format("all {} looked at are different", grouped(found.looked_at))
                    : fmt::format("{} of {} looked at are repetitions",
                                  grouped(found.looked_at - found.distinct), grouped(found.looked_at)));
    out += wrapped_line("in memory",
                        fmt::format("{:.3g} MiB, if the rows are kept there", found.memory_bytes / kMiB));
    for (const Assumption& a : found.inspection.tests) {
      const std::string mark = a.holds ? toned(Tone::kGood, "holds") : toned(Tone::kWarn, "does not hold");
      out +=
          wrapped_line(&a == found.inspection.tests.data() ? "tests" : "",
                       fmt::format("{}: {} ({:.3g}, threshold {:.3g})", a.name, mark, a.value, a.threshold));
    }
    bool first = true;
    for (const RouteOutlook& route : found.routes) {
      out += wrapped_line(first ? "routes" : "",
                          fmt::format("{}: {}", route.route,
                                      route.applies ? toned(Tone::kGood, "applies") : printable(route.why)));
      first = false;
    }
    first = true;
    for (const std::string& words : found.advice) {
      const char* stop = words.ends_with('?') ? "" : ".";
      out += wrapped_line(first ? "note" : "", printable(words) + stop);
      first = false;
    }
    return out;
  }

  SampleArguments samples_;
};

}  // namespace

std::unique_ptr<Command> inspect_command() { return std::make_unique<Inspect>(); }

}  // namespace exhume::cli
