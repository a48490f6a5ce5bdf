// ReLU networks of any depth, and when two of them are the same function for the same reason.
//
//   h_0 = x,   z_l = W_l h_{l-1} + b_l + L_l (x, h_1, ..., h_{l-2}),   h_l = max(z_l, 0),   f(x) = z_{D+1}
//
// D hidden layers of k_1, ..., k_D units.   W_l: k_l x k_{l-1}   b_l: k_l
// L_l: k_l x (d + k_1 + ... + k_{l-2}), or empty for none: skip terms. k_0 = d inputs, k_{D+1} = m outputs.
//
// One hidden layer, D = 1, has names of its own, as in the papers:
//
//   f(x) = A max(Wx + b, 0) + c + L x        W: k x d   b: k   A: m x k   c: m   L: m x d, or empty for none
//
// Symmetries. Exchanging units of a layer, or scaling a row (w, b, l) by s > 0 and the weights on the unit by
// 1/s, changes nothing. Since max(z, 0) = z + max(-z, 0), turning a unit around changes what stands on it by
// a function of what lies below the unit: skip terms take it up, so where they are free signs are open.
#pragma once

#include <string>
#include <vector>

#include "exhume/types.h"

#pragma GCC visibility push(default)
namespace exhume {

struct Layer {
  Matrix W;  // k_l x k_{l-1}
  Vector b;  // k_l
  Matrix L;  // k_l x (d + k_1 + ... + k_{l-2}), or 0 x 0
};

struct Network {
  std::vector<Layer> layers;  // D hidden ones, then the outputs; none in a network that is yet to be filled
  // Of all hidden units, by a name that parse_rectifier knows (exhume/activation.h). Formulas here are those
  // of ReLUs: other units stand in the place of max(z, 0), and have the symmetries that the table says.
  std::string activation = "relu";

  Network() = default;
  explicit Network(std::vector<Layer> all) : layers(std::move(all)) {}
  // One hidden layer.
  Network(Matrix W, Vector b, Matrix A, Vector c, Matrix L = {});

  [[nodiscard]] bool empty() const { return layers.empty(); }
  [[nodiscard]] Index inputs() const { return layers.empty() ? 0 : layers.front().W.cols(); }
  [[nodiscard]] Index outputs() const { return layers.empty() ? 0 : layers.back().W.rows(); }
  [[nodiscard]] Index depth() const { return static_cast<Index>(layers.size()) - 1; }  // D; -1 where empty
  [[nodiscard]] std::vector<Index> widths() const;                                     // k_1, ..., k_D
  [[nodiscard]] Index hidden() const;                                                  // k_1 + ... + k_D
  [[nodiscard]] bool has_skip_terms() const;
  [[nodiscard]] Index parameters() const;  // entries of all W, b and L
  // Throws std::invalid_argument unless the shapes fit together and every entry is finite.
  void validate() const;

  // The weights of one hidden layer by their names. Throws std::logic_error for any other depth. An empty
  // network has empty ones, and becomes one of one hidden layer where the writable ones are asked for.
  [[nodiscard]] const Matrix& W() const { return one_hidden_layer()[0].W; }
  [[nodiscard]] const Vector& b() const { return one_hidden_layer()[0].b; }
  [[nodiscard]] const Matrix& A() const { return one_hidden_layer()[1].W; }
  [[nodiscard]] const Vector& c() const { return one_hidden_layer()[1].b; }
  [[nodiscard]] const Matrix& L() const { return one_hidden_layer()[1].L; }
  [[nodiscard]] Matrix& W() { return one_hidden_layer()[0].W; }
  [[nodiscard]] Vector& b() { return one_hidden_layer()[0].b; }
  [[nodiscard]] Matrix& A() { return one_hidden_layer()[1].W; }
  [[nodiscard]] Vector& c() { return one_hidden_layer()[1].b; }
  [[nodiscard]] Matrix& L() { return one_hidden_layer()[1].L; }

 private:
  [[nodiscard]] const std::vector<Layer>& one_hidden_layer() const;
  [[nodiscard]] std::vector<Layer>& one_hidden_layer();
};

// f at every row of x: rows x m.
[[nodiscard]] RowMatrix evaluate(const Network& network, const Eigen::Ref<const RowMatrix>& x);

// The representative of the symmetry class: rows w of hidden units of unit norm (l where w is zero), units of
// a layer by decreasing norm of the weights on them, ties by the entries of their rows. Units that do nothing
// are dropped: at once where no weight stands on them, after their constant went up where their row is zero.
[[nodiscard]] Network canonical(const Network& network);

// The same function with unit i of hidden layer `layer` (from 0) turned around for every i in `units`; skip
// terms and constants above take up the difference.
[[nodiscard]] Network with_units_turned(const Network& network, Index layer, const std::vector<Index>& units);

// How far apart two units (w, b) are up to a positive factor, |u/|u| - v/|v||; with `sign_open` up to any
// factor, the lesser of that and |u/|u| + v/|v||. 0 for the same unit twice.
[[nodiscard]] double unit_distance(const Vector& u, const Vector& v, bool sign_open);

// How far apart two networks are after the best matching of their units, layer by layer from below.
struct Alignment {
  std::vector<std::vector<Index>> match;    // unit i of layer l of the first is match[l][i] of the second
  std::vector<std::vector<bool>> turned;    // whether that unit had to be turned around (`free_signs`)
  std::vector<double> worst_of_layer;       // largest |difference| over W_l, b_l and L_l, unit rows below
  double worst_error = 0;                   // over all layers
  double rms_error = 0;                     // root mean square over the same parameters
  Index worst_layer = -1, worst_unit = -1;  // the hidden unit (of the first, canonical order) of the worst
      // difference; -1 where it is a constant or skip term of the outputs
  bool comparable = false;  // same inputs, outputs and, after dropping idle units, widths; otherwise the
                            // errors are infinite
};

struct AlignOptions {
  bool free_signs = false;  // allow units to be turned around, at the price of a change in the skip terms
};

// Units are matched by optimal assignment on their rows; those of the last hidden layer also on their output
// weights, those of lower ones, where rows are alike, on the size of the weights on them. O(k^3) per layer.
[[nodiscard]] Alignment align(const Network& first, const Network& second, const AlignOptions& options = {});

// The assignment column[i] of row i that minimises sum_i cost(i, column[i]); cost is square. O(n^3).
[[nodiscard]] std::vector<Index> optimal_assignment(const Matrix& cost);

}  // namespace exhume
#pragma GCC visibility pop
