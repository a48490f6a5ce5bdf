// The one engine behind recover, lowest_layer and halfspaces: prepares the samples, tries routes, keeps the
// best.
//
//     demands -> repair -> prepare -> for each route of the plan: applies -> start -> finish -> enough?
//
// With a route named, the plan is that route (and what the table tries after it); with "auto", every
// automatic route, in the order of the table. A route whose condition does not hold is passed over, and
// `tried` says why; one that was named is taken all the same where it could at least notice that it is wrong.
// Routes share the time: each gets half of what is left, the last one all of it.
#pragma once

#include <memory>
#include <string>

#include "base/stage_clock.h"
#include "routes/route.h"

namespace exhume {

struct RouteRun {
  const Route* route = nullptr;    // the one that won
  std::string name;                // as the result calls it
  std::unique_ptr<Prepared> data;  // empty where the samples were refused before they were prepared
  Found found;
  Control control;  // with the deadline of the search
};

struct Plan {
  Finds finds = Finds::kNetwork;
  RecoverOptions options;                     // options.route is the one to take
  const LowestLayerOptions* layer = nullptr;  // where a lowest layer is to be found
  const Route* only = nullptr;                // this one, whatever the table holds
  bool some_rows = false;  // where rows are plenty, the search sees a part (Prepared::search_some)
  // Where set: the route to begin with, and its units, (w, b) per row in the coordinates of the samples.
  const Route* begin_with = nullptr;
  Matrix begin_from{};
  // Does what was found look final? Asked after every route; empty: yes.
  bool (*looks_final)(Found& found, Prepared& data, const Control& control) = nullptr;
};

// Fills tried, assumptions (those of conditions), route and the rows of `certificate`.
[[nodiscard]] RouteRun run_routes(const SamplePtr& samples, const Plan& plan, Certificate& certificate,
                                  StageClock& clock, const Control& control);

// The rows of the table that a plan tries, in order.
[[nodiscard]] std::vector<const Route*> planned_routes(const Plan& plan);

}  // namespace exhume
