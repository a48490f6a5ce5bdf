// What --help prints, wrapped at the width of the terminal; and `exhume help COMMAND`, the same in other
// words.
#pragma once

#include <string>

#include "command.h"
#include "option_table.h"

namespace exhume::cli {

[[nodiscard]] std::string help_text(const CommandTable& table, int width);

// Makes `program` and its commands print their help so. To be called before commands are added.
void wrap_help(CLI::App& program);

// `program` outlives the command.
[[nodiscard]] std::unique_ptr<Command> help_command(const CLI::App& program);

}  // namespace exhume::cli
