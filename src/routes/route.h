// A route: a row of the table that modules fill (add_routes).
//
//     applies   may its assumption be made of these data?      asked when its turn comes
//     start     rough units, or nothing                         (k', d+1) rows (w, b), signs open
//     finish    from there to what was found
//
// A route is told what to do by a Job and never splits, standardises, times or judges: the engine
// (routes/engine.h) does that for all of them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/stage_clock.h"
#include "exhume/activation.h"
#include "exhume/certificate.h"
#include "judge/found.h"
#include "judge/judged_network.h"
#include "judge/prepared.h"
#include "routes/finds.h"

namespace exhume {

struct LowestLayerOptions;

// Whether the samples look as if smooth units had made them (routes/fitted.h), and the reason in words.
struct UnitKind {
  bool smooth = false;
  bool open = false;  // not settled: it is looked at again where many ReLUs do not learn the function
  std::string why;
};

// What a route is given.
struct Job {
  Prepared& data;
  const RecoverOptions& options;
  const LowestLayerOptions* layer = nullptr;  // of routes to a lowest layer (exhume/papers/threshold.h)
  Control control;                            // with the time that this route may take
  StageClock& clock;
  std::optional<UnitKind>& kind;             // looked at once for all routes
  Rectifier rectifier = rectified_power(1);  // of options.activation
  bool named = false;                        // the user asked for this route
  bool noise_is_final = true;  // false: a residual that looks like noise to the search was seen not to be
};

enum class Applicable {
  kYes,
  kDoubtful,  // its assumption does not hold: taken only where it was named
  kNo,        // it could find nothing, or not notice that it is wrong: never taken
};

struct Applies {
  Applicable answer = Applicable::kYes;
  std::string why{};                    // where it is not kYes
  std::vector<Assumption> looked_at{};  // for the certificate
};

struct Start {
  Matrix V;                      // rough units, (any number) x (d+1)
  std::optional<bool> is_steps;  // lowest layers: outputs jump along the directions
  bool usable = true;  // false: nothing to go on, and nothing may be found in the name of this route
  std::string said;    // what it has to say for itself
  Spectrum spectrum;
  std::vector<double> descent{};  // relative mse on the way there, where there is one
};

struct Route {
  const char* name = "";
  const char* group = "";      // where set: naming it tries this route among others; the result has its name
  const char* about = "";      // one line
  const char* condition = "";  // when it applies, in words
  Finds finds = Finds::kNetwork;
  bool automatic = false;    // tried where no route is named
  bool alone = true;         // where it is named, nothing else is tried after it
  bool standardised = true;  // needs inputs and outputs with a spread
  HoldOut hold_out = HoldOut::kFitted;
  double search_share = 1;           // of the budget; the rest is for judging
  std::vector<const char*> reads{};  // options beyond those that all routes read

  // Throws DataError where the samples are too few to ask, or of the wrong shape.
  void (*demands)(const SampleSource& samples, const RecoverOptions& options) = nullptr;
  // Outputs repaired before anything else; empty where there is nothing to repair. May refuse.
  SamplePtr (*repair)(const SamplePtr& samples, const RecoverOptions& options, Found& found,
                      const Control& control) = nullptr;
  Applies (*applies)(Job& job) = nullptr;
  Start (*start)(Job& job) = nullptr;
  Found (*finish)(Job& job, const Start& start) = nullptr;
  // How what it found is judged; empty: as a network of one hidden layer.
  std::unique_ptr<JudgedNetwork> (*judged_as)(const JudgeInput& input) = nullptr;
  // Checks of the network against the samples as they were given, where they were repaired.
  void (*recheck)(const Network& network, const SampleSource& given, const RecoverOptions& options,
                  Checks& checks) = nullptr;
};

// Rows of a module, behind those that are there: called where modules register (base/module.h).
void add_routes(const std::vector<Route>& rows);
// All rows, in the order in which they are tried.
[[nodiscard]] const std::vector<Route>& routes();

}  // namespace exhume
