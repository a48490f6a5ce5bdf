#include "fit/deep/layers.h"

#include <fmt/format.h>
#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/random.h"
#include "fit/deep/prune.h"
#include "model/form.h"

namespace exhume {
namespace {

constexpr Index kFeatureRows = 4096;  // from which the features' covariance is taken
constexpr double kFlat = 1e-9;        // of the largest variance: no unit is drawn along directions with less
constexpr double kBias = 0.5;         // of a random unit, in standard deviations of its features
// Equations per unknown and steps of one polish after the other, and the relative mean square that is enough.
struct Stage {
  double equations;
  int steps;
};
constexpr std::array<Stage, 3> kStages{{{2, 20}, {4, 40}, {7, 40}}};
constexpr double kRough = 1e-5;
constexpr double kFirstDamping = 1e-2;

// Units v.(p, 1) = v'.(p', 1) with p' = L^T (p - mu) of covariance I: v = L v', b = b' - v.mu.
Matrix random_units(Index count, const Eigen::Ref<const Matrix>& P, std::uint64_t seed) {
  const Index q = P.cols() - 1;  // the last column is the constant
  const Eigen::RowVectorXd mean = P.leftCols(q).colwise().mean();
  const Matrix centred = P.leftCols(q).rowwise() - mean;
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(
      Matrix(centred.transpose() * centred / static_cast<double>(P.rows())));
  const double least = kFlat * eigen.eigenvalues().maxCoeff();
  const Vector inverse = (eigen.eigenvalues().array() > least)
                             .select(eigen.eigenvalues().cwiseMax(kTiny).cwiseSqrt().cwiseInverse(), 0.0);
  const Matrix drawn = Stream(seed, "units above").normal_matrix(count, q + 1);
  Matrix V(count, q + 1);
  V.leftCols(q) = drawn.leftCols(q) * inverse.asDiagonal() * eigen.eigenvectors().transpose();
  V.col(q) = kBias * drawn.col(q) - V.leftCols(q) * mean.transpose();
  return V;
}

}  // namespace

Polished peel(const Form& lower, Index width, const DeepData& data, std::uint64_t seed,
              const Control& control) {
  Form form = lower;
  form.C.resize(0, 0);
  form.V.push_back(
      random_units(width, FormRows(lower, data.x.topRows(std::min(kFeatureRows, data.rows()))).P(), seed));
  form.given = lower.depth();
  DeepPolishOptions options;
  options.enough_relative = kRough;
  options.damping = kFirstDamping;
  Polished out{std::move(form), 1, 0, true};
  for (const Stage& stage : kStages) {
    options.max_iterations = stage.steps;
    out = polish(out.form, enough_rows(data, out.form, stage.equations), options, control);
    options.damping = DeepPolishOptions().damping;
  }
  return out;
}

namespace {

constexpr double kAgree = 1e-3;          // distance below which units of two students are the same
constexpr double kDistinct = 5e-3;       // distance below which two units of one student are the same
constexpr double kKnownSteps = 30'000;   // steps of a student on a first layer that students agree on
constexpr double kGivenSteps = 150'000;  // steps of a student on a first layer that was given
// Numbers of students, from which their random numbers follow: the first one on units that others agree on;
// and the one from which on the layer above those units is searched too.
constexpr std::uint64_t kOnKnown = 2'000'003, kPeelFrom = 2;
// On a given layer one attempt in kStudentEvery trains a student, and the others begin with random units.
// Where a network is exact but for some rows, attempts go on up to number kLooksAtLeft.
constexpr std::uint64_t kStudentEvery = 3, kLooksAtLeft = 3;

bool near(const Vector& u, const Matrix& V, double tolerance) {
  for (Index j = 0; j < V.rows(); ++j)
    if (unit_distance(u, V.row(j).transpose(), true) < tolerance) return true;
  return false;
}

}  // namespace

void KnownLayers::search_above(const Matrix& first) {
  Form lower;
  lower.inputs = trials_.rows().x.cols();
  lower.V.push_back(first);
  normalise(lower);
  const DeepSearchOptions& options = trials_.options();
  const auto depth = static_cast<std::size_t>(options.depth);
  Lesson lesson;
  Index units = std::max(kLeastWidth, 3 * (options.widths ? options.widths->back() : first.rows()) / 2);
  lesson.widths.assign(depth, depth == 2 ? 6 * units / 5 : 2 * trials_.first_width());
  lesson.widths[0] = first.rows();
  lesson.steps = kGivenSteps;
  lesson.known = lower.V;
  lesson.fixed = true;
  const auto more = [&] {
    // Rows that are left over may be those of a unit that was found wrongly: that is worth another attempt.
    return !trials_.exact() || (trials_.best().left > 0 && lesson.number < kLooksAtLeft);
  };
  for (; more() && !trials_.control().out_of_time(); ++lesson.number) {
    const std::uint64_t turn = lesson.number % kStudentEvery;
    if (depth == 2 && turn > 0) {
      const double left = polish_units_above(lower.V[0], units, lesson.number);
      if (left > kTrained || turn > 1) units = std::min(4 * units / 3, options.most_width);
      continue;
    }
    const double trained = trials_.attempt(lesson);
    const Index widest = *std::max_element(lesson.widths.begin() + 1, lesson.widths.end());
    if (trained > kTrained / 10 && 2 * widest <= options.most_width) {
      for (std::size_t l = 1; l < depth; ++l) lesson.widths[l] *= 2;
    } else if (lesson.steps < kMostSteps) {
      lesson.steps *= kLonger;
    }
  }
}

// Polishes the last of two layers from random units; returns the share of the variance left on most rows.
double KnownLayers::polish_units_above(const Matrix& first, Index units, std::uint64_t number) {
  const Control& control = trials_.control();
  control.report(fmt::format("{} units above {}", units, first.rows()), 0);
  Form lower;
  lower.inputs = trials_.rows().x.cols();
  lower.V.push_back(first);
  const Polished rough = peel(lower, units, trials_.rows(), trials_.options().seed + 7919 * number, control);
  const Polished fixed = trials_.attempt_from(rough, kPatientPolish);
  const double left = fixed.relative_mse;
  if (trials_.exact() || control.out_of_time() || !(left < kTrained) || left < trials_.options().exact)
    return left;
  return trials_.attempt_from({free_all_layers(fixed.form), left, 0, true}, kSecondPolish).relative_mse;
}

void KnownLayers::remember(const Polished& polished) {
  if (polished.relative_mse > kTrained || polished.form.depth() < 2) return;
  Form form = polished.form;
  normalise(form);
  firsts_.push_back({form.V[0], form.widths(), polished.relative_mse, trials_.students()});
}

// Units of the first layer that independent students agree on, from the better one each.
Matrix KnownLayers::recurring() const {
  Matrix units(0, trials_.rows().x.cols() + 1);
  for (const First& first : firsts_) {
    for (Index i = 0; i < first.V.rows(); ++i) {
      const Vector u = first.V.row(i).transpose();
      if (near(u, units, kDistinct)) continue;
      bool again = false, better = false;
      for (const First& other : firsts_) {
        if (other.student == first.student || !near(u, other.V, kAgree)) continue;
        again = true;
        better = better || other.error < first.error;
      }
      if (!again || better) continue;
      units.conservativeResize(units.rows() + 1, Eigen::NoChange);
      units.row(units.rows() - 1) = u.transpose();
    }
  }
  return units;
}

void KnownLayers::search_above_recurring(std::uint64_t number) {
  const Matrix first = recurring();
  if (first.rows() == 0) return;
  const auto depth = static_cast<std::size_t>(trials_.options().depth);
  const Control& control = trials_.control();
  std::vector<Index> least = firsts_.front().widths;
  for (const First& other : firsts_)
    for (std::size_t l = 0; l < depth; ++l) least[l] = std::min(least[l], other.widths[l]);
  // Two, three and four times the units that the lightest student needed.
  for (Index times = 2; times <= 4 && !trials_.exact() && !control.out_of_time(); ++times) {
    Lesson lesson;
    lesson.widths = least;
    for (Index& width : lesson.widths) width = std::max<Index>(kLeastWidth, times * width);
    lesson.widths[0] = first.rows();
    lesson.steps = kKnownSteps;
    lesson.number = kOnKnown + 10 * number + static_cast<std::uint64_t>(times);
    lesson.known = {first};
    trials_.attempt(lesson);
  }
  if (!trials_.exact() && depth == 2 && number >= kPeelFrom && !control.out_of_time())
    polish_units_above(first, 2 * least.back(), number);
}

namespace {

constexpr Index kCompared = 4096;  // rows on which units are compared
// Sine of the angle below which two units, or a unit and what other features express of it, are the same.
constexpr double kSameUnit = 1e-2;
constexpr double kOneOfTwo = 5e-2;  // sine of the angle below which only one of two units is taken
// Spare units of a layer beside those that are held: kSpareAtLeast, and one more for every kSpareOneOf.
constexpr Index kSpareOneOf = 4, kSpareAtLeast = 2;
constexpr double kMuchWorse = 10;  // a student this many times worse than the one before lacks a unit
constexpr int kBesides = 3;        // students trained beside a network that is exact on most rows
constexpr int kOnLower = 2;        // students trained on every layer that is known

double apart(const Vector& a, const Vector& b) {
  const double cosine = a.dot(b);
  return std::sqrt(std::max(0.0, 1 - cosine * cosine));
}

Index spare(Index units) { return kSpareAtLeast + units / kSpareOneOf; }

// V_l on (|Q_{l-1}|, ..., |Q_1|, x, 1) for layers that have `widths` units, those of the form first.
Matrix with_spare_columns(const Form& form, std::size_t l, const std::vector<Index>& widths) {
  const Matrix& V = form.V[l];
  Index columns = V.cols();
  for (std::size_t below = 0; below < l; ++below) columns += widths[below] - form.V[below].rows();
  Matrix out = Matrix::Zero(V.rows(), columns);
  Index from = 0, to = 0;
  for (std::size_t below = l; below-- > 0;) {
    const Index units = form.V[below].rows();
    out.middleCols(to, units) = V.middleCols(from, units);
    from += units;
    to += widths[below];
  }
  out.rightCols(V.cols() - from) = V.rightCols(V.cols() - from);
  return out;
}

}  // namespace

LayerByLayer::LayerByLayer(Trials& trials)
    : trials_(trials), x_(trials.unseen().x.topRows(std::min(kCompared, trials.unseen().rows()))) {}

double LayerByLayer::run_round(const Lesson& lesson) {
  const Control& control = trials_.control();
  const std::size_t depth = lesson.widths.size();
  const double trained = teach(lesson).relative_mse;
  if (trained > kTrained) return trained;
  if (said_.size() < 2) teach(lesson);
  double before = trained;
  for (std::size_t level = 1; level < depth; ++level) {
    Form lower;
    lower.inputs = x_.cols();
    for (std::size_t l = 0; l < level; ++l) lower.V.push_back(agreed_units(lower));
    if (lower.V.back().rows() == 0) return trained;
    const bool last = level + 1 == depth;
    double now = 1;
    for (int i = 0; i < (last ? 1 : kOnLower); ++i) {
      if (trials_.ended() || control.out_of_time()) return trained;
      Student student = teach(lesson_above(lower, lesson, 0));
      if (student.relative_mse > kMuchWorse * before)
        student = teach(lesson_above(lower, lesson, spare(lower.V.back().rows())));
      now = std::min(now, student.relative_mse);
      if (last && !(student.relative_mse > kTrained)) polish_last(student, lesson);
    }
    before = now;
  }
  return trained;
}

// A student that holds these layers, with some units beside those of the last of them.
Lesson LayerByLayer::lesson_above(const Form& lower, const Lesson& lesson, Index beside) const {
  Lesson on = lesson;
  for (Index& width : on.widths) width = std::max(kLeastWidth, 3 * width / 4);
  for (std::size_t l = 0; l < lower.depth(); ++l) {
    on.widths[l] = lower.V[l].rows();
    on.known.push_back(lower.V[l]);
  }
  on.widths[lower.depth() - 1] += beside;
  return on;
}

Student LayerByLayer::teach(const Lesson& lesson) {
  Lesson next = lesson;
  next.number = number_++;
  Student student = trials_.train_and_consider(next);
  if (!(student.relative_mse > kTrained)) remember(student.form, lesson.known, student.relative_mse, false);
  return student;
}

void LayerByLayer::remember(const Form& form, const std::vector<Matrix>& held, double error, bool certain) {
  const FormRows rows(form, x_);
  Said said;
  said.error = error;
  said.certain = certain;
  for (std::size_t l = 0; l < form.depth(); ++l) {
    const Index known = l < held.size() ? held[l].rows() : 0;
    Matrix q = rows.Q(l).rightCols(form.V[l].rows() - known);
    for (Index j = 0; j < q.cols(); ++j) q.col(j) /= std::max(q.col(j).norm(), kTiny);
    said.q.push_back(std::move(q));
  }
  said_.insert(std::upper_bound(said_.begin(), said_.end(), error,
                                [](double e, const Said& s) { return e < s.error; }),
               std::move(said));
}

bool LayerByLayer::recurs(std::size_t said, std::size_t l, const Vector& q) const {
  for (std::size_t other = 0; other < said_.size(); ++other) {
    if (other == said) continue;
    const Matrix& theirs = said_[other].q[l];
    for (Index j = 0; j < theirs.cols(); ++j)
      if (apart(q, theirs.col(j)) < kSameUnit) return true;
  }
  return false;
}

// Units of the layer above `lower`, on its features.
Matrix LayerByLayer::agreed_units(const Form& lower) const {
  const std::size_t l = lower.depth();
  const Matrix P = FormRows(lower, x_).P();
  const Eigen::ColPivHouseholderQR<Matrix> qr(P);
  Matrix V(0, P.cols()), taken(x_.rows(), 0);
  for (std::size_t s = 0; s < said_.size(); ++s) {
    for (Index j = 0; j < said_[s].q[l].cols(); ++j) {
      const Vector q = said_[s].q[l].col(j);
      const auto near = [&](Index t) { return apart(q, taken.col(t)) < kOneOfTwo; };
      bool twin = false;
      for (Index t = 0; t < taken.cols() && !twin; ++t) twin = near(t);
      if (twin || !(said_[s].certain || recurs(s, l, q))) continue;
      const Vector v = qr.solve(q);
      if (!((q - P * v).norm() < kSameUnit)) continue;
      V.conservativeResize(V.rows() + 1, Eigen::NoChange);
      V.bottomRows(1) = v.transpose() / v.norm();
      taken.conservativeResize(Eigen::NoChange, taken.cols() + 1);
      taken.rightCols(1) = q;
    }
  }
  return V;
}

void LayerByLayer::polish_last(const Student& student, const Lesson& lesson) {
  ToRounding out = trials_.polish_on_known(student);
  // All but some rows are reproduced: these show a unit that is missing, and a student that has all others to
  // hold learns it.
  for (int i = 0; i < kBesides && !trials_.ended() && !out.left.empty() && !trials_.control().out_of_time();
       ++i) {
    const Student more = teach(lesson_beside(out.fit.form, lesson));
    if (more.relative_mse > kTrained) break;
    ToRounding next = trials_.polish_on_known(more);
    if (!next.left.empty() && next.left.size() >= out.left.size()) break;
    out = std::move(next);
  }
  if (trials_.ended()) return;
  const bool certain = !out.left.empty();
  remember(out.fit.form, {}, certain ? 0 : out.fit.relative_mse, certain);
}

// A student that holds all units of the form, with some beside them in every layer above the first.
Lesson LayerByLayer::lesson_beside(const Form& form, const Lesson& lesson) const {
  Lesson on = lesson;
  on.widths = form.widths();
  for (std::size_t l = 1; l < form.depth(); ++l) on.widths[l] += spare(on.widths[l]);
  for (std::size_t l = 0; l < form.depth(); ++l) on.known.push_back(with_spare_columns(form, l, on.widths));
  return on;
}

}  // namespace exhume
