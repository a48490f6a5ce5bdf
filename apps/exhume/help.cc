// exhume help: what a command's --help prints.
#include "help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

#include "suggest.h"
#include "terminal.h"
#include "wrap.h"

namespace exhume::cli {
namespace {

constexpr int kNarrowest = 40, kWidest = 110;  // lines longer than that nobody reads
constexpr int kColumn = 28;                    // where descriptions begin

std::string entry(const std::string& names, std::string_view about, int width) {
  const int column = width < 60 ? 8 : kColumn;
  std::string out = "  " + names;
  // Names that are too long stand on a line of their own.
  if (static_cast<int>(out.size()) + 2 > column) {
    out += "\n" + std::string(static_cast<std::size_t>(column), ' ');
  } else {
    out.append(static_cast<std::size_t>(column) - out.size(), ' ');
  }
  return out + wrapped(about, width, column, column) + "\n";
}

std::string names_of(const OptionRow& option) {
  std::string text = fmt::format("{}", fmt::join(option.names, ", "));
  if (!option.value.empty()) text += " " + option.value;
  return text;
}

std::string about_of(const OptionRow& option) {
  return option.about + (option.required && option.names.front().front() == '-' ? " (required)" : "");
}

int help_width() { return std::clamp(columns(STDOUT_FILENO), kNarrowest, kWidest); }

class Wrapped final : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string /*name*/,
                        CLI::AppFormatMode /*mode*/) const override {
    return help_text(option_table(*app), help_width());
  }
};

class Help final : public Command {
 public:
  explicit Help(const CLI::App& program) : program_(program) {}

  CLI::App* declare(CLI::App& parent) override {
    CLI::App* app = parent.add_subcommand("help", "Print the help of a command");
    app->add_option("command", command_, "Which one [all of them, in a line each]");
    app->footer("Examples:\n  exhume help\n  exhume help recover");
    return app;
  }

  int run(const Session& /*session*/) override {
    const CommandTable all = option_table(program_);
    if (command_.empty()) {
      put(help_text(all, help_width()));
      return kOk;
    }
    std::vector<std::string> names;
    for (const CommandTable& command : all.commands) {
      names.push_back(command.name.substr(command.name.find(' ') + 1));
      if (names.back() != command_) continue;
      put(help_text(command, help_width()));
      return kOk;
    }
    throw std::invalid_argument(fmt::format("there is no command '{}'; {}", command_,
                                            did_you_mean(command_, names, "'exhume help' lists them")));
  }

 private:
  const CLI::App& program_;
  std::string command_;
};

}  // namespace

std::string help_text(const CommandTable& table, int width) {
  std::string usage = "Usage: " + table.name;
  if (!table.options.empty()) usage += " [OPTIONS]";
  for (const OptionRow& argument : table.arguments) {
    const std::string name = argument.names.front() + (argument.many ? "..." : "");
    usage += argument.required ? " " + name : " [" + name + "]";
  }
  if (!table.commands.empty()) usage += " COMMAND";
  std::string out = wrapped(table.about, width, 0, 0) + "\n\n" + wrapped(usage, width, 4, 0) + "\n";
  if (!table.commands.empty()) out += "\nCommands:\n";
  for (const CommandTable& command : table.commands)
    out += entry(command.name.substr(command.name.find(' ') + 1), command.about, width);
  if (!table.arguments.empty()) out += "\nArguments:\n";
  for (const OptionRow& argument : table.arguments)
    out += entry(argument.names.front() + (argument.many ? "..." : ""), about_of(argument), width);
  if (!table.options.empty()) out += "\nOptions:\n";
  for (const OptionRow& option : table.options) out += entry(names_of(option), about_of(option), width);
  if (!table.footer.empty()) out += "\n" + wrapped_paragraphs(table.footer, width);
  return out;
}

void wrap_help(CLI::App& program) { program.formatter(std::make_shared<Wrapped>()); }

std::unique_ptr<Command> help_command(const CLI::App& program) { return std::make_unique<Help>(program); }

}  // namespace exhume::cli
