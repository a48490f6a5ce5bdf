#include "extract/columns.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "base/random.h"
#include "extract/weak_units.h"
#include "linalg/lapack.h"
#include "linalg/svd.h"

namespace exhume {
namespace {

constexpr const char* kStage = "columns";
// Candidates for every point, at most, and how many of them with the widest margins are kept: margins are
// spread like exponential variables, so the best of 200 has five times the mean.
constexpr Index kCandidates = 4000, kKept = 20;
constexpr double kCandidateWork = 2e9;  // candidates x units x dimensions
// Smallest singular value of the matrix with unit columns that is good enough, and most points for its sake.
constexpr double kSound = 0.05;
constexpr double kMostOver = 1.4;
// A step over the margin, in standard deviations 1/s^(1/2) of the weights along one direction, for w_j of
// unit norm within the subspace. From some length on units change sign; the longer the better are the columns
// of weak units.
constexpr double kLongStep = 2.6, kSafeStep = 0.8;
// Directions after which the spread of every unit's weights is known, and the least it is taken for.
constexpr Index kPilots = 24;
constexpr double kLeastSpread = 0.3;
// Standard error of weights for whose sake steps are made longer than safe.
constexpr double kWantedError = 4e-12;
// Units with larger ones are asked about alone.
constexpr double kWeakError = 1e-12;
constexpr double kWithin = 0.9;  // of the reach in a box
// Weights in larger multiples of their spread are not believed where signs are settled.
constexpr double kBelief = 6;
// Least share of a column that must be new to the others.
constexpr double kIndependent = 0.01;
// Residual of an equation over its noise up to which it holds.
constexpr double kHolds = 1e3;
// Noise from which answers are coarse: equations then hold to less of it, and steps stay safe.
constexpr double kCoarse = 1e-12, kHoldsCoarse = 30;
constexpr double kShorter = 0.4;
constexpr int kPatternRounds = 20, kAgain = 4;

class Solver {
 public:
  Solver(Meter& meter, const SeparableModel& within, const ColumnsOptions& options)
      : meter_(meter),
        frame_(meter.frame()),
        within_(within),
        options_(options),
        k_(within.units()),
        s_(frame_.dimensions()),
        d_(frame_.inputs()),
        m_(meter.outputs()),
        spread_(Vector::Constant(k_, 1 / std::sqrt(static_cast<double>(s_)))) {}

  Columns run() {
    W_ = Matrix::Zero(k_, d_);
    L_ = Matrix::Zero(m_, d_);
    W_.leftCols(s_) = within_.V.leftCols(s_);
    L_.leftCols(s_) = within_.C.middleRows(k_, s_).transpose();
    if (d_ > s_) {
      choose_points();
      base_ = meter_.ask(kStage, points_);
      const Index pilots = std::min(kPilots, d_ - s_);
      solve_directions(s_, pilots);
      spread_ = (W_.middleCols(s_, pilots).rowwise().norm() / std::sqrt(static_cast<double>(pilots)))
                    .cwiseMax(kLeastSpread / std::sqrt(static_cast<double>(s_)));
      factor();
      solve_directions(s_ + pilots, d_ - s_ - pilots);
      sharpen();
    }
    finish();
    return out_;
  }

 private:
  [[nodiscard]] bool coarse() const { return options_.noise.relative > kCoarse; }

  // How many units may be asked about alone.
  [[nodiscard]] Index most_weak() const {
    return coarse() || frame_.box().bounded() ? 0 : std::min(k_, points_.rows() / kPointsPerWeak);
  }

  // The units with the largest errors, the worst first.
  [[nodiscard]] std::vector<Index> worst_first() const {
    std::vector<Index> order(static_cast<std::size_t>(k_));
    std::iota(order.begin(), order.end(), Index{0});
    std::stable_sort(order.begin(), order.end(),
                     [this](Index a, Index b) { return errors_(a) > errors_(b); });
    return order;
  }

  void sharpen() {
    std::vector<Index> weak = worst_first();
    weak.resize(static_cast<std::size_t>(most_weak()));
    std::erase_if(weak, [this](Index j) { return errors_(j) < kWeakError; });
    const Vector entries = std::sqrt(static_cast<double>(d_)) * errors_.cwiseProduct(spread_);
    sharpen_weak_units(meter_, within_, weak, entries, {options_.seed, options_.noise, options_.scale}, W_);
    out_.weak = static_cast<Index>(weak.size());
  }

  void solve_directions(Index first, Index count) {
    std::vector<Index> open(static_cast<std::size_t>(count));
    std::iota(open.begin(), open.end(), first);
    Vector steps = steps_;
    for (int round = 0; round <= kAgain && !open.empty(); ++round) {
      if (round > 0) out_.asked_again += static_cast<Index>(open.size());
      open = solve(open, steps, round == kAgain);
      steps *= kShorter;
    }
  }

  [[nodiscard]] Matrix unit_values(const RowMatrix& u) const {  // rows x k
    Matrix z = u * within_.V.leftCols(s_).transpose();
    z.rowwise() += within_.V.col(s_).transpose();
    return z;
  }

  // (P m) x (k + m), unknowns (W_.i, L_i); equation p m + o.
  [[nodiscard]] Matrix system(const Matrix& signs) const {
    const Index P = signs.rows();
    Matrix A = Matrix::Zero(P * m_, k_ + m_);
    for (Index p = 0; p < P; ++p) {
      A.block(p * m_, 0, m_, k_) = within_.C.topRows(k_).transpose() * signs.row(p).asDiagonal();
      A.block(p * m_, k_, m_, m_).setIdentity();
    }
    return A;
  }

  static Matrix signs_of(const Matrix& z) {
    return z.unaryExpr([](double value) { return value < 0 ? -1.0 : 1.0; });
  }

  // Random points from `first` on: directions at random, distances log-uniform, or up to the walls of the
  // box.
  [[nodiscard]] RowMatrix drawn(Index first, Index count) const {
    const Stream directions(options_.seed, "extract candidates"),
        radii(options_.seed, "extract candidate radii");
    const double far = 2 * options_.scale * std::sqrt(static_cast<double>(s_));
    RowMatrix u(count, s_);
    directions.fill_normal(static_cast<std::uint64_t>(first), u);
    for (Index i = 0; i < count; ++i) {
      const double r = radii.uniforms(static_cast<std::uint64_t>(first + i), 0).first;
      const Vector along = u.row(i).normalized();
      const double reach = kWithin * frame_.reach_within(Vector::Zero(s_), along);
      u.row(i) = along.transpose() * (frame_.box().bounded() ? reach * std::sqrt(r) : far * std::exp(-2 * r));
    }
    return u;
  }

  // The points with the widest margins over the noise of their answers: the error of a column is that of an
  // answer over the step.
  [[nodiscard]] RowMatrix candidates(Index points) const {
    constexpr Index kChunk = 4096;
    const double affordable = kCandidateWork / static_cast<double>(std::max<Index>(1, k_ * s_));
    const Index kept = kKept * points;
    const Index count = std::max(2 * kept, std::min(kCandidates * points, static_cast<Index>(affordable)));
    std::vector<std::pair<double, Index>> worth;
    for (Index first = 0; first < count; first += kChunk) {
      meter_.control().check();
      const RowMatrix u = drawn(first, std::min(kChunk, count - first));
      const Matrix z = unit_values(u);
      const RowMatrix y = evaluate(within_, u);
      for (Index i = 0; i < u.rows(); ++i) {
        const double margin = k_ > 0 ? z.row(i).cwiseAbs().minCoeff() : 1;
        worth.emplace_back(-margin / options_.noise.at(y.row(i).cwiseAbs().maxCoeff()), first + i);
      }
    }
    std::sort(worth.begin(), worth.end());
    RowMatrix u(kept, s_);
    for (Index i = 0; i < kept; ++i) u.row(i) = drawn(worth[static_cast<std::size_t>(i)].second, 1);
    return u;
  }

  void choose_points() {
    const double unknowns = static_cast<double>(k_ + m_) / static_cast<double>(m_);
    const Index least = static_cast<Index>(std::ceil(options_.over * unknowns)) + 1;
    const Index most = std::max<Index>(least + 6, static_cast<Index>(std::ceil(kMostOver * unknowns)) + 2);
    const RowMatrix u = candidates(most);
    const Matrix z = unit_values(u);
    // Pivoted QR of the patterns.
    Matrix patterns(k_ + 1, u.rows());
    patterns.topRows(k_) = signs_of(z).transpose();
    patterns.bottomRows(1).setOnes();
    std::vector<int> pivots;
    Vector tau;
    (void)lapack::geqp3(patterns, pivots, tau);
    for (Index P = least;; P = std::min(most, P + std::max<Index>(1, P / 20))) {
      RowMatrix chosen(P, s_);
      for (Index p = 0; p < P; ++p) chosen.row(p) = u.row(pivots[static_cast<std::size_t>(p)] - 1);
      points_ = on_both_sides(chosen, u, z);
      z_ = unit_values(points_);
      factor();
      if (out_.smallest_singular >= kSound || P == most) break;
    }
    out_.points = points_.rows();
  }

  // A unit that has one sign at all points cannot be told from the linear part. More points, until every unit
  // has two of either sign: those of the pool that help most units, or else drawn across the plane of one.
  [[nodiscard]] RowMatrix on_both_sides(const RowMatrix& chosen, const RowMatrix& pool,
                                        const Matrix& z) const {
    constexpr Index kEnough = 2;
    std::vector<Vector> points;
    for (Index p = 0; p < chosen.rows(); ++p) points.emplace_back(chosen.row(p));
    Vector positive = (unit_values(chosen).array() > 0).cast<double>().colwise().sum().transpose();
    const Index most = chosen.rows() + 2 * kEnough * k_;
    while (static_cast<Index>(points.size()) < most) {
      const auto n = static_cast<double>(points.size());
      Vector wanted = Vector::Zero(k_);  // the sign of which there are too few
      for (Index j = 0; j < k_; ++j) {
        if (positive(j) < kEnough) wanted(j) = 1;
        if (n - positive(j) < kEnough) wanted(j) = -1;
      }
      if (wanted.isZero(0)) break;
      const Vector help =
          (z.array() * wanted.transpose().replicate(z.rows(), 1).array() > 0).cast<double>().rowwise().sum();
      Index best = 0;
      Vector point;
      if (help.maxCoeff(&best) > 0) {
        point = pool.row(best);
      } else {
        Index unit = 0;
        wanted.cwiseAbs().maxCoeff(&unit);
        point = across(unit, wanted(unit), static_cast<Index>(points.size()));
      }
      positive += (unit_values(point.transpose()).array() > 0).cast<double>().matrix().transpose();
      points.push_back(std::move(point));
    }
    RowMatrix out(static_cast<Index>(points.size()), s_);
    for (std::size_t p = 0; p < points.size(); ++p) out.row(static_cast<Index>(p)) = points[p].transpose();
    return out;
  }

  // Of random points that were moved across the plane of a unit, the one with the widest margin.
  [[nodiscard]] Vector across(Index unit, double side, Index number) const {
    constexpr Index kTried = 400;
    const Index first = (1 + number) * kTried;
    RowMatrix u = drawn(first, kTried);
    const Stream depths(options_.seed, "extract depths");
    const Vector w = within_.V.row(unit).head(s_);
    for (Index i = 0; i < kTried; ++i) {
      const double depth = 0.1 + 0.5 * depths.uniforms(static_cast<std::uint64_t>(first + i), 0).first;
      const double z = w.dot(u.row(i)) + within_.V(unit, s_);
      u.row(i) += (side * depth * std::abs(within_.V(unit, s_)) - z) * w.transpose();
      if (const double reach = kWithin * frame_.reach_within(Vector::Zero(s_), u.row(i).transpose());
          reach < 1)
        u.row(i) *= reach;
    }
    Index best = 0;
    Vector margin = unit_values(u).cwiseAbs().rowwise().minCoeff();
    margin = margin.cwiseQuotient(u.rowwise().norm());
    margin.maxCoeff(&best);
    return u.row(best);
  }

  // Steps at the points, the weights of their equations (one over the noise of their right-hand sides), and
  // the inverse of the weighted matrix.
  void factor() {
    const auto root = std::sqrt(static_cast<double>(s_));
    steps_ = k_ > 0
                 ? Vector((z_.cwiseAbs() * (root * spread_).cwiseInverse().asDiagonal()).rowwise().minCoeff())
                 : Vector::Constant(points_.rows(), options_.scale);
    const RowMatrix y = evaluate(within_, points_);
    weights_.resize(points_.rows() * m_);
    for (Index p = 0; p < points_.rows(); ++p)
      weights_.segment(p * m_, m_).setConstant(steps_(p) / options_.noise.at(y.row(p).cwiseAbs().maxCoeff()));
    const double sharpest = weights_.maxCoeff();
    weights_ /= sharpest;
    matrix_ = weights_.asDiagonal() * system(signs_of(z_));
    const Vector norms = matrix_.colwise().norm().cwiseMax(kTiny);
    const Svd svd = thin_svd(matrix_ * norms.cwiseInverse().asDiagonal());
    out_.smallest_singular = svd.values.size() > 0 ? svd.values.minCoeff() : 1;
    inverse_ = norms.cwiseInverse().asDiagonal() *
               (svd.V * svd.values.cwiseMax(1e-12).cwiseInverse().asDiagonal() * svd.U.transpose());
    // The error to be expected of every unit's weights, of unit norm in all: steps as long as the worst of those
    // asks for that are not asked about alone.
    errors_ = inverse_.topRows(k_).rowwise().norm().cwiseQuotient(
        sharpest * std::sqrt(static_cast<double>(d_)) * spread_);
    if (k_ == 0) return;
    const Index worst = worst_first()[static_cast<std::size_t>(std::min(most_weak(), k_ - 1))];
    const double longer =
        std::clamp(errors_(worst) / kWantedError, kSafeStep, coarse() ? kSafeStep : kLongStep);
    steps_ *= longer;
    errors_ /= longer;
  }

  // Asks about the directions, solves, and returns those whose equations do not hold.
  std::vector<Index> solve(const std::vector<Index>& open, const Vector& steps, bool last) {
    const Index P = points_.rows();
    const Index group = std::max<Index>(1, 4096 / P);
    std::vector<Index> again;
    for (std::size_t from = 0; from < open.size(); from += static_cast<std::size_t>(group)) {
      const Index count = std::min<Index>(group, static_cast<Index>(open.size() - from));
      Questions questions;
      questions.rows.resize(count * P, s_);
      questions.step.resize(count * P);
      for (Index g = 0; g < count; ++g) {
        const Index i = open[from + static_cast<std::size_t>(g)];
        const Vector along = frame_.direction(i);
        questions.rows.middleRows(g * P, P) = points_;
        for (Index p = 0; p < P; ++p) {
          questions.direction.push_back(static_cast<std::int32_t>(i));
          questions.step(g * P + p) = step_at(p, along, steps(p));
        }
      }
      const RowMatrix answers = meter_.ask(kStage, questions);
      for (Index g = 0; g < count; ++g) {
        const Index i = open[from + static_cast<std::size_t>(g)];
        const double worst = solve_one(i, answers.middleRows(g * P, P), questions.step.segment(g * P, P));
        if (worst > (coarse() ? kHoldsCoarse : kHolds) && !last) {
          again.push_back(i);
        } else {
          out_.worst = std::max(out_.worst, worst);
        }
      }
    }
    return again;
  }

  [[nodiscard]] double step_at(Index p, const Vector& along, double step) const {
    if (!frame_.box().bounded()) return step;
    const Vector u = points_.row(p);
    const double ahead = frame_.reach(u, along), behind = frame_.reach(u, -along);
    return ahead >= behind ? std::min(step, ahead) : -std::min(step, behind);
  }

  // Column i from its answers; returns the worst residual over the noise.
  double solve_one(Index i, const RowMatrix& answers, const Vector& steps) {
    const Index P = points_.rows();
    Vector right(P * m_), noise(P);
    for (Index p = 0; p < P; ++p) {
      right.segment(p * m_, m_) = (answers.row(p) - base_.row(p)).transpose() / steps(p);
      noise(p) = 2 *
                 options_.noise.at(
                     std::max(answers.row(p).cwiseAbs().maxCoeff(), base_.row(p).cwiseAbs().maxCoeff())) /
                 std::abs(steps(p));
    }
    const Vector weighted = weights_.cwiseProduct(right);
    Vector solution = inverse_ * weighted;
    solution += inverse_ * (weighted - matrix_ * solution);
    Vector left = right;
    // Units that changed sign on the way: signs at the other end, and what that changes in the constant.
    const Matrix before = signs_of(z_);
    Matrix signs = before;
    bool sound = true;
    for (int round = 0; round < kPatternRounds && k_ > 0; ++round) {
      // A weight beyond belief, as weak units get from a few wrong signs of others, says nothing about signs.
      Vector believed = solution.head(k_);
      for (Index j = 0; j < k_; ++j) {
        if (std::abs(believed(j)) > kBelief * (1 + round) * spread_(j)) believed(j) = 0;
      }
      const Matrix now = signs_of(z_ + steps * believed.transpose());
      if (now == signs) break;
      signs = now;
      Vector adjusted = right;
      for (Index p = 0; p < P; ++p) {
        const Vector turned = (signs.row(p) - before.row(p)).cwiseProduct(z_.row(p)).transpose() / steps(p);
        adjusted.segment(p * m_, m_) -= within_.C.topRows(k_).transpose() * turned;
      }
      sound = solve_pattern(signs, adjusted, solution);
    }
    // What the model itself says, whatever the signs were.
    for (Index p = 0; p < P; ++p) {
      const Vector moved = (z_.row(p).transpose() + steps(p) * solution.head(k_)).cwiseAbs() -
                           z_.row(p).transpose().cwiseAbs();
      left.segment(p * m_, m_) = right.segment(p * m_, m_) - solution.tail(m_) -
                                 within_.C.topRows(k_).transpose() * moved / steps(p);
    }
    W_.col(i) = solution.head(k_);
    L_.col(i) = solution.tail(m_);
    double worst = 0;
    for (Index p = 0; p < P; ++p)
      worst = std::max(worst, left.segment(p * m_, m_).cwiseAbs().maxCoeff() / noise(p));
    return sound ? worst : std::numeric_limits<double>::infinity();
  }

  // The weighted least-squares solution with these signs; false where they no longer tell all unknowns apart.
  bool solve_pattern(const Matrix& signs, const Vector& right, Vector& solution) const {
    const Matrix A = weights_.asDiagonal() * system(signs);
    const Vector norms = A.colwise().norm().cwiseMax(kTiny);
    const Eigen::ColPivHouseholderQR<Matrix> qr(A * norms.cwiseInverse().asDiagonal());
    solution = norms.cwiseInverse().asDiagonal() * qr.solve(weights_.cwiseProduct(right));
    const auto diagonal = qr.matrixR().diagonal().cwiseAbs();
    return diagonal.minCoeff() > kIndependent * diagonal.maxCoeff();
  }

  // Back from the frame to the user's coordinates, w of unit norm.
  void finish() {
    const Matrix B = frame_.directions(0, d_);
    const Vector& x0 = frame_.origin();
    SeparableModel& model = out_.model;
    model.V.resize(k_, d_ + 1);
    model.V.leftCols(d_) = W_ * B;
    const Matrix L = L_ * B;  // m x d
    model.C.resize(k_ + d_ + 1, m_);
    model.C.topRows(k_) = within_.C.topRows(k_);
    model.C.middleRows(k_, d_) = L.transpose();
    model.C.bottomRows(1) = within_.C.bottomRows(1) - (L * x0).transpose();
    for (Index j = 0; j < k_; ++j) {
      model.V(j, d_) = within_.V(j, s_) - model.V.row(j).head(d_).dot(x0);
      const double norm = model.V.row(j).head(d_).norm();
      model.V.row(j) /= norm;
      model.C.row(j) *= norm;
    }
  }

  Meter& meter_;
  const Frame& frame_;
  const SeparableModel& within_;
  const ColumnsOptions& options_;
  Index k_, s_, d_, m_;
  RowMatrix points_, base_;
  Matrix z_, matrix_, inverse_;  // z: P x k
  Vector steps_, weights_;       // P; P m
  Vector spread_;                // k: standard deviation of W_ji over the directions i
  Vector errors_;                // k: expected of weights, for units of norm 1
  Matrix W_, L_;                 // in the frame's coordinates: k x d, m x d
  Columns out_;
};

}  // namespace

Columns all_columns(Meter& meter, const SeparableModel& within, const ColumnsOptions& options) {
  return Solver(meter, within, options).run();
}

}  // namespace exhume
