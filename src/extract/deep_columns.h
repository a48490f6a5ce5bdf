// All weights of the first layer outside the subspace, from the deep network within it: linear systems with one
// matrix.
//
// At places u_p of the subspace the slopes of the upper part, S_p = df/dz in R^{m x k}, are known. A step h along the
// direction B_i of the frame (oracle/frame.h), i >= s, changes the outputs by
//
//     f(u_p + h B_i) - f(u_p) = h S_p W_i        where no unit of any layer changes sign,
//
// linear in the k weights W_i of that direction. About k / m places do, taken greedily from candidates with wide
// margins, so that the stacked S_p are well conditioned. Directions whose equations do not hold are asked about again
// with shorter steps. At the end all layers are polished together on random questions of the whole space.
//
// About (1.4 k / m + 4) (d - s) + 1.3 k (d - s) / m questions.
#pragma once

#include <cstdint>

#include "extract/deep_within.h"

namespace exhume {

struct DeepColumns {
  DeepForm form;            // plain, in the user's coordinates
  RowMatrix x, y;           // questions that it was polished on
  double relative_mse = 1;  // of the last polish
  Index places = 0;
  double smallest_singular = 0;
};

// `space` is the subspace, `within` plain.
[[nodiscard]] DeepColumns deep_columns(const Space& space, const DeepWithin& within, std::uint64_t seed);

}  // namespace exhume
