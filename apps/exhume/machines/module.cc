// The commands of the module machines.
#include "commands.h"

namespace exhume::cli {

std::unique_ptr<Command> moments_command();
std::unique_ptr<Command> sums_command();
std::unique_ptr<Command> step_command();

CommandRows machines_commands() {
  return {{"moments", moments_command}, {"sums", sums_command}, {"step", step_command}};
}

}  // namespace exhume::cli
