#include "exhume/papers/rectified.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <optional>

#include "base/blas.h"
#include "base/limits.h"
#include "linalg/linear_program.h"
#include "linalg/orthonormal.h"
#include "model/rectified_network.h"

namespace exhume {
namespace {

constexpr double kNull = 1e-10;     // singular value over the largest, up to which a vector is a null vector
constexpr double kNegative = 1e-9;  // x.w of an inactive unit up to which it is not positive, |w| = |x| = 1
constexpr double kIndependent = 1e-7;  // share of an output that must lie outside the span of those found

// Orthonormal basis of the null space of M (columns may outnumber rows), where entries much smaller than
// `size` are rounding.
Matrix null_space(const Matrix& M, double size) {
  if (M.rows() == 0) return Matrix::Identity(M.cols(), M.cols());
  const Eigen::JacobiSVD<Matrix> svd(M, Eigen::ComputeFullV);
  const Vector& values = svd.singularValues();
  Index rank = 0;
  while (rank < values.size() && values(rank) > kNull * std::max(values(0), size)) ++rank;
  return svd.matrixV().rightCols(M.cols() - rank);
}

class PatternSolver {
 public:
  PatternSolver(const Matrix& X, const Matrix& B) : X_(X), B_(B), found_(B.rows(), 0) {}

  // The unit behind the pattern, independent of those found so far: w (d), or nothing.
  std::optional<Vector> unit(const SignPattern& pattern) {
    std::vector<Index> on, off;
    for (size_t j = 0; j < pattern.size(); ++j) (pattern[j] ? on : off).push_back(static_cast<Index>(j));
    if (on.empty()) return std::nullopt;
    const Index d = X_.cols();
    const double size = B_.norm() / std::sqrt(static_cast<double>(B_.size()));
    // Outputs that vanish off the pattern, then pairs (w, z) that agree on it.
    const Matrix vanishing = null_space(B_(off, Eigen::all), size);
    if (vanishing.cols() == 0) return std::nullopt;
    Matrix agree(static_cast<Index>(on.size()), d + vanishing.cols());
    agree << X_(on, Eigen::all), -B_(on, Eigen::all) * vanishing;
    const Matrix pairs = null_space(agree, size);
    if (pairs.cols() == 0) return std::nullopt;
    const Matrix w = pairs.topRows(d), h = B_ * vanishing * pairs.bottomRows(vanishing.cols());
    return pairs.cols() == 1 ? single(w, h, on, off) : by_programs(w, h, on, off);
  }

  void add(const Vector& output) {
    found_.conservativeResize(Eigen::NoChange, found_.cols() + 1);
    found_.col(found_.cols() - 1) = output;
    basis_ = orthonormal_columns(found_, found_.cols());
  }

  [[nodiscard]] Index programs() const { return programs_; }

 private:
  [[nodiscard]] Matrix outside(const Matrix& h) const {
    return basis_.cols() == 0 ? h : Matrix(h - basis_ * (basis_.transpose() * h));
  }

  [[nodiscard]] bool signs_fit(const Vector& w, const std::vector<Index>& on,
                               const std::vector<Index>& off) const {
    const Vector z = X_ * w.normalized();
    const auto relative = [&](Index j) { return z(j) / std::max(X_.row(j).norm(), kTiny); };
    return std::all_of(on.begin(), on.end(), [&](Index j) { return relative(j) > kNegative; }) &&
           std::all_of(off.begin(), off.end(), [&](Index j) { return relative(j) <= kNegative; });
  }

  // One direction is left: either sign may fit.
  [[nodiscard]] std::optional<Vector> single(const Vector& w, const Vector& h, const std::vector<Index>& on,
                                             const std::vector<Index>& off) const {
    if (w.norm() < kNull || outside(h).norm() <= kIndependent * h.norm()) return std::nullopt;
    for (const double sign : {1.0, -1.0}) {
      if (signs_fit(sign * w, on, off)) return Vector(sign * w);
    }
    return std::nullopt;
  }

  // Several directions are left: a program for every way in which the output may be independent (Remark 1).
  std::optional<Vector> by_programs(const Matrix& w, const Matrix& h, const std::vector<Index>& on,
                                    const std::vector<Index>& off) {
    const Index q = w.cols(), n = X_.rows();
    const Matrix Z = X_ * w, free = outside(h);
    LinearProgram program;
    program.M.resize(n + 1, q);
    program.M.topRows(n) = Z;
    program.low = Vector::Constant(n + 1, -kUnbounded);
    program.high = Vector::Constant(n + 1, kUnbounded);
    for (const Index j : on) program.low(j) = 1;
    for (const Index j : off) program.high(j) = 0;
    program.bound_low = Vector::Constant(q, -1e7);
    program.bound_high = Vector::Constant(q, 1e7);
    program.objective = Vector::Zero(q);
    for (Index t = 0; t < n; ++t) {
      if (free.row(t).norm() <= kIndependent * std::max(h.row(t).norm(), kTiny)) continue;
      program.M.row(n) = free.row(t);
      for (const double side : {1.0, -1.0}) {
        program.low(n) = side > 0 ? 1.0 : -kUnbounded;
        program.high(n) = side > 0 ? kUnbounded : -1.0;
        ++programs_;
        if (const auto solution = solve(program)) {
          const Vector unit = w * *solution;
          if (signs_fit(unit, on, off)) return unit;
        }
      }
    }
    return std::nullopt;
  }

  const Matrix& X_;
  const Matrix& B_;
  Matrix found_, basis_;
  Index programs_ = 0;
};

}  // namespace

AnyInputsFit recover_any_inputs(const Eigen::Ref<const RowMatrix>& x, const Eigen::Ref<const RowMatrix>& y,
                                Index hidden, const PatternBudget& budget, const Control& control) {
  const SingleThreadedBlas single;
  AnyInputsFit out;
  const Index d = x.cols(), m = y.cols();
  out.network = {Matrix(0, d), Vector(0), Matrix(m, 0), Vector::Zero(m), {}};
  const Eigen::JacobiSVD<Matrix> svd(Matrix(y), Eigen::ComputeThinU);
  const Vector& values = svd.singularValues();
  while (out.rank < values.size() && values(out.rank) > 1e-11 * values(0)) ++out.rank;
  if (out.rank != hidden) {
    out.outcome = out.rank < hidden ? AnyInputsOutcome::kRankDeficient : AnyInputsOutcome::kRankExceeded;
    return out;
  }
  const Matrix X = x, B = svd.matrixU().leftCols(hidden);
  const SignPatterns found = sign_patterns(B.transpose(), budget, control);
  out.patterns = static_cast<Index>(found.patterns.size());
  out.programs = found.programs;
  PatternSolver solver(X, B);
  std::vector<Vector> units;
  for (const SignPattern& pattern : found.patterns) {
    control.check();
    if (static_cast<Index>(units.size()) == hidden || control.out_of_time()) break;
    // Several units may share a pattern on these points: ask until it has no more to give.
    while (static_cast<Index>(units.size()) < hidden) {
      const auto unit = solver.unit(pattern);
      if (!unit) break;
      units.push_back(unit->normalized());
      solver.add((X * units.back()).cwiseMax(0));
    }
  }
  out.programs += solver.programs();
  if (static_cast<Index>(units.size()) < hidden) {
    out.outcome =
        found.complete && !control.out_of_time() ? AnyInputsOutcome::kNoNetwork : AnyInputsOutcome::kBudget;
    return out;
  }
  out.network.W().resize(hidden, d);
  for (Index i = 0; i < hidden; ++i) out.network.W().row(i) = units[static_cast<size_t>(i)];
  out.network.b() = Vector::Zero(hidden);
  const Rectifier relu = rectified_power(1);
  regress_outputs(out.network, relu, x, y, false);
  out.relative_mse = relative_error(out.network, relu, x, y);
  out.outcome = out.relative_mse <= kReproduced ? AnyInputsOutcome::kExact : AnyInputsOutcome::kNoNetwork;
  return out;
}

}  // namespace exhume
