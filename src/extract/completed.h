// A plain network that answers all questions so far, where weights and units act that no random question showed.
//
// f is asked at climbs of the network found (extract/climb.h). Where it is wrong
//
//   1. all weights are fitted again with these answers: a weight may have been open
//   2. or a unit of the last hidden layer is missing. It is off at all other questions, so what is left is
//
//          y - f(x) = a max(w.h(x) + b, 0)  =  (a w).h + a b       where it is on
//
//      linear in the features h of the layer below: least absolute deviations over the wrong answers.
#pragma once

#include <cstdint>

#include "extract/planes.h"
#include "model/form.h"

namespace exhume {

struct Completed {
  DeepForm form;
  Index added = 0;     // units
  bool right = false;  // all climbs are answered
};

// whole: the inputs themselves. x, y: questions that the form answers, which those of the climbs join.
[[nodiscard]] Completed completed(const Space& whole, const Planes& planes, const DeepForm& form, RowMatrix x,
                                  RowMatrix y, std::uint64_t seed);

}  // namespace exhume
