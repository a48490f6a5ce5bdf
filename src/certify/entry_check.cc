#include "certify/entry_check.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
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
// Times what the data make natural that terms may be: twice the most that three hidden layers had.
constexpr double kMostCancelled = 1e4;
constexpr Index kMedianRows = 512;  // from which scales are read off where no coordinates are known

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
  double share = 0;
  double squares = 0, sizes = 0;  // of the gaps, and of S
  void merge(const Look& other) {
    in_double.merge(other.in_double);
    stored.merge(other.stored);
    computed.merge(other.computed);
    share = std::max(share, other.share);
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

double median(Vector values) {
  if (values.size() == 0) return 0;
  double* middle = values.data() + values.size() / 2;
  std::nth_element(values.data(), middle, values.data() + values.size());
  return *middle;
}

// What N is without coordinates: columns measured from their medians, in median distances from them, and
// outputs by how much they change over such a distance.
EntryModel::Values natural_of_rows(const SampleSource& rows) {
  SampleBlock block;
  const SamplePtr some = rows.rows() > kMedianRows ? spread_subset(rows, kMedianRows) : load(rows);
  some->read(0, some->rows(), block);
  const Index n = block.rows(), d = block.x().cols(), m = block.y().cols();
  Eigen::RowVectorXd centre(d), inverse(d);
  RowMatrix x = block.x();
  for (Index a = 0; a < d; ++a) {
    centre(a) = median(x.col(a));
    x.col(a).array() -= centre(a);
    double scale = median(x.col(a).cwiseAbs());
    if (!(scale > 0)) scale = std::sqrt(x.col(a).squaredNorm() / static_cast<double>(std::max<Index>(n, 1)));
    inverse(a) = scale > 0 ? 1 / scale : 0;
  }
  const Vector far = (x * inverse.asDiagonal()).rowwise().norm();
  const double usual = std::max(median(far), kTiny);
  Eigen::RowVectorXd slope(m);
  for (Index o = 0; o < m; ++o) {
    const double middle = median(block.y().col(o));
    const Vector change = (block.y().col(o).array() - middle) / (far.array() + usual);
    slope(o) = std::sqrt(change.squaredNorm() / static_cast<double>(std::max<Index>(n, 1)));
  }
  const double offset = centre.cwiseProduct(inverse).norm() + usual;
  return [inverse, slope, offset](const Eigen::Ref<const RowMatrix>& at) -> RowMatrix {
    const Vector sizes = ((at * inverse.asDiagonal()).rowwise().norm().array() + offset).matrix();
    return sizes * slope;
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
  const Vector origin = Vector::Zero(network.inputs());
  least_sizes = sizes(origin.transpose()).row(0);
  // From standardised coordinates: the origin there is the mean.
  least_standard = standard_sizes(coordinates->map.mu.transpose()).row(0);
  least_natural = coordinates->map.D.cwiseAbs().cwiseInverse().transpose();
  natural = [P = Matrix(coordinates->map.P.cwiseAbs()), mu = coordinates->map.mu,
             spread = Eigen::RowVectorXd(coordinates->map.D.cwiseAbs().cwiseInverse().transpose())](
                const Eigen::Ref<const RowMatrix>& x) -> RowMatrix {
    RowMatrix far = x.cwiseAbs();
    far.rowwise() += mu.cwiseAbs().transpose();
    const Vector lengths = ((far * P.transpose()).rowwise().norm().array() + 1).matrix();
    return lengths * spread;
  };
}

EntryCheck check_entries(const EntryModel& model, const SampleSource& rows, const StoredPrecision& stored,
                         bool unseen, const FitErrors& fit_errors, const Control& control) {
  const double units = unseen && stored.coarse() ? 2 : 1;
  const double depth = model.terms;
  const EntryModel::Values natural = model.natural ? model.natural : natural_of_rows(rows);
  // What is allowed at least, in doubles: nearly always enough, and the same for all rows.
  const bool quick = !stored.coarse() && model.least_sizes.size() > 0;
  Eigen::RowVectorXd allowed_anywhere;
  if (quick) {
    const Eigen::RowVectorXd S = model.least_sizes.cwiseMin(kMostCancelled * model.least_natural);
    allowed_anywhere = (kPolished * S.cwiseMin(model.least_standard) + 8 * kDouble * S).cwiseMax(kTiny);
  }
  const Look look = reduce_blocks(
      rows, Look{}, control, "",
      [&](Look& to, const SampleBlock& block) {
        const Matrix gaps = (model.values(block.x()) - block.y()).cwiseAbs();
        if (quick) {
          Look first;
          for (Index i = 0; i < gaps.rows(); ++i) {
            for (Index o = 0; o < gaps.cols(); ++o) {
              const double gap = gaps(i, o), y = block.y()(i, o);
              first.share = std::max(first.share, gap / (model.least_natural(o) + std::abs(y)));
              first.in_double.offer(gap / allowed_anywhere(o), gap, y, block.first_row() + i, o);
            }
          }
          if (first.in_double.ratio <= 1) return to.merge(first);
        }
        const Matrix N = Matrix(natural(block.x())) + Matrix(block.y().cwiseAbs());
        const Matrix S = Matrix(model.sizes(block.x())).cwiseMin(kMostCancelled * N);
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
            to.share = std::max(to.share, gap / std::max(N(i, o), kTiny));
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
  out.share = look.share;
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
