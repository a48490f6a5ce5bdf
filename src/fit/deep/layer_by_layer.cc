#include "fit/deep/layer_by_layer.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <utility>

#include "fit/deep/prune.h"
#include "model/form.h"

namespace exhume {
namespace {

constexpr Index kCompared = 4096;  // rows
constexpr double kSameUnit =
    1e-2;  // sin of the angle between units that are the same, or a unit and what is taken over
constexpr double kOneOfTwo = 5e-2;                   // and below which only one of two is taken
constexpr Index kSpareOneOf = 4, kSpareAtLeast = 2;  // units of a layer beside those that are held
constexpr double kMuchWorse = 10;  // error of a student, over the one before, that lacks a unit
constexpr int kBesides = 3;        // students beside what is exact on most rows
constexpr int kOnLower = 2;        // students on every layer that is known

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

double LayerByLayer::round(const Lesson& lesson) {
  const Control& control = trials_.control();
  const std::size_t depth = lesson.widths.size();
  const double trained = teach(lesson).relative_mse;
  if (trained > kTrained) return trained;
  if (said_.size() < 2) teach(lesson);
  double before = trained;
  for (std::size_t level = 1; level < depth; ++level) {
    Form lower;
    lower.inputs = x_.cols();
    for (std::size_t l = 0; l < level; ++l) lower.V.push_back(agreed(lower));
    if (lower.V.back().rows() == 0) return trained;
    const bool last = level + 1 == depth;
    double now = 1;
    for (int i = 0; i < (last ? 1 : kOnLower); ++i) {
      if (trials_.ended() || control.out_of_time()) return trained;
      Student student = teach(above(lower, lesson, 0));
      if (student.relative_mse > kMuchWorse * before)
        student = teach(above(lower, lesson, spare(lower.V.back().rows())));
      now = std::min(now, student.relative_mse);
      if (last && !(student.relative_mse > kTrained)) polish_last(student, lesson);
    }
    before = now;
  }
  return trained;
}

// A student that holds these layers, with some units beside those of the last of them.
Lesson LayerByLayer::above(const Form& lower, const Lesson& lesson, Index beside) const {
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
  Student student = trials_.learnt(next);
  if (!(student.relative_mse > kTrained)) remember(student.form, lesson.known, student.relative_mse, false);
  return student;
}

void LayerByLayer::remember(const Form& form, const std::vector<Matrix>& held, double error,
                            bool certain) {
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
Matrix LayerByLayer::agreed(const Form& lower) const {
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
  // All but some rows are reproduced: these show a unit that is missing, and a student that has all others to hold learns it.
  for (int i = 0; i < kBesides && !trials_.ended() && !out.left.empty() && !trials_.control().out_of_time();
       ++i) {
    const Student more = teach(beside(out.fit.form, lesson));
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
Lesson LayerByLayer::beside(const Form& form, const Lesson& lesson) const {
  Lesson on = lesson;
  on.widths = form.widths();
  for (std::size_t l = 1; l < form.depth(); ++l) on.widths[l] += spare(on.widths[l]);
  for (std::size_t l = 0; l < form.depth(); ++l) on.known.push_back(with_spare_columns(form, l, on.widths));
  return on;
}

}  // namespace exhume
