// When a quadratic network can fit any labels: general position, made checkable (paper memorize, Theorem 4).
//
// The labels enter a two-layer network through x^T M x = <M, x (x) x>: linearly. Whatever the labels, they
// can be fitted if and only if the n vectors x_j (x) x_j are linearly independent, i.e.
//
//   Phi = [x_1 (x) x_1, ..., x_n (x) x_n],   d^2 x n,   has full column rank,
//
// and then how well is a matter of sigma, its smallest singular value. Phi^T Phi = K, K_ij = (x_i . x_j)^2,
// so sigma^2 = lambda_min(K). In three layers the same holds for z = (R x)^p. The vectors x (x) x live in a
// space of dimension d (d+1) / 2; with the first layer, in the image of the polynomials of degree 2p, of
// dimension C(d + 2p - 1, 2p), and in k (k+1) / 2.
//
// Two rows on one line through the origin (x' = c x, c = -1 included) are always dependent: the network's
// values there differ by the factor c^2 (c^2p), and other labels are refused by naming the rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "exhume/types.h"

namespace exhume {

// Dimension of {x (x) x}: d (d+1) / 2. The largest n that two layers can fit.
[[nodiscard]] double two_layer_capacity(Index inputs);

// The largest n that three layers can fit for generic rows: min(k (k+1) / 2, C(d + 2p - 1, 2p)).
[[nodiscard]] double three_layer_capacity(Index inputs, Index features, int power);

// Sizes with which three layers fit n rows: k = 2 ceil(sqrt n) (Theorem 5) and the smallest p >= 2 with
// C(d + 2p - 1, 2p) >= n. Empty for a single input, where every network of this kind is a multiple of x^2p.
struct ThreeLayerSize {
  Index features = 0;  // k
  int power = 0;       // p
};
[[nodiscard]] std::optional<ThreeLayerSize> three_layer_size(Index rows, Index inputs);

// Two rows whose labels no homogeneous function of degree `degree` can give: x_second = scale * x_first, but
// y_second != scale^degree * y_first. `first == second` stands for a zero row with a label other than 0.
struct Conflict {
  Index first = 0, second = 0;
  double scale = 1;
  // One sentence; rows are counted from 0.
  [[nodiscard]] std::string describe(const Eigen::Ref<const RowMatrix>& y) const;
};

// Pairs of rows on a common line, found by sorting: O(n log n + n d). At most `limit` conflicts, by first
// row. Rows count as parallel when their directions differ by less than 1e-13; labels as different beyond
// 1e-9 of the largest |label|.
[[nodiscard]] std::vector<Conflict> find_conflicts(const Eigen::Ref<const RowMatrix>& x,
                                                   const Eigen::Ref<const RowMatrix>& y, int degree,
                                                   Index limit = 10);

// Smoothing (Theorem 5): x_j + N(0, sd^2 I), the same rows for the same seed. The paper's v is sd^2.
[[nodiscard]] RowMatrix perturbed(const Eigen::Ref<const RowMatrix>& x, double sd, std::uint64_t seed);

// Rows divided by their norms, as the paper's experiments do; zero rows stay.
[[nodiscard]] RowMatrix unit_rows(const Eigen::Ref<const RowMatrix>& x);

}  // namespace exhume
