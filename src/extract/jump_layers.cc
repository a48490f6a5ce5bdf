#include "extract/jump_layers.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/random.h"
#include "extract/box_places.h"
#include "extract/first_layer.h"
#include "extract/pairs.h"
#include "extract/second_layer.h"
#include "extract/single_kink.h"

namespace exhume {
namespace {

constexpr const char* kStage = "far places";
constexpr int kLines = 24, kQuiet = 8, kMostLines = 60;  // of the first round
constexpr int kCompletions = 8, kMixed = 6;              // rounds and lines for units that are always on
constexpr double kCorner = 0.97;                         // of the way to a corner
constexpr double kOnSurface = 1e-6;                      // distance of a kink from a surface, over the scale
constexpr Index kFirstPlaces = 1500, kAllPlaces = 20000, kMorePlaces = 6000;
constexpr int kDeviationSteps = 25;
constexpr double kRight = 1e-7, kFitted = 1e-9;  // of an answer, over its size
constexpr double kMostWrong = 0.35;              // share of wrong answers with which a fit is one
constexpr std::size_t kWrongLooked = 4, kFromRight = 4;
constexpr std::size_t kOpenLines = 16, kOtherLines = 6;
constexpr Index kOpenCandidates = 3000, kTowards = 150, kTowardsPair = 30;
constexpr double kWander = 0.5;  // of a climb towards a unit, over its weights
constexpr int kSilent = 3;
constexpr Index kEachSide = 12;   // places on either side of a unit, at least
constexpr double kTogether = 8;   // places at which two units are on together
constexpr double kSigns = 1e-3;   // how far a sign may be from 1 or -1
constexpr double kBeyond = 1e-5;  // what signs leave of the terms in h_1, over these
constexpr int kBarren = 6;        // rounds in a row that show nothing new, after which it ends
constexpr std::size_t kMostBeyond = 6;
constexpr std::size_t kMostKinks = 6000;  // that are kept: where more pile up, f is something else

using Segment = std::pair<Vector, Vector>;

class Finder {
 public:
  Finder(const Space& space, const JumpLayersOptions& options, Planes& planes)
      : space_(space), options_(options), planes_(planes), s_(space.dimensions()) {
    lines_.seed = options.seed;
    lines_.strict = true;
    lines_.explained = [this](const Vector& u) {
      return first_ && on_surface(*first_, units_, u, kOnSurface * planes_.scale);
    };
  }

  JumpLayers run() {
    first_lines();
    int barren = 0;
    for (int round = 0; round < options_.rounds && barren < kBarren && planes_.upper.size() < kMostKinks;
         ++round) {
      space_.meter->control().check();
      const std::size_t kinks = planes_.upper.size();
      const Index planes = planes_.V.rows(), asked = u_.rows();
      if (!complete_first()) break;
      units_ = second_units(*first_, planes_.upper);
      if (units_.empty()) {
        lines_through(far_segments(kOtherLines));
      } else {
        ask_until(std::max(kFirstPlaces, u_.rows()));
        ask_both_sides();
        if (step()) {
          out_.form = plain_;
          break;
        }
      }
      const bool news =
          planes_.upper.size() > kinks || planes_.V.rows() > planes || (asked > 0 && u_.rows() > asked);
      barren = news ? 0 : barren + 1;
    }
    if (!units_.empty()) out_.widths = {planes_.V.rows(), static_cast<Index>(units_.size())};
    out_.u = std::move(u_);
    out_.y = std::move(y_);
    return std::move(out_);
  }

 private:
  void first_lines() {
    PlanesOptions lines = lines_;
    lines.least_lines = kLines;
    lines.quiet_lines = kQuiet;
    lines.most_lines = kMostLines;
    lines.through = far_segments(kLines);
    more_planes(space_, lines, planes_);
  }

  void lines_through(std::vector<Segment> segments) {
    if (segments.empty()) return;
    PlanesOptions lines = lines_;
    lines.least_lines = lines.most_lines = static_cast<int>(segments.size());
    lines.through = std::move(segments);
    more_planes(space_, lines, planes_);
  }

  [[nodiscard]] Matrix first_rows() const { return first_ ? first_->V() : Matrix(0, s_ + 1); }

  [[nodiscard]] std::vector<Segment> far_segments(std::size_t count) {
    const RowMatrix ends =
        far_places(space_, first_rows(), options_.seed ^ 0x6a09e667u, drawn_, static_cast<Index>(2 * count));
    drawn_ += 2 * count;
    std::vector<Segment> out;
    for (Index i = 0; i + 1 < ends.rows(); i += 2)
      out.emplace_back(ends.row(i).transpose(), ends.row(i + 1).transpose());
    return out;
  }

  // The first layer with its signs, and lines to where units switch that are on at all Jacobians so far.
  bool complete_first() {
    FirstLayer first = first_layer(planes_.V, planes_.pieces);
    for (int round = 0; round < kCompletions && !first.left.empty(); ++round) {
      std::vector<Segment> segments;
      for (const Vector& w : first.left) segments.push_back(corners_of(w));
      // Some of all, and of the planes.
      const Stream random(options_.seed + static_cast<std::uint64_t>(round), "extract mixed corners");
      for (int i = 0; i < kMixed && planes_.V.rows() > 0; ++i) {
        RowMatrix g(1, static_cast<Index>(first.left.size()) + planes_.V.rows());
        random.fill_normal(drawn_++, g);
        Vector w = planes_.V.leftCols(s_).transpose() * g.row(0).tail(planes_.V.rows()).transpose();
        w /= std::sqrt(static_cast<double>(planes_.V.rows()));
        for (std::size_t a = 0; a < first.left.size(); ++a)
          w += g(0, static_cast<Index>(a)) * first.left[a].normalized();
        segments.push_back(corners_of(w));
      }
      lines_through(std::move(segments));
      first = first_layer(planes_.V, planes_.pieces);
    }
    if (first.signs.size() == 0) return false;
    first_.emplace(first.signs.asDiagonal() * planes_.V);
    return true;
  }

  [[nodiscard]] Segment corners_of(const Vector& w) const {
    const Box& box = space_.meter->frame().box();
    Vector corner = (box.high - box.low) / 2 * kCorner * w.array().sign().matrix();
    corner.array() += (box.low + box.high) / 2;
    return {Vector::Constant(s_, box.low + box.high) - corner, corner};
  }

  void ask_until(Index count) {
    const Index have = u_.rows(), more = count - have;
    if (more <= 0) return;
    add_places(far_places(space_, first_rows(), options_.seed ^ 0xbb67ae85u, static_cast<std::uint64_t>(have),
                          more));
  }

  void add_places(const RowMatrix& u) {
    if (u.rows() == 0) return;
    const RowMatrix y = space_.ask(kStage, u);
    u_.conservativeResize(u_.rows() + u.rows(), s_);
    y_.conservativeResize(u_.rows(), y.cols());
    u_.bottomRows(u.rows()) = u;
    y_.bottomRows(u.rows()) = y;
  }

  // What shows next; true where nothing is missing.
  bool step() {
    fit();
    std::vector<Index> wrong;
    Index sure = 0;
    for (Index r = 0; r < u_.rows(); ++r) {
      if (!sure_[static_cast<std::size_t>(r)]) continue;
      ++sure;
      if (off_(r) > kRight) wrong.push_back(r);
    }
    if (static_cast<double>(wrong.size()) > kMostWrong * static_cast<double>(sure) || sure == 0) {
      std::vector<Segment> segments = open_segments();
      for (Segment& each : far_segments(kOtherLines)) segments.push_back(std::move(each));
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
    if (u_.rows() >= kAllPlaces) {
      ask_where_units_act();
      directed_ = true;
      return false;
    }
    ask_until(std::min(kAllPlaces, u_.rows() + kMorePlaces));
    return false;
  }

  // Lines for open weights. Where several rounds show nothing, they act nowhere, or where far places show it.
  void about_open_weights(std::vector<Segment> segments) {
    const std::size_t kinks = planes_.upper.size();
    lines_through(std::move(segments));
    silent_ = planes_.upper.size() > kinks ? 0 : silent_ + 1;
    trusted_ = trusted_ || silent_ >= kSilent;
  }

  // Some places on both sides of every unit: what it adds to the outputs is told by nothing else.
  void ask_both_sides() {
    const RowMatrix h = first_->features(u_);
    const Index k = h.cols();
    RowMatrix more(0, s_);
    for (const SecondUnit& unit : units_) {
      const Vector z = (h * unit.row.head(k)).array() + unit.row(k);
      for (const double side : {1.0, -1.0}) {
        Index missing = kEachSide - ((side * z).array() > 0).count();
        if (missing <= 0) continue;
        for (Index j = 0; j < k && missing > 0; ++j) {
          const RowMatrix x = towards(unit, j, side, kTowardsPair), there = first_->features(x);
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
    RowMatrix places(2 * static_cast<Index>(units_.size()) * first_->units() * kTowardsPair, s_);
    Index at = 0;
    for (std::size_t i = 0; i < units_.size(); ++i) {
      SecondUnit unit = units_[i];
      unit.row = plain_.V.back().row(static_cast<Index>(i)).transpose();
      for (const double side : {1.0, -1.0})
        for (Index j = 0; j < first_->units(); ++j, at += kTowardsPair)
          places.middleRows(at, kTowardsPair) = towards(unit, j, side, kTowardsPair);
    }
    add_places(places(where_pairs_act(plain_, places, u_, kTogether), Eigen::all));
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
    spread_ = std::sqrt((y_.rowwise() - y_.colwise().mean()).squaredNorm() / static_cast<double>(y_.size()));
    std::vector<Index> rows;
    for (Index r = 0; r < u_.rows(); ++r)
      if (sure_[static_cast<std::size_t>(r)]) rows.push_back(r);
    off_ = Vector::Ones(u_.rows());
    if (static_cast<Index>(rows.size()) < F.cols()) return;
    Vector weight = Vector::Ones(static_cast<Index>(rows.size()));
    const Matrix some = F(rows, Eigen::all), answers = y_(rows, Eigen::all);
    const Vector norms = some.colwise().norm().cwiseMax(kTiny).transpose();
    for (int round = 0; round < kDeviationSteps; ++round) {
      const Matrix A = weight.asDiagonal() * some * norms.cwiseInverse().asDiagonal();
      C_ = norms.cwiseInverse().asDiagonal() *
           Matrix(A.completeOrthogonalDecomposition().solve(Matrix(weight.asDiagonal() * answers)));
      const Vector off = (answers - some * C_).rowwise().norm() / spread_;
      const double least = std::pow(10.0, -2 - 0.5 * round);
      weight = off.cwiseMax(std::max(least, kFitted)).cwiseSqrt().cwiseInverse();
    }
    off_ = (y_ - F * C_).cwiseAbs().rowwise().maxCoeff();
    off_ = off_.cwiseQuotient(y_.cwiseAbs().rowwise().maxCoeff().cwiseMax(spread_));
  }

  // First kinks on the way from right answers to wrong ones.
  void to_wrong(std::vector<Index> wrong) {
    std::stable_sort(wrong.begin(), wrong.end(), [&](Index i, Index j) { return off_(i) > off_(j); });
    std::vector<Index> right;
    for (Index r = 0; r < u_.rows(); ++r)
      if (sure_[static_cast<std::size_t>(r)] && off_(r) <= kRight) right.push_back(r);
    const Model model = [this](const RowMatrix& u) {
      std::vector<bool> sure;
      NoisyAnswers said{features(u, sure) * C_, Vector(u.rows())};
      for (Index i = 0; i < u.rows(); ++i)
        said.noise(i) = kRight * std::max(spread_, said.values.row(i).cwiseAbs().maxCoeff());
      return said;
    };
    std::vector<UpperKink> kinks;
    std::vector<Segment> ends, plain;
    for (std::size_t i = 0; i < std::min(kWrongLooked, wrong.size()); ++i) {
      const Vector to = u_.row(wrong[i * wrong.size() / std::min(kWrongLooked, wrong.size())]);
      // The nearest right answer, and others at random.
      std::vector<Index> from{right.front()};
      for (const Index r : right)
        if ((u_.row(r).transpose() - to).norm() < (u_.row(from[0]).transpose() - to).norm()) from[0] = r;
      const Stream random(options_.seed, "extract right answers");
      while (from.size() < kFromRight) from.push_back(right[random.below(right.size(), drawn_++)]);
      for (const Index r : from) {
        const Vector at = u_.row(r);
        const auto kink = first_kink(space_, model, at, to, planes_.scale, options_.seed + drawn_++);
        if (!kink) continue;
        kinks.push_back(*kink);
        ends.emplace_back(at, to);
      }
      plain.emplace_back(u_.row(from[0]).transpose(), to);
    }
    const std::size_t before = planes_.upper.size();
    const Index planes = planes_.V.rows();
    judge_kinks(space_, lines_, kinks, ends, planes_);
    if (planes_.upper.size() == before && planes_.V.rows() == planes) lines_through(std::move(plain));
  }

  // Segments all along which a unit is on whose weight is open, and on which the unit above it seems to switch.
  [[nodiscard]] std::vector<Segment> open_segments() {
    std::vector<Segment> out;
    const RowMatrix far =
        far_places(space_, first_rows(), options_.seed ^ 0xa54ff53au, drawn_, kOpenCandidates);
    drawn_ += static_cast<std::uint64_t>(kOpenCandidates);
    for (const SecondUnit& unit : units_) {
      for (Index j = 0; j < first_->units() && out.size() < kOpenLines; ++j) {
        if (!unit.open[static_cast<std::size_t>(j)]) continue;
        RowMatrix x(far.rows() + 2 * kTowards, s_);
        x << far, towards(unit, j, 1, kTowards), towards(unit, j, -1, kTowards);
        const RowMatrix h = first_->features(x);
        const Vector z = (h * unit.row.head(h.cols())).array() + unit.row(h.cols());
        std::vector<Index> above, below;
        for (Index r = 0; r < x.rows(); ++r)
          if (h(r, j) > 0) (z(r) > 0 ? above : below).push_back(r);
        if (above.empty() || below.empty()) continue;
        const Stream random(options_.seed, "extract open segments");
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
    Stream(options_.seed, "extract towards").fill_normal(drawn_, g);
    for (Index r = 0; r < count; ++r) {
      const double pull = std::abs(g(r, j));
      g.row(r) = side * unit.row.head(k).transpose() + kWander / std::sqrt(static_cast<double>(k)) * g.row(r);
      g(r, j) += pull;
    }
    drawn_ += static_cast<std::uint64_t>(count);
    return climbs_to(space_, first_->V(), g, options_.seed ^ 0x5be0cd19u, drawn_);
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
    if ((found - s).cwiseAbs().maxCoeff() > kSigns || left.norm() > kBeyond * right.norm()) {
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

  // Open weights w_ij of units that stay on wherever unit j is on: L_j holds 2 c_i w_ij beyond what the others give. Those of
  // units that stay off there act nowhere.
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

  // left: k x m, sums over units that are on everywhere of their weights times their outputs'. Lines to where such sums are
  // least and most.
  void to_switch(const Matrix& left) {
    const Matrix rows = left.transpose();
    std::vector<Segment> segments;
    const RowMatrix x =
        far_places(space_, first_rows(), options_.seed ^ 0x1f83d9abu, drawn_, kOpenCandidates);
    const RowMatrix h = first_->features(x);
    for (std::size_t i = 0; i < kMostBeyond; ++i) {
      RowMatrix g(1, rows.rows());
      Stream(options_.seed, "extract beyond").fill_normal(drawn_++, g);
      const Vector z = h * (rows.transpose() * g.row(0).transpose());
      Index least = 0, most = 0;
      z.minCoeff(&least);
      z.maxCoeff(&most);
      segments.emplace_back(x.row(least).transpose(), x.row(most).transpose());
    }
    drawn_ += static_cast<std::uint64_t>(kOpenCandidates);
    lines_through(std::move(segments));
  }

  const Space& space_;
  const JumpLayersOptions& options_;
  Planes& planes_;
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

JumpLayers jump_layers(const Space& space, const JumpLayersOptions& options, Planes& planes) {
  return Finder(space, options, planes).run();
}

}  // namespace exhume
