// Commands by name. A module lists its own (base/module.h); cmake/modules.cmake joins the lists of those that
// are built.
#pragma once

#include <memory>
#include <vector>

#include "command.h"

namespace exhume::cli {

struct CommandRow {
  const char* name;
  std::unique_ptr<Command> (*make)();
};
using CommandRows = std::vector<CommandRow>;

// Those of every module that was built, one list per module.
[[nodiscard]] std::vector<CommandRows> built_commands();

// All commands in the order of the help. One whose module was not built is named, and says so when it is run.
[[nodiscard]] std::vector<std::unique_ptr<Command>> make_commands();

}  // namespace exhume::cli
