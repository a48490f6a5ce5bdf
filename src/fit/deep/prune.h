// From a wide student to the least network that fits: units merged, polished, removed until none can go.
//
//     merge    units of a layer whose features |q| are the same up to scale become one; what stands on them
//              adds up
//     prune    in each layer the units worth least, a share of them at once: kept away if the rest, polished,
//              is exact again; otherwise fewer are tried, in the end every unit singly, because worth alone
//              mis-ranks the last ones
//
// It ends when no unit of any layer can go without the fit getting worse: that is what minimal means here,
// and it was tried, not proved.
#pragma once

#include <functional>

#include "exhume/control.h"
#include "fit/polish.h"

namespace exhume {

// The form with units of layer l merged whose features correlate above `cosine`; C is left to be solved
// again.
[[nodiscard]] Form merge_units(const Form& form, std::size_t l, double cosine, const DeepData& data,
                               const Control& control);

struct PruneOptions {
  double exact = 1e-19;   // relative mean squared residual below which a fit is exact, before its last digits
  double loss = 1.2;      // an inexact fit may grow by this factor when units go
  bool singly = true;     // end by trying every unit
  bool given_too = true;  // those of layers that are given among them
  // Ends it before, where it holds of what is left after a unit has gone; empty: never.
  std::function<bool(const Form&)> until;
  // Above 0 the rows are noisy: a fit may grow by this share for every weight that goes, and none is exact.
  double forgiven = 0;
};

struct Pruned {
  Polished fit;
  bool minimal = false;  // no unit of any layer could be removed; false where time ended first
};

// Polishes on about `each` equations per unknown until all rows are reproduced: rows that are not are brought
// forward and have their say. Gives up where the fit is not below `exact` on the rows it sees.
[[nodiscard]] Polished polish_all(const Form& start, DeepData& data, double each, double exact,
                                  const PolishOptions& options, const Control& control);

// Trials are polished on about twelve equations per unknown, and have to hold on all rows.
[[nodiscard]] Pruned prune(const Polished& start, DeepData& data, const PruneOptions& options,
                           const Control& control);

// The first rows of the data that are enough for a form of this size: about `each` equations per unknown.
[[nodiscard]] DeepData enough_rows(const DeepData& data, const Form& form, double each);

// Operations of one step of the polish on these.
[[nodiscard]] double step_flops(const DeepData& data, const Form& form, double each);

}  // namespace exhume
