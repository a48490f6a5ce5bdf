#include "fit/curve_pieces.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/blas.h"
#include "base/order.h"
#include "fit/unit_search.h"

namespace exhume {
namespace {

// Most rows that are looked at.
constexpr Index kMostRows = 40000;
// More inputs than this are hardly functions of one of them.
constexpr Index kMostInputs = 16;
// Mean squared step from row to row, over the variance of the inputs: 2 for unrelated rows, about (range /
// n)^2 along a curve.
constexpr double kSmoothSteps = 0.01;
// A row belongs to a run whose matrix reproduces it to this share of the outputs' spread.
constexpr double kReproduces = 1e-8;
// Share of the rows that must lie in runs.
constexpr double kCovered = 0.8;
// Difference of two units, up to sign, below which they are one that bends twice.
constexpr double kSameUnit = 1e-3;

struct Run {
  Index first = 0, end = 0;
  Matrix M;  // (d+1) x m
};

class Pieces {
 public:
  Pieces(const Matrix& X1, const Matrix& Y) : X1_(X1), Y_(Y), least_(2 * X1.cols() + 2) {
    const Matrix centred = Y.rowwise() - Y.colwise().mean();
    spread_ = std::sqrt(centred.squaredNorm() / static_cast<double>(std::max<Index>(centred.size(), 1)));
  }

  // Runs from the first row to the last; empty where the rows do not fall into any.
  std::vector<Run> runs() const {
    std::vector<Run> found;
    Index at = 0, lost = 0;
    const Index n = X1_.rows();
    while (at + least_ <= n) {
      Run run{at, at + least_, fitted(at, at + least_)};
      if (!holds(run, at, run.end)) {
        ++at;
        // Not piecewise affine: give up before all rows were looked at.
        if (static_cast<double>(++lost) > (1 - kCovered) * static_cast<double>(n)) return {};
        continue;
      }
      extend(run);
      at = run.end;
      found.push_back(std::move(run));
    }
    return found;
  }

 private:
  [[nodiscard]] Matrix fitted(Index first, Index end) const {
    return X1_.middleRows(first, end - first)
        .colPivHouseholderQr()
        .solve(Matrix(Y_.middleRows(first, end - first)));
  }
  [[nodiscard]] bool holds(const Run& run, Index first, Index end) const {
    const Matrix left = Y_.middleRows(first, end - first) - X1_.middleRows(first, end - first) * run.M;
    return left.cwiseAbs().maxCoeff() <= kReproduces * spread_;
  }

  // As far as one matrix reproduces the rows. Lengths double, so that no matrix of a short run is trusted far
  // beyond it, then the end is found by halving.
  void extend(Run& run) const {
    Index step = run.end - run.first;
    while (step > 0) {
      const Index end = std::min(run.end + step, X1_.rows());
      Run longer{run.first, end, fitted(run.first, end)};
      if (end > run.end && holds(longer, longer.first, end)) {
        run = std::move(longer);
        step *= 2;
      } else {
        step /= 2;
      }
    }
  }

  const Matrix& X1_;
  const Matrix& Y_;
  Index least_;
  double spread_ = 0;
};

// The unit by which two neighbouring runs differ, |w| = 1; nothing where they do not.
Vector unit_between(const Run& left, const Run& right) {
  const Eigen::JacobiSVD<Matrix> svd(right.M - left.M, Eigen::ComputeThinU);
  const Vector unit = svd.matrixU().col(0);
  const double size = unit.head(unit.size() - 1).norm();
  return size > kTiny && svd.singularValues()(0) > kTiny ? Vector(unit / size) : Vector();
}

// The rows in the order of `place`.
Matrix units_in_order(const SampleBlock& block, const Vector& place) {
  const Index n = block.rows(), d = block.x().cols();
  const std::vector<Index> order = increasing_order(place);
  Matrix X1(n, d + 1), Y(n, block.y().cols());
  for (Index i = 0; i < n; ++i) {
    X1.row(i) << block.x().row(order[static_cast<size_t>(i)]), 1;
    Y.row(i) = block.y().row(order[static_cast<size_t>(i)]);
  }
  const Matrix centred = X1.leftCols(d).rowwise() - X1.leftCols(d).colwise().mean();
  const double steps = (X1.bottomRows(n - 1) - X1.topRows(n - 1)).squaredNorm();
  Matrix units(0, d + 1);
  if (d > 1 && steps > kSmoothSteps * centred.squaredNorm()) return units;
  const std::vector<Run> runs = Pieces(X1, Y).runs();
  for (size_t r = 1; r < runs.size(); ++r) {
    const Vector unit = unit_between(runs[r - 1], runs[r]);
    if (unit.size() == 0) continue;
    units.conservativeResize(units.rows() + 1, Eigen::NoChange);
    units.bottomRows(1) = unit.transpose();
  }
  return without_doubles(units, kSameUnit);
}

}  // namespace

Matrix units_along_curve(const SampleSource& samples, const SampleSource& places) {
  const SingleThreadedBlas single;
  const Index d = samples.inputs();
  Matrix best(0, d + 1);
  if (d > kMostInputs || samples.rows() < 2) return best;
  const SamplePtr rows = spread_subset(samples, kMostRows), where = spread_subset(places, kMostRows);
  SampleBlock block, place;
  rows->read(0, rows->rows(), block);
  where->read(0, where->rows(), place);
  for (Index along = 0; along < place.x().cols(); ++along) {
    Matrix units = units_in_order(block, place.x().col(along));
    if (best.rows() == 0 || (units.rows() > 0 && units.rows() < best.rows())) best = std::move(units);
  }
  return best;
}

}  // namespace exhume
