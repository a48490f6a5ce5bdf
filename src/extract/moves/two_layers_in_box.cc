#include "extract/moves/two_layers_in_box.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/random.h"
#include "extract/box_places.h"
#include "extract/climb.h"
#include "extract/form_fit.h"
#include "extract/kink.h"
#include "extract/moves/resolve_signs.h"
#include "extract/second_layer.h"

namespace exhume {
namespace {

// Chosen by experience on digit-trained networks in a pixel box; not derived.
struct TwoLayersInBoxLimits {
  int rounds = 40;
  int lines = 24, quiet = 8, most_lines = 60;  // of the first round
  int completions = 8, mixed = 6;              // rounds and lines for units that are always on
  double on_surface = 1e-6;                    // distance of a kink from a surface, over the scale
  Index first_places = 1500, all_places = 20000, more_places = 6000;
  int deviation_steps = 25;
  double right = 1e-7, fitted = 1e-9;  // of an answer, over its size
  double most_wrong = 0.35;            // share of wrong answers with which a fit is one
  std::size_t wrong_looked = 4, from_right = 4;
  std::size_t open_lines = 16, other_lines = 6;
  Index open_candidates = 3000, towards = 150, towards_pair = 30;
  double wander = 0.5;  // of a climb towards a unit, over its weights
  int silent = 3;
  Index each_side = 12;  // places on either side of a unit, at least
  double together = 8;   // places at which two units are on together
  double signs = 1e-3;   // how far a sign may be from 1 or -1
  double beyond = 1e-5;  // what signs leave of the terms in h_1, over these
  int barren = 6;        // rounds in a row that show nothing new, after which it ends
  std::size_t most_beyond = 6;
  std::size_t most_kinks = 6000;  // that are kept: where more pile up, f is something else
};
constexpr TwoLayersInBoxLimits kBoxLayers;

class BoxLayerFinder {
 public:
  BoxLayerFinder(const Space& space, std::uint64_t seed, QueryEvidence& evidence, Matrix& planes)
      : space_(space), seed_(seed), evidence_(evidence), planes_(planes), s_(space.dimensions()) {
    lines_.seed = seed;
    lines_.strict = true;
    lines_.explained = [this](const Vector& u) {
      return first_ && on_surface(*first_, units_, u, kBoxLayers.on_surface * evidence_.scale);
    };
  }

  JumpLayers run() {
    first_lines();
    int barren = 0;
    for (int round = 0; round < kBoxLayers.rounds && barren < kBoxLayers.barren &&
                        evidence_.kinks.size() < kBoxLayers.most_kinks;
         ++round) {
      space_.meter->control().check();
      const std::size_t kinks = evidence_.kinks.size();
      const Index planes = planes_.rows(), asked = u_.rows();
      if (!complete_first()) break;
      units_ = second_units(*first_, evidence_.kinks);
      if (units_.empty()) {
        lines_through(far_segments(kBoxLayers.other_lines));
      } else {
        ask_until(std::max(kBoxLayers.first_places, u_.rows()));
        ask_both_sides();
        if (step()) {
          out_.form = plain_;
          break;
        }
      }
      const bool news =
          evidence_.kinks.size() > kinks || planes_.rows() > planes || (asked > 0 && u_.rows() > asked);
      barren = news ? 0 : barren + 1;
    }
    if (!units_.empty()) out_.widths = {planes_.rows(), static_cast<Index>(units_.size())};
    out_.u = std::move(u_);
    out_.y = std::move(y_);
    return std::move(out_);
  }

 private:
  void first_lines() {
    PlanesOptions lines = lines_;
    lines.least_lines = kBoxLayers.lines;
    lines.quiet_lines = kBoxLayers.quiet;
    lines.most_lines = kBoxLayers.most_lines;
    lines.through = far_segments(kBoxLayers.lines);
    find_planes(space_, lines, evidence_, planes_);
  }

  void lines_through(std::vector<Segment> segments) {
    find_planes_along(space_, lines_, std::move(segments), evidence_, planes_);
  }

  [[nodiscard]] Matrix first_rows() const { return first_ ? first_->V() : Matrix(0, s_ + 1); }

  [[nodiscard]] std::vector<Segment> far_segments(std::size_t count) {
    const RowMatrix ends = far_places(space_, first_rows(), sub_seed(seed_, "ends of lines"), drawn_,
                                      static_cast<Index>(2 * count));
    drawn_ += 2 * count;
    std::vector<Segment> out;
    for (Index i = 0; i + 1 < ends.rows(); i += 2)
      out.emplace_back(ends.row(i).transpose(), ends.row(i + 1).transpose());
    return out;
  }

  // The first layer with its signs, and lines to where units switch that are on at all Jacobians so far.
  bool complete_first() {
    SignsFromJacobians first = signs_from_jacobians(planes_, evidence_.jacobians);
    for (int round = 0; round < kBoxLayers.completions && !first.left.empty(); ++round) {
      std::vector<Segment> segments;
      for (const Vector& w : first.left) segments.push_back(corners_along(space_, w));
      // Some of all, and of the planes.
      const Stream random(seed_, "extract mixed corners");
      for (int i = 0; i < kBoxLayers.mixed && planes_.rows() > 0; ++i) {
        RowMatrix g(1, static_cast<Index>(first.left.size()) + planes_.rows());
        random.fill_normal(drawn_++, g);
        Vector w = planes_.leftCols(s_).transpose() * g.row(0).tail(planes_.rows()).transpose();
        w /= std::sqrt(static_cast<double>(planes_.rows()));
        for (std::size_t a = 0; a < first.left.size(); ++a)
          w += g(0, static_cast<Index>(a)) * first.left[a].normalized();
        segments.push_back(corners_along(space_, w));
      }
      lines_through(std::move(segments));
      first = signs_from_jacobians(planes_, evidence_.jacobians);
    }
    if (first.signs.size() == 0) return false;
    first_.emplace(first.signs.asDiagonal() * planes_);
    return true;
  }

  void ask_until(Index count) {
    const Index have = u_.rows(), more = count - have;
    if (more <= 0) return;
    add_places(far_places(space_, first_rows(), sub_seed(seed_, "far places"),
                          static_cast<std::uint64_t>(have), more));
  }

  void add_places(const RowMatrix& u) {
    if (u.rows() == 0) return;
    append_rows(y_, space_.ask(QueryStage::kFarPlaces, u));
    append_rows(u_, u);
  }

  // What shows next; true where nothing is missing.
  bool step() {
    fit();
    std::vector<Index> wrong;
    Index sure = 0;
    for (Index r = 0; r < u_.rows(); ++r) {
      if (!sure_[static_cast<std::size_t>(r)]) continue;
      ++sure;
      if (off_(r) > kBoxLayers.right) wrong.push_back(r);
    }
    if (static_cast<double>(wrong.size()) > kBoxLayers.most_wrong * static_cast<double>(sure) || sure == 0) {
      std::vector<Segment> segments = open_segments();
      for (Segment& each : far_segments(kBoxLayers.other_lines)) segments.push_back(std::move(each));
      about_open_weights(std::move(segments));
      return false;
    }
    if (!wrong.empty()) {
      to_wrong(wrong);
      return false;
    }
    if (!trusted_ &&
        std::any_of(units_.begin(), units_.end(), [](const SecondUnit& unit) { return unit.any_open(); })) {
      about_open_weights(open_segments());
      return false;
    }
    if (!signs()) return false;
    if (directed_) return true;
    if (u_.rows() >= kBoxLayers.all_places) {
      ask_where_units_act();
      directed_ = true;
      return false;
    }
    ask_until(std::min(kBoxLayers.all_places, u_.rows() + kBoxLayers.more_places));
    return false;
  }

  // Lines for open weights. Where several rounds show nothing, they act nowhere, or where far places show it.
  void about_open_weights(std::vector<Segment> segments) {
    const std::size_t kinks = evidence_.kinks.size();
    lines_through(std::move(segments));
    silent_ = evidence_.kinks.size() > kinks ? 0 : silent_ + 1;
    trusted_ = trusted_ || silent_ >= kBoxLayers.silent;
  }

  // Some places on both sides of every unit: what it adds to the outputs is told by nothing else.
  void ask_both_sides() {
    const RowMatrix h = first_->features(u_);
    const Index k = h.cols();
    RowMatrix more(0, s_);
    for (const SecondUnit& unit : units_) {
      const Vector z = (h * unit.row.head(k)).array() + unit.row(k);
      for (const double side : {1.0, -1.0}) {
        Index missing = kBoxLayers.each_side - ((side * z).array() > 0).count();
        if (missing <= 0) continue;
        for (Index j = 0; j < k && missing > 0; ++j) {
          const RowMatrix x = towards(unit, j, side, kBoxLayers.towards_pair), there = first_->features(x);
          for (Index r = 0; r < x.rows() && missing > 0; ++r) {
            if (!(side * (there.row(r).dot(unit.row.head(k)) + unit.row(k)) > 0)) continue;
            more.conservativeResize(more.rows() + 1, Eigen::NoChange);
            more.bottomRows(1) = x.row(r);
            --missing;
          }
        }
      }
    }
    add_places(more);
  }

  // Places at which every unit of the second layer is on often enough, with every unit below it too, and off.
  void ask_where_units_act() {
    RowMatrix places(2 * static_cast<Index>(units_.size()) * first_->units() * kBoxLayers.towards_pair, s_);
    Index at = 0;
    for (std::size_t i = 0; i < units_.size(); ++i) {
      SecondUnit unit = units_[i];
      unit.row = plain_.V.back().row(static_cast<Index>(i)).transpose();
      for (const double side : {1.0, -1.0})
        for (Index j = 0; j < first_->units(); ++j, at += kBoxLayers.towards_pair)
          places.middleRows(at, kBoxLayers.towards_pair) = towards(unit, j, side, kBoxLayers.towards_pair);
    }
    add_places(places(where_pairs_act(plain_, places, u_, kBoxLayers.together), Eigen::all));
  }

  // The features (|z_2|, h_1, 1) at the rows of u; `sure` where no open weight acts.
  [[nodiscard]] Matrix features(const RowMatrix& u, std::vector<bool>& sure) const {
    const RowMatrix h = first_->features(u);
    const Index n = u.rows(), k = h.cols(), k2 = static_cast<Index>(units_.size());
    Matrix F(n, k2 + k + 1);
    sure.assign(static_cast<std::size_t>(n), true);
    for (Index i = 0; i < k2; ++i) {
      const SecondUnit& unit = units_[static_cast<std::size_t>(i)];
      F.col(i) = ((h * unit.row.head(k)).array() + unit.row(k)).abs().matrix();
      for (Index j = 0; j < k; ++j) {
        if (trusted_ || !unit.open[static_cast<std::size_t>(j)]) continue;
        for (Index r = 0; r < n; ++r)
          if (h(r, j) > 0) sure[static_cast<std::size_t>(r)] = false;
      }
    }
    F.middleCols(k2, k) = h;
    F.col(k2 + k).setOnes();
    return F;
  }

  // Least absolute deviations, by weights; then least squares on what that answers.
  void fit() {
    const Matrix F = features(u_, sure_);
    spread_ = spread_of(y_);
    std::vector<Index> rows;
    for (Index r = 0; r < u_.rows(); ++r)
      if (sure_[static_cast<std::size_t>(r)]) rows.push_back(r);
    off_ = Vector::Ones(u_.rows());
    if (static_cast<Index>(rows.size()) < F.cols()) return;
    Vector weight = Vector::Ones(static_cast<Index>(rows.size()));
    const Matrix some = F(rows, Eigen::all), answers = y_(rows, Eigen::all);
    const Vector norms = some.colwise().norm().cwiseMax(kTiny).transpose();
    for (int round = 0; round < kBoxLayers.deviation_steps; ++round) {
      const Matrix A = weight.asDiagonal() * some * norms.cwiseInverse().asDiagonal();
      C_ = norms.cwiseInverse().asDiagonal() *
           Matrix(A.completeOrthogonalDecomposition().solve(Matrix(weight.asDiagonal() * answers)));
      const Vector off = (answers - some * C_).rowwise().norm() / spread_;
      const double least = std::pow(10.0, -2 - 0.5 * round);
      weight = off.cwiseMax(std::max(least, kBoxLayers.fitted)).cwiseSqrt().cwiseInverse();
    }
    off_ = (y_ - F * C_).cwiseAbs().rowwise().maxCoeff();
    off_ = off_.cwiseQuotient(y_.cwiseAbs().rowwise().maxCoeff().cwiseMax(spread_));
  }

  // First kinks on the way from right answers to wrong ones.
  void to_wrong(std::vector<Index> wrong) {
    std::stable_sort(wrong.begin(), wrong.end(), [&](Index i, Index j) { return off_(i) > off_(j); });
    std::vector<Index> right;
    for (Index r = 0; r < u_.rows(); ++r)
      if (sure_[static_cast<std::size_t>(r)] && off_(r) <= kBoxLayers.right) right.push_back(r);
    const Model model = [this](const RowMatrix& u) {
      std::vector<bool> sure;
      NoisyAnswers said{features(u, sure) * C_, Vector(u.rows())};
      for (Index i = 0; i < u.rows(); ++i)
        said.noise(i) = kBoxLayers.right * std::max(spread_, said.values.row(i).cwiseAbs().maxCoeff());
      return said;
    };
    std::vector<Kink> kinks;
    std::vector<Segment> ends, plain;
    for (std::size_t i = 0; i < std::min(kBoxLayers.wrong_looked, wrong.size()); ++i) {
      const Vector to = u_.row(wrong[i * wrong.size() / std::min(kBoxLayers.wrong_looked, wrong.size())]);
      // The nearest right answer, and others at random.
      std::vector<Index> from{right.front()};
      for (const Index r : right)
        if ((u_.row(r).transpose() - to).norm() < (u_.row(from[0]).transpose() - to).norm()) from[0] = r;
      const Stream random(seed_, "extract right answers");
      while (from.size() < kBoxLayers.from_right) from.push_back(right[random.below(right.size(), drawn_++)]);
      for (const Index r : from) {
        const Vector at = u_.row(r);
        const auto kink =
            first_kink(space_, model, at, to, evidence_.scale, sub_seed(seed_, "first kink", drawn_++));
        if (!kink) continue;
        kinks.push_back(*kink);
        ends.emplace_back(at, to);
      }
      plain.emplace_back(u_.row(from[0]).transpose(), to);
    }
    const std::size_t before = evidence_.kinks.size();
    const Index planes = planes_.rows();
    judge_kinks(space_, lines_, kinks, ends, evidence_, planes_);
    if (evidence_.kinks.size() == before && planes_.rows() == planes) lines_through(std::move(plain));
  }

  // Segments all along which a unit is on whose weight is open, and on which the unit above it seems to
  // switch.
  [[nodiscard]] std::vector<Segment> open_segments() {
    std::vector<Segment> out;
    const RowMatrix far =
        far_places(space_, first_rows(), sub_seed(seed_, "open weights"), drawn_, kBoxLayers.open_candidates);
    drawn_ += static_cast<std::uint64_t>(kBoxLayers.open_candidates);
    for (const SecondUnit& unit : units_) {
      for (Index j = 0; j < first_->units() && out.size() < kBoxLayers.open_lines; ++j) {
        if (!unit.open[static_cast<std::size_t>(j)]) continue;
        RowMatrix x(far.rows() + 2 * kBoxLayers.towards, s_);
        x << far, towards(unit, j, 1, kBoxLayers.towards), towards(unit, j, -1, kBoxLayers.towards);
        const RowMatrix h = first_->features(x);
        const Vector z = (h * unit.row.head(h.cols())).array() + unit.row(h.cols());
        std::vector<Index> above, below;
        for (Index r = 0; r < x.rows(); ++r)
          if (h(r, j) > 0) (z(r) > 0 ? above : below).push_back(r);
        if (above.empty() || below.empty()) continue;
        const Stream random(seed_, "extract open segments");
        const Index from = above[random.below(above.size(), drawn_)];
        const Index to = below[random.below(below.size(), drawn_ + 1)];
        drawn_ += 2;
        out.emplace_back(x.row(from).transpose(), x.row(to).transpose());
      }
    }
    return out;
  }

  // Places at which unit j of the first layer is on, and `side` times the unit above it is large.
  [[nodiscard]] RowMatrix towards(const SecondUnit& unit, Index j, double side, Index count) {
    const Index k = first_->units();
    RowMatrix g(count, k);
    Stream(seed_, "extract towards").fill_normal(drawn_, g);
    for (Index r = 0; r < count; ++r) {
      const double pull = std::abs(g(r, j));
      g.row(r) = side * unit.row.head(k).transpose() +
                 kBoxLayers.wander / std::sqrt(static_cast<double>(k)) * g.row(r);
      g(r, j) += pull;
    }
    drawn_ += static_cast<std::uint64_t>(count);
    return climbs_to(space_, first_->V(), g, sub_seed(seed_, "climbs"), drawn_);
  }

  // L = sum_i s_i c_i w_i^T: a plain network, or places at which units would switch that are on everywhere.
  bool signs() {
    const Index k2 = static_cast<Index>(units_.size()), k = first_->units(), m = y_.cols();
    const Matrix c = C_.topRows(k2), L = C_.middleRows(k2, k);  // k2 x m, k x m
    std::vector<Index> told;                                    // units below on which no weight is open
    for (Index j = 0; j < k; ++j)
      if (std::none_of(units_.begin(), units_.end(),
                       [&](const SecondUnit& unit) { return unit.open[static_cast<std::size_t>(j)]; }))
        told.push_back(j);
    const Matrix known = L(told, Eigen::all);
    Matrix A(known.size(), k2);
    for (Index i = 0; i < k2; ++i) {
      const Matrix one = Vector(units_[static_cast<std::size_t>(i)].row(told)) * c.row(i);
      A.col(i) = Eigen::Map<const Vector>(one.data(), one.size());
    }
    const Vector right = Eigen::Map<const Vector>(known.data(), known.size());
    const Vector norms = A.colwise().norm().cwiseMax(kTiny).transpose();
    const Vector found = norms.cwiseInverse().asDiagonal() *
                         Vector((A * norms.cwiseInverse().asDiagonal()).colPivHouseholderQr().solve(right));
    const Vector s = found.unaryExpr([](double value) { return value < 0 ? -1.0 : 1.0; });
    const Vector left = right - A * s;
    if ((found - s).cwiseAbs().maxCoeff() > kBoxLayers.signs ||
        left.norm() > kBoxLayers.beyond * right.norm()) {
      Matrix beyond = Matrix::Zero(k, m);
      beyond(told, Eigen::all) = Eigen::Map<const Matrix>(left.data(), static_cast<Index>(told.size()), m);
      to_switch(beyond);
      return false;
    }
    plain_ = {};
    plain_.plain = true;
    plain_.inputs = s_;
    Matrix second(k2, k + 1);
    for (Index i = 0; i < k2; ++i) second.row(i) = s(i) * units_[static_cast<std::size_t>(i)].row.transpose();
    one_sided_weights(c, L, second);
    plain_.V = {first_->V(), second};
    plain_.C.resize(k2 + 1, m);
    plain_.C.topRows(k2) = 2 * c;
    plain_.C.bottomRows(1) = C_.bottomRows(1) - second.col(k).transpose() * c;
    return true;
  }

  // Open weights w_ij of units that stay on wherever unit j is on: L_j holds 2 c_i w_ij beyond what the
  // others give. Those of units that stay off there act nowhere.
  void one_sided_weights(const Matrix& c, const Matrix& L, Matrix& second) const {
    const RowMatrix h = first_->features(u_);
    const Index k = h.cols(), k2 = second.rows();
    for (Index j = 0; j < k; ++j) {
      std::vector<Index> acting;
      Vector rest = L.row(j).transpose();
      for (Index i = 0; i < k2; ++i) {
        if (!units_[static_cast<std::size_t>(i)].open[static_cast<std::size_t>(j)]) {
          rest -= second(i, j) * c.row(i).transpose();
          continue;
        }
        const Vector z = (h * second.row(i).head(k).transpose()).array() + second(i, k);
        if (((h.col(j).array() > 0) && (z.array() > 0)).any()) acting.push_back(i);
      }
      if (acting.empty()) continue;
      const Matrix outputs = 2 * c(acting, Eigen::all).transpose();
      const Vector w = outputs.completeOrthogonalDecomposition().solve(rest);
      for (std::size_t i = 0; i < acting.size(); ++i) second(acting[i], j) = w(static_cast<Index>(i));
    }
  }

  // left: k x m, sums over units that are on everywhere of their weights times their outputs'. Lines to where
  // such sums are least and most.
  void to_switch(const Matrix& left) {
    const Matrix rows = left.transpose();
    std::vector<Segment> segments;
    const RowMatrix x =
        far_places(space_, first_rows(), sub_seed(seed_, "switches"), drawn_, kBoxLayers.open_candidates);
    const RowMatrix h = first_->features(x);
    for (std::size_t i = 0; i < kBoxLayers.most_beyond; ++i) {
      RowMatrix g(1, rows.rows());
      Stream(seed_, "extract beyond").fill_normal(drawn_++, g);
      const Vector z = h * (rows.transpose() * g.row(0).transpose());
      Index least = 0, most = 0;
      z.minCoeff(&least);
      z.maxCoeff(&most);
      segments.emplace_back(x.row(least).transpose(), x.row(most).transpose());
    }
    drawn_ += static_cast<std::uint64_t>(kBoxLayers.open_candidates);
    lines_through(std::move(segments));
  }

  const Space& space_;
  std::uint64_t seed_;
  QueryEvidence& evidence_;
  Matrix& planes_;  // of the first layer
  Index s_;
  PlanesOptions lines_;
  std::optional<FirstUnits> first_;
  std::vector<SecondUnit> units_;
  RowMatrix u_, y_;         // far places
  std::vector<bool> sure_;  // of these: no open weight acts
  Vector off_;              // what the fit leaves, over the size of answers
  Matrix C_;                // on (|z_2|, h_1, 1)
  double spread_ = 1;
  int silent_ = 0;         // rounds in a row that showed nothing of open weights
  bool directed_ = false;  // asked where every weight acts
  bool trusted_ = false;   // open weights are taken for zero
  DeepForm plain_;
  std::uint64_t drawn_ = 0;
  JumpLayers out_;
};

}  // namespace

JumpLayers find_two_layers_in_box(const Space& space, std::uint64_t seed, QueryEvidence& evidence,
                                  Matrix& planes) {
  return BoxLayerFinder(space, seed, evidence, planes).run();
}

}  // namespace exhume
