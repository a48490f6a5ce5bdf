// exhume inspect: do these samples fit the problem, and what would help?
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/json.h"
#include "command.h"
#include "delivery.h"
#include "io/column_names.h"
#include "io/open.h"
#include "routes/outlook.h"
#include "sample_arguments.h"
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
    CLI::App* app =
        parent.add_subcommand("inspect", "Say what can be expected of samples before anything is fitted");
    samples_.declare(*app, kSamplesHelp);
    samples_.declare_target(*app);
    app->footer(
        "Looks at up to 100,000 rows, which takes seconds: shape, repeats, precision, distribution, the "
        "routes that "
        "apply, the largest network that so many rows can determine, and what would help.\n"
        "Exit code 0: a route applies; 3: recover would refuse these samples.\n\n"
        "Examples:\n"
        "  exhume inspect x.npy y.npy\n"
        "  exhume inspect table.csv --target y1,y2\n"
        "  exhume inspect x.csv y.csv --json | jq .advice");
    return app;
  }

  int run(const Session& session) override {
    samples_.check();
    const OpenedSamples opened = samples_.open(session.control);
    Outlook found = outlook(opened.samples, session.control);
    for (std::vector<std::string>* list : {&found.advice, &found.obstacles}) {
      for (std::string& words : *list)
        words = with_column_names(words, opened.input_names, opened.output_names);
    }
    const bool good = found.obstacles.empty() && std::any_of(found.routes.begin(), found.routes.end(),
                                                             [](const RouteOutlook& r) { return r.applies; });
    if (session.json) {
      put(to_text(to_json(found, opened, good)) + "\n");
    } else if (!session.quiet) {
      put(to_terminal(found, opened, good));
    }
    return good ? kOk : kNotCertified;
  }

 private:
  static Json to_json(const Outlook& found, const OpenedSamples& opened, bool good) {
    Json json = {{"fits", good},
                 {"rows", found.rows},
                 {"rows_looked_at", found.looked_at},
                 {"distinct_rows_looked_at", found.distinct},
                 {"inputs", found.inputs},
                 {"outputs", found.outputs},
                 {"precision", found.precision},
                 {"gaussian", found.inspection.gaussian},
                 {"symmetric", found.inspection.symmetric},
                 {"linear_share", number(found.linear_share)},
                 {"most_hidden", found.most_hidden},
                 {"memory_bytes", number(found.memory_bytes)},
                 {"tests", Json::array()},
                 {"routes", Json::array()},
                 {"obstacles", found.obstacles},
                 {"advice", found.advice}};
    if (!opened.input_names.empty()) json["input_names"] = opened.input_names;
    if (!opened.output_names.empty()) json["output_names"] = opened.output_names;
    for (const Assumption& a : found.inspection.tests) {
      json["tests"].push_back({{"name", a.name},
                               {"value", number(a.value)},
                               {"threshold", number(a.threshold)},
                               {"holds", a.holds}});
    }
    for (const RouteOutlook& route : found.routes)
      json["routes"].push_back({{"route", route.route}, {"applies", route.applies}, {"why", route.why}});
    return json;
  }

  static std::string to_terminal(const Outlook& found, const OpenedSamples& opened, bool good) {
    std::string out =
        good ? fmt::format("{} {} rows, {} input{} and {} output{}.\n\n", toned(Tone::kGood, "Can be tried."),
                           grouped(found.rows), found.inputs, found.inputs == 1 ? "" : "s", found.outputs,
                           found.outputs == 1 ? "" : "s")
             : fmt::format("{} {}.\n\n", toned(Tone::kBad, "Will be refused."),
                           printable(found.obstacles.empty() ? "no route applies" : found.obstacles[0]));
    for (const Fact& fact : column_facts(opened.input_names, opened.output_names, opened.target))
      out += wrapped_line(fact.name, printable(fact.value));
    out += wrapped_line("precision", "outputs in " + found.precision);
    out += wrapped_line("linear part",
                        fmt::format("explains {:.3g}% of the outputs' variance", 100 * found.linear_share));
    out += wrapped_line("units",
                        fmt::format("up to {}, for which the rows are plenty", grouped(found.most_hidden)));
    out += wrapped_line(
        "rows", found.distinct == found.looked_at
                    ? fmt::format("all {} looked at are different", grouped(found.looked_at))
                    : fmt::format("{} of {} looked at are repetitions",
                                  grouped(found.looked_at - found.distinct), grouped(found.looked_at)));
    out +=
        wrapped_line("in memory", fmt::format("{:.3g} MiB, if it is kept there", found.memory_bytes / kMiB));
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
