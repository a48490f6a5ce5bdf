// Unions and intersections of halfspaces far from the origin, from labels (paper threshold, Section 2.3,
// Theorem 6).
//
//     intersection:  label 1 where w_i.x <= t_i for all i       union:  label 1 where w_i.x > t_i for some i
//
// The complement of an intersection is a union of sign units, P = 1 - prod (1 - X_i), monotone and
// multilinear, so this is lowest_layer with steps: normals and offsets on the rows that a halfspace explains
// alone, at the end by maximum margin where the labels are separable. Labels turned around at random with a
// probability below one half are measured and allowed. Which of the two it is: the units
// say which label lies on their far side.
#pragma once

#include "exhume/control.h"
#include "exhume/samples.h"
#include "papers/threshold/layer.h"

namespace exhume {

// The layer with its set. Throws DataError unless the outputs take exactly two values.
[[nodiscard]] LowestLayerResult halfspaces(const SamplePtr& samples, LowestLayerOptions options,
                                           const Control& control = {});

// The label of every row of x.
[[nodiscard]] Vector halfspace_labels(const LowestLayer& layer, const HalfspaceSet& set,
                                      const Eigen::Ref<const RowMatrix>& x);

}  // namespace exhume
