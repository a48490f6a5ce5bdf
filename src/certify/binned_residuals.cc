#include "certify/binned_residuals.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <ranges>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "data/reduce.h"

namespace exhume {
namespace {

constexpr Index kMostBins = 256, kRowsForEdges = 16384;
constexpr Index kLeastInBin = 64;       // rows, for a mean
constexpr Index kSide = 8;              // bins along each of a pair
constexpr double kPairEntries = 1e9;    // rows times pairs that are affordable
constexpr Index kLeastForSpread = 500;  // rows, for a variance

// Where rows lie along every direction: units, inputs, fitted outputs, |x|. rows x directions.
Matrix positions(const Form& model, const Matrix& columns, const Eigen::Ref<const RowMatrix>& x) {
  const Index d = model.inputs, k = model.units(), m = model.C.cols();
  Matrix out(x.rows(), k + d + m + 1);
  if (k > 0) out.leftCols(k).noalias() = x * model.V[0].leftCols(d).transpose();
  out.middleCols(k, d) = columns.size() > 0 ? Matrix(x * columns) : Matrix(x);
  out.middleCols(k + d, m) = evaluate(model, x);
  out.rightCols(1) = x.rowwise().squaredNorm();
  return out;
}

// Inner edges of bins that hold equally many rows, and finer ones towards both ends. along: some rows,
// sorted.
std::vector<double> edges(const Eigen::Ref<const Vector>& along, Index rows) {
  const Index bins = std::clamp<Index>(rows / kLeastInBin, 2, kMostBins);
  std::vector<double> out;
  const auto add = [&](double share) {
    const auto at = static_cast<Index>(share * static_cast<double>(along.size()));
    if (at > 0 && at < along.size()) out.push_back(along(at));
  };
  const double width = 1 / static_cast<double>(bins);
  std::vector<double> tails;
  for (double share = width / 4;
       share * static_cast<double>(rows) >= kLeastInBin && share * static_cast<double>(along.size()) >= 4;
       share /= 4)
    tails.push_back(share);
  for (double& tail : std::ranges::reverse_view(tails)) add(tail);
  for (Index b = 1; b < bins; ++b) add(static_cast<double>(b) * width);
  for (const double share : tails) add(1 - share);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

// By bin: rows, and sums of r and of r^2 of every output. A direction's bins are `bins` neighbouring places.
struct BinSums {
  RowMatrix powers;  // (directions * bins) x 2m: a row of the data adds to a row of it
  Vector rows;
  [[nodiscard]] auto first() const { return powers.leftCols(powers.cols() / 2); }
  [[nodiscard]] auto second() const { return powers.rightCols(powers.cols() / 2); }
  void merge(const BinSums& other) {
    powers += other.powers;
    rows += other.rows;
  }
  void add(Index place, const Eigen::Ref<const Eigen::RowVectorXd>& of_row) {
    powers.row(place) += of_row;
    rows(place) += 1;
  }
};

BinSums empty_bins(Index places, Index outputs) {
  return {RowMatrix::Zero(places, 2 * outputs), Vector::Zero(places)};
}

// (r, r^2) of every output, rows x 2m.
RowMatrix first_and_second(const Eigen::Ref<const RowMatrix>& r) {
  RowMatrix out(r.rows(), 2 * r.cols());
  out << r, r.cwiseAbs2();
  return out;
}

// The largest ratio of a chi-squared to its limit, with `group` neighbouring bins joined.
struct Largest {
  double means = 0, variances = 0;
};
Largest judge(const BinSums& sums, Index directions, Index bins, Index group, double kurtosis,
              double false_alarm) {
  Largest out;
  const auto first_powers = sums.first(), second_powers = sums.second();
  const Index m = first_powers.cols();
  const double tests = static_cast<double>(directions * m * 3);
  for (Index a = 0; a < directions; ++a) {
    for (Index o = 0; o < m; ++o) {
      const double total = second_powers.col(o).segment(a * bins, bins).sum();
      const double all = sums.rows.segment(a * bins, bins).sum();
      if (!(total > 0)) continue;
      const double variance = total / all;
      double means = 0, variances = 0, freedom = 0, spread_freedom = 0;
      for (Index b = 0; b < bins; b += group) {
        const Index size = std::min(group, bins - b);
        const double first = first_powers.col(o).segment(a * bins + b, size).sum();
        const double second = second_powers.col(o).segment(a * bins + b, size).sum();
        const double rows = sums.rows.segment(a * bins + b, size).sum();
        if (rows < kLeastInBin / 2 || !(second > 0)) continue;
        means += first * first / second;
        ++freedom;
        if (rows < kLeastForSpread) continue;
        variances += rows * std::pow(second / rows / variance - 1, 2) / std::max(kurtosis - 1, 1.0);
        ++spread_freedom;
      }
      if (freedom > 0)
        out.means = std::max(out.means, means / chi_squared_limit(freedom, false_alarm, tests));
      // A quarter on top: sums of squares have longer tails than the normal law.
      if (spread_freedom > 1) {
        out.variances = std::max(out.variances,
                                 variances / (1.25 * chi_squared_limit(spread_freedom, false_alarm, tests)));
      }
    }
  }
  return out;
}

// Pairs of directions, by number: of units and inputs, or of inputs alone, or none, as time allows.
std::vector<std::pair<Index, Index>> pairs_of(const Form& model, Index rows) {
  const Index k = model.units(), d = model.inputs;
  const auto affordable = [&](Index directions) {
    return static_cast<double>(directions) * static_cast<double>(directions) / 2 *
               static_cast<double>(rows) <=
           kPairEntries;
  };
  const Index first = affordable(k + d) ? 0 : k, last = affordable(k + d) || affordable(d) ? k + d : k;
  std::vector<std::pair<Index, Index>> out;
  for (Index a = first; a < last; ++a) {
    for (Index b = first; b < a; ++b) out.emplace_back(a, b);
  }
  return out;
}

// The largest chi-squared of the means in kSide x kSide bins along pairs of directions, over its limit.
// sorted: where some rows lie along each.
double look_at_pairs(const Form& model, const Matrix& columns, const Matrix& sorted,
                     const SampleSource& residual, double false_alarm, const Control& control) {
  const auto pairs = pairs_of(model, residual.rows());
  const Index cells = kSide * kSide;
  const auto count = static_cast<Index>(pairs.size());
  if (count == 0 || residual.rows() < cells * kLeastInBin) return 0;
  std::vector<std::vector<double>> cuts(static_cast<size_t>(model.units() + model.inputs));
  for (std::size_t a = 0; a < cuts.size(); ++a) {
    const auto along = sorted.col(static_cast<Index>(a));
    for (Index c = 1; c < kSide; ++c) cuts[a].push_back(along(c * along.size() / kSide));
  }
  const BinSums sums =
      reduce_blocks(residual, empty_bins(count * cells, residual.outputs()), control, "",
                    [&](BinSums& to, const SampleBlock& rows) {
                      const Matrix at = positions(model, columns, rows.x());
                      Eigen::Matrix<Index, Eigen::Dynamic, Eigen::Dynamic> bin(
                          rows.rows(), static_cast<Index>(cuts.size()));
                      for (Index a = 0; a < bin.cols(); ++a) {
                        const std::vector<double>& inner = cuts[static_cast<size_t>(a)];
                        for (Index i = 0; i < rows.rows(); ++i)
                          bin(i, a) = std::upper_bound(inner.begin(), inner.end(), at(i, a)) - inner.begin();
                      }
                      const RowMatrix powers = first_and_second(rows.y());
                      for (Index p = 0; p < count; ++p) {
                        const auto [a, b] = pairs[static_cast<size_t>(p)];
                        for (Index i = 0; i < rows.rows(); ++i)
                          to.add(p * cells + bin(i, a) * kSide + bin(i, b), powers.row(i));
                      }
                    });
  return judge(sums, count, cells, 1, 3, false_alarm).means;
}

}  // namespace

BinnedLook look_in_bins(const Form& model, const SampleSource& standard, const SampleSource& residual,
                        const Matrix& columns, double kurtosis, double false_alarm, const Control& control) {
  const SamplePtr some = spread_subset(standard, kRowsForEdges);
  SampleBlock block;
  some->read(0, some->rows(), block);
  Matrix sorted = positions(model, columns, block.x());
  const Index directions = sorted.cols();
  std::vector<std::vector<double>> inner;
  inner.reserve(static_cast<size_t>(directions));
  Index bins = 1;
  for (Index a = 0; a < directions; ++a) {
    std::sort(sorted.col(a).begin(), sorted.col(a).end());
    inner.push_back(edges(sorted.col(a), standard.rows()));
    bins = std::max(bins, static_cast<Index>(inner.back().size()) + 1);
  }
  const BinSums sums = reduce_blocks(
      residual, empty_bins(directions * bins, residual.outputs()), control, "",
      [&](BinSums& to, const SampleBlock& rows) {
        const Matrix at = positions(model, columns, rows.x());
        const RowMatrix powers = first_and_second(rows.y());
        for (Index a = 0; a < directions; ++a) {
          const std::vector<double>& cuts = inner[static_cast<size_t>(a)];
          for (Index i = 0; i < rows.rows(); ++i) {
            const auto bin = std::upper_bound(cuts.begin(), cuts.end(), at(i, a)) - cuts.begin();
            to.add(a * bins + bin, powers.row(i));
          }
        }
      });
  BinnedLook out;
  for (const Index group : {Index{1}, Index{8}, Index{64}}) {
    const Largest each = judge(sums, directions, bins, group, kurtosis, false_alarm / 3);
    out.means = std::max(out.means, each.means);
    out.variances = std::max(out.variances, each.variances);
  }
  out.means = std::max(out.means, look_at_pairs(model, columns, sorted, residual, false_alarm / 3, control));
  return out;
}

}  // namespace exhume
