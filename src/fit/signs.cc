#include "fit/signs.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "fit/sign_lattice.h"

namespace exhume {
namespace {

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

  explicit SignSystem(const Form& model) {
    const Index k = model.units(), d = model.inputs, m = model.C.cols();
    M.resize(d * m, k);
    right.resize(d * m);
    for (Index o = 0; o < m; ++o) {
      for (Index j = 0; j < k; ++j)
        M.block(o * d, j, d, 1) = model.C(j, o) * model.V[0].row(j).head(d).transpose();
      right.segment(o * d, d) = model.C.block(k, o, d, 1);
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

// More choices than these are made by the lattice where it can; enumeration costs a tenth of a second for them.
constexpr Index kFewFree = 12;
// Where the tolerance leaves the lattice too few digits, those of an exact fit: this share of the tolerance.
constexpr double kExactShare = 1e-4;

// The decision by the lattice of sign_lattice.h, where it tells.
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

}  // namespace

SignDecision decide_signs(const Form& model, const SignOptions& options) {
  const Index k = model.units();
  const SignSystem system(model);
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

Form with_signs(const Form& model, const SignDecision& decision) {
  const Index k = model.units(), d = model.inputs, m = model.C.cols();
  Form out = one_layer(decision.signs.asDiagonal() * model.V[0]);
  out.turned = decision.outcome == SignOutcome::kUndecided;
  out.plain = !out.turned;
  out.C.resize(out.features(), m);
  // a |z| = 2 a max(z, 0) - a z, and the a z are taken out of the linear term.
  out.C.topRows(k) = 2 * model.C.topRows(k);
  const Matrix taken = out.V[0].transpose() * model.C.topRows(k);  // (d+1) x m
  if (out.turned) out.C.middleRows(k, d) = model.C.middleRows(k, d) - taken.topRows(d);
  out.C.bottomRows(1) = model.C.bottomRows(1) - taken.bottomRows(1);
  return out;
}

}  // namespace exhume
