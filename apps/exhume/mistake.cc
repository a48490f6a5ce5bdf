#include "mistake.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "option_table.h"
#include "suggest.h"

namespace exhume::cli {
namespace {

std::string last_word(const std::string& text) { return text.substr(text.rfind(' ') + 1); }

std::string first_line(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

std::vector<std::string> option_names(const CommandTable& table) {
  std::vector<std::string> names;
  for (const OptionRow& option : table.options)
    names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

// The first word that looks like an option and is none.
std::string unknown_option(const CommandTable& table, const std::vector<std::string>& arguments) {
  const std::vector<std::string> names = option_names(table);
  for (const std::string& word : arguments) {
    if (word == "--") break;
    if (!word.starts_with("--")) continue;
    const std::string name = word.substr(0, word.find('='));
    if (std::find(names.begin(), names.end(), name) == names.end()) return name;
  }
  return "";
}

}  // namespace

std::string mistake(const CLI::App& program, const std::vector<std::string>& arguments,
                    const CLI::ParseError& error) {
  const CommandTable all = option_table(program);
  const auto word = std::find_if(arguments.begin(), arguments.end(),
                                 [](const std::string& argument) { return !argument.starts_with("-"); });
  const CommandTable* asked = &all;
  if (word != arguments.end()) {
    std::vector<std::string> names;
    asked = nullptr;
    for (const CommandTable& command : all.commands) {
      names.push_back(last_word(command.name));
      if (names.back() == *word) asked = &command;
    }
    if (asked == nullptr) {
      return fmt::format("there is no command '{}'; {}", *word,
                         did_you_mean(*word, names, "exhume --help lists them"));
    }
  }
  const std::string see = fmt::format("see {} --help", asked->name);
  if (const std::string name = unknown_option(*asked, arguments); !name.empty())
    return fmt::format("{} has no option {}; {}", asked->name, name,
                       did_you_mean(name, option_names(*asked), see));
  return fmt::format("{}; {}", first_line(error.what()), see);
}

}  // namespace exhume::cli
