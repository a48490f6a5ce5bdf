#include "extract/restricted_fit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"
#include "extract/last_digits.h"
#include "extract/line_units.h"
#include "extract/searched.h"
#include "fit/polish.h"

namespace exhume {
namespace {

constexpr const char* kFit = "subspace";
// How far a start's values are off as a share of its terms: at least, and at most where lines are to show
// more.
constexpr double kLeastStartError = 1e-11, kMostStartError = 1e-8, kHopelessStart = 1e-3;
// Largest error of a start as a share of its terms with which it is worth a polish: all units are there.
constexpr double kWorthPolish = 1e-4;
// Residuals over the noise up to which a polished model is right.
constexpr double kRight = 100;
// Distance of the farthest random questions, in distances of planes: the noise of answers grows with it.
constexpr double kRadius = 1.5;
// Noise over that of doubles, as a root, from which lines do not show all kinks; equations for every unknown
// of the search that takes over, and its seconds.
constexpr double kTooNoisyForLines = 100, kSearchShare = 16, kSearchSeconds = 60;
// A unit without which what is left grows by no more than this, or stays below so many noises, is none.
constexpr double kNeedless = 1.5, kBelowNoise = 2;
constexpr double kNearlyNeedless = 1e5;   // before the others are polished, from which on there is no hope
constexpr std::size_t kMostNeedless = 8;  // that are tried
constexpr int kMostSearches = 3;          // each from other seeds, and on as many questions more
constexpr double kWithin = 0.93;          // of the reach in a box

PolishOptions to_noise() {
  PolishOptions options;
  options.dense_limit = 6000;
  options.damping = 1e-6;
  options.max_iterations = 30;
  return options;
}

}  // namespace

RestrictedFit::RestrictedFit(const Space& space, std::uint64_t seed, double share)
    : space_(space), seed_(seed), s_(space.dimensions()), start_error_(kMostStartError), share_(share) {}

bool RestrictedFit::fit(SeparableModel& model, double& scale, bool whatever) {
  model_ = std::move(model);
  scale_ = scale;
  const bool right = polished(whatever);
  model = std::move(model_);
  scale = scale_;
  return right;
}

void RestrictedFit::more_questions(double share) {
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
  const double most = kRadius * nine_tenths * std::sqrt(static_cast<double>(s_));
  RowMatrix u(wanted - have, s_);
  const Stream directions(seed_, "extract fit directions"), radii(seed_, "extract fit radii");
  directions.fill_normal(static_cast<std::uint64_t>(have), u);
  for (Index i = 0; i < u.rows(); ++i) {
    const double r = radii.uniforms(static_cast<std::uint64_t>(have + i), 0).first;
    const Vector along = u.row(i).normalized();
    const double reach = kWithin * space_.reach(Vector::Zero(s_), along);
    // Log-uniform over a factor 20; in a box up to its walls.
    u.row(i) = along.transpose() * (space_.bounded() ? reach * std::sqrt(r) : most * std::exp(-3 * r));
  }
  add(u);
  if (!space_.bounded()) scale_ = 2 * nine_tenths;
}

void RestrictedFit::add(const RowMatrix& u) {
  const Index have = u_.rows();
  const RowMatrix y = space_.ask(kFit, u);
  RowMatrix all_u(have + u.rows(), s_), all_y(have + u.rows(), y.cols());
  all_u << u_, u;
  all_y << y_, y;
  u_ = std::move(all_u);
  y_ = std::move(all_y);
}

void RestrictedFit::meet_all_planes() {
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
      if (const double reach = kWithin * space_.reach(Vector::Zero(s_), u); reach < 1) u *= reach;
      more.push_back(std::move(u));
    }
  }
  if (more.empty()) return;
  RowMatrix u(static_cast<Index>(more.size()), s_);
  for (std::size_t i = 0; i < more.size(); ++i) u.row(static_cast<Index>(i)) = more[i].transpose();
  add(u);
}

std::pair<double, double> RestrictedFit::start_errors() {
  const RowMatrix left = y_ - evaluate(model_, u_);
  const Vector terms = term_sizes(model_, u_);
  std::vector<double> share;
  for (Index i = 0; i < left.rows(); ++i)
    share.push_back(left.row(i).cwiseAbs().maxCoeff() / std::max(terms(i), kTiny));
  worst_ = u_.row(std::max_element(share.begin(), share.end()) - share.begin());
  std::sort(share.begin(), share.end());
  return {share[share.size() / 50], share.back()};
}

bool RestrictedFit::noisy() const { return std::sqrt(space_.noise.relative / 1e-15) > kTooNoisyForLines; }

double RestrictedFit::worst_of(const SeparableModel& model) const {
  const RowMatrix left = y_ - evaluate(model, u_);
  const Vector terms = term_sizes(model, u_);
  double worst = 0;
  for (Index i = 0; i < left.rows(); ++i) {
    const double noise = space_.noise.at(std::max(terms(i), y_.row(i).cwiseAbs().maxCoeff()));
    worst = std::max(worst, left.row(i).cwiseAbs().maxCoeff() / noise);
  }
  return worst;
}

SeparableModel RestrictedFit::without(Index j) const {
  SeparableModel fewer = model_;
  const Index k = model_.units() - 1;
  for (Index i = j; i < k; ++i) fewer.V.row(i) = model_.V.row(i + 1);
  fewer.V.conservativeResize(k, Eigen::NoChange);
  Matrix F(u_.rows(), k + s_ + 1);
  const Matrix z = (u_ * fewer.V.leftCols(s_).transpose()).rowwise() + fewer.V.col(s_).transpose();
  F << z.cwiseAbs(), u_, Vector::Ones(u_.rows());
  const Vector norms = F.colwise().norm().cwiseMax(kTiny).transpose();
  fewer.C = norms.cwiseInverse().asDiagonal() *
            Matrix((F * norms.cwiseInverse().asDiagonal()).colPivHouseholderQr().solve(Matrix(y_)));
  return fewer;
}

void RestrictedFit::leave_needless() {
  const SamplePtr samples = memory_samples(u_, y_);
  for (bool any = true; any && model_.units() > 1;) {
    any = false;
    std::vector<std::pair<double, Index>> order;
    for (Index j = 0; j < model_.units(); ++j) order.emplace_back(worst_of(without(j)), j);
    std::sort(order.begin(), order.end());
    for (std::size_t i = 0; i < std::min(kMostNeedless, order.size()) && !any; ++i) {
      if (!(order[i].first < kNearlyNeedless)) break;
      const SeparableModel fewer =
          polish(without(order[i].second), *samples, to_noise(), space_.meter->control()).form;
      const double worst = worst_of(fewer);
      any = worst <= std::max(kNeedless * error_, kBelowNoise);
      if (!any) continue;
      model_ = fewer;
      error_ = worst;
    }
  }
}

bool RestrictedFit::search() {
  if (searched_ || searches_ >= kMostSearches) return false;
  more_questions(kSearchShare * ++searches_);
  const SeparableModel found =
      searched_units(model_, u_, y_, seed_ + 7919 * static_cast<std::uint64_t>(searches_ - 1),
                     space_.meter->control().within(kSearchSeconds));
  const double worst = worst_of(found);
  if (!(worst <= kRight)) return false;
  searched_ = true;
  error_ = worst;
  model_ = found;
  leave_needless();
  worst_.resize(0);
  return true;
}

bool RestrictedFit::polished(bool whatever) {
  if (u_.rows() == 0) u_.resize(0, s_), y_.resize(0, space_.meter->outputs());
  more_questions(share_);
  meet_all_planes();
  const auto [least, largest] = start_errors();
  // Noisy answers give starts that are worse by as much.
  const double coarse = std::sqrt(space_.noise.relative / 1e-15);
  start_error_ =
      std::clamp((coarse > 10 ? 3 : 100) * least, std::min(kHopelessStart, kLeastStartError * coarse),
                 std::min(kHopelessStart, kMostStartError * coarse));
  if (largest > std::min(0.1, kWorthPolish * coarse) && !whatever) return false;
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
  if (!(worst <= kRight)) return noisy() && search();
  worst_.resize(0);
  model_ = with_last_digits(summary.form, u_, y_, noise, space_.meter->control());
  if (noisy()) leave_needless();
  return true;
}

}  // namespace exhume
