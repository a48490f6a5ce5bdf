// exhume man: the manual pages, as troff reads them.
#include "man.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

#include "exhume/version.h"
#include "io/output_folder.h"
#include "suggest.h"
#include "terminal.h"

namespace exhume::cli {
namespace {

// Text that troff prints as it is: no character of it is a request, hyphens can be copied.
std::string roff(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((i == 0 || text[i - 1] == '\n') && (c == '.' || c == '\'')) out += "\\&";
    if (c == '-') {
      out += "\\-";
    } else if (c == '\\') {
      out += "\\e";
    } else {
      out += c;
    }
  }
  return out;
}

std::string page_name(const CommandTable& table) {
  std::string name = table.name;
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::string synopsis(const CommandTable& table) {
  std::string out = fmt::format(".B {}\n", roff(table.name));
  if (!table.options.empty()) out += "[\\fIOPTIONS\\fR]\n";
  for (const OptionRow& argument : table.arguments) {
    const std::string name =
        fmt::format("\\fI{}\\fR{}", roff(argument.names.front()), argument.many ? "..." : "");
    out += argument.required ? name + "\n" : "[" + name + "]\n";
  }
  if (!table.commands.empty()) out += "\\fICOMMAND\\fR\n";
  return out;
}

std::string entry(const OptionRow& option) {
  std::string names;
  for (const std::string& name : option.names)
    names += (names.empty() ? "" : ", ") + ("\\fB" + roff(name) + "\\fR");
  if (!option.value.empty()) names += " \\fI" + option.value + "\\fR";
  return fmt::format(".TP\n{}\n{}{}\n", names, roff(option.about), option.required ? " (required)" : "");
}

// Paragraphs flow; lines that begin with blanks stay as they are.
std::string paragraphs(std::string_view text) {
  std::string out;
  bool kept = false, fresh = true;
  const auto keep = [&](bool wanted) {
    if (wanted == kept) return;
    out += wanted ? ".PP\n.nf\n" : ".fi\n";
    kept = wanted;
    fresh = !wanted;
  };
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find('\n', from), text.size());
    const std::string_view line = text.substr(from, to - from);
    from = to + 1;
    if (line.empty()) {
      keep(false);
      fresh = true;
      continue;
    }
    keep(line.front() == ' ');
    if (fresh) out += ".PP\n";
    fresh = false;
    out += roff(line) + "\n";
  }
  keep(false);
  return out;
}

class Man final : public Command {
 public:
  explicit Man(const CLI::App& program) : program_(program) {}

  CLI::App* declare(CLI::App& parent) override {
    CLI::App* app = parent.add_subcommand("man", "Print a manual page, or write all of them");
    app->add_option("command", command_, "Whose page [that of exhume itself]");
    add_folder(*app, "--out,-o", out_, "Folder to write all pages into: exhume.1, exhume-recover.1, ...");
    app->footer("Examples:\n  exhume man recover | man -l -\n  exhume man --out ~/.local/share/man/man1");
    return app;
  }

  int run(const Session& session) override {
    const CommandTable all = option_table(program_);
    if (!out_.empty()) {
      OutputFolder folder(out_);
      folder.add(page_name(all) + ".1", man_page(all, all));
      for (const CommandTable& command : all.commands)
        folder.add(page_name(command) + ".1", man_page(command, all));
      folder.commit();
      if (!session.quiet) put(fmt::format("{} manual pages, in {}.\n", all.commands.size() + 1, out_));
      return kOk;
    }
    if (command_.empty()) {
      put(man_page(all, all));
      return kOk;
    }
    std::vector<std::string> names;
    for (const CommandTable& command : all.commands) {
      names.push_back(command.name.substr(command.name.find(' ') + 1));
      if (names.back() != command_) continue;
      put(man_page(command, all));
      return kOk;
    }
    throw std::invalid_argument(fmt::format("there is no command '{}'; {}", command_,
                                            did_you_mean(command_, names, "exhume --help lists them")));
  }

 private:
  const CLI::App& program_;
  std::string command_, out_;
};

}  // namespace

std::string man_page(const CommandTable& table, const CommandTable& program) {
  const std::string name = page_name(table);
  std::string out =
      fmt::format(".TH {} 1 \"\" \"exhume {}\" \"Exhume\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n{}", name,
                  kVersion, roff(name), roff(table.about), synopsis(table));
  if (!table.commands.empty()) out += ".SH COMMANDS\n";
  for (const CommandTable& command : table.commands)
    out += fmt::format(".TP\n\\fB{}\\fR(1)\n{}\n", roff(page_name(command)), roff(command.about));
  if (!table.arguments.empty()) out += ".SH ARGUMENTS\n";
  for (const OptionRow& argument : table.arguments) out += entry(argument);
  if (!table.options.empty()) out += ".SH OPTIONS\n";
  for (const OptionRow& option : table.options) out += entry(option);
  if (!table.footer.empty()) out += ".SH NOTES\n" + paragraphs(table.footer);
  std::vector<std::string> others;
  for (const CommandTable& command : program.commands) {
    if (command.name != table.name) others.push_back(fmt::format("\\fB{}\\fR(1)", roff(page_name(command))));
  }
  if (table.commands.empty())
    out += fmt::format(".SH SEE ALSO\n\\fBexhume\\fR(1), {}\n", fmt::join(others, ", "));
  return out;
}

std::unique_ptr<Command> man_command(const CLI::App& program) { return std::make_unique<Man>(program); }

}  // namespace exhume::cli
