// What stands for the later commands where EXHUME_PARTS is `first` (cmake/parts.cmake): they are named, and
// say how to get them.
#include <fmt/format.h>

#include <stdexcept>

#include "command.h"

namespace exhume::cli {
namespace {

[[noreturn]] void not_built(const std::string& what) {
  throw std::invalid_argument(fmt::format(
      "{} is not in this build, which has what `make demo` runs; `make program` builds the rest", what));
}

class NotBuilt final : public Command {
 public:
  explicit NotBuilt(const char* name) : name_(name) {}
  CLI::App* declare(CLI::App& parent) override {
    CLI::App* app = parent.add_subcommand(name_, "Not in this build; `make program` builds it.");
    app->allow_extras();
    return app;
  }
  int run(const Session&) override { not_built(std::string("exhume ") + name_); }

 private:
  const char* name_;
};

}  // namespace

std::unique_ptr<Command> diagnose_command() { return std::make_unique<NotBuilt>("diagnose"); }
std::unique_ptr<Command> keys_command() { return std::make_unique<NotBuilt>("keys"); }
std::unique_ptr<Command> moments_command() { return std::make_unique<NotBuilt>("moments"); }
std::unique_ptr<Command> sums_command() { return std::make_unique<NotBuilt>("sums"); }
std::unique_ptr<Command> step_command() { return std::make_unique<NotBuilt>("step"); }
std::unique_ptr<Command> extract_command() { return std::make_unique<NotBuilt>("extract"); }
std::unique_ptr<Command> memorize_command() { return std::make_unique<NotBuilt>("memorize"); }
std::unique_ptr<Command> reproduce_command() { return std::make_unique<NotBuilt>("reproduce"); }
std::unique_ptr<Command> lowest_layer_command() { return std::make_unique<NotBuilt>("lowest-layer"); }
std::unique_ptr<Command> halfspaces_command() { return std::make_unique<NotBuilt>("halfspaces"); }

}  // namespace exhume::cli
