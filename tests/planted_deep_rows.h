// Random networks of several hidden layers with rows, standardised as the search sees them.
#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "fit/data.h"
#include "model/form.h"

namespace exhume {

// A network as experiments draw it: unit rows, then normal times sqrt(2/k); outputs of variance 1.
struct Planted {
  Network network;
  RowMatrix x, y;

  Planted(const std::vector<Index>& sizes, Index rows, std::uint64_t seed) {
    for (std::size_t l = 0; l + 1 < sizes.size(); ++l) {
      const std::string name = std::to_string(l);
      Layer layer;
      layer.W = Stream(seed, "W" + name).normal_matrix(sizes[l + 1], sizes[l]);
      layer.b = 0.3 * Stream(seed, "b" + name).normal_matrix(sizes[l + 1], 1).col(0);
      if (l == 0) layer.W.rowwise().normalize();
      if (l > 0) layer.W *= std::sqrt(2.0 / static_cast<double>(sizes[l]));
      network.layers.push_back(std::move(layer));
    }
    x = Stream(seed, "x").normal_matrix(rows, sizes[0]);
    y = evaluate(network, x);
    Layer& last = network.layers.back();
    const Eigen::RowVectorXd mean = y.colwise().mean();
    y.rowwise() -= mean;
    const Vector size = (y.colwise().squaredNorm() / static_cast<double>(rows)).cwiseSqrt().transpose();
    y = y * size.cwiseInverse().asDiagonal();
    last.W = size.cwiseInverse().asDiagonal() * last.W;
    last.b = (last.b - mean.transpose()).cwiseQuotient(size);
  }
  [[nodiscard]] DeepData data() const { return {x, y}; }
};

// The first such network, from this seed on, whose units are all active on a tenth to nine tenths of the
// rows: others may have units that are not needed.
inline Planted lively(const std::vector<Index>& sizes, Index rows, std::uint64_t seed) {
  for (;; ++seed) {
    Planted planted(sizes, rows, seed);
    const Form form = to_plain_form(planted.network);
    const FormRows seen(form, planted.x);
    bool all = true;
    for (std::size_t l = 0; l < form.depth(); ++l) {
      const Vector active = (seen.Q(l).array() > 0).cast<double>().colwise().mean().transpose();
      all = all && active.minCoeff() > 0.1 && active.maxCoeff() < 0.9;
    }
    if (all) return planted;
  }
}

}  // namespace exhume
