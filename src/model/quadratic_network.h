// Networks with quadratic units, in two or three layers: what `memorize` makes (paper memorize, section 2.2).
//
//   two layers      f(x) = A (W x)^2                     squares entry by entry
//   three layers    f(x) = A (W z)^2,   z = (R x)^p      powers entry by entry
//
//   R: k x d   first layer, random and fixed; empty (0 x 0) in two layers, and then z = x
//   p: power of the first layer
//   W: r x k   (k = d in two layers) the trained layer, one unit a row
//   A: m x r   signs: entry (o, i) is +1 or -1 where unit i belongs to output o, and 0 elsewhere
//
// An output o is thus a quadratic form of z, f_o(x) = z^T M_o z with M_o = W^T diag(A_o) W symmetric, and
// every symmetric matrix is of that form with at most k units. f is homogeneous of degree 2p (2 in two
// layers), so it cannot tell x from -x, and f(0) = 0.
#pragma once

#include <vector>

#include "exhume/types.h"

namespace exhume {

struct QuadraticNetwork {
  Matrix R;       // k x d, or 0 x 0
  int power = 1;  // p; 1 in two layers
  Matrix W;       // r x k
  Matrix A;       // m x r

  [[nodiscard]] bool three_layers() const { return R.size() != 0; }
  [[nodiscard]] Index inputs() const { return three_layers() ? R.cols() : W.cols(); }
  [[nodiscard]] Index features() const { return W.cols(); }  // k
  [[nodiscard]] Index hidden() const { return W.rows(); }    // r
  [[nodiscard]] Index outputs() const { return A.rows(); }
  // Numbers that training chose: W, and one sign a unit. R is random and not counted; see random_parameters.
  [[nodiscard]] Index parameters() const { return W.size() + W.rows(); }
  [[nodiscard]] Index random_parameters() const { return R.size(); }
  // Throws std::invalid_argument unless the shapes fit together and every entry is finite.
  void validate() const;
};

// z at every row of x: rows x k; x itself in two layers.
[[nodiscard]] RowMatrix first_layer(const QuadraticNetwork& network, const Eigen::Ref<const RowMatrix>& x);

// f at every row of x: rows x m.
[[nodiscard]] RowMatrix evaluate(const QuadraticNetwork& network, const Eigen::Ref<const RowMatrix>& x);

// The trained layer of the network with f_o(z) = z^T M_o z for every o: eigenvectors of M_o scaled by the
// root of |eigenvalue|, its sign on top, positive units first. Units with |eigenvalue| <= drop * (largest of
// M_o) are left out. Each M_o: k x k symmetric. Fills W and A; leaves R and power alone.
void set_quadratic_forms(QuadraticNetwork& network, const std::vector<Matrix>& forms, double drop = 1e-15);

// M_o = W^T diag(A_o) W: k x k.
[[nodiscard]] Matrix quadratic_form(const QuadraticNetwork& network, Index output);

}  // namespace exhume
