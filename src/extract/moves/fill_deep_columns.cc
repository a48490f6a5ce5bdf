#include "extract/moves/fill_deep_columns.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "extract/climb.h"
#include "extract/form_fit.h"
#include "extract/moves/find_missed_units.h"
#include "fit/polish.h"
#include "linalg/svd.h"

namespace exhume {
namespace {

// Chosen by experience on random and digit-trained networks; not derived.
struct FillDeepColumnsLimits {
  double over = 1.4;  // equations for every unknown
  Index spare_places = 4;
  Index candidates = 60;  // for every place
  double kept = 0.3;      // share of them with the widest margins
  double step = 0.25;     // over the margin, in standard deviations of the weights along a direction
  double holds = 1e3;     // residual of an equation over its noise
  int again = 4;
  double shorter = 0.2;
  double more_queries = 1.3;   // of the whole space, for every unknown of the columns
  Index most_unknowns = 6000;  // that are polished together
  int steps = 12;              // of a polish
  int checks = 4;              // rounds of further queries,
  Index checked = 250;         // so many each,
  double wrong = 1e-9;         // that are answered wrongly from there on, over the largest answer
  Index pair_candidates = 60000;
  double pair_queries = 8;  // at which both units of a weight are on
};
constexpr FillDeepColumnsLimits kDeepColumns;

class DeepColumnSolver {
 public:
  explicit DeepColumnSolver(const LayerSearch& search)
      : space_(search.space),
        frame_(*space_.frame),
        within_(search.hypothesis.network),
        evidence_(search.evidence),
        seed_(search.seed),
        k_(within_.V.front().rows()),
        s_(frame_.dimensions()),
        d_(frame_.inputs()),
        m_(search.outputs()) {}

  FilledColumns run() {
    W_ = Matrix::Zero(k_, d_);
    W_.leftCols(s_) = within_.V.front().leftCols(s_);
    choose_places();
    base_ = space_.ask(QueryStage::kColumns, places_);
    std::vector<Index> open(static_cast<std::size_t>(d_ - s_));
    std::iota(open.begin(), open.end(), s_);
    Vector steps = steps_;
    for (int round = 0; round <= kDeepColumns.again && !open.empty(); ++round, steps *= kDeepColumns.shorter)
      open = solve(open, steps, round == kDeepColumns.again);
    finish();
    return std::move(out_);
  }

 private:
  struct At {
    Matrix slopes;      // m x k: df/dz of the first layer
    double margin = 0;  // how far the first layer's values may move, in standard deviations of a step of 1
    double size = 0;    // of the outputs
  };
  [[nodiscard]] At at(const Vector& u) const {
    const DeepForm& form = within_;
    Vector h = u;
    Matrix G = Matrix::Identity(k_, k_);  // of this layer's values by the first's
    double margin = std::numeric_limits<double>::infinity();
    const double sigma = 1 / std::sqrt(static_cast<double>(s_));  // first layer's rows have unit norm within
    for (std::size_t l = 0; l < form.V.size(); ++l) {
      const Matrix& V = form.V[l];
      const Vector z = V.leftCols(V.cols() - 1) * h + V.col(V.cols() - 1);
      if (l > 0) G = V.leftCols(V.cols() - 1) * G;
      for (Index j = 0; j < z.size(); ++j)
        margin = std::min(margin, std::abs(z(j)) / std::max(sigma * scaled_norm(G.row(j)), kTiny));
      const Vector on = (z.array() > 0).cast<double>();
      h = z.cwiseMax(0);
      G = on.asDiagonal() * G;
    }
    const Matrix C = form.C.topRows(form.C.rows() - 1);
    const Vector y = C.transpose() * h + form.C.bottomRows(1).transpose();
    return {C.transpose() * G, margin, y.cwiseAbs().maxCoeff()};
  }
  // The first layer's rows in the subspace need not be of unit norm.
  [[nodiscard]] double scaled_norm(const Eigen::RowVectorXd& g) const {
    return g.cwiseProduct(W_.leftCols(s_).rowwise().norm().transpose()).norm();
  }

  void choose_places() {
    const Index wanted =
        static_cast<Index>(std::ceil(kDeepColumns.over * static_cast<double>(k_) / static_cast<double>(m_))) +
        kDeepColumns.spare_places;
    const RowMatrix u =
        places_about(space_, evidence_, sub_seed(seed_, "columns"), 0, kDeepColumns.candidates * wanted);
    std::vector<At> seen;
    std::vector<std::pair<double, Index>> worth;
    for (Index i = 0; i < u.rows(); ++i) {
      seen.push_back(at(u.row(i).transpose()));
      worth.emplace_back(-seen.back().margin / space_.noise.at(seen.back().size), i);
    }
    std::sort(worth.begin(), worth.end());
    const std::vector<std::pair<double, Index>> order = worth;
    worth.resize(static_cast<std::size_t>(kDeepColumns.kept * static_cast<double>(worth.size())));
    // Greedily the place whose slopes, over the noise, have most that is new.
    std::vector<Matrix> left;
    for (const auto& [value, i] : worth) {
      const At& each = seen[static_cast<std::size_t>(i)];
      left.push_back(each.slopes);
    }
    std::vector<Index> chosen;
    std::vector<bool> used(left.size(), false);
    for (Index p = 0; p < wanted; ++p) {
      if (p * m_ % k_ < m_ && p > 0 && p * m_ >= k_) {  // all is spanned: once more from the start
        for (std::size_t i = 0; i < left.size(); ++i)
          left[i] = seen[static_cast<std::size_t>(worth[i].second)].slopes;
      }
      std::size_t best = 0;
      double most = -1;
      for (std::size_t i = 0; i < left.size(); ++i) {
        if (used[i]) continue;
        const double value = left[i].squaredNorm();
        if (value > most) most = value, best = i;
      }
      used[best] = true;
      chosen.push_back(worth[best].second);
      const Eigen::HouseholderQR<Matrix> qr(left[best].transpose());
      const Matrix Q = qr.householderQ() * Matrix::Identity(k_, std::min(m_, k_));
      for (Matrix& rows : left) rows -= (rows * Q) * Q.transpose();
    }
    add_for_rare_units(seen, order, chosen);
    const auto places = static_cast<Index>(chosen.size());
    places_.resize(places, s_);
    steps_.resize(places);
    Matrix A(places * m_, k_);
    for (Index p = 0; p < places; ++p) {
      const Index i = chosen[static_cast<std::size_t>(p)];
      const At& each = seen[static_cast<std::size_t>(i)];
      places_.row(p) = u.row(i);
      steps_(p) = kDeepColumns.step * each.margin;
      A.middleRows(p * m_, m_) = each.slopes;
    }
    weights_.resize(places * m_);
    for (Index p = 0; p < places; ++p)
      weights_.segment(p * m_, m_)
          .setConstant(steps_(p) / space_.noise.at(at(places_.row(p).transpose()).size));
    weights_ /= weights_.maxCoeff();
    matrix_ = weights_.asDiagonal() * A;
    // A unit that acts at no place gets no weights here; the queries of the whole space may show them.
    const Vector norms =
        matrix_.colwise().norm().unaryExpr([](double norm) { return norm > 0 ? norm : 1.0; }).transpose();
    const Svd svd = thin_svd(matrix_ * norms.cwiseInverse().asDiagonal());
    inverse_ = norms.cwiseInverse().asDiagonal() *
               (svd.V * svd.values.cwiseMax(1e-12).cwiseInverse().asDiagonal() * svd.U.transpose());
  }

  // A unit that is off at all chosen places has no equation: the place with the widest margins at which it
  // acts. No more, since such places have narrow ones.
  void add_for_rare_units(const std::vector<At>& seen, const std::vector<std::pair<double, Index>>& order,
                          std::vector<Index>& chosen) const {
    for (Index j = 0; j < k_; ++j) {
      const auto acts = [&](Index i) { return seen[static_cast<std::size_t>(i)].slopes.col(j).norm() > 0; };
      if (std::any_of(chosen.begin(), chosen.end(), acts)) continue;
      const auto place =
          std::find_if(order.begin(), order.end(), [&](const auto& each) { return acts(each.second); });
      if (place != order.end()) chosen.push_back(place->second);
    }
  }

  std::vector<Index> solve(const std::vector<Index>& open, const Vector& steps, bool last) {
    const Index P = places_.rows(), group = std::max<Index>(1, 4096 / P);
    std::vector<Index> again;
    for (std::size_t from = 0; from < open.size(); from += static_cast<std::size_t>(group)) {
      const Index count = std::min<Index>(group, static_cast<Index>(open.size() - from));
      Queries queries;
      queries.turn = frame_.turn();
      queries.rows.resize(count * P, s_);
      queries.step.resize(count * P);
      for (Index g = 0; g < count; ++g) {
        queries.rows.middleRows(g * P, P) = places_;
        queries.step.segment(g * P, P) = steps;
        for (Index p = 0; p < P; ++p)
          queries.direction.push_back(static_cast<std::int32_t>(open[from + static_cast<std::size_t>(g)]));
      }
      const RowMatrix answers = space_.meter->ask(QueryStage::kColumns, queries);
      for (Index g = 0; g < count; ++g) {
        const Index i = open[from + static_cast<std::size_t>(g)];
        Vector right(P * m_), noise(P);
        for (Index p = 0; p < P; ++p) {
          const auto row = answers.row(g * P + p);
          right.segment(p * m_, m_) = (row - base_.row(p)).transpose() / steps(p);
          noise(p) =
              2 * space_.noise.at(std::max(row.cwiseAbs().maxCoeff(), base_.row(p).cwiseAbs().maxCoeff())) /
              steps(p);
        }
        const Vector weighted = weights_.cwiseProduct(right);
        Vector w = inverse_ * weighted;
        w += inverse_ * (weighted - matrix_ * w);
        const Vector left = (matrix_ * w - weighted).cwiseQuotient(weights_);
        double worst = 0;
        for (Index p = 0; p < P; ++p)
          worst = std::max(worst, left.segment(p * m_, m_).cwiseAbs().maxCoeff() / noise(p));
        W_.col(i) = w;
        if (worst > kDeepColumns.holds && !last) again.push_back(i);
      }
    }
    return again;
  }

  // Back to the user's coordinates; then all layers on random queries of the subspace and of the whole space.
  void finish() {
    DeepForm& form = out_.form;
    form = within_;
    form.inputs = d_;
    Matrix V(k_, d_ + 1);
    V.leftCols(d_) = W_ * frame_.directions(0, d_);
    V.col(d_) = within_.V.front().col(s_) - V.leftCols(d_) * frame_.origin();
    form.V.front() = V;
    if (form.unknowns() > kDeepColumns.most_unknowns) return;
    const double spread = std::max(1e-3, 2 * evidence_.scale);
    const auto more = static_cast<Index>(kDeepColumns.more_queries * static_cast<double>(k_ * (d_ - s_)) /
                                         static_cast<double>(m_)) +
                      50;
    const RowMatrix drawn = domain_inputs(frame_, spread, seed_, 1u << 24, more);
    const RowMatrix inside = frame_.points_within(evidence_.u);
    RowMatrix asked(drawn.rows() + inside.rows(), d_);
    asked << drawn, inside;
    const RowMatrix candidates = domain_inputs(frame_, spread, seed_, 1u << 26, kDeepColumns.pair_candidates);
    const RowMatrix rare =
        candidates(where_pairs_act(form, candidates, asked, kDeepColumns.pair_queries), Eigen::all);
    RowMatrix x(drawn.rows() + rare.rows(), d_);
    x << drawn, rare;
    const RowMatrix y = space_.meter->ask(QueryStage::kColumns, plain_rows(x));
    RowMatrix all_x(x.rows() + inside.rows(), d_), all_y(all_x.rows(), m_);
    all_x << x, inside;
    all_y << y, evidence_.y;
    form = polished(form, all_x, all_y);
    // A weight that no query of the subspace told shows at places of the whole space: those join.
    for (int round = 0; round < kDeepColumns.checks; ++round) {
      const RowMatrix fresh =
          domain_inputs(frame_, spread, seed_, (1u << 27) + (1u << 20) * round, kDeepColumns.checked);
      const RowMatrix told = space_.meter->ask(QueryStage::kColumns, plain_rows(fresh));
      const RowMatrix off = told - evaluate(form, fresh);
      const double most =
          kDeepColumns.wrong * std::max(told.cwiseAbs().maxCoeff(), all_y.cwiseAbs().maxCoeff());
      const bool right = off.cwiseAbs().maxCoeff() <= most;
      const Index have = all_x.rows();
      all_x.conservativeResize(have + fresh.rows(), Eigen::NoChange);
      all_y.conservativeResize(have + fresh.rows(), Eigen::NoChange);
      all_x.bottomRows(fresh.rows()) = fresh;
      all_y.bottomRows(fresh.rows()) = told;
      if (right) break;
      form = polished(form, all_x, all_y);
    }
    out_.x = std::move(all_x);
    out_.y = std::move(all_y);
  }

  [[nodiscard]] DeepForm polished(const DeepForm& from, const RowMatrix& x, const RowMatrix& y) {
    const Scaled scaled(x, y);
    DeepPolishOptions polishing;
    polishing.damping = 1e-7;
    polishing.enough_relative = 1e-31;
    const DeepData data = scaled.data(x, y);
    polishing.max_iterations = affordable_steps(from, data, kDeepColumns.steps);
    polishing.patience = 2;
    const DeepPolished fit = polish(scaled.to_scaled(from), data, polishing, space_.meter->control());
    return scaled.from_scaled(fit.form);
  }

  const Space& space_;
  const Frame& frame_;
  const DeepForm& within_;
  const QueryEvidence& evidence_;
  std::uint64_t seed_;
  Index k_, s_, d_, m_;
  RowMatrix places_, base_;
  Vector steps_, weights_;
  Matrix matrix_, inverse_, W_;
  FilledColumns out_;
};

}  // namespace

FilledColumns fill_deep_columns(const LayerSearch& search) { return DeepColumnSolver(search).run(); }

}  // namespace exhume
