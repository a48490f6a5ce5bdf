// The commands of the core.
#include "commands.h"

namespace exhume::cli {

std::unique_ptr<Command> generate_command();
std::unique_ptr<Command> inspect_command();
std::unique_ptr<Command> recover_command();
std::unique_ptr<Command> compare_command();
std::unique_ptr<Command> verify_command();
std::unique_ptr<Command> report_command();
std::unique_ptr<Command> routes_command();
std::unique_ptr<Command> keys_command();

CommandRows core_commands() {
  return {{"generate", generate_command}, {"inspect", inspect_command}, {"recover", recover_command},
          {"compare", compare_command},   {"verify", verify_command},   {"report", report_command},
          {"routes", routes_command},     {"keys", keys_command}};
}

}  // namespace exhume::cli
