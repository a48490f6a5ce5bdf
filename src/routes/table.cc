#include "routes/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/module.h"
#include "routes/route.h"

#include "model/activation_table.h"

namespace exhume {

namespace {

std::vector<Route>& table() {
  static std::vector<Route> rows;
  return rows;
}

}  // namespace

void add_routes(const std::vector<Route>& rows) { table().insert(table().end(), rows.begin(), rows.end()); }

const std::vector<Route>& routes() {
  register_modules();
  return table();
}

const std::vector<RouteInfo>& route_table() {
  static const std::vector<RouteInfo> kTable = [] {
    std::vector<RouteInfo> table;
    for (const Route& route : routes()) {
      table.push_back({route.name,
                       route.group,
                       route.about,
                       route.condition,
                       route.finds,
                       route.automatic,
                       {route.reads.begin(), route.reads.end()}});
    }
    return table;
  }();
  return kTable;
}

void check_route(const RecoverOptions& options) {
  const std::string& name = options.route;
  const Finds finds = options.depth() > 1 ? Finds::kDeepNetwork : Finds::kNetwork;
  std::vector<std::string> known = {"auto"};
  std::vector<std::string> reads;
  bool found = name == "auto";
  for (const RouteInfo& route : route_table()) {
    if (route.finds != finds) continue;
    known.push_back(route.name);
    if (route.name != name && route.group != name && !(name == "auto" && route.automatic)) continue;
    found = true;
    reads.insert(reads.end(), route.options.begin(), route.options.end());
  }
  if (!found) {
    throw std::invalid_argument(fmt::format("route is '{}', expected {}{}", name, fmt::join(known, ", "),
                                            finds == Finds::kNetwork ? "" : " for several hidden layers"));
  }
  const RecoverOptions defaults;
  const auto check = [&](const char* field, bool set) {
    if (set && std::find(reads.begin(), reads.end(), field) == reads.end()) {
      throw std::invalid_argument(fmt::format("{} was given, but route {} does not read it", field, name));
    }
  };
  check("leak", options.leak != defaults.leak);
  check("activation", options.unit_name() != defaults.unit_name());
  const ActivationRow* row = find_activation(options.activation);
  if (row != nullptr && row->smooth && name != "auto" && name != "smooth" && finds == Finds::kNetwork) {
    throw std::invalid_argument(
        fmt::format("activation is {}, which the route smooth finds, but route is {}", row->name, name));
  }
  check("candidates", options.candidates != defaults.candidates);
  check("most_patterns", options.most_patterns != defaults.most_patterns);
}

}  // namespace exhume
