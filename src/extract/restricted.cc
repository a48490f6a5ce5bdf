#include "extract/restricted.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "exhume/base/random.h"
#include "exhume/fit/polish.h"
#include "extract/bend.h"
#include "extract/last_digits.h"
#include "extract/line_units.h"
#include "extract/searched.h"

namespace exhume {
namespace {

constexpr const char* kFit = "subspace";
// How far a start's values are off as a share of its terms: at least, and at most where lines are to show
// more.
constexpr double kLeastStartError = 1e-11, kMostStartError = 1e-8, kHopelessStart = 1e-3;
// Largest error of a start as a share of its terms with which it is worth a polish: all units are there.
constexpr double kWorthPolish = 1e-4;
// How far a polished model's values are off, in relative noises of the answers.
constexpr double kPolishedError = 4;
// Residuals over the noise up to which a polished model is right.
constexpr double kRight = 100;
// Distance of the farthest random questions, in distances of planes: the noise of answers grows with it.
constexpr double kRadius = 1.5;
// Noise over that of doubles, as a root, from which lines do not show all kinks; equations for every unknown
// of the search that takes over, and its seconds.
constexpr double kTooNoisyForLines = 100, kSearchShare = 16, kSearchSeconds = 60;
constexpr int kNoisyLines = 6;  // after which noisy answers are fitted whatever lines show
// A unit without which what is left grows by no more than this, or stays below so many noises, is none.
constexpr double kNeedless = 1.5, kBelowNoise = 2;
constexpr double kNearlyNeedless = 1e5;   // before the others are polished, from which on there is no hope
constexpr std::size_t kMostNeedless = 8;  // that are tried
constexpr int kMostSearches = 3;          // each from other seeds, and on as many questions more
// Units that are enough to tell a single hidden layer, those that are looked at after a line, the step across their planes over
// the planes' distance, how far a jump may be from what it was on the line, and jumps of another size that a single hidden
// layer does not have: one may be two close kinks of a line that passed for one.
constexpr Index kFewUnits = 4, kLookedAt = 12, kOtherJumps = 2;
constexpr double kLookStep = 2e-4, kSameJump = 0.2;
constexpr int kLooks = 3;
constexpr double kCoarse = 1e-12;  // noise from which jumps on a line are too rough to be told from others
constexpr double kWithin = 0.93;   // of the reach in a box
constexpr int kFewIntervals = 16;  // of lines along which few kinks are left

class Finder {
 public:
  Finder(Meter& meter, const RestrictedOptions& options)
      : options_(options),
        space_{&meter, options.noise, false},
        s_(space_.dimensions()),
        fit_share_(options.fit_share) {}

  Restricted run() {
    out_.scale = std::sqrt(static_cast<double>(space_.meter->frame().inputs()));
    bool polished = false;
    for (out_.lines = 0; out_.lines < options_.most_lines; ++out_.lines) {
      const Index changed = follow_line(polished ? kPolishedError * options_.noise.relative : start_error_);
      if (changed == 0 && polished) break;
      if (looks_ < kLooks && !polished && options_.noise.relative <= kCoarse && model_.units() >= kFewUnits &&
          deeper()) {
        out_.deeper = true;
        break;
      }
      const bool enough = out_.lines + 1 == options_.most_lines ||
                          (noisy() && out_.lines > 0 && out_.lines % kNoisyLines == 0);
      if (changed > 0 || !polished) polished = fit(enough);
      if (searched_ && polished) break;  // lines that show less than the search did say nothing
    }
    out_.complete = polished;
    out_.model = model_;
    return out_;
  }

 private:
  // Asks at other places of the planes of some units whether they bend f there by as much. Of a deep network's kinks on a line
  // some may do so everywhere near, so that later lines are looked at too.
  [[nodiscard]] bool deeper() {
    const Index k = model_.units(), n = std::min(k, kLookedAt);
    std::vector<double> far;
    for (Index j = 0; j < k; ++j) far.push_back(std::abs(model_.V(j, s_)));
    std::sort(far.begin(), far.end());
    const double spread = std::max(far[far.size() / 2], 1e-6);
    RowMatrix u(n, s_), w(n, s_);
    Stream(options_.seed, "extract looked at")
        .fill_normal(static_cast<std::uint64_t>(kLookedAt * looks_++), u);
    for (Index i = 0; i < n; ++i) {
      const Index j = i * k / n;
      w.row(i) = model_.V.row(j).head(s_);
      const Vector along = u.row(i).transpose().normalized();
      u.row(i) *=
          space_.bounded() ? 0.5 * space_.reach(Vector::Zero(s_), along) / u.row(i).norm() : 2 * spread;
      u.row(i) -= (u.row(i).dot(w.row(i)) + model_.V(j, s_)) * w.row(i);
      if (const double reach = space_.reach(Vector::Zero(s_), u.row(i).transpose()); reach < 1)
        u.row(i) *= 0.9 * reach;
    }
    const std::vector<Bend> bends = bends_at(space_, "depth", u, w, Vector::Constant(n, kLookStep * spread));
    Index judged = 0;
    for (Index i = 0; i < n; ++i) {
      const Index j = i * k / n;
      if (std::abs(u.row(i).dot(w.row(i)) + model_.V(j, s_)) > 1e-9 * spread)
        continue;  // the box was in the way
      const Vector expected = 2 * model_.C.row(j).transpose();
      ++judged;
      if ((bends[static_cast<std::size_t>(i)].jump - expected).norm() > kSameJump * expected.norm())
        ++other_jumps_;
    }
    return judged >= kFewUnits && other_jumps_ >= kOtherJumps;
  }

  // A line and its units into the model; returns how many are new.
  Index follow_line(double model_error) {
    const Stream random(options_.seed, "extract line " + std::to_string(out_.lines));
    const Matrix drawn = random.normal_matrix(s_, 2);
    Vector p = Vector::Zero(s_);
    if (out_.lines > 0) {
      p = drawn.col(1) * (out_.scale / std::sqrt(static_cast<double>(s_)) / 2);
      if (const double reach = space_.reach(Vector::Zero(s_), p); reach < 2) p *= reach / 2;
    }
    Vector v = drawn.col(0).normalized();
    // From the middle, where the first line ran, to where most is left: there is a kink in between.
    if (out_.lines % 3 != 0 && worst_.size() > 0) {
      v = worst_.normalized();
      p.setZero();
    }
    LineTask task = line_through(space_, p, v, options_.farthest * out_.scale);
    if (out_.lines > 0) task.intervals = kFewIntervals;
    if (!space_.bounded()) task.scale = out_.scale;
    task.model_error = model_error;
    task.seed = options_.seed + 1000003 * static_cast<std::uint64_t>(out_.lines);
    const LineUnits found = units_of_line(space_, task, model_);
    if (out_.lines == 0) {
      out_.line = {task.low, task.high};
      out_.kinks = found.kinks;
    }
    return found.changed;
  }

  // Random questions: directions at random, distances from well within the planes to beyond most of them.
  void more_fit_points() {
    const Index k = model_.units(), m = space_.meter->outputs();
    const auto unknowns = static_cast<double>(k * (s_ + 1) + (k + s_ + 1) * m);
    const Index wanted = static_cast<Index>(std::ceil(fit_share_ * unknowns / static_cast<double>(m))) + 64;
    const Index have = fit_u_.rows();
    if (wanted <= have) return;
    // Distance of planes: what nine in ten do not exceed.
    std::vector<double> far;
    for (Index j = 0; j < k; ++j) far.push_back(std::abs(model_.V(j, s_)));
    double nine_tenths = out_.scale / 4;
    if (!far.empty()) {
      std::sort(far.begin(), far.end());
      nine_tenths = std::max(far[static_cast<std::size_t>(0.9 * static_cast<double>(far.size() - 1))], kTiny);
    }
    const double most = kRadius * nine_tenths * std::sqrt(static_cast<double>(s_));
    RowMatrix u(wanted - have, s_);
    const Stream directions(options_.seed, "extract fit directions"),
        radii(options_.seed, "extract fit radii");
    directions.fill_normal(static_cast<std::uint64_t>(have), u);
    for (Index i = 0; i < u.rows(); ++i) {
      const double r = radii.uniforms(static_cast<std::uint64_t>(have + i), 0).first;
      const Vector along = u.row(i).normalized();
      const double reach = kWithin * space_.reach(Vector::Zero(s_), along);
      // Log-uniform over a factor 20; in a box up to its walls.
      u.row(i) = along.transpose() * (space_.bounded() ? reach * std::sqrt(r) : most * std::exp(-3 * r));
    }
    add_fit_points(u);
    if (!space_.bounded()) out_.scale = 2 * nine_tenths;
  }

  void add_fit_points(const RowMatrix& u) {
    const Index have = fit_u_.rows();
    const RowMatrix y = space_.ask(kFit, u);
    RowMatrix all_u(have + u.rows(), s_), all_y(have + u.rows(), y.cols());
    all_u << fit_u_, u;
    all_y << fit_y_, y;
    fit_u_ = std::move(all_u);
    fit_y_ = std::move(all_y);
  }

  // A plane that has nearly all points on one side is met by more: some of them, moved across it.
  void meet_all_planes() {
    const Index enough = s_ + 6, n = fit_u_.rows();
    const Stream random(options_.seed, "extract across planes");
    Matrix z = fit_u_ * model_.V.leftCols(s_).transpose();
    z.rowwise() += model_.V.col(s_).transpose();
    std::vector<Vector> more;
    for (Index j = 0; j < model_.units(); ++j) {
      const Index positive = (z.col(j).array() > 0).count();
      const double side = positive * 2 > n ? -1 : 1;  // the one with fewer
      const Index missing = enough - std::min(positive, n - positive);
      const Vector w = model_.V.row(j).head(s_);
      for (Index i = 0; i < missing; ++i) {
        const auto row = static_cast<std::uint64_t>(n + static_cast<Index>(more.size()));
        const auto [which, depth] = random.uniforms(row, 0);
        const auto from = static_cast<Index>(which * static_cast<double>(n));
        // As far beyond the plane as a tenth to a half of its distance.
        const double beyond = side * std::abs(model_.V(j, s_)) * (0.1 + 0.4 * depth);
        Vector u = fit_u_.row(from).transpose() + (beyond - z(from, j)) * w;
        if (const double reach = kWithin * space_.reach(Vector::Zero(s_), u); reach < 1) u *= reach;
        more.push_back(std::move(u));
      }
    }
    if (more.empty()) return;
    RowMatrix u(static_cast<Index>(more.size()), s_);
    for (std::size_t i = 0; i < more.size(); ++i) u.row(static_cast<Index>(i)) = more[i].transpose();
    add_fit_points(u);
  }

  // The start's errors as shares of its terms: what one in fifty does not exceed, which no missing unit
  // spoilt, and the largest.
  [[nodiscard]] std::pair<double, double> start_errors() {
    const RowMatrix left = fit_y_ - evaluate(model_, fit_u_);
    const Vector terms = term_sizes(model_, fit_u_);
    std::vector<double> share;
    for (Index i = 0; i < left.rows(); ++i)
      share.push_back(left.row(i).cwiseAbs().maxCoeff() / std::max(terms(i), kTiny));
    worst_ = fit_u_.row(std::max_element(share.begin(), share.end()) - share.begin());
    std::sort(share.begin(), share.end());
    return {share[share.size() / 50], share.back()};
  }

  // Lines do not show all kinks.
  [[nodiscard]] bool noisy() const { return std::sqrt(options_.noise.relative / 1e-15) > kTooNoisyForLines; }

  // Largest |f - model| over the noise at the random questions.
  [[nodiscard]] double worst_of(const SeparableModel& model) const {
    const RowMatrix left = fit_y_ - evaluate(model, fit_u_);
    const Vector terms = term_sizes(model, fit_u_);
    double worst = 0;
    for (Index i = 0; i < left.rows(); ++i) {
      const double noise = options_.noise.at(std::max(terms(i), fit_y_.row(i).cwiseAbs().maxCoeff()));
      worst = std::max(worst, left.row(i).cwiseAbs().maxCoeff() / noise);
    }
    return worst;
  }

  // The model without unit j, its amplitudes fitted again.
  [[nodiscard]] SeparableModel without(Index j) const {
    SeparableModel fewer = model_;
    const Index k = model_.units() - 1;
    for (Index i = j; i < k; ++i) fewer.V.row(i) = model_.V.row(i + 1);
    fewer.V.conservativeResize(k, Eigen::NoChange);
    Matrix F(fit_u_.rows(), k + s_ + 1);
    const Matrix z = (fit_u_ * fewer.V.leftCols(s_).transpose()).rowwise() + fewer.V.col(s_).transpose();
    F << z.cwiseAbs(), fit_u_, Vector::Ones(fit_u_.rows());
    const Vector norms = F.colwise().norm().cwiseMax(kTiny).transpose();
    fewer.C = norms.cwiseInverse().asDiagonal() *
              Matrix((F * norms.cwiseInverse().asDiagonal()).colPivHouseholderQr().solve(Matrix(fit_y_)));
    return fewer;
  }

  // Noise on a line may pass for a kink, and two of its places for two units: those without which the others answer as well.
  void leave_needless() {
    PolishOptions polish_options;
    polish_options.dense_limit = 6000;
    polish_options.damping = 1e-6;
    polish_options.max_iterations = 30;
    const SamplePtr samples = memory_samples(fit_u_, fit_y_);
    for (bool any = true; any && model_.units() > 1;) {
      any = false;
      std::vector<std::pair<double, Index>> order;
      for (Index j = 0; j < model_.units(); ++j) order.emplace_back(worst_of(without(j)), j);
      std::sort(order.begin(), order.end());
      for (std::size_t i = 0; i < std::min(kMostNeedless, order.size()) && !any; ++i) {
        if (!(order[i].first < kNearlyNeedless)) break;
        const SeparableModel fewer =
            polish(without(order[i].second), *samples, polish_options, space_.meter->control()).model;
        const double worst = worst_of(fewer);
        any = worst <= std::max(kNeedless * out_.worst, kBelowNoise);
        if (!any) continue;
        model_ = fewer;
        out_.worst = worst;
      }
    }
  }

  // More random questions, and the search that needs no kinks.
  bool search() {
    if (searched_ || searches_ >= kMostSearches) return false;
    const double share = options_.fit_share;
    fit_share_ = kSearchShare * ++searches_;
    more_fit_points();
    fit_share_ = share;
    const SeparableModel found = searched_units(
        model_, fit_u_, fit_y_, options_.seed + 7919 * static_cast<std::uint64_t>(searches_ - 1),
        space_.meter->control().within(kSearchSeconds));
    const double worst = worst_of(found);
    if (!(worst <= kRight)) return false;
    searched_ = true;
    out_.worst = worst;
    model_ = found;
    leave_needless();
    worst_.resize(0);
    return true;
  }

  // Polishes where that ends at the noise; otherwise the model stays as the lines gave it.
  bool fit(bool whatever) {
    if (fit_u_.rows() == 0) fit_u_.resize(0, s_), fit_y_.resize(0, space_.meter->outputs());
    more_fit_points();
    meet_all_planes();
    const auto [least, largest] = start_errors();
    // Noisy answers give starts that are worse by as much.
    const double coarse = std::sqrt(options_.noise.relative / 1e-15);
    start_error_ =
        std::clamp((coarse > 10 ? 3 : 100) * least, std::min(kHopelessStart, kLeastStartError * coarse),
                   std::min(kHopelessStart, kMostStartError * coarse));
    if (largest > std::min(0.1, kWorthPolish * coarse) && !whatever) return false;
    const SamplePtr samples = memory_samples(fit_u_, fit_y_);
    PolishOptions polish_options;
    polish_options.dense_limit = 6000;
    polish_options.damping = 1e-6;
    polish_options.max_iterations = 30;
    const PolishSummary summary = polish(model_, *samples, polish_options, space_.meter->control());
    const RowMatrix left = fit_y_ - evaluate(summary.model, fit_u_);
    const Vector terms = term_sizes(summary.model, fit_u_);
    Vector noise(left.rows());
    double worst = 0;
    for (Index i = 0; i < left.rows(); ++i) {
      noise(i) = options_.noise.at(std::max(terms(i), fit_y_.row(i).cwiseAbs().maxCoeff()));
      worst = std::max(worst, left.row(i).cwiseAbs().maxCoeff() / noise(i));
    }
    out_.worst = worst;
    if (!(worst <= kRight)) return noisy() && search();
    worst_.resize(0);
    model_ = with_last_digits(summary.model, fit_u_, fit_y_, noise, space_.meter->control());
    if (noisy()) leave_needless();
    return true;
  }

  const RestrictedOptions& options_;
  Space space_;
  Index s_;
  SeparableModel model_;
  RowMatrix fit_u_, fit_y_;
  Vector worst_;  // the question at which most is left; empty where nothing is
  double start_error_ = kMostStartError;
  double fit_share_;
  bool searched_ = false;
  int searches_ = 0, looks_ = 0;
  Index other_jumps_ = 0;
  Restricted out_;
};

}  // namespace

Restricted restricted_network(Meter& meter, const RestrictedOptions& options) {
  return Finder(meter, options).run();
}

}  // namespace exhume
