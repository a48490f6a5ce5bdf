// Symmetric tensors as arrays of coefficients, and their flattenings.
//
// A symmetric tensor T of order p over R^d has N(d, p) = (d+p-1 choose p) free entries T(i_1 <= ... <= i_p).
// They are listed in colexicographic order, entry (i_1, ..., i_p) (from 0) at
//
//     position = sum_{j=1..p} (i_j + j - 1 choose j),
//
// which for p = 2 is the order of symmetric_matrix.h. One column an output.
//
// Flattening. flatten(T, l1, l2, l3) of the papers is a d^l1 x d^l2 x d^l3 array. A mode of a symmetric
// tensor only holds symmetric tensors of order l, so it is written in N(d, l) coordinates, entry times the
// root of the number of its permutations. This is an isometry: singular values, norms and angles are those of
// the d^l rows, at l! times fewer of them.
#pragma once

#include <vector>

#include "exhume/papers/depth2.h"

namespace exhume {

// N(d, p); 1 for p = 0.
[[nodiscard]] Index symmetric_tensor_size(Index dimension, int order);

// The sorted indices i_1 <= ... <= i_p of every entry, in the order above: N(d, p) lists of p.
[[nodiscard]] std::vector<std::vector<Index>> symmetric_indices(Index dimension, int order);

// Where the entry with these indices (in any order) stands.
[[nodiscard]] Index symmetric_tensor_position(std::vector<Index> indices);

// Root of the number of permutations of every entry, N(d, p) of them: entries times
// these are isometric coordinates.
[[nodiscard]] Vector symmetric_weights(Index dimension, int order);

// Isometric coordinates of w_i (x) ... (x) w_i (p times) for every row w_i of W: N(d, p) x k.
[[nodiscard]] Matrix rank_one_tensors(const Eigen::Ref<const Matrix>& W, int order);

// The matrix flatten(T, l1, p - l1, 0) of one output, isometric on both sides: N(d, l1) x N(d, p - l1).
[[nodiscard]] Matrix flatten(const SymmetricTensor& T, int l1, Index output);

// The three-way array flatten(T, l, l, p - 2l), one slice a coordinate of the third mode, outputs one after
// the other: N(d, p - 2l) m slices of N(d, l) x N(d, l).
[[nodiscard]] std::vector<Matrix> flatten_to_slices(const SymmetricTensor& T, int l);

// The unit vector w whose w (x) ... (x) w (l times) is nearest to the symmetric tensor with these isometric
// coordinates, up to sign; l = 1 or 2.
[[nodiscard]] Vector rank_one_root(const Eigen::Ref<const Vector>& coordinates, Index dimension, int order);

}  // namespace exhume
