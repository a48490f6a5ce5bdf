// From a form that reproduces the rows to the least plain network that does.
//
//     fewer units -> signs (fit/deep/signs.h, plain_by_rows.h) -> every unit tried -> last digits
//
// Units are tried singly in the plain form where there is one: it has the fewest weights, and may do without a unit that
// the sign-free form needs. Where there is none, they are
// tried in the sign-free form, and signs are looked for once more: only the least network has a plain form.
#pragma once

#include <optional>
#include <vector>

#include "exhume/control.h"
#include "fit/deep/found.h"
#include "fit/polish.h"

namespace exhume {

struct FinishOptions {
  double exact = 1e-19;            // relative mean squared residual of a form that is exact
  bool minimal = false;            // no unit of the form can go: each was tried already
  const DeepData* left = nullptr;  // rows that it does not reproduce, where there are any
};

[[nodiscard]] DeepFound finished(const Polished& start, DeepData& data, const FinishOptions& options,
                                 const Control& control);

// All rows but those `left` (in increasing order) are reproduced. With its signs, the network may show the unit that
// bends among them. Where they are too few for the weights of a unit, this is all that the rows tell: `left` of what is
// returned counts them. Nothing where they would be enough and show no unit.
[[nodiscard]] std::optional<DeepFound> finished_on_most(const Form& start, const std::vector<Index>& left,
                                                        DeepData& data, const FinishOptions& options,
                                                        const Control& control);

}  // namespace exhume
