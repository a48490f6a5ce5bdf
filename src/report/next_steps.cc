#include "report/next_steps.h"

#include <algorithm>
#include <string_view>

namespace exhume {
namespace {

struct Advice {
  std::string_view check;  // how its name begins
  const char* words;
};

constexpr const char* kMoreRows =
    "Give more rows: drawn like these, or where the network bends. For how many units the rows suffice, "
    "inspect says";
constexpr const char* kMoreTime =
    "Give more time (option budget), or the number of hidden units if you know it";
constexpr const char* kWider =
    "Spread the inputs further: a unit that bends nowhere within the samples looks linear, and its weights "
    "and signs cannot be told";
constexpr const char* kOtherKind =
    "Try several hidden layers (layers = auto), another kind of unit (options route and activation), or more "
    "hidden units; if the data come from a measurement, there may be no such network";
constexpr const char* kFewer = "Leave the number of hidden units to be found, or ask for fewer";
constexpr const char* kOutliers =
    "Look at the rows with the largest residuals: gross errors in a few outputs are what the route "
    "rectified-sparse-noise is for";
constexpr const char* kThresholds =
    "This command needs units with high thresholds on Gaussian inputs; where they bend near the middle of "
    "the data, recover finds them instead";

constexpr Advice kAdvice[] = {
    {"search finished within its budget", kMoreTime},
    {"no unit can be removed", kMoreTime},
    {"samples for every unknown", kMoreRows},
    {"rows held out", kMoreRows},
    {"every training entry reproduced", kMoreRows},
    {"every held-out entry reproduced", kMoreRows},
    {"held-out error as large as the noise", kMoreRows},
    {"rows on either side of every unit's kink", kMoreRows},
    {"weights determined at the size of the noise", kMoreRows},
    {"the samples are enough", kMoreRows},
    {"no linear term needed", kWider},
    {"no skip terms needed", kWider},
    {"signs of the units",
     "Spread the inputs further. Some networks have several choices of signs that agree "
     "everywhere: then the function is right, and the weights are one choice of several"},
    {"weights determined",
     "Give rows between the kinks of units that are nearly equal, or spread the inputs "
     "further: the function is right, other weights give it too"},
    {"weights of layer",
     "Give rows between the kinks of units that are nearly equal, or spread the inputs "
     "further: the function is right, other weights give it too"},
    {"every unit needed", kFewer},
    {"widths as asked for", kFewer},
    {"every layer has units", "Ask for fewer hidden layers"},
    {"outputs are not whole numbers",
     "Give scores, logits or probabilities in place of labels; for labels "
     "there are the commands halfspaces and memorize"},
    {"residuals of similar rows unrelated", kOtherKind},
    {"residuals unrelated along every unit", kOtherKind},
    {"residual unrelated to polynomials", kOtherKind},
    {"residual of mean zero everywhere",
     "If outputs were clipped, leave the clipped rows away; otherwise try "
     "several hidden layers or another kind of unit"},
    {"residual without heavy tails", kOutliers},
    {"noise of one size everywhere",
     "If the inputs were measured with noise, give exact ones; if the noise "
     "grows with the outputs, transform them (their logarithm, say)"},
    {"at least one hidden unit",
     "Check that rows of inputs and outputs belong together and that no column is "
     "missing; a linear model may be all there is"},
    {"no structure left", kOtherKind},
    {"rows reproduced", kOtherKind},
    {"training entries reproduced", kOtherKind},
    {"held-out entries reproduced", kMoreRows},
    {"training rows reproduced to rounding",
     "This route needs outputs without noise; the route auto tries those that do not"},
    {"entries as given reproduced", kOutliers},
    {"signs decided", kMoreRows},
    {"answers every logged",
     "Ask for another precision or domain: the oracle rounds more than it "
     "seemed to, or is no network of ReLUs"},
    {"answers fresh random", "Allow more queries, or more time (option budget)"},
    {"labels ",
     "Give more units, more time, or rows that differ: equal rows with different labels cannot be met"},
    {"the inputs are Gaussian", kThresholds},
    {"units stand out in the moments", kThresholds},
    {"thresholds are high", kThresholds},
    {"the nonlinear part is small", kThresholds},
    {"the set agrees with held-out labels", "Give more rows, or the number of halfspaces if you know it"},
};

}  // namespace

std::vector<std::string> next_steps(Status status, const std::vector<std::string>& failed, bool samples) {
  std::vector<std::string> steps;
  if (stands(status)) return steps;
  const auto add = [&](std::string words) {
    if (std::find(steps.begin(), steps.end(), words) == steps.end()) steps.push_back(std::move(words));
  };
  for (const std::string& name : failed) {
    for (const Advice& advice : kAdvice) {
      if (!name.starts_with(advice.check)) continue;
      add(advice.words);
      break;
    }
  }
  if (samples) {
    add("Run inspect on these samples: it says in seconds which routes apply, why others do not, and what "
        "would help");
  }
  return steps;
}

std::vector<std::string> next_steps(const Certificate& certificate) {
  std::vector<std::string> failed;
  for (const Assumption& a : certificate.assumptions) {
    if (a.required && !a.holds) failed.push_back(a.name);
  }
  return next_steps(certificate.status, failed, !certificate.files.empty());
}

}  // namespace exhume
