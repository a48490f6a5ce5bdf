// The command that completes all others: it needs to see them.
#pragma once

#include "command.h"

namespace exhume::cli {

// `program` outlives the command.
[[nodiscard]] std::unique_ptr<Command> completion_command(const CLI::App& program);

}  // namespace exhume::cli
