// exhume routes: the table of routes, for people and for programs.
#include <fmt/format.h>

#include "base/json.h"
#include "command.h"
#include "routes/table.h"
#include "terminal.h"

namespace exhume::cli {
namespace {

class Routes final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    CLI::App* app =
        parent.add_subcommand("routes", "List the routes from samples to a network, and when they apply");
    app->footer("Examples:\n  exhume routes\n  exhume routes --json | jq -r '.[].name'");
    return app;
  }

  int run(const Session& session) override {
    if (session.json) {
      Json list = Json::array();
      for (const RouteInfo& route : route_table()) {
        list.push_back({{"name", route.name},
                        {"group", route.group},
                        {"about", route.about},
                        {"condition", route.condition},
                        {"finds", to_string(route.finds)},
                        {"automatic", route.automatic},
                        {"options", route.options}});
      }
      put(to_text(list) + "\n");
      return kOk;
    }
    for (const RouteInfo& route : route_table()) {
      put(fmt::format("{}{}\n    {}\n    {}\n", toned(Tone::kBold, route.name),
                      route.automatic ? toned(Tone::kSoft, "  tried where no route is named") : "",
                      route.about, toned(Tone::kSoft, "applies: " + route.condition)));
    }
    return kOk;
  }
};

}  // namespace

std::unique_ptr<Command> routes_command() { return std::make_unique<Routes>(); }

}  // namespace exhume::cli
