// The options of a command as a table: help, manual pages, completion and suggestions are all made from it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace exhume::cli {

struct OptionRow {
  std::vector<std::string> names;  // "-k", "--hidden"; of an argument, its name alone
  std::string value;               // "N", "FILE", "DIR", "NUMBER", "TEXT"; empty: a flag
  std::string about;
  bool required = false;
  bool many = false;  // takes several values
};

struct CommandTable {
  std::string name;   // "exhume", "exhume recover"
  std::string about;  // one line
  std::vector<OptionRow> arguments, options;
  std::vector<CommandTable> commands;
  std::string footer;  // paragraphs, and lines that begin with blanks: examples, tables
};

[[nodiscard]] CommandTable option_table(const CLI::App& app);

}  // namespace exhume::cli
