// The verdict on a network that was recovered before, from network and samples alone, by the same checks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/module.h"
#include "exhume/control.h"
#include "exhume/result.h"
#include "exhume/samples.h"

namespace exhume {

// What a certificate states of a network that the samples alone do not tell.
struct Claim {
  Status status = Status::kCertified;  // certified or estimated
  std::string route, activation = "relu";
  std::uint64_t seed = 0;
  Index samples = 0;            // rows without repetitions
  Index period = 0;             // of the split
  Index searched = 0;           // rows that the search saw, where these were not all
  bool exact_only = false;      // judged as routes do that know no noise
  bool by_signs = false;        // estimated as the route rectified-noise does: outputs of independent noise
  double structure = 0;         // of rounding errors, as the search saw it
  bool widths_asked = false;    // several hidden layers: their widths were asked for
  double budget_seconds = 300;  // for the fit that is made again
};

struct Judged {
  Result result;  // tried, timings, files and the pictures of the search are empty
  // What a new fit from the same units gains on the training rows, in variances of the noise; empty where
  // none was made, or not in time.
  std::optional<double> gained;
  bool removal_tried = false;  // several hidden layers: whether a unit can go was tried again, to the end
};

// Every number of its certificate that can be computed again. Throws DataError where the claim is not one
// that recover() makes.
[[nodiscard]] Judged judge_again(const Network& network, const SamplePtr& samples, const Claim& claim,
                                 const Control& control = {});

// Several hidden layers, where the program was built with the module deep.
inline Slot<Judged(const Network&, const SamplePtr&, const Claim&, const Control&)> judge_deep_again{
    "the judgement of several hidden layers", "deep"};

}  // namespace exhume
