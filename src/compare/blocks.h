// A network in blocks: every layer by the sources that it reads, with what is not known of its weights.
//
//     z_l = sum_{s < l} M_{l,s} h_s + b_l,   h_0 = x,   h_l = max(z_l, 0),   f(x) = z_{D+1}
//
// M_{l,s}: k_l x k_s, or empty where layer l reads nothing of source s. Skip terms are blocks like all others
// here, so folding, turning and padding are operations of a few lines. Leaky ReLUs and absolute values are
// ReLUs with a linear term, p z + (1 - p) max(z, 0); any other activation stands in the place of max(z, 0).
//
// Every entry has a slack: some network with |M - M*| <= slack, |b - b*| <= slack is exactly the function of
// the file. Files have slack 0; what moves a weight by rounding (a scale, a sum) adds its own rounding error.
#pragma once

#include <optional>
#include <vector>

#include "exhume/activation.h"
#include "exhume/network.h"
#include "exhume/types.h"

namespace exhume {

struct BlockLayer {
  std::vector<Matrix> from;   // by source, 0 the inputs; 0 x 0: none
  std::vector<Matrix> slack;  // of the same shapes, or 0 x 0 for none
  Vector b, b_slack;
  std::vector<Index> rows;  // the row of the file behind each unit, from 0; -1: none
  [[nodiscard]] Index units() const { return b.size(); }
};

struct BlockNetwork {
  Index inputs = 0;
  std::vector<BlockLayer> layers;  // hidden ones, then the outputs
  std::optional<Rectifier> sigma;  // of all hidden units; empty: max(z, 0)

  [[nodiscard]] bool piecewise_linear() const { return !sigma.has_value(); }
  [[nodiscard]] std::size_t depth() const { return layers.size() - 1; }
  [[nodiscard]] Index units(std::size_t source) const {
    return source == 0 ? inputs : layers[source - 1].units();
  }
  [[nodiscard]] Index outputs() const { return layers.back().units(); }
};

[[nodiscard]] BlockNetwork to_blocks(const Network& network);
// The weights as the file has them: leaky ReLUs and absolute values stay what they are.
[[nodiscard]] BlockNetwork to_plain_blocks(const Network& network);
// And with ReLUs and linear terms in their place; any other as it is.
void rectify(BlockNetwork& network);

// h_0, ..., h_D and f at every row of x: D + 2 matrices, one row per input.
[[nodiscard]] std::vector<RowMatrix> features(const BlockNetwork& network,
                                              const Eigen::Ref<const RowMatrix>& x);
[[nodiscard]] RowMatrix evaluate(const BlockNetwork& network, const Eigen::Ref<const RowMatrix>& x);

// sigma' at the units of hidden layer l (from 0), at one input, from its features.
[[nodiscard]] Vector slopes(const BlockNetwork& network, const std::vector<RowMatrix>& features, Index row,
                            std::size_t layer);
// The same at all of them, rows x k_l.
[[nodiscard]] RowMatrix slopes(const BlockNetwork& network, const std::vector<RowMatrix>& features,
                               std::size_t layer);
// The gradient of c . z_{l+1} in x at one input, l = 0, ..., D from its features (l = D: the outputs).
[[nodiscard]] Vector gradient(const BlockNetwork& network, const std::vector<RowMatrix>& features, Index row,
                              std::size_t layer, const Vector& c);

// Unit i of hidden layer l times s > 0, and the weights that read it times 1/s.
void scale_unit(BlockNetwork& network, std::size_t layer, Index unit, double s);
// max(z, 0) = z + max(-z, 0): unit i turned around; its readers also read its inputs directly.
void turn_unit(BlockNetwork& network, std::size_t layer, Index unit);
// Where z_i >= 0 in the whole domain: max(z, 0) = z, the unit goes.
void fold_unit(BlockNetwork& network, std::size_t layer, Index unit);
// Units `order` of hidden layer l in that order; -1 stands for a unit of zeros.
void take_units(BlockNetwork& network, std::size_t layer, const std::vector<Index>& order);
// Drops units that nothing reads or that are constant.
void drop_idle_units(BlockNetwork& network);
// Joins units whose rows are alike up to a positive factor. `radius`: bounds of |x| over the domain, d, for
// the rounding of what is joined.
void join_twins(BlockNetwork& network, const Vector& radius);
// Empty hidden layers above the others until there are `depth`.
void pad_layers(BlockNetwork& network, std::size_t depth);

}  // namespace exhume
