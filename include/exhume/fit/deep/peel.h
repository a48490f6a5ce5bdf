// The step that peels: what lies on known layers is a problem of one layer less.
//
// Given V_1, ..., V_{D-1} up to sign and scale, the outputs are a network of one hidden layer in the features
//
//     P_{D-1} = (|Q_{D-1}|, ..., |Q_1|, x, 1)                                          (fit/deep/form.h)
//
// and the search for units of one layer (fit/fit.h), which assumes nothing of its inputs, finds V_D: also
// units that bend within few rows, where a student has seen too little of them. Features too many do no harm:
// nothing stands on them.
#pragma once

#include "exhume/base/control.h"
#include "exhume/fit/deep/polish.h"

namespace exhume {

struct Peeled {
  DeepForm form;            // sign-free, V_1, ..., V_{D-1} as given, V_D found anew
  double relative_mse = 1;  // of the rows
  bool searched = false;    // false where the features lie in a hyperplane
};

// lower: V_1, ..., V_{D-1}, with or without a V_D to start from.
[[nodiscard]] Peeled peel(const DeepForm& lower, std::size_t depth, const DeepData& data, std::uint64_t seed,
                          const Control& control);

}  // namespace exhume
