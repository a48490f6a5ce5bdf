// From a form that reproduces the rows, up to noise, to the least plain network that does.
//
//     fewer units -> signs (fit/signs.h, fit/deep/plain.h) -> every unit tried -> last digits
//
// Units are tried singly in the plain form where there is one: it has the fewest weights, and may do without
// a unit that the sign-free form needs. Where there is none, they are tried in the sign-free form, and signs
// are looked for once more: only the least network has a plain form.
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
[[nodiscard]] DeepFound finish(const Polished& start, DeepData& data, const FinishOptions& options,
                               const Control& control);

// Whether a plain network that reproduces the rows to `exact` does so with none of its units left out: each
// is tried. Nothing where it does not reproduce them, or time ended first. Rows may change their order.
[[nodiscard]] std::optional<bool> needs_every_unit(const Form& plain, DeepData& data, double exact,
                                                   const Control& control);

// All rows but those `left` (in increasing order) are reproduced. With its signs, the network may show the
// unit that bends among them. Where they are too few for the weights of a unit, this is all that the rows
// tell: `left` of what is returned counts them. Nothing where they would be enough and show no unit.
[[nodiscard]] std::optional<DeepFound> finish_on_most(const Form& start, const std::vector<Index>& left,
                                                      DeepData& data, const FinishOptions& options,
                                                      const Control& control);

// Noisy rows: the least plain network whose residuals are no larger than chance makes them. A fit does not
// fall to rounding, but it converges. Of two networks the smaller one is taken where the sum of squares S
// grows by less than noise alone would hide:
//
//     N log S < N log S' + p log N       N: rows x outputs, p: weights the other has more    (Schwarz, 1978)
//
// First units go, then, signs known, the skip terms. start: a student, or what became of it. Nothing where
// the fit converges to residuals that have structure, or time ends first. `plain` of what is returned says
// whether the network without skip terms is as good; `minimal` that every unit was tried.
[[nodiscard]] std::optional<DeepFound> finish_in_noise(const Form& start, DeepData& data,
                                                       const StructureLeft& structure_left,
                                                       const Control& control);

}  // namespace exhume
