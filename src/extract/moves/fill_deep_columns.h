// Move: all weights of the first layer outside the subspace, from the deep network within it.
//
//   needs     a plain network within a subspace
//   asks      about (1.4 k / m + 4) (d - s) + 1.3 k (d - s) / m queries
//   time      P m k per direction; a polish of all layers where they have at most 6000 unknowns
//   changes   nothing: the network in the user's coordinates is returned, with the queries that it was
//             polished on
//
// At places u_p of the subspace the slopes of the upper part, S_p = df/dz in R^{m x k}, are known. A step h
// along the direction B_i of the frame (oracle/frame.h), i >= s, changes the outputs by
//
//     f(u_p + h B_i) - f(u_p) = h S_p W_i        where no unit of any layer changes sign,
//
// linear in the k weights W_i of that direction: linear systems with one matrix. About k / m places do, taken
// greedily from candidates with wide margins, so that the stacked S_p are well conditioned. Directions whose
// equations do not hold are queried again with shorter steps. At the end all layers are polished together
// on random queries of the whole space.
#pragma once

#include "extract/hypothesis.h"

namespace exhume {

struct FilledColumns {
  DeepForm form;   // plain, in the user's coordinates
  RowMatrix x, y;  // queries that it was polished on
};

// The search is one in a subspace; its network plain.
[[nodiscard]] FilledColumns fill_deep_columns(const LayerSearch& search);

}  // namespace exhume
