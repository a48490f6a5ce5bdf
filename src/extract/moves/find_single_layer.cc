#include "extract/moves/find_single_layer.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "extract/form_fit.h"
#include "extract/kink.h"
#include "extract/line_units.h"
#include "extract/moves/sharpen_single_layer.h"
#include "fit/polish.h"

namespace exhume {
namespace {

// Chosen by experience on random networks, float32 ones among them; not derived.
struct FindSingleLayerLimits {
  int few_intervals = 16;     // of lines along which few kinks are left
  double polished_error = 4;  // how far a polished model's values are off, in relative noises of the answers
  // Is it deeper? Units that are enough to tell a single hidden layer, those that are looked at after a line,
  // jumps of another size that a single hidden layer does not have: one may be two close kinks of a line that
  // passed for one.
  Index few_units = 4, looked_at = 12, other_jumps = 2;
  double look_step = 2e-4,
         same_jump = 0.2;  // the step across planes over their distance; how far a jump may be off
  int looks = 3;
  double coarse = 1e-12;  // noise from which jumps on a line are too rough to be told from others
  // Fits. How far a start's values are off as a share of its terms: at least, and at most where lines are to
  // show more.
  double least_start_error = 1e-11, most_start_error = 1e-8, hopeless_start = 1e-3;
  double worth_polish =
      1e-4;            // largest error of a start with which it is worth a polish: all units are there
  double right = 100;  // residuals over the noise up to which a polished model is right
  double radius =
      1.5;  // of the farthest random queries, in distances of planes: the noise of answers grows with it
  double of_reach = 0.93;  // in a box
  // Noisy answers. Noise over that of doubles, as a root, from which lines do not show all kinks; lines after
  // which they are fitted whatever lines show; equations per unknown of the search that takes over, and
  // searches.
  double too_noisy_for_lines = 100;
  int noisy_lines = 6;
  double search_share = 16;
  int most_searches = 3;
  // A unit without which what is left grows by no more than this, or stays below so many noises, is none;
  // before the others are polished, from where on there is no hope; and how many are tried.
  double needless = 1.5, below_noise = 2, nearly_needless = 1e5;
  std::size_t most_needless = 8;
};
constexpr FindSingleLayerLimits kSingleLayer;

PolishOptions to_noise() {
  PolishOptions options;
  options.dense_limit = 6000;
  options.damping = 1e-6;
  options.max_iterations = 30;
  return options;
}

// The units that lines showed, fitted to random queries of the subspace.
//
//     minimise  sum_i | y_i - sum_j c_j |w_j.u_i + b_j| - L u_i - e |^2,  twice as many equations as unknowns
//
// Where units are missing the start's errors are large: then nothing is polished, and the query at which most
// is left is where the next line leads. Where answers are so noisy that lines do not show all kinks, a search
// that needs none takes over (extract/moves/sharpen_single_layer.h), and units that noise made up are left
// out.
class SubspaceFit {
 public:
  // share: equations per unknown.
  SubspaceFit(const Space& space, std::uint64_t seed, double share)
      : space_(space), seed_(seed), s_(space.dimensions()), share_(share) {}

  // True where the model, polished then, is right to the noise; otherwise it stays as the lines gave it.
  // `scale`: distance within which the planes lie, as the model has it. `whatever`: polish, whatever the
  // start's errors.
  bool fit(SeparableModel& model, double& scale, bool whatever) {
    model_ = std::move(model);
    scale_ = scale;
    const bool right = polished(whatever);
    model = std::move(model_);
    scale = scale_;
    return right;
  }

  // Lines do not show all kinks.
  [[nodiscard]] bool noisy() const {
    return std::sqrt(space_.noise.relative / 1e-15) > kSingleLayer.too_noisy_for_lines;
  }

  [[nodiscard]] bool searched() const { return searched_; }
  // How far the start's values are off, as a share of its terms.
  [[nodiscard]] double start_error() const { return start_error_; }
  // Largest |f - model| over the noise at the queries, after the last polish.
  [[nodiscard]] double worst() const { return error_; }
  // The query at which most is left; empty where nothing is.
  [[nodiscard]] const Vector& worst_place() const { return worst_; }

 private:
  void ask(const RowMatrix& u) {
    append_rows(y_, space_.ask(QueryStage::kSample, u));
    append_rows(u_, u);
  }

  // Random queries: directions at random, distances from well within the planes to beyond most of them.
  void add_queries(double share) {
    const Index k = model_.units(), m = space_.meter->outputs();
    const auto unknowns = static_cast<double>(k * (s_ + 1) + (k + s_ + 1) * m);
    const Index wanted = static_cast<Index>(std::ceil(share * unknowns / static_cast<double>(m))) + 64;
    const Index have = u_.rows();
    if (wanted <= have) return;
    // Distance of planes: what nine in ten do not exceed.
    std::vector<double> far;
    for (Index j = 0; j < k; ++j) far.push_back(std::abs(model_.V(j, s_)));
    double nine_tenths = scale_ / 4;
    if (!far.empty()) {
      std::sort(far.begin(), far.end());
      nine_tenths = std::max(far[static_cast<std::size_t>(0.9 * static_cast<double>(far.size() - 1))], kTiny);
    }
    const double most = kSingleLayer.radius * nine_tenths * std::sqrt(static_cast<double>(s_));
    RowMatrix u(wanted - have, s_);
    const Stream directions(seed_, "extract fit directions"), radii(seed_, "extract fit radii");
    directions.fill_normal(static_cast<std::uint64_t>(have), u);
    for (Index i = 0; i < u.rows(); ++i) {
      const double r = radii.uniforms(static_cast<std::uint64_t>(have + i), 0).first;
      const Vector along = u.row(i).normalized();
      const double reach = kSingleLayer.of_reach * space_.reach(Vector::Zero(s_), along);
      // Log-uniform over a factor 20; in a box up to its walls.
      u.row(i) = along.transpose() * (space_.bounded() ? reach * std::sqrt(r) : most * std::exp(-3 * r));
    }
    ask(u);
    if (!space_.bounded()) scale_ = 2 * nine_tenths;
  }

  // A plane that has nearly all points on one side is met by more: some of them, moved across it.
  void meet_all_planes() {
    const Index enough = s_ + 6, n = u_.rows();
    const Stream random(seed_, "extract across planes");
    Matrix z = u_ * model_.V.leftCols(s_).transpose();
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
        Vector u = u_.row(from).transpose() + (beyond - z(from, j)) * w;
        if (const double reach = kSingleLayer.of_reach * space_.reach(Vector::Zero(s_), u); reach < 1)
          u *= reach;
        more.push_back(std::move(u));
      }
    }
    if (more.empty()) return;
    RowMatrix u(static_cast<Index>(more.size()), s_);
    for (std::size_t i = 0; i < more.size(); ++i) u.row(static_cast<Index>(i)) = more[i].transpose();
    ask(u);
  }

  // The start's errors as shares of its terms: what one in fifty does not exceed, which no missing unit
  // spoilt, and the largest.
  std::pair<double, double> start_errors() {
    const RowMatrix left = y_ - evaluate(model_, u_);
    const Vector terms = term_sizes(model_, u_);
    std::vector<double> share;
    for (Index i = 0; i < left.rows(); ++i)
      share.push_back(left.row(i).cwiseAbs().maxCoeff() / std::max(terms(i), kTiny));
    worst_ = u_.row(std::max_element(share.begin(), share.end()) - share.begin());
    std::sort(share.begin(), share.end());
    return {share[share.size() / 50], share.back()};
  }

  // Largest |f - model| over the noise at the queries.
  [[nodiscard]] double worst_of(const SeparableModel& model) const {
    const RowMatrix left = y_ - evaluate(model, u_);
    const Vector terms = term_sizes(model, u_);
    double worst = 0;
    for (Index i = 0; i < left.rows(); ++i) {
      const double noise = space_.noise.at(std::max(terms(i), y_.row(i).cwiseAbs().maxCoeff()));
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
    Matrix F(u_.rows(), k + s_ + 1);
    const Matrix z = (u_ * fewer.V.leftCols(s_).transpose()).rowwise() + fewer.V.col(s_).transpose();
    F << z.cwiseAbs(), u_, Vector::Ones(u_.rows());
    fewer.C = solve_by_columns(F, y_);
    return fewer;
  }

  // Noise on a line may pass for a kink, and two of its places for two units: those without which the others
  // answer as well.
  void leave_needless() {
    const SamplePtr samples = memory_samples(u_, y_);
    for (bool any = true; any && model_.units() > 1;) {
      any = false;
      std::vector<std::pair<double, Index>> order;
      for (Index j = 0; j < model_.units(); ++j) order.emplace_back(worst_of(without(j)), j);
      std::sort(order.begin(), order.end());
      for (std::size_t i = 0; i < std::min(kSingleLayer.most_needless, order.size()) && !any; ++i) {
        if (!(order[i].first < kSingleLayer.nearly_needless)) break;
        const SeparableModel fewer =
            polish(without(order[i].second), *samples, to_noise(), space_.meter->control()).form;
        const double worst = worst_of(fewer);
        any = worst <= std::max(kSingleLayer.needless * error_, kSingleLayer.below_noise);
        if (!any) continue;
        model_ = fewer;
        error_ = worst;
      }
    }
  }

  // More random queries, and the search that needs no kinks.
  bool search() {
    if (searched_ || searches_ >= kSingleLayer.most_searches) return false;
    add_queries(kSingleLayer.search_share * ++searches_);
    const SeparableModel found =
        search_units_in_noise(model_, u_, y_, sub_seed(seed_, "search", searches_), space_.meter->control());
    const double worst = worst_of(found);
    if (!(worst <= kSingleLayer.right)) return false;
    searched_ = true;
    error_ = worst;
    model_ = found;
    leave_needless();
    worst_.resize(0);
    return true;
  }

  bool polished(bool whatever) {
    if (u_.rows() == 0) u_.resize(0, s_), y_.resize(0, space_.meter->outputs());
    add_queries(share_);
    meet_all_planes();
    const auto [least, largest] = start_errors();
    // Noisy answers give starts that are worse by as much.
    const double coarse = std::sqrt(space_.noise.relative / 1e-15);
    start_error_ = std::clamp((coarse > 10 ? 3 : 100) * least,
                              std::min(kSingleLayer.hopeless_start, kSingleLayer.least_start_error * coarse),
                              std::min(kSingleLayer.hopeless_start, kSingleLayer.most_start_error * coarse));
    if (largest > std::min(0.1, kSingleLayer.worth_polish * coarse) && !whatever) return false;
    const SamplePtr samples = memory_samples(u_, y_);
    const Polished summary = polish(model_, *samples, to_noise(), space_.meter->control());
    const RowMatrix left = y_ - evaluate(summary.form, u_);
    const Vector terms = term_sizes(summary.form, u_);
    Vector noise(left.rows());
    double worst = 0;
    for (Index i = 0; i < left.rows(); ++i) {
      noise(i) = space_.noise.at(std::max(terms(i), y_.row(i).cwiseAbs().maxCoeff()));
      worst = std::max(worst, left.row(i).cwiseAbs().maxCoeff() / noise(i));
    }
    error_ = worst;
    if (!(worst <= kSingleLayer.right)) return noisy() && search();
    worst_.resize(0);
    model_ = sharpen_last_digits(summary.form, u_, y_, noise, space_.meter->control());
    if (noisy()) leave_needless();
    return true;
  }

  const Space& space_;
  std::uint64_t seed_;
  Index s_;
  SeparableModel model_;
  double scale_ = 1;
  RowMatrix u_, y_;  // queries and answers
  Vector worst_;
  double start_error_ = kSingleLayer.most_start_error, share_, error_ = 0;
  bool searched_ = false;
  int searches_ = 0;
};

class SingleLayerFinder {
 public:
  SingleLayerFinder(Meter& meter, const SingleLayerOptions& options)
      : options_(options),
        space_{&meter, &meter.frame(), options.noise, false},
        s_(space_.dimensions()),
        fit_(space_, options.seed, options.fit_share) {}

  SingleLayer run() {
    out_.scale = std::sqrt(static_cast<double>(space_.frame->inputs()));
    bool polished = false;
    for (out_.lines = 0; out_.lines < options_.most_lines; ++out_.lines) {
      const Index changed =
          follow_line(polished ? kSingleLayer.polished_error * options_.noise.relative : fit_.start_error());
      if (changed == 0 && polished) break;
      if (looks_ < kSingleLayer.looks && !polished && options_.noise.relative <= kSingleLayer.coarse &&
          model_.units() >= kSingleLayer.few_units && deeper()) {
        out_.deeper = true;
        break;
      }
      const bool enough = out_.lines + 1 == options_.most_lines ||
                          (fit_.noisy() && out_.lines > 0 && out_.lines % kSingleLayer.noisy_lines == 0);
      if (changed > 0 || !polished) polished = fit_.fit(model_, out_.scale, enough);
      if (fit_.searched() && polished) break;  // lines that show less than the search did say nothing
    }
    out_.complete = polished;
    out_.worst = fit_.worst();
    out_.model = model_;
    return out_;
  }

 private:
  // Asks at other places of the planes of some units whether they bend f there by as much. Of a deep
  // network's kinks on a line some may do so everywhere near, so that later lines are looked at too.
  [[nodiscard]] bool deeper() {
    const Index k = model_.units(), n = std::min(k, kSingleLayer.looked_at);
    std::vector<double> far;
    for (Index j = 0; j < k; ++j) far.push_back(std::abs(model_.V(j, s_)));
    std::sort(far.begin(), far.end());
    const double spread = std::max(far[far.size() / 2], 1e-6);
    RowMatrix u(n, s_), w(n, s_);
    Stream(options_.seed, "extract looked at")
        .fill_normal(static_cast<std::uint64_t>(kSingleLayer.looked_at * looks_++), u);
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
    const std::vector<Bend> bends =
        bends_at(space_, QueryStage::kDepth, u, w, Vector::Constant(n, kSingleLayer.look_step * spread));
    Index judged = 0;
    for (Index i = 0; i < n; ++i) {
      const Index j = i * k / n;
      if (std::abs(u.row(i).dot(w.row(i)) + model_.V(j, s_)) > 1e-9 * spread)
        continue;  // the box was in the way
      const Vector expected = 2 * model_.C.row(j).transpose();
      ++judged;
      if ((bends[static_cast<std::size_t>(i)].jump - expected).norm() >
          kSingleLayer.same_jump * expected.norm())
        ++other_jumps_;
    }
    return judged >= kSingleLayer.few_units && other_jumps_ >= kSingleLayer.other_jumps;
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
    if (out_.lines % 3 != 0 && fit_.worst_place().size() > 0) {
      v = fit_.worst_place().normalized();
      p.setZero();
    }
    LineTask task = line_through(space_, p, v, options_.farthest * out_.scale);
    if (out_.lines > 0) task.intervals = kSingleLayer.few_intervals;
    if (!space_.bounded()) task.scale = out_.scale;
    task.model_error = model_error;
    task.seed = sub_seed(options_.seed, "line", out_.lines);
    const LineUnits found = units_of_line(space_, task, model_);
    if (out_.lines == 0) {
      out_.line = {task.low, task.high};
      out_.kinks = found.kinks;
    }
    return found.changed;
  }

  const SingleLayerOptions& options_;
  Space space_;
  Index s_;
  SeparableModel model_;
  SubspaceFit fit_;
  int looks_ = 0;
  Index other_jumps_ = 0;
  SingleLayer out_;
};

}  // namespace

SingleLayer find_single_layer(Meter& meter, const SingleLayerOptions& options) {
  return SingleLayerFinder(meter, options).run();
}

}  // namespace exhume
