#include "certify/entry_check.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "data/reduce.h"
#include "model/rectified_network.h"

namespace exhume {
namespace {

constexpr double kPolished = 1e-10;  // what a badly conditioned fit in doubles may cost, of S
constexpr double kDouble = 0x1p-53, kSingle = 0x1p-24;
constexpr double kFitDeviations = 6;
constexpr Index kRowsAtOnce = 512;  // several copies of them are made

RowMatrix values(const Network& network, const Rectifier* rectifier, const Eigen::Ref<const RowMatrix>& x) {
  return rectifier != nullptr ? evaluate(network, *rectifier, x) : evaluate(network, x);
}

// What the terms of f_o(x_i) add up to, signs left out, is the value of |network| at |x|.
// |sigma(z)| <= |z| + 1 and |sigma'(z)| is about 1 at most for all units but the rectified powers, which keep
// their own function.
Network of_sizes(Network network) {
  if (network.activation != "relu") {
    for (std::size_t l = 0; l + 1 < network.layers.size(); ++l)
      network.layers[l].b = network.layers[l].b.cwiseAbs().array() + 1;
    network.activation = "relu";
  }
  for (Layer& layer : network.layers) layer = {layer.W.cwiseAbs(), layer.b.cwiseAbs(), layer.L.cwiseAbs()};
  return network;
}

struct Worst {
  double ratio = 0, gap = 0, value = 0;
  Index row = 0, output = 0;
  void offer(double r, double g, double v, Index i, Index o) {
    if (!(r <= ratio)) *this = {std::isnan(r) ? std::numeric_limits<double>::infinity() : r, g, v, i, o};
  }
  void merge(const Worst& other) {
    if (other.ratio > ratio) *this = other;
  }
};

struct Look {
  Worst in_double, stored, computed;
  double squares = 0, sizes = 0;  // of the gaps, and of S
  void merge(const Look& other) {
    in_double.merge(other.in_double);
    stored.merge(other.stored);
    computed.merge(other.computed);
    squares += other.squares;
    sizes += other.sizes;
  }
};

// Sizes in standardised coordinates, in the units of the outputs as they are stored.
template <class Evaluate>
EntryModel::Values standard_sizes_of(const Standardisation* coordinates, const Evaluate& evaluate_sizes) {
  if (coordinates == nullptr) return {};
  return [map = coordinates->map, evaluate_sizes](const Eigen::Ref<const RowMatrix>& x) -> RowMatrix {
    const RowMatrix standard = ((x.rowwise() - map.mu.transpose()) * map.P.transpose()).cwiseAbs();
    return evaluate_sizes(standard) * map.D.cwiseInverse().asDiagonal();
  };
}

}  // namespace

EntryModel::EntryModel(const Network& network, const Rectifier* rectifier, const Standardisation* coordinates)
    : values([&network, rectifier](const auto& x) { return exhume::values(network, rectifier, x); }),
      sizes([all = of_sizes(network), rectifier](const auto& x) {
        return exhume::values(all, rectifier, x.cwiseAbs());
      }),
      terms(static_cast<double>(network.inputs() + network.hidden() + 4 * network.depth())) {
  if (coordinates == nullptr) return;
  standard_sizes =
      standard_sizes_of(coordinates, [all = of_sizes(coordinates->from_user(network)), rectifier](
                                         const RowMatrix& x) { return exhume::values(all, rectifier, x); });
}

EntryCheck check_entries(const EntryModel& model, const SampleSource& rows, const StoredPrecision& stored,
                         bool unseen, const FitErrors& fit_errors, const Control& control) {
  const double units = unseen && stored.coarse() ? 2 : 1;
  const double depth = model.terms;
  const Look look = reduce_blocks(
      rows, Look{}, control, "",
      [&](Look& to, const SampleBlock& block) {
        const Matrix gaps = (model.values(block.x()) - block.y()).cwiseAbs();
        const Matrix S = model.sizes(block.x());
        Matrix least = S;
        if (model.standard_sizes) least = least.cwiseMin(Matrix(model.standard_sizes(block.x())));
        const Matrix doubles = kPolished * least + 8 * kDouble * S;
        to.squares += gaps.squaredNorm();
        to.sizes += S.squaredNorm();
        std::vector<Index> open;  // rows on which the fit's own error matters
        for (Index i = 0; i < gaps.rows(); ++i) {
          bool beyond = false;
          for (Index o = 0; o < gaps.cols(); ++o) {
            const double gap = gaps(i, o), y = block.y()(i, o), h = units * stored.half_unit(y);
            const Index row = block.first_row() + i;
            to.in_double.offer(gap / std::max(doubles(i, o), kTiny), gap, y, row, o);
            to.computed.offer(gap / std::max(h + doubles(i, o) + depth * kSingle * S(i, o), kTiny), gap, y,
                              row, o);
            const double allowed = std::max(h + doubles(i, o), kTiny);
            if (gap <= allowed || !fit_errors || !stored.coarse()) {
              to.stored.offer(gap / allowed, gap, y, row, o);
            } else {
              beyond = true;
            }
          }
          if (beyond) open.push_back(i);
        }
        if (open.empty()) return;
        RowMatrix x(static_cast<Index>(open.size()), block.x().cols());
        for (std::size_t i = 0; i < open.size(); ++i) x.row(static_cast<Index>(i)) = block.x().row(open[i]);
        const Matrix errors = fit_errors(x);
        for (std::size_t i = 0; i < open.size(); ++i) {
          for (Index o = 0; o < gaps.cols(); ++o) {
            const double y = block.y()(open[i], o), gap = gaps(open[i], o);
            const double allowed = units * stored.half_unit(y) + doubles(open[i], o) +
                                   kFitDeviations * errors(static_cast<Index>(i), o);
            to.stored.offer(gap / std::max(allowed, kTiny), gap, y, block.first_row() + open[i], o);
          }
        }
      },
      kRowsAtOnce);
  EntryCheck out;
  const auto take = [&](const Worst& worst) {
    out.worst = worst.ratio;
    out.row = worst.row;
    out.output = worst.output;
    out.gap = worst.gap;
    out.value = worst.value;
  };
  take(look.in_double);
  if (out.reproduced() || !stored.coarse()) return out;
  take(look.stored);
  out.rounded = true;
  if (out.reproduced() || !stored.single()) return out;
  const double together = kSingle * std::sqrt(depth * look.sizes);
  if (look.computed.ratio <= 1 && std::sqrt(look.squares) <= together) {
    take(look.computed);
    out.computed_in_single = true;
  }
  return out;
}

}  // namespace exhume
