#include "commands.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/module.h"

namespace exhume::cli {
namespace {

struct Place {
  const char* name;
  const char* module;
};

// The order of the help, and where each command is.
constexpr std::array<Place, 17> kOrder = {{{"generate", "core"},
                                           {"inspect", "core"},
                                           {"recover", "core"},
                                           {"extract", "extract"},
                                           {"compare", "core"},
                                           {"verify", "core"},
                                           {"report", "core"},
                                           {"memorize", "papers"},
                                           {"reproduce", "papers"},
                                           {"diagnose", "papers"},
                                           {"lowest-layer", "papers"},
                                           {"halfspaces", "papers"},
                                           {"routes", "core"},
                                           {"keys", "core"},
                                           {"moments", "machines"},
                                           {"sums", "machines"},
                                           {"step", "machines"}}};

// Stands for a command of a module that was not built.
class MissingCommand final : public Command {
 public:
  explicit MissingCommand(const Place& place) : place_(place) {}
  CLI::App* declare(CLI::App& parent) override {
    CLI::App* app = parent.add_subcommand(
        place_.name, std::string("In the module ") + place_.module + ", which was not built.");
    app->allow_extras();
    return app;
  }
  int run(const Session&) override {
    throw MissingModule(std::string("exhume ") + place_.name, place_.module);
  }

 private:
  Place place_;
};

}  // namespace

std::vector<std::unique_ptr<Command>> make_commands() {
  CommandRows rows;
  for (const CommandRows& module : built_commands()) rows.insert(rows.end(), module.begin(), module.end());
  std::vector<std::unique_ptr<Command>> commands;
  for (const Place& place : kOrder) {
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const CommandRow& candidate) {
      return std::string_view(candidate.name) == place.name;
    });
    if (row == rows.end()) {
      commands.push_back(std::make_unique<MissingCommand>(place));
    } else {
      commands.push_back(row->make());
    }
  }
  return commands;
}

}  // namespace exhume::cli
