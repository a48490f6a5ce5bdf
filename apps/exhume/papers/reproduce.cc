// exhume reproduce: a paper's experiments again, figures and numbers.
#include <fmt/format.h>

#include "../../experiments/experiment.h"
#include "command.h"

namespace exhume::cli {
namespace {

using experiments::Experiment, experiments::kExperiments;

class Reproduce final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    CLI::App* app = parent.add_subcommand("reproduce", "Run a paper's experiments again");
    std::string list;
    std::vector<std::string> names;
    for (const Experiment& entry : kExperiments) {
      list += fmt::format("  {:<12} {}\n", entry.name, entry.about);
      names.emplace_back(entry.name);
    }
    app->add_option("experiment", name_, "Which one")->required()->check(CLI::IsMember(names));
    add_folder(*app, "--out,-o", out_,
               "Folder for figures (.svg), numbers (.csv) and findings (.json) [reproduced]");
    add_folder(*app, "--data", data_, "Folder with the data sets [examples/data]");
    app->add_option("--seed", seed_, "Seed of every random choice [0]");
    app->add_flag("--quick", quick_, "The short form: fewer points, trials or iterations");
    app->footer("Experiments:\n" + list + "\nExit code 0 where everything holds that should, 3 otherwise.");
    return app;
  }

  int run(const Session& session) override {
    const experiments::Options options{out_, data_, seed_, quick_, session.control};
    const experiments::Report report = experiments::find_experiment(name_).run(options);
    session.show(to_document(name_, options, report), [&] { return to_terminal(report); });
    return report.holds() ? kOk : kNotCertified;
  }

 private:
  [[nodiscard]] std::string to_terminal(const experiments::Report& report) const {
    std::string out;
    for (const auto& f : report.findings) {
      const std::string mark = f.should.empty()
                                   ? ""
                                   : toned(f.holds ? Tone::kGood : Tone::kBad,
                                           fmt::format("  {} ({})", f.holds ? "holds" : "fails", f.should));
      out += fmt::format("  {:<72} {:>12.5g}{}\n", f.name, f.value, mark);
    }
    return out + fmt::format("written to {}: {} files\n", out_, report.files.size());
  }

  std::string name_, out_ = "reproduced", data_ = "examples/data";
  std::uint64_t seed_ = 0;
  bool quick_ = false;
};

}  // namespace

std::unique_ptr<Command> reproduce_command() { return std::make_unique<Reproduce>(); }

}  // namespace exhume::cli
