// The commands of the module extract.
#include "commands.h"

namespace exhume::cli {

std::unique_ptr<Command> extract_command();

CommandRows extract_commands() { return {{"extract", extract_command}}; }

}  // namespace exhume::cli
