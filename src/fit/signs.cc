#include "fit/signs.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/blas.h"
#include "linalg/lattice.h"
#include "linalg/svd.h"

namespace exhume {
namespace {

// The lattice: growth of the weight; |R_11| over the k-th root of the determinant is about kReduced^k, which
// is what reduced bases have in practice (Gama and Nguyen, 2008).
constexpr double kGrowth = 4, kReduced = 1.02;
constexpr Index kMostSigns = 32;       // by halves: 2^16 values each
constexpr double kIndependent = 1e-6;  // of the largest singular value, from which on an equation counts
// Smallest singular value of a layer's system, columns of unit norm, from which on it counts as regular.
constexpr double kRegular = 1e-6;
// Reweighted least squares: rounds, and what a row that obeys misses by, over its norm.
constexpr int kReweighted = 20;
constexpr double kObeys = 1e-9;

struct Candidate {
  double mismatch = std::numeric_limits<double>::infinity();
  Vector signs;
};

// Keeps the best different sign vectors, in order; of equals the first that was offered.
class BestFew {
 public:
  explicit BestFew(std::size_t count) : count_(count) {}

  void offer(double mismatch, const Vector& signs) {
    if (kept_.size() == count_ && !(mismatch < kept_.back().mismatch)) return;
    for (const Candidate& each : kept_) {
      if (each.signs == signs) return;
    }
    const auto place = std::upper_bound(kept_.begin(), kept_.end(), mismatch,
                                        [](double value, const Candidate& c) { return value < c.mismatch; });
    kept_.insert(place, {mismatch, signs});
    if (kept_.size() > count_) kept_.pop_back();
  }
  [[nodiscard]] const std::vector<Candidate>& kept() const { return kept_; }

 private:
  std::size_t count_;
  std::vector<Candidate> kept_;
};

// L = sum_j xi_j a_j w_j^T as M xi = right: columns vec(a_j w_j^T), right-hand side vec(L).
struct SignSystem {
  Matrix M;      // (d m) x k
  Vector right;  // d m

  explicit SignSystem(const Form& form) {
    const Index k = form.units(), d = form.inputs, m = form.C.cols();
    M.resize(d * m, k);
    right.resize(d * m);
    for (Index o = 0; o < m; ++o) {
      for (Index j = 0; j < k; ++j)
        M.block(o * d, j, d, 1) = form.C(j, o) * form.V[0].row(j).head(d).transpose();
      right.segment(o * d, d) = form.C.block(k, o, d, 1);
    }
  }
};

// The sign vectors that fit best, at least 64 of them where there are as many: the signs of the k - rank
// columns that depend on the others are enumerated, those of the others solved for and rounded.
std::vector<Vector> shortlist(const SignSystem& system, const Eigen::ColPivHouseholderQR<Matrix>& qr) {
  constexpr std::size_t kKept = 64, kMost = 256;
  const Index k = system.M.cols(), rank = qr.rank(), free = k - rank;
  // In pivoted order: R11 s1 + R12 s2 = (Q^T right)_1.
  const Matrix R = qr.matrixR().topRows(rank).template triangularView<Eigen::Upper>();
  const Vector top = (qr.householderQ().transpose() * system.right).head(rank);
  const auto R11 = R.leftCols(rank).template triangularView<Eigen::Upper>();
  const Vector base = R11.solve(top);
  const Matrix slope = free > 0 ? Matrix(R11.solve(R.rightCols(free))) : Matrix(rank, 0);
  const auto sign_of = [](double value) { return value < 0 ? -1.0 : 1.0; };
  const Eigen::VectorXi order = qr.colsPermutation().indices();
  Vector s2(free), s1(rank), signs(k);
  double best_roughness = std::numeric_limits<double>::infinity();
  std::vector<std::pair<double, Vector>> list;
  for (std::uint64_t code = 0; code < (std::uint64_t{1} << free); ++code) {
    for (Index f = 0; f < free; ++f) s2(f) = (code >> f & 1) != 0 ? -1.0 : 1.0;
    s1 = base - slope * s2;
    const Vector rounded = s1.unaryExpr(sign_of);
    const double roughness = (R.leftCols(rank) * (s1 - rounded)).norm();
    if (list.size() >= kKept && roughness > best_roughness) continue;
    for (Index i = 0; i < rank; ++i) signs(order(i)) = rounded(i);
    for (Index i = 0; i < free; ++i) signs(order(rank + i)) = s2(i);
    list.emplace_back(roughness, signs);
    if (list.size() > kMost) {
      std::nth_element(list.begin(), list.begin() + (kKept - 1), list.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      best_roughness = list[kKept - 1].first;
      list.resize(kKept);
    }
  }
  std::vector<Vector> out;
  out.reserve(list.size());
  for (auto& [roughness, each] : list) out.push_back(std::move(each));
  return out;
}

// More choices than these are made by the lattice where it can; enumeration costs a tenth of a second for
// them.
constexpr Index kFewFree = 12;
// Where the tolerance leaves the lattice too few digits, those of an exact fit: this share of the tolerance.
constexpr double kExactShare = 1e-4;

// The decision by the lattice of only_signs, where it tells.
std::optional<SignDecision> decide_by_lattice(const SignSystem& system,
                                              const Eigen::ColPivHouseholderQR<Matrix>& qr, double tolerance,
                                              double scale) {
  const Index rank = qr.rank();
  const Matrix R = qr.matrixR().topRows(rank).template triangularView<Eigen::Upper>();
  const Matrix M = R * qr.colsPermutation().transpose();  // rank equations say what all of them do
  const Vector v = (qr.householderQ().transpose() * system.right).head(rank);
  for (const double fits : {tolerance, kExactShare * tolerance}) {
    const std::optional<SignPoint> only = only_signs(M, v, fits * scale);
    if (!only) continue;
    SignDecision decision;
    decision.signs = only->signs;
    decision.mismatch = (system.M * only->signs - system.right).norm() / scale;
    decision.runner_up = only->runner_up / scale;
    if (decision.mismatch > fits) continue;
    decision.outcome = SignOutcome::kUnique;
    return decision;
  }
  return std::nullopt;
}

// s of number n: bit i set where s_i = -1.
Vector numbered_signs(std::uint32_t n, Index count) {
  Vector s(count);
  for (Index i = 0; i < count; ++i) s(i) = ((n >> i) & 1U) != 0 ? -1 : 1;
  return s;
}

}  // namespace

Vector as_signs(const Vector& s) {
  return (s.array() < 0).select(Vector::Constant(s.size(), -1), Vector::Ones(s.size()));
}

std::optional<SignPoint> only_signs(const Matrix& M, const Vector& v, double error) {
  const SingleThreadedBlas single;
  const Index k = M.cols(), r = M.rows();
  const auto units = static_cast<double>(k);
  const double size = M.norm() / std::sqrt(units);
  if (k == 0 || r == 0 || !(size > 0)) return std::nullopt;
  // Largest weight at which what the equations miss by is small beside the distance.
  const double most = std::sqrt(units) / (2 * std::max(error, kTiny));
  if (static_cast<double>(r) / units * std::log2(most * size) <
      units * std::log2(kReduced) + std::log2(units) / 2)
    return std::nullopt;
  const Vector h = (M.rowwise().sum() - v) / 2;
  Matrix basis(k + r, k);
  basis << Matrix::Identity(k, k), M / size;
  // The point so far. Each weight starts from that of the one before, so that all numbers stay small.
  Vector z = Vector::Zero(k), target(k + r);
  for (double weight = 1 / size; weight <= most; weight *= kGrowth) {
    const Lattice lattice(std::move(basis));
    target << 0.5 - z.array(), weight * (h - M * z);
    z += lattice.point_near(target).head(k);
    const double reach = lattice.least_length(), slack = weight * error;
    if (reach * reach > units + slack * slack) {
      if (!((z.array() == 0) || (z.array() == 1)).all()) return std::nullopt;
      SignPoint point;
      point.signs = 1 - 2 * z.array();
      point.miss = (M * point.signs - v).norm();
      point.runner_up = 2 * std::sqrt(reach * reach - units) / weight - point.miss;
      if (point.miss > error) return std::nullopt;
      return point;
    }
    basis = lattice.basis();
    basis.bottomRows(r) = (kGrowth * weight) * (M * basis.topRows(k));
  }
  return std::nullopt;
}

std::optional<Vector> signs_by_halves(const Matrix& M, const Vector& v, double error) {
  const Index k = M.cols(), first = k / 2, second = k - first;
  if (k == 0 || M.rows() == 0 || k > kMostSigns) return std::nullopt;
  // The first equation finds pairs, all of them judge.
  std::vector<std::pair<double, std::uint32_t>> halves;
  for (std::uint32_t n = 0; n < (1U << first); ++n)
    halves.emplace_back(M.row(0).head(first).dot(numbered_signs(n, first)), n);
  std::sort(halves.begin(), halves.end());
  std::optional<Vector> found;
  for (std::uint32_t n = 0; n < (1U << second); ++n) {
    Vector s(k);
    s.tail(second) = numbered_signs(n, second);
    const double rest = v(0) - M.row(0).tail(second).dot(s.tail(second));
    auto at = std::lower_bound(halves.begin(), halves.end(), std::pair(rest - error, std::uint32_t{0}));
    for (; at != halves.end() && at->first <= rest + error; ++at) {
      s.head(first) = numbered_signs(at->second, first);
      if ((M * s - v).norm() > error) continue;
      if (found) return std::nullopt;
      found = s;
    }
  }
  return found;
}

std::optional<Vector> signs_that_solve(const Matrix& M, const Vector& right, double error) {
  const Index k = M.cols();
  // Independent equations, in an orthonormal basis of what they say: as many as there are, no more than
  // signs.
  const Svd svd = thin_svd(M);
  const Index rank = (svd.values.array() > kIndependent * svd.values(0)).count();
  const Matrix basis = svd.V.leftCols(rank).transpose();
  const Vector said =
      svd.values.head(rank).cwiseInverse().asDiagonal() * (svd.U.leftCols(rank).transpose() * right);
  if (rank < k) {
    if (const std::optional<SignPoint> point = only_signs(basis, said, error)) return point->signs;
    return signs_by_halves(basis, said, error);
  }
  return as_signs(basis.transpose() * said);
}

SignDecision decide_signs(const Form& form, const SignOptions& options) {
  const Index k = form.units();
  const SignSystem system(form);
  SignDecision decision;
  decision.signs = Vector::Ones(k);
  if (k == 0) {
    decision.mismatch = system.right.norm();
    decision.outcome =
        decision.mismatch <= options.tolerance ? SignOutcome::kUnique : SignOutcome::kUndecided;
    return decision;
  }
  Eigen::ColPivHouseholderQR<Matrix> qr(system.M);
  qr.setThreshold(std::max(options.dependent, options.tolerance / 10));
  const double scale = std::max(system.right.norm(), system.M.norm());
  const Index free = k - qr.rank();
  if (free > (options.most_rivals > 0 ? options.most_free : kFewFree)) {
    if (const auto decided = decide_by_lattice(system, qr, options.tolerance, scale)) return *decided;
  }
  if (free > options.most_free) {
    decision.mismatch = std::numeric_limits<double>::infinity();
    return decision;
  }
  const auto mismatch = [&](const Vector& signs) { return (system.M * signs - system.right).norm() / scale; };
  BestFew best(static_cast<std::size_t>(std::max(options.most_rivals, 1)) + 1);
  for (const Vector& each : shortlist(system, qr)) {
    best.offer(mismatch(each), each);
    for (Index j = 0; j < k; ++j) {  // neighbours: one unit turned
      Vector turned = each;
      turned(j) *= -1;
      best.offer(mismatch(turned), turned);
    }
  }
  decision.signs = best.kept().front().signs;
  decision.mismatch = best.kept().front().mismatch;
  decision.runner_up =
      best.kept().size() > 1 ? best.kept()[1].mismatch : std::numeric_limits<double>::infinity();
  for (std::size_t i = 1; i < best.kept().size() && i <= static_cast<std::size_t>(options.most_rivals); ++i) {
    if (best.kept()[i].mismatch <= options.rival_mismatch) decision.rivals.push_back(best.kept()[i].signs);
  }
  if (decision.mismatch > options.tolerance) {
    decision.outcome = SignOutcome::kUndecided;
  } else if (decision.runner_up <= options.tolerance) {
    decision.outcome = SignOutcome::kAmbiguous;
  } else {
    decision.outcome = SignOutcome::kUnique;
  }
  return decision;
}

Form with_signs(const Form& form, const SignDecision& decision) {
  const Index k = form.units(), d = form.inputs, m = form.C.cols();
  Form out = one_layer(decision.signs.asDiagonal() * form.V[0]);
  out.turned = decision.outcome == SignOutcome::kUndecided;
  out.plain = !out.turned;
  out.C.resize(out.features(), m);
  // a |z| = 2 a max(z, 0) - a z, and the a z are taken out of the linear term.
  out.C.topRows(k) = 2 * form.C.topRows(k);
  const Matrix taken = out.V[0].transpose() * form.C.topRows(k);  // (d+1) x m
  if (out.turned) out.C.middleRows(k, d) = form.C.middleRows(k, d) - taken.topRows(d);
  out.C.bottomRows(1) = form.C.bottomRows(1) - taken.bottomRows(1);
  return out;
}

LayerSigns least_squares_signs(const Matrix& V, const Matrix& U, const Matrix& R) {
  LayerSigns out;
  const Index k = V.rows(), c = V.cols() - 1;
  if (k == 0) {
    out.smallest_singular = 1;
    return out;
  }
  const Matrix v = V.leftCols(c);
  // Column j is the matrix U_j v_j as a vector: normal equations without forming it.
  Matrix N = (U.transpose() * U).cwiseProduct(v * v.transpose());
  const Vector scale = N.diagonal().cwiseMax(kTiny).cwiseSqrt().cwiseInverse();
  const Vector right = (U.transpose() * R.leftCols(c) * v.transpose()).diagonal();
  N = scale.asDiagonal() * N * scale.asDiagonal();
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(N);
  out.smallest_singular = std::sqrt(std::max(eigen.eigenvalues()(0), 0.0));
  const Vector inverse = eigen.eigenvalues().cwiseMax(1e-14).cwiseInverse();
  out.s = scale.asDiagonal() * (eigen.eigenvectors() * inverse.asDiagonal() *
                                eigen.eigenvectors().transpose() * (scale.asDiagonal() * right));
  out.off = (out.s.cwiseAbs().array() - 1).abs().maxCoeff();
  const Vector sign = as_signs(out.s);
  out.residual = (R.leftCols(c) - U * sign.asDiagonal() * v).norm() / std::max(R.leftCols(c).norm(), kTiny);
  return out;
}

LayerSigns robust_signs(const Matrix& V, const Matrix& U, const Matrix& R) {
  LayerSigns out = least_squares_signs(V, U, R);
  const Index c = V.cols() - 1;
  const Vector norms = R.leftCols(c).rowwise().norm().cwiseMax(kTiny);
  for (int i = 0; i < kReweighted && V.rows() > 0; ++i) {
    const Matrix off = R.leftCols(c) - U * out.s.asDiagonal() * V.leftCols(c);
    const Vector weight = (off.rowwise().norm().cwiseQuotient(norms).array() + kObeys).rsqrt();
    out = least_squares_signs(V, weight.asDiagonal() * U, weight.asDiagonal() * R);
  }
  return out;
}

DeepSigns find_signs(const Form& sign_free, double tolerance) {
  DeepSigns out;
  out.plain = out.determined = true;
  Form& plain = out.form;
  plain.plain = true;
  plain.inputs = sign_free.inputs;
  const std::size_t depth = sign_free.depth();
  Matrix row = sign_free.V.empty() ? Matrix(sign_free.C.transpose()) : sign_free.V[0];
  for (std::size_t l = 0; l < depth; ++l) {
    const Matrix& v = sign_free.V[l];
    const Matrix above = l + 1 < depth ? sign_free.V[l + 1] : Matrix(sign_free.C.transpose());
    const Index k = v.rows();
    const Matrix U = above.leftCols(k), R = above.rightCols(above.cols() - k);
    LayerSigns signs = least_squares_signs(v, U, R);
    if (k == 0) {  // nothing but the constant is passed on, and BLAS complains of empty products
      plain.V.emplace_back(0, row.cols());
      row = R.rightCols(1);
      out.layers.push_back(std::move(signs));
      continue;
    }
    out.determined = out.determined && signs.smallest_singular >= kRegular;
    out.plain = out.plain && signs.off <= tolerance && signs.residual <= tolerance;
    const Vector s = as_signs(signs.s);
    plain.V.emplace_back(s.asDiagonal() * row);
    // On h = (s q + |q|) / 2: U |q| + R P = 2 U h + (R - U s v) P, and of the last only the constant is left.
    row.resize(above.rows(), k + 1);
    row.leftCols(k) = 2 * U;
    row.rightCols(1) = R.rightCols(1) - U * s.asDiagonal() * v.rightCols(1);
    out.layers.push_back(std::move(signs));
  }
  plain.C = row.transpose();
  out.plain = out.plain && out.determined;
  return out;
}

}  // namespace exhume
