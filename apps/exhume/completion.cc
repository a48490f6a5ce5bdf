// exhume completion: a script that completes commands, options and routes in bash, made from the commands
// themselves.
#include "completion.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "exhume/routes/table.h"
#include "terminal.h"

namespace exhume::cli {
namespace {

std::string route_words() {
  std::string words = "auto rectified";
  for (const RouteInfo& route : route_table()) {
    if (route.finds == Finds::kNetwork) words += " " + route.name;
  }
  return words;
}

class Completion final : public Command {
 public:
  explicit Completion(const CLI::App& program) : program_(program) {}

  CLI::App* declare(CLI::App& parent) override {
    CLI::App* app =
        parent.add_subcommand("completion", "Print a script that completes commands and options in bash");
    app->footer(
        "Examples:\n  source <(exhume completion)\n  exhume completion > /etc/bash_completion.d/exhume");
    return app;
  }

  int run(const Session& /*session*/) override {
    std::string commands, cases;
    for (const CLI::App* command : program_.get_subcommands([](const CLI::App*) { return true; })) {
      commands += (commands.empty() ? "" : " ") + command->get_name();
      std::string options;
      for (const CLI::Option* option : command->get_options()) {
        for (const std::string& name : option->get_lnames())
          options += (options.empty() ? "--" : " --") + name;
      }
      cases += fmt::format("    {}) words=\"{}\" ;;\n", command->get_name(), options);
    }
    put(fmt::format(R"(# bash completion for exhume
_exhume() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} words=""
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W "{}" -- "$word"))
    return
  fi
  if [[ $before == --route ]]; then
    COMPREPLY=($(compgen -W "{}" -- "$word"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
{}  esac
  [[ $word == -* ]] && COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _exhume exhume
)",
                    commands, route_words(), cases));
    return kOk;
  }

 private:
  const CLI::App& program_;
};

}  // namespace

std::unique_ptr<Command> completion_command(const CLI::App& program) {
  return std::make_unique<Completion>(program);
}

}  // namespace exhume::cli
