#include "option_table.h"

#include <algorithm>

namespace exhume::cli {
namespace {

// What stands for the value of an option in help: its type, or what add_file and the like call it.
std::string value_of(const CLI::Option& option) {
  if (option.get_expected_max() == 0) return "";
  const std::string type = option.get_type_name();
  if (type.starts_with("INT") || type.starts_with("UINT")) return "N";
  if (type.starts_with("FLOAT")) return "NUMBER";
  return type.substr(0, type.find(':'));
}

OptionRow row(const CLI::Option& option) {
  OptionRow row;
  std::string name = option.get_positional() ? option.get_name(true) : "";
  for (const std::string& letter : option.get_snames()) row.names.push_back("-" + letter);
  for (const std::string& word : option.get_lnames()) {
    row.names.push_back("--" + word);
    name = word;
  }
  if (row.names.empty()) row.names.push_back(name);
  row.value = value_of(option);
  row.about = option.get_description();
  row.required = option.get_required();
  row.many = option.get_expected_max() > 1;
  return row;
}

}  // namespace

CommandTable option_table(const CLI::App& app) {
  CommandTable table;
  const CLI::App* parent = app.get_parent();
  table.name = (parent != nullptr ? parent->get_name() + " " : "") + app.get_name();
  table.about = app.get_description();
  for (const CLI::Option* option : app.get_options()) {
    const bool argument =
        option->get_positional() && option->get_lnames().empty() && option->get_snames().empty();
    (argument ? table.arguments : table.options).push_back(row(*option));
  }
  // --help comes last: everybody knows it.
  std::stable_partition(table.options.begin(), table.options.end(), [](const OptionRow& option) {
    return option.names.back() != "--help" && option.names.back() != "--version";
  });
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    table.commands.push_back(option_table(*command));
  table.footer = app.get_footer();
  return table;
}

}  // namespace exhume::cli
