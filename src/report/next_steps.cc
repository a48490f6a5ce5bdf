#include "report/next_steps.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "exhume/certificate.h"

namespace exhume {
namespace {

// Kinds of result, as bits: which commands an advice is for.
constexpr unsigned kOneLayer = 1, kDeep = 2, kExtracted = 4, kLowest = 8, kHalfspaces = 16, kMemorized = 32;
constexpr unsigned kRecovered = kOneLayer | kDeep, kAny = 63;

struct Advice {
  std::string_view check;  // how its name begins
  const char* words;
  unsigned kinds = kAny;
};

constexpr const char* kMoreRows =
    "Give more rows, drawn like these or near the hyperplanes of the units; the command inspect says how "
    "many units the rows can determine";
constexpr const char* kMoreSamples = "Give more rows, drawn like these";
constexpr const char* kMoreTime = "Give more time (option budget)";
constexpr const char* kNumber = "Give the number of hidden units (option hidden), if you know it";
constexpr const char* kWider =
    "Spread the inputs further: a unit that is on, or off, for all samples looks linear, and its weights and "
    "sign cannot be determined";
constexpr const char* kWiderDomain =
    "Widen the domain (options low and high): a unit that never switches within it looks linear";
constexpr const char* kOtherKind =
    "Try several hidden layers (option layers), another kind of unit (options route and activation), or more "
    "hidden units; if the data come from a measurement, there may be no such network";
constexpr const char* kOtherKindOfUnit =
    "Try another kind of unit (options route and activation) or more hidden units; if the data come from a "
    "measurement, there may be no such network";
constexpr const char* kOtherDepth =
    "Try another number of hidden layers or wider ones (options layers and hidden); if the data come from a "
    "measurement, there may be no such network";
constexpr const char* kNearlyEqual =
    "Give rows between the hyperplanes of nearly equal units, or spread the inputs further: other weights "
    "reproduce these samples too";
constexpr const char* kFewer = "Let the number of hidden units be found, or ask for fewer";
constexpr const char* kOutliers =
    "Look at the rows with the largest residuals: a few outputs may be wrong; correct these rows or leave "
    "them out";
constexpr const char* kSparseNoise =
    "Look at the rows with the largest residuals: if a few outputs are wrong, the route "
    "rectified-sparse-noise finds them";
constexpr const char* kThresholds =
    "This command needs Gaussian inputs and units with high thresholds; if units switch near the middle of "
    "the data, use recover";
constexpr const char* kMoreQueries = "Allow more queries (option queries), or more time (option budget)";
constexpr const char* kRandomQueries =
    "Query the black box at random inputs and give inputs and answers to recover, which accepts rounded and "
    "noisy answers and more kinds of unit";

constexpr Advice kAdvice[] = {
    {"search finished within its budget", kMoreTime, kRecovered},
    {"no unit can be removed", kMoreTime, kRecovered},
    {"samples for every unknown", kMoreRows, kRecovered},
    {"rows held out", kMoreRows, kRecovered},
    {"every training entry reproduced", kMoreRows, kRecovered},
    {"every held-out entry reproduced", kMoreRows, kRecovered},
    {"held-out error as large as the noise", kMoreRows, kRecovered},
    {"rows on either side of every unit's kink", kMoreRows, kRecovered},
    {"weights determined at the size of the noise", kMoreRows, kRecovered},
    {"no linear term needed", kWider, kRecovered},
    {"no skip terms needed", kWider, kRecovered},
    {"no skip terms needed", kWiderDomain, kExtracted},
    {"signs of the units",
     "Spread the inputs further. For some networks several choices of signs give the same function "
     "everywhere: then its weights are not unique",
     kRecovered},
    {"weights determined", kNearlyEqual, kRecovered},
    {"weights of layer", kNearlyEqual, kRecovered},
    {"weights of layer",
     "Widen the domain (options low and high) or give another seed: no query showed the weights that are not "
     "determined",
     kExtracted},
    {"every unit needed", kFewer, kRecovered},
    {"widths as asked for", kFewer, kRecovered},
    {"every layer has units", "Ask for fewer hidden layers", kRecovered},
    {"outputs are not whole numbers",
     "Give scores, logits or probabilities in place of labels; for labels "
     "there are the commands halfspaces and memorize",
     kRecovered},
    {"residuals of similar rows unrelated", kOtherKind, kRecovered},
    {"residuals unrelated along every unit", kOtherKind, kRecovered},
    {"residuals unrelated in the order of the rows",
     "Take rows that lie further apart (the reason says how far), or average over consecutive rows; if the "
     "outputs drift, add the time or the row number as an input"},
    {"no jump along an input",
     "Find the jump (plot the outputs against every input), then add a column that is 0 before it and 1 "
     "after it, or recover the rows on either side separately"},
    {"residual unrelated to polynomials", kOtherKind, kRecovered},
    {"residual of mean zero everywhere", "If outputs were clipped, leave out the clipped rows", kRecovered},
    {"residual of mean zero everywhere", kOtherKind, kRecovered},
    {"residual without heavy tails", kOutliers, kRecovered},
    {"noise of one size everywhere",
     "If the inputs were measured with noise, give exact ones; if the noise "
     "grows with the outputs, transform the outputs, for example take logarithms"},
    {"at least one hidden unit",
     "Check that rows of inputs and outputs belong together and that no column is "
     "missing; a linear model may be all there is",
     kRecovered},
    {"no structure left", kOtherKind, kRecovered},
    {"rows reproduced", kOtherKind, kRecovered},
    {"training entries reproduced", kOtherKind, kRecovered},
    {"held-out entries reproduced", kMoreRows, kRecovered},
    {"training rows reproduced to rounding",
     "This route needs outputs without noise; the route auto also tries those that allow for it", kRecovered},
    {"entries as given reproduced", kOutliers, kRecovered},
    {"signs decided", kMoreRows, kRecovered},
    {"answers every logged",
     "Query a more precise version of the model, or another domain: the answers are rounded more than they "
     "seemed to be",
     kExtracted},
    {"answers every logged", kRandomQueries, kExtracted},
    {"answers fresh random", kMoreQueries, kExtracted},
    {"labels ",
     "Allow more units (options hidden and features), or give rows that differ: equal rows with different "
     "labels cannot be fitted",
     kMemorized},
    {"the inputs are Gaussian", kThresholds, kLowest | kHalfspaces},
    {"units stand out in the moments", kThresholds, kLowest},
    {"thresholds are high", kThresholds, kLowest},
    {"the nonlinear part is small", kThresholds, kLowest},
    {"the samples are enough", kMoreSamples, kLowest | kHalfspaces},
    {"the set agrees with held-out labels",
     "Give more rows, or the number of halfspaces if you know it (option hidden)", kHalfspaces},
};

unsigned kind_bit(const std::string& kind) {
  constexpr std::pair<std::string_view, unsigned> kBits[] = {
      {"network", kOneLayer},    {"deep network", kDeep},     {"extracted network", kExtracted},
      {"lowest layer", kLowest}, {"halfspaces", kHalfspaces}, {"memorized network", kMemorized}};
  for (const auto& [name, bit] : kBits) {
    if (name == kind) return bit;
  }
  return kAny;
}

// A result and what was asked for.
class Situation {
 public:
  explicit Situation(const Json& json)
      : kind_(kind_bit(words(at(json, "kind")))),
        route_(asked(json, "route")),
        layers_(asked(json, "layers")),
        hidden_(asked(json, "hidden")),
        outputs_(number_of(at(json, "outputs"))),
        units_(number_of(at(json, "hidden_units"))) {}

  [[nodiscard]] unsigned kind() const { return kind_; }

  // The advice as it fits here.
  [[nodiscard]] std::vector<std::string> fitted(const char* advice) const {
    const std::string_view said = advice;
    if (said == kMoreTime && (hidden_.empty() || hidden_ == "auto")) return {kMoreTime, kNumber};
    if (said == kOtherKind && kind_ == kDeep) return {kOtherDepth};
    if (said == kOtherKind && layers_ == "auto") return {kOtherKindOfUnit};
    // That route needs as many outputs as units, at least.
    if (said == kOutliers && kind_ == kOneLayer && outputs_ >= units_ && !route_.starts_with("rectified"))
      return {kSparseNoise};
    if (said == kFewer && (hidden_.empty() || hidden_ == "auto")) return {};
    return {advice};
  }

  // What helps whatever failed; nothing where it would be the command itself, or says nothing new.
  [[nodiscard]] const char* always() const {
    if (kind_ == kExtracted || kind_ == kMemorized) return nullptr;
    if (kind_ == kLowest || kind_ == kHalfspaces) return nullptr;
    return "Run inspect on these samples: it says in seconds which routes apply, why others do not, and what "
           "would help";
  }

  // Where no check that failed has an advice of its own.
  [[nodiscard]] std::vector<std::string> otherwise(const std::string& reason) const {
    switch (kind_) {
      case kExtracted:
        if (reason.find("limit of") != std::string::npos ||
            reason.find("time was over") != std::string::npos ||
            reason.find("interrupted") != std::string::npos)
          return {kMoreQueries, "A narrower domain (options low and high) has fewer kinks to follow"};
        return {kRandomQueries};
      case kMemorized:
        return {
            "Allow more layers or units (options layers, hidden and features), or perturb the rows a little "
            "(option perturb)"};
      case kLowest:
      case kHalfspaces:
        return {kMoreSamples, kThresholds};
      default:
        return {};
    }
  }

 private:
  static std::string asked(const Json& json, const char* name) {
    const Json& value = at(at(json, "options"), name);
    return value.is_string() ? words(value) : value.is_null() ? "" : to_line(value);
  }

  unsigned kind_;
  std::string route_, layers_, hidden_;
  double outputs_, units_;
};

}  // namespace

std::vector<std::string> next_steps(const Json& certificate) {
  std::vector<std::string> steps;
  const std::string status = words(at(certificate, "status"));
  if (status != to_string(Status::kUncertified) && status != to_string(Status::kRefused)) return steps;
  const Situation here(certificate);
  const auto add = [&](std::string words) {
    if (std::find(steps.begin(), steps.end(), words) == steps.end()) steps.push_back(std::move(words));
  };
  const Json& checks = at(certificate, "assumptions");
  for (const Json& check : checks.is_array() ? checks : Json::array()) {
    if (!is_true(at(check, "required")) || is_true(at(check, "holds"))) continue;
    const std::string name = words(at(check, "name"));
    std::string_view matched;  // the first rows that fit: all of one name
    for (const Advice& advice : kAdvice) {
      if ((advice.kinds & here.kind()) == 0 || !name.starts_with(advice.check)) continue;
      if (!matched.empty() && advice.check != matched) break;
      matched = advice.check;
      for (std::string& words : here.fitted(advice.words)) add(std::move(words));
    }
  }
  if (steps.empty()) {
    for (std::string& words : here.otherwise(words(at(certificate, "reason")))) add(std::move(words));
  }
  if (const char* always = here.always()) add(always);
  return steps;
}

}  // namespace exhume
