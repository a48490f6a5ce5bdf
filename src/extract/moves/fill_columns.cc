#include "extract/moves/fill_columns.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "base/random.h"
#include "linalg/lapack.h"
#include "linalg/svd.h"

namespace exhume {
namespace {

// Chosen by experience on random and digit-trained networks; not derived, but where said.
struct FillColumnsLimits {
  // Points. Candidates per point, at most, and how many of them with the widest margins are kept. Derived:
  // margins are spread like exponential variables, so the best of 200 has five times the mean.
  Index candidates = 4000, kept = 20;
  double candidate_work = 2e9;  // candidates x units x dimensions
  Index chunk = 4096;           // of candidates, and of queries that go out at once
  double sound = 0.05;     // smallest singular value of the matrix with unit columns that is good enough,
  double most_over = 1.4;  // and most equations per unknown for its sake
  Index enough = 2;        // points on either side of every unit
  Index tried = 400;       // for a point across the plane of one
  double of_reach = 0.9;   // in a box
  // Steps over the margin, in standard deviations 1/s^(1/2) of the weights along one direction, for w_j of
  // unit norm within the subspace. From some length on units change sign; the longer the better are the
  // columns of weak units.
  double long_step = 2.6, safe_step = 0.8;
  double wanted_error = 4e-12;  // standard error of weights for whose sake steps are made longer than safe
  double shorter = 0.4;         // where equations do not hold
  int again = 4;
  Index pilots = 24;          // directions after which the spread of every unit's weights is known,
  double least_spread = 0.3;  // and the least it is taken for
  // Solutions.
  double belief = 6;          // weights in larger multiples of their spread say nothing about signs
  double independent = 0.01;  // least share of a column that must be new to the others
  double holds = 1e3;         // residual of an equation over its noise up to which it holds
  double coarse = 1e-12, holds_coarse = 30;  // the same of coarse answers: steps then stay safe
  int pattern_rounds = 20;
  // Weak units.
  double weak_error = 1e-12;  // of weights, from which on a unit is queried by itself
  double weak_step = 10;      // h over the distance of the planes, times d^(1/2)
  int weak_places = 12;       // tried for a pair
  double of_margin = 0.1,
         over_doubt = 1e3;  // T: of the way to the next plane; over the doubt about the unit's own
};
constexpr FillColumnsLimits kColumns;

struct PairPlace {
  Vector u;
  double half = 0;  // T; 0 where there is none
};

class WeakUnitSharpener {
 public:
  WeakUnitSharpener(Meter& meter, const SeparableModel& within, const ColumnsOptions& options, Matrix& W)
      : meter_(meter),
        within_(within),
        options_(options),
        W_(W),
        k_(within.units()),
        s_(meter.frame().dimensions()),
        d_(meter.frame().inputs()),
        h_(kColumns.weak_step * options.scale * std::sqrt(static_cast<double>(d_))) {}

  void sharpen(Index unit, double error) {
    const Index group = kColumns.chunk / 2;
    for (Index first = s_; first < d_; first += group)
      sharpen(unit, error, first, std::min(group, d_ - first));
  }

 private:
  void sharpen(Index unit, double error, Index first, Index count) {
    const Vector along = within_.V.row(unit).head(s_).normalized();
    std::vector<Index> directions;
    std::vector<PairPlace> places;
    for (Index i = first; i < first + count; ++i) {
      PairPlace place = place_for(unit, i, along, error);
      if (place.half <= 0) continue;
      directions.push_back(i);
      places.push_back(std::move(place));
    }
    const auto pairs = static_cast<Index>(places.size());
    if (pairs == 0) return;
    Queries queries;
    queries.rows.resize(2 * pairs, s_);
    queries.step = Vector::Constant(2 * pairs, h_);
    for (Index q = 0; q < pairs; ++q) {
      const PairPlace& place = places[static_cast<std::size_t>(q)];
      queries.rows.row(2 * q) = (place.u + place.half * along).transpose();
      queries.rows.row(2 * q + 1) = (place.u - place.half * along).transpose();
      for (int side = 0; side < 2; ++side)
        queries.direction.push_back(static_cast<std::int32_t>(directions[static_cast<std::size_t>(q)]));
    }
    const RowMatrix y = meter_.ask(QueryStage::kWeakUnits, queries);
    const Vector c = within_.C.row(unit);
    for (Index q = 0; q < pairs; ++q) {
      const Index i = directions[static_cast<std::size_t>(q)];
      const Vector up = queries.rows.row(2 * q), down = queries.rows.row(2 * q + 1);
      const Vector left = (y.row(2 * q) - y.row(2 * q + 1)).transpose() - expected(unit, i, up, down);
      W_(unit, i) += c.dot(left) / (2 * c.squaredNorm() * h_);
    }
  }

  [[nodiscard]] Vector values(const Vector& u, Index i) const {
    return within_.V.leftCols(s_) * u + within_.V.col(s_) + h_ * W_.col(i);
  }

  // f(up) - f(down) as the weights have it, term by term: all units but this one have one sign at both.
  [[nodiscard]] Vector expected(Index unit, Index i, const Vector& up, const Vector& down) const {
    const Vector at_up = values(up, i), step = up - down;
    Vector moved = within_.V.leftCols(s_) * step;
    for (Index l = 0; l < k_; ++l) {
      if (at_up(l) < 0) moved(l) = -moved(l);
    }
    moved(unit) = std::abs(at_up(unit)) - std::abs(values(down, i)(unit));
    return within_.C.topRows(k_).transpose() * moved + within_.C.middleRows(k_, s_).transpose() * step;
  }

  // On the unit's plane, where no other is near: the nearest such place to the middle, or others about it.
  [[nodiscard]] PairPlace place_for(Index unit, Index i, const Vector& along, double error) const {
    const double norm = within_.V.row(unit).head(s_).norm(), doubt = error * h_ / norm;
    const Stream stream(options_.seed, "extract weak units");
    const Vector slopes = within_.V.leftCols(s_) * along;
    PairPlace best;
    for (int t = 0; t < kColumns.weak_places; ++t) {
      RowMatrix drawn(1, s_);
      stream.fill_normal(static_cast<std::uint64_t>((unit * d_ + i) * kColumns.weak_places + t), drawn);
      Vector u =
          drawn.row(0).transpose() * (t * h_ / (kColumns.weak_places * std::sqrt(static_cast<double>(d_))));
      u -= along * (values(u, i)(unit) / norm);
      const Vector z = values(u, i);
      double margin = std::numeric_limits<double>::infinity();
      for (Index l = 0; l < k_; ++l) {
        if (l != unit) margin = std::min(margin, std::abs(z(l)) / std::max(std::abs(slopes(l)), 1e-3 * norm));
      }
      if (kColumns.of_margin * margin > best.half) best = {u, kColumns.of_margin * std::min(margin, h_)};
      if (best.half > kColumns.over_doubt * doubt) return best;
    }
    return best.half > kColumns.over_doubt * doubt ? best : PairPlace{};
  }

  Meter& meter_;
  const SeparableModel& within_;
  const ColumnsOptions& options_;
  Matrix& W_;
  Index k_, s_, d_;
  double h_;
};

class ColumnSolver {
 public:
  ColumnSolver(Meter& meter, const SeparableModel& within, const ColumnsOptions& options)
      : meter_(meter),
        frame_(meter.frame()),
        within_(within),
        options_(options),
        k_(within.units()),
        s_(frame_.dimensions()),
        d_(frame_.inputs()),
        m_(meter.outputs()),
        spread_(Vector::Constant(k_, 1 / std::sqrt(static_cast<double>(s_)))) {}

  SeparableModel run() {
    W_ = Matrix::Zero(k_, d_);
    L_ = Matrix::Zero(m_, d_);
    W_.leftCols(s_) = within_.V.leftCols(s_);
    L_.leftCols(s_) = within_.C.middleRows(k_, s_).transpose();
    if (d_ > s_) {
      choose_points();
      base_ = meter_.ask(QueryStage::kColumns, in_subspace(points_));
      const Index pilots = std::min(kColumns.pilots, d_ - s_);
      solve_directions(s_, pilots);
      spread_ = (W_.middleCols(s_, pilots).rowwise().norm() / std::sqrt(static_cast<double>(pilots)))
                    .cwiseMax(kColumns.least_spread / std::sqrt(static_cast<double>(s_)));
      factor();
      solve_directions(s_ + pilots, d_ - s_ - pilots);
      sharpen();
    }
    finish();
    return out_;
  }

 private:
  [[nodiscard]] bool coarse() const { return options_.noise.relative > kColumns.coarse; }

  // How many units may be queried by itself.
  [[nodiscard]] Index most_weak() const {
    return coarse() || frame_.box().bounded() ? 0 : std::min(k_, points_.rows() / kPointsPerWeakUnit);
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
    std::erase_if(weak, [this](Index j) { return errors_(j) < kColumns.weak_error; });
    const Vector entries = std::sqrt(static_cast<double>(d_)) * errors_.cwiseProduct(spread_);
    WeakUnitSharpener sharpener(meter_, within_, options_, W_);
    for (const Index unit : weak) sharpener.sharpen(unit, entries(unit));
  }

  void solve_directions(Index first, Index count) {
    std::vector<Index> open(static_cast<std::size_t>(count));
    std::iota(open.begin(), open.end(), first);
    Vector steps = steps_;
    for (int round = 0; round <= kColumns.again && !open.empty(); ++round) {
      open = solve(open, steps, round == kColumns.again);
      steps *= kColumns.shorter;
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
      const double reach = kColumns.of_reach * frame_.reach_within(Vector::Zero(s_), along);
      u.row(i) = along.transpose() * (frame_.box().bounded() ? reach * std::sqrt(r) : far * std::exp(-2 * r));
    }
    return u;
  }

  // The points with the widest margins over the noise of their answers: the error of a column is that of an
  // answer over the step.
  [[nodiscard]] RowMatrix candidates(Index points) const {
    const double affordable = kColumns.candidate_work / static_cast<double>(std::max<Index>(1, k_ * s_));
    const Index kept = kColumns.kept * points;
    const Index count =
        std::max(2 * kept, std::min(kColumns.candidates * points, static_cast<Index>(affordable)));
    std::vector<std::pair<double, Index>> worth;
    for (Index first = 0; first < count; first += kColumns.chunk) {
      meter_.control().check();
      const RowMatrix u = drawn(first, std::min(kColumns.chunk, count - first));
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
    const Index most =
        std::max<Index>(least + 6, static_cast<Index>(std::ceil(kColumns.most_over * unknowns)) + 2);
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
      if (smallest_singular_ >= kColumns.sound || P == most) break;
    }
  }

  // A unit that has one sign at all points cannot be told from the linear part. More points, until every unit
  // has two of either sign: those of the pool that help most units, or else drawn across the plane of one.
  [[nodiscard]] RowMatrix on_both_sides(const RowMatrix& chosen, const RowMatrix& pool,
                                        const Matrix& z) const {
    std::vector<Vector> points;
    for (Index p = 0; p < chosen.rows(); ++p) points.emplace_back(chosen.row(p));
    Vector positive = (unit_values(chosen).array() > 0).cast<double>().colwise().sum().transpose();
    const Index most = chosen.rows() + 2 * kColumns.enough * k_;
    while (static_cast<Index>(points.size()) < most) {
      const auto n = static_cast<double>(points.size());
      Vector wanted = Vector::Zero(k_);  // the sign of which there are too few
      for (Index j = 0; j < k_; ++j) {
        if (positive(j) < kColumns.enough) wanted(j) = 1;
        if (n - positive(j) < kColumns.enough) wanted(j) = -1;
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
    const Index first = (1 + number) * kColumns.tried;
    RowMatrix u = drawn(first, kColumns.tried);
    const Stream depths(options_.seed, "extract depths");
    const Vector w = within_.V.row(unit).head(s_);
    for (Index i = 0; i < kColumns.tried; ++i) {
      const double depth = 0.1 + 0.5 * depths.uniforms(static_cast<std::uint64_t>(first + i), 0).first;
      const double z = w.dot(u.row(i)) + within_.V(unit, s_);
      u.row(i) += (side * depth * std::abs(within_.V(unit, s_)) - z) * w.transpose();
      if (const double reach =
              kColumns.of_reach * frame_.reach_within(Vector::Zero(s_), u.row(i).transpose());
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
    smallest_singular_ = svd.values.size() > 0 ? svd.values.minCoeff() : 1;
    inverse_ = norms.cwiseInverse().asDiagonal() *
               (svd.V * svd.values.cwiseMax(1e-12).cwiseInverse().asDiagonal() * svd.U.transpose());
    // The error to be expected of every unit's weights, of unit norm in all: steps as long as the worst of
    // those asks for that are not queried by itself.
    errors_ = inverse_.topRows(k_).rowwise().norm().cwiseQuotient(
        sharpest * std::sqrt(static_cast<double>(d_)) * spread_);
    if (k_ == 0) return;
    const Index worst = worst_first()[static_cast<std::size_t>(std::min(most_weak(), k_ - 1))];
    const double longer = std::clamp(errors_(worst) / kColumns.wanted_error, kColumns.safe_step,
                                     coarse() ? kColumns.safe_step : kColumns.long_step);
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
      Queries queries;
      queries.rows.resize(count * P, s_);
      queries.step.resize(count * P);
      for (Index g = 0; g < count; ++g) {
        const Index i = open[from + static_cast<std::size_t>(g)];
        const Vector along = frame_.direction(i);
        queries.rows.middleRows(g * P, P) = points_;
        for (Index p = 0; p < P; ++p) {
          queries.direction.push_back(static_cast<std::int32_t>(i));
          queries.step(g * P + p) = step_at(p, along, steps(p));
        }
      }
      const RowMatrix answers = meter_.ask(QueryStage::kColumns, queries);
      for (Index g = 0; g < count; ++g) {
        const Index i = open[from + static_cast<std::size_t>(g)];
        const double worst = solve_one(i, answers.middleRows(g * P, P), queries.step.segment(g * P, P));
        if (worst > (coarse() ? kColumns.holds_coarse : kColumns.holds) && !last) again.push_back(i);
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
    for (int round = 0; round < kColumns.pattern_rounds && k_ > 0; ++round) {
      // A weight beyond belief, as weak units get from a few wrong signs of others, says nothing about signs.
      Vector believed = solution.head(k_);
      for (Index j = 0; j < k_; ++j) {
        if (std::abs(believed(j)) > kColumns.belief * (1 + round) * spread_(j)) believed(j) = 0;
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
    return diagonal.minCoeff() > kColumns.independent * diagonal.maxCoeff();
  }

  // Back from the frame to the user's coordinates, w of unit norm.
  void finish() {
    const Matrix B = frame_.directions(0, d_);
    const Vector& x0 = frame_.origin();
    SeparableModel& model = out_;
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
  double smallest_singular_ = 0;
  SeparableModel out_;
};

}  // namespace

SeparableModel fill_columns(Meter& meter, const SeparableModel& within, const ColumnsOptions& options) {
  return ColumnSolver(meter, within, options).run();
}

}  // namespace exhume
