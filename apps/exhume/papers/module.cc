// The commands of the module papers.
#include "commands.h"

namespace exhume::cli {

std::unique_ptr<Command> memorize_command();
std::unique_ptr<Command> reproduce_command();
std::unique_ptr<Command> diagnose_command();
std::unique_ptr<Command> lowest_layer_command();
std::unique_ptr<Command> halfspaces_command();

CommandRows papers_commands() {
  return {{"memorize", memorize_command},
          {"reproduce", reproduce_command},
          {"diagnose", diagnose_command},
          {"lowest-layer", lowest_layer_command},
          {"halfspaces", halfspaces_command}};
}

}  // namespace exhume::cli
