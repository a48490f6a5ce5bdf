// Whether the parts of a form fit together: what a journal remembers may have been changed.
#pragma once

#include "model/form.h"

namespace exhume {

// V_l reads all of P_{l-1} and C all of P_D, for this many inputs, outputs and hidden layers.
[[nodiscard]] inline bool is_whole(const Form& form, Index inputs, Index outputs, std::size_t depth) {
  if (form.inputs != inputs || form.depth() != depth || form.given > depth) return false;
  for (std::size_t l = 0; l < depth; ++l) {
    if (form.V[l].cols() != form.columns(l)) return false;
  }
  return form.C.rows() == form.features() && form.C.cols() == outputs;
}

}  // namespace exhume
