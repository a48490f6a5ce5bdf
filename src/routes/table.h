// The routes from samples to a network, as a table: what each is called, asks for and reads.
//
// A route is one theorem under one assumption on the data. Help, option checks, shell completion, the Python
// package and the documentation all read this table; CONTRIBUTING.md shows how a route is added.
#pragma once

#include <string>
#include <vector>

#include "exhume/options.h"
#include "routes/finds.h"

namespace exhume {

struct RouteInfo {
  std::string name;
  std::string group;      // where not empty: a name that stands for several routes, this one among them
  std::string about;      // one line
  std::string condition;  // when it applies, in words
  Finds finds = Finds::kNetwork;
  bool automatic = false;            // tried where no route is named
  std::vector<std::string> options;  // fields of its options that it reads beyond those that all read
};

// In the order in which they are tried.
[[nodiscard]] const std::vector<RouteInfo>& route_table();

// Throws std::invalid_argument where no route to a network of this depth is called options.route (or "auto"),
// and where `options` sets a field that the route does not read.
void check_route(const RecoverOptions& options);

}  // namespace exhume
