// exhume completion: a script that completes commands, options and routes in a shell, made from the commands
// themselves.
#include "completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "option_table.h"
#include "routes/table.h"
#include "terminal.h"

namespace exhume::cli {
namespace {

std::vector<std::string> route_words() {
  std::vector<std::string> words = {"auto", "rectified"};
  for (const RouteInfo& route : route_table()) {
    if (route.finds == Finds::kNetwork) words.push_back(route.name);
  }
  return words;
}

std::string command_name(const CommandTable& command) {
  return command.name.substr(command.name.find(' ') + 1);
}

// Within single quotation marks of a shell.
std::string shell_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out;
}

// `text` up to the end of its first part: what fits beside a completion.
std::string brief(const std::string& text) {
  return text.substr(0, std::min(text.find_first_of(";:,("), text.size()));
}

// What follows an option in zsh: routes, folders, files, or any word.
std::string zsh_value(const OptionRow& option) {
  if (option.value.empty()) return "";
  if (option.names.back() == "--route") return fmt::format(":route:({})", fmt::join(route_words(), " "));
  if (option.value == "DIR") return ":folder:_files -/";
  if (option.value == "FILE") return ":file:_files";
  return ":" + option.value + ":";
}

std::string bash_script(const CommandTable& program) {
  std::vector<std::string> commands;
  std::string cases;
  for (const CommandTable& command : program.commands) {
    commands.push_back(command_name(command));
    std::vector<std::string> words;
    for (const OptionRow& option : command.options) words.push_back(option.names.back());
    cases += fmt::format("    {}) words=\"{}\" ;;\n", commands.back(), fmt::join(words, " "));
  }
  return fmt::format(R"(# bash completion for exhume
_exhume() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} words=""
  local commands="{0}"
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W "$commands --help --version" -- "$word"))
    return
  fi
  if [[ $before == --route ]]; then
    COMPREPLY=($(compgen -W "{1}" -- "$word"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
    help | man) [[ $word == -* ]] || {{ COMPREPLY=($(compgen -W "$commands" -- "$word")); return; }} ;;
  esac
  case ${{COMP_WORDS[1]}} in
{2}  esac
  [[ $word == -* ]] && COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _exhume exhume
)",
                     fmt::join(commands, " "), fmt::join(route_words(), " "), cases);
}

std::string zsh_script(const CommandTable& program) {
  std::string commands, cases;
  const auto described = [](std::string text) {
    std::string out;
    for (const char c : text)
      out += c == ':' || c == '[' || c == ']' ? std::string("\\") + c : std::string(1, c);
    return shell_text(out);
  };
  for (const CommandTable& command : program.commands) {
    commands += fmt::format("    '{}:{}'\n", command_name(command), described(command.about));
    std::string lines;
    for (const OptionRow& option : command.options) {
      for (const std::string& name : option.names) {
        lines +=
            fmt::format("        '{}[{}]{}' \\\n", name, described(brief(option.about)), zsh_value(option));
      }
    }
    const bool words = command_name(command) == "help" || command_name(command) == "man";
    cases += fmt::format("      {})\n        _arguments \\\n{}        {}\n        ;;\n",
                         command_name(command), lines, words ? "'*:command:($names)'" : "'*:file:_files'");
  }
  return fmt::format(R"(#compdef exhume
# zsh completion for exhume
_exhume() {{
  local -a commands names
  commands=(
{})
  names=(${{commands%%:*}})
  if ((CURRENT == 2)); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  ((CURRENT--))
  case $command in
{}  esac
}}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _exhume "$@"
else
  compdef _exhume exhume
fi
)",
                     commands, cases);
}

std::string fish_script(const CommandTable& program) {
  std::string out = "# fish completion for exhume\n";
  for (const CommandTable& command : program.commands) {
    const std::string name = command_name(command);
    out += fmt::format("complete -c exhume -f -n __fish_use_subcommand -a {} -d '{}'\n", name,
                       shell_text(command.about));
    const std::string where = fmt::format("complete -c exhume -n '__fish_seen_subcommand_from {}'", name);
    for (const OptionRow& option : command.options) {
      out += where;
      for (const std::string& word : option.names)
        out += word.starts_with("--") ? " -l " + word.substr(2) : " -s " + word.substr(1);
      if (option.names.back() == "--route") {
        out += fmt::format(" -x -a '{}'", fmt::join(route_words(), " "));
      } else if (option.value == "FILE" || option.value == "DIR") {
        out += " -r";
      } else if (!option.value.empty()) {
        out += " -x";
      }
      out += fmt::format(" -d '{}'\n", shell_text(brief(option.about)));
    }
  }
  return out;
}

class Completion final : public Command {
 public:
  explicit Completion(const CLI::App& program) : program_(program) {}

  CLI::App* declare(CLI::App& parent) override {
    CLI::App* app =
        parent.add_subcommand("completion", "Print a script that completes commands and options in a shell");
    app->add_option("shell", shell_, "bash, zsh or fish [bash]")
        ->check(CLI::IsMember({"bash", "zsh", "fish"}).description(""));
    app->footer(R"(Examples:
  source <(exhume completion)
  exhume completion zsh > "${fpath[1]}/_exhume"
  exhume completion fish > ~/.config/fish/completions/exhume.fish)");
    return app;
  }

  int run(const Session& /*session*/) override {
    const CommandTable program = option_table(program_);
    put(shell_ == "zsh"    ? zsh_script(program)
        : shell_ == "fish" ? fish_script(program)
                           : bash_script(program));
    return kOk;
  }

 private:
  const CLI::App& program_;
  std::string shell_ = "bash";
};

}  // namespace

std::unique_ptr<Command> completion_command(const CLI::App& program) {
  return std::make_unique<Completion>(program);
}

}  // namespace exhume::cli
