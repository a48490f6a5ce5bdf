#include "certify/jumps.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <vector>

#include "data/reduce.h"

namespace exhume {
namespace {

constexpr Index kSteps = 64, kLeastBesideStep = 32;
constexpr Index kRowsForSteps = 16384;
constexpr Index kMostTangent = 300;
constexpr double kJumpTerms = 4e9;
// Steps that are nearly in the tangent say nothing: what is left of them is rounding and few rows.
constexpr double kLeastLeft = 1e-3;
constexpr double kSameValue = 1e-9;  // of a column's range
constexpr double kNoSpan = 1e-9;     // of a correlation matrix, whose sums are good to 1e-13

// Which columns of the tangent there are.
enum class Tangent { kAll, kFeatures, kInputs };

Tangent tangent_of(const Form& model) {
  const Index q = model.features(), p = q + model.units() * model.inputs;
  if (p <= kMostTangent) return Tangent::kAll;
  return q <= kMostTangent ? Tangent::kFeatures : Tangent::kInputs;
}

Matrix tangent_rows(const Form& model, Tangent which, const Eigen::Ref<const RowMatrix>& x) {
  const FormRows rows(model, x, true);
  if (which == Tangent::kInputs) return rows.X1();
  if (which == Tangent::kFeatures || model.units() == 0) return rows.F();
  // Of the features those below the units: a unit itself lies in the span of its derivatives.
  const Matrix G = rows.gradients();
  const Index lower = rows.F().cols() - model.units();
  Matrix out(x.rows(), lower + G.cols());
  out << rows.F().rightCols(lower), G;
  return out;
}

// Inputs, units, fitted outputs: rows x directions.
Matrix along(const Form& model, const Matrix& columns, const Eigen::Ref<const RowMatrix>& x) {
  const Index d = model.inputs, k = model.units(), m = model.C.cols();
  Matrix out(x.rows(), d + k + m);
  if (columns.size() > 0) {
    out.leftCols(d).noalias() = x * columns;
  } else {
    out.leftCols(d) = x;
  }
  if (k > 0) out.middleCols(d, k).noalias() = x * model.V[0].leftCols(d).transpose();
  out.rightCols(m) = evaluate(model, x);
  return out;
}

// Thresholds: equally many rows between them, halved towards both ends. values: some rows, sorted.
std::vector<double> thresholds(const Eigen::Ref<const Vector>& values, Index rows) {
  const Index bins = std::clamp<Index>(rows / kLeastBesideStep, 2, kSteps);
  std::vector<double> shares;
  const double width = 1 / static_cast<double>(bins);
  for (Index b = 1; b < bins; ++b) shares.push_back(static_cast<double>(b) * width);
  for (double share = width / 2; share * static_cast<double>(rows) >= kLeastBesideStep &&
                                 share * static_cast<double>(values.size()) >= 4;
       share /= 2) {
    shares.push_back(share);
    shares.push_back(1 - share);
  }
  // Halfway between two values, so that no row lies on a threshold; a column of few values jumps between
  // them.
  std::vector<double> out;
  const double same = kSameValue * (values(values.size() - 1) - values(0));
  for (const double share : shares) {
    const auto at = static_cast<Index>(share * static_cast<double>(values.size()));
    Index below = at;
    while (below > 0 && values(at) - values(below - 1) <= same) --below;
    if (below > 0) out.push_back((values(below - 1) + values(below)) / 2);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

// The inverse on the span of M, which may lack directions (inputs of few values).
Matrix inverse_on_span(const Matrix& M) {
  const Vector scale = M.diagonal().cwiseMax(kTiny).cwiseSqrt().cwiseInverse();
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(Matrix(scale.asDiagonal() * M * scale.asDiagonal()));
  const Vector inverse = (eigen.eigenvalues().array() > kNoSpan)
                             .select(eigen.eigenvalues().cwiseMax(kNoSpan).cwiseInverse(), 0.0);
  return scale.asDiagonal() *
         Matrix(eigen.eigenvectors() * inverse.asDiagonal() * eigen.eigenvectors().transpose()) *
         scale.asDiagonal();
}

// By bin (directions * bins of them): rows, T; r and r^2, and r^2 T, of every output. Over all rows: T^T T,
// T^T r and T^T r^2 T of every output.
struct JumpSums {
  Vector rows;
  Matrix T, r, r2, r2T, TT, Tr, Tr2T;
  void merge(const JumpSums& other) {
    rows += other.rows;
    T += other.T;
    r += other.r;
    r2 += other.r2;
    r2T += other.r2T;
    TT += other.TT;
    Tr += other.Tr;
    Tr2T += other.Tr2T;
  }
};

}  // namespace

JumpLook look_for_jumps(const Form& model, const SampleSource& residual, const Matrix& columns,
                        const Control& control) {
  JumpLook look;
  const Index m = residual.outputs();
  if (residual.rows() < 4 * kLeastBesideStep) return look;
  const Tangent which = tangent_of(model);
  const Index directions = model.inputs + model.units() + m;
  const Index p = which == Tangent::kAll        ? model.features() + model.units() * model.inputs
                  : which == Tangent::kFeatures ? model.features()
                                                : model.inputs + 1;
  // Rows that are affordable: all of them as a rule.
  const double each = static_cast<double>(p) * static_cast<double>((1 + m) * (p + directions));
  SamplePtr some;
  if (each * static_cast<double>(residual.rows()) > kJumpTerms)
    some = spread_subset(residual, std::max<Index>(kRowsForSteps, static_cast<Index>(kJumpTerms / each)));
  const SampleSource& source = some ? *some : residual;
  const Index n = source.rows();

  const SamplePtr few = spread_subset(source, kRowsForSteps);
  SampleBlock shown;
  few->read(0, few->rows(), shown);
  Matrix sorted = along(model, columns, shown.x());
  std::vector<std::vector<double>> cuts;
  Index bins = 1;
  for (Index a = 0; a < directions; ++a) {
    std::sort(sorted.col(a).begin(), sorted.col(a).end());
    cuts.push_back(thresholds(sorted.col(a), n));
    bins = std::max(bins, static_cast<Index>(cuts.back().size()) + 1);
  }
  const Index places = directions * bins;
  const JumpSums sums = reduce_blocks(
      source,
      JumpSums{Vector::Zero(places), Matrix::Zero(p, places), Matrix::Zero(m, places),
               Matrix::Zero(m, places), Matrix::Zero(p * m, places), Matrix::Zero(p, p), Matrix::Zero(p, m),
               Matrix::Zero(p, p * m)},
      control, "", [&](JumpSums& to, const SampleBlock& block) {
        const Matrix T = tangent_rows(model, which, block.x()), at = along(model, columns, block.x());
        const Matrix r = block.y(), r2 = r.cwiseAbs2();
        const Matrix T_columns = T.transpose();  // a row of the data as a column
        Matrix weighted(p * m, block.rows());
        for (Index o = 0; o < m; ++o) {
          weighted.middleRows(o * p, p) = T_columns * r2.col(o).asDiagonal();
          to.Tr2T.middleCols(o * p, p).noalias() += weighted.middleRows(o * p, p) * T;
        }
        to.TT.noalias() += T_columns * T;
        to.Tr.noalias() += T_columns * r;
        for (Index a = 0; a < directions; ++a) {
          const std::vector<double>& inner = cuts[static_cast<size_t>(a)];
          for (Index i = 0; i < block.rows(); ++i) {
            const Index place =
                a * bins + (std::upper_bound(inner.begin(), inner.end(), at(i, a)) - inner.begin());
            to.rows(place) += 1;
            to.T.col(place) += T_columns.col(i);
            to.r.col(place) += r.row(i).transpose();
            to.r2.col(place) += r2.row(i).transpose();
            to.r2T.col(place) += weighted.col(i);
          }
        }
      });

  const Matrix inverse = inverse_on_span(sums.TT);
  Vector hT(p), hr(m), hr2(m), hr2T(p * m);
  double tests = 0;
  for (Index a = 0; a < directions; ++a) {
    double rows = 0;
    hT.setZero();
    hr.setZero();
    hr2.setZero();
    hr2T.setZero();
    for (Index b = bins - 1; b > 0; --b) {  // steps up from the upper end
      const Index place = a * bins + b;
      rows += sums.rows(place);
      hT += sums.T.col(place);
      hr += sums.r.col(place);
      hr2 += sums.r2.col(place);
      hr2T += sums.r2T.col(place);
      if (sums.rows(place) == 0 || rows < kLeastBesideStep ||
          static_cast<double>(n) - rows < kLeastBesideStep)
        continue;
      const Vector beta = inverse * hT;
      const double left = rows - hT.dot(beta);
      if (left < std::max(1.0, kLeastLeft * rows)) continue;
      for (Index o = 0; o < m; ++o) {
        if (!(hr2(o) > 0)) continue;
        const auto weighted = hr2T.segment(o * p, p);
        const double spread =
            hr2(o) - 2 * weighted.dot(beta) + beta.dot(sums.Tr2T.middleCols(o * p, p) * beta);
        ++tests;
        const double z = std::abs(hr(o) - beta.dot(sums.Tr.col(o))) / std::sqrt(std::max(spread, left));
        if (z <= look.largest) continue;
        look.largest = z;
        look.direction = a;
      }
    }
  }
  look.tests = std::max(tests, 1.0);
  return look;
}

}  // namespace exhume
