// ReLU networks of any depth, and when two of them are the same.
//
//   h_0 = x,   z_l = W_l h_{l-1} + b_l + L_l (x, h_1, ..., h_{l-2}),   h_l = max(z_l, 0),   f(x) = z_{D+1}
//
// D hidden layers of k_1, ..., k_D units.   W_l: k_l x k_{l-1}   b_l: k_l
// L_l: k_l x (d + k_1 + ... + k_{l-2}), or empty for none: skip terms. k_0 = d inputs, k_{D+1} = m outputs.
//
// Symmetries. Exchanging units of a layer, or scaling a row (w, b, l) by s > 0 and what stands on the unit by
// 1/s, changes nothing. Since max(z, 0) = z + max(-z, 0), turning a unit around changes what stands on it by
// a function of what lies below the unit: skip terms take it up, so where they are free signs are open.
//
// D = 1 is Network (model/network.h): W_2 = A, b_2 = c, L_2 = L.
#pragma once

#include <vector>

#include "exhume/network.h"
#include "exhume/types.h"

namespace exhume {

struct Layer {
  Matrix W;  // k_l x k_{l-1}
  Vector b;  // k_l
  Matrix L;  // k_l x (d + k_1 + ... + k_{l-2}), or 0 x 0
};

struct DeepNetwork {
  std::vector<Layer> layers;  // D hidden ones, then the outputs; at least one

  [[nodiscard]] Index inputs() const { return layers.front().W.cols(); }
  [[nodiscard]] Index outputs() const { return layers.back().W.rows(); }
  [[nodiscard]] Index depth() const { return static_cast<Index>(layers.size()) - 1; }  // hidden layers
  [[nodiscard]] std::vector<Index> widths() const;                                     // k_1, ..., k_D
  [[nodiscard]] bool has_skip_terms() const;
  [[nodiscard]] Index parameters() const;  // entries of all W, b and L
  // Throws std::invalid_argument unless the shapes fit together and every entry is finite.
  void validate() const;
};

// f at every row of x: rows x m.
[[nodiscard]] RowMatrix evaluate(const DeepNetwork& network, const Eigen::Ref<const RowMatrix>& x);

// The representative of the symmetry class: rows w of hidden units of unit norm (l where w is zero), units of
// a layer by decreasing norm of what stands on them, ties by the entries of their rows. Units that do nothing
// are dropped: at once where nothing stands on them, after their constant went up where their row is zero.
[[nodiscard]] DeepNetwork canonical(const DeepNetwork& network);

// The same function with unit i of hidden layer `layer` (from 0) turned around for every i in `units`.
[[nodiscard]] DeepNetwork with_units_turned(const DeepNetwork& network, Index layer,
                                            const std::vector<Index>& units);

// One hidden layer, as the one and as the other. to_network needs depth 1.
[[nodiscard]] DeepNetwork to_deep(const Network& network);
[[nodiscard]] Network to_network(const DeepNetwork& network);

// How far apart two networks are after the best matching of their units, layer by layer from below.
struct DeepAlignment {
  std::vector<std::vector<Index>> match;  // unit i of layer l of the first is match[l][i] of the second
  std::vector<double> worst_of_layer;     // largest |difference| over W_l, b_l and L_l, unit rows below
  double worst_error = 0;
  double rms_error = 0;
  bool comparable = false;  // same inputs, outputs and, after dropping idle units, widths
};
// Units are matched by optimal assignment on their rows, and where those of a layer are alike by what stands
// on them. With free_signs units may be turned around. Both networks in canonical form.
[[nodiscard]] DeepAlignment align(const DeepNetwork& first, const DeepNetwork& second,
                                  const AlignOptions& options = {});

}  // namespace exhume
