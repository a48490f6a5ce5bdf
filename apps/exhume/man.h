// Manual pages, made from the commands themselves.
#pragma once

#include <string>

#include "command.h"
#include "option_table.h"

namespace exhume::cli {

// One page in roff, section 1; `program` for the commands beside it.
[[nodiscard]] std::string man_page(const CommandTable& table, const CommandTable& program);

// `program` outlives the command.
[[nodiscard]] std::unique_ptr<Command> man_command(const CLI::App& program);

}  // namespace exhume::cli
