#include "fit/within_bounds.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "base/parallel.h"
#include "data/reduce.h"
#include "fit/polish.h"
#include "linalg/linear_program.h"

namespace exhume {
namespace {

constexpr double kShare = 0.8;
// Most unknowns of a linear program, how many entries a round adds to it per unknown, and the largest step in
// units that move a typical entry by h.
constexpr Index kMostUnknowns = 400;
constexpr Index kEntriesPerUnknown = 2;
constexpr double kLongestStep = 4;

struct Entry {
  double ratio;  // |gap| / h
  Index row, output;
  double gap, half_width;
  Vector x;
};

// The entries furthest out, of those beyond their bounds, and how many are beyond.
class Furthest {
 public:
  explicit Furthest(Index kept) : kept_(static_cast<std::size_t>(kept)) {}

  void offer(double gap, double h, Index row, Index output, const Eigen::Ref<const Eigen::RowVectorXd>& x) {
    const double ratio = std::abs(gap) / std::max(h, kTiny);
    if (ratio <= 1) return;
    ++beyond_;
    if (entries_.size() >= 2 * kept_) shorten();
    if (ratio > least_) entries_.push_back({ratio, row, output, gap, h, x.transpose()});
  }
  void merge(const Furthest& other) {
    beyond_ += other.beyond_;
    entries_.insert(entries_.end(), other.entries_.begin(), other.entries_.end());
    if (entries_.size() >= kept_) shorten();
  }
  auto fields() { return std::tie(kept_, beyond_, least_, entries_); }
  [[nodiscard]] Index beyond() const { return beyond_; }
  [[nodiscard]] std::vector<Entry> entries() && {
    shorten();
    return std::move(entries_);
  }

 private:
  // In a strict order, so that what is kept does not depend on the number of threads.
  void shorten() {
    std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
      return std::tuple(-a.ratio, a.row, a.output) < std::tuple(-b.ratio, b.row, b.output);
    });
    if (entries_.size() < kept_) return;
    entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(kept_), entries_.end());
    least_ = entries_.back().ratio;
  }

  std::size_t kept_;
  Index beyond_ = 0;
  double least_ = 0;
  std::vector<Entry> entries_;
};

Furthest furthest(const Form& model, const SampleSource& samples, const HalfWidth& half_width, Index kept,
                  const Control& control) {
  return reduce_blocks(samples, Furthest(kept), control, "", [&](Furthest& to, const SampleBlock& block) {
    const RowMatrix gap = block.y() - evaluate(model, block.x());
    for (Index i = 0; i < gap.rows(); ++i) {
      for (Index o = 0; o < gap.cols(); ++o)
        to.offer(gap(i, o), half_width(block.y()(i, o), o), block.first_row() + i, o, block.x().row(i));
    }
  });
}

// The entries met so far as the rows of a program in (dV unit by unit, dC output by output, s), seen from one
// model.
class CuttingPlanes {
 public:
  explicit CuttingPlanes(const Form& at) : at_(at), P_(at.V[0].size()), unknowns_(P_ + at.C.size()) {}

  // Entries of `model`, as `furthest` gives them.
  void add(const std::vector<Entry>& entries, const Form& model) {
    RowMatrix x(static_cast<Index>(entries.size()), at_.inputs);
    for (std::size_t i = 0; i < entries.size(); ++i) x.row(static_cast<Index>(i)) = entries[i].x.transpose();
    const FormRows rows(at_, x, true);
    const Matrix G = rows.gradients();
    const RowMatrix moved = evaluate(model, x) - evaluate(at_, x);
    const Index before = J_.rows(), width = at_.inputs + 1, q = at_.features();
    J_.conservativeResize(before + x.rows(), unknowns_);
    gaps_.conservativeResize(before + x.rows());
    for (Index i = 0; i < x.rows(); ++i) {
      const Entry& entry = entries[static_cast<std::size_t>(i)];
      const double h = std::max(entry.half_width, kTiny);
      auto row = J_.row(before + i);
      row.setZero();
      for (Index j = 0; j < at_.units(); ++j) {
        row.segment(j * width, width) = at_.C(j, entry.output) / h * G.row(i).segment(j * width, width);
      }
      row.segment(P_ + entry.output * q, q) = rows.F().row(i) / h;
      gaps_(before + i) = (entry.gap + moved(i, entry.output)) / h;
    }
  }

  // The model whose largest |gap| / h over these entries is least, or nothing.
  [[nodiscard]] std::optional<Form> best() const {
    const Index rows = J_.rows();
    const Vector scale = J_.colwise().norm().transpose() / std::sqrt(static_cast<double>(rows));
    const Vector unit = scale.unaryExpr([](double s) { return s > 0 ? 1 / s : 0.0; });
    LinearProgram program;
    program.M = Matrix::Ones(2 * rows, unknowns_ + 1);
    program.M.topLeftCorner(rows, unknowns_) = -J_ * unit.asDiagonal();
    program.M.bottomLeftCorner(rows, unknowns_) = J_ * unit.asDiagonal();
    program.low = Vector::Constant(2 * rows, -std::numeric_limits<double>::infinity());
    program.high = Vector::Ones(2 * rows);
    program.high.head(rows) -= gaps_;
    program.high.tail(rows) += gaps_;
    program.bound_high = Vector::Constant(unknowns_ + 1, kLongestStep);
    program.bound_low = -program.bound_high;
    program.bound_high(unknowns_) = 1;
    program.objective = Vector::Unit(unknowns_ + 1, unknowns_);
    const std::optional<Vector> solution = solve(program);
    if (!solution) return std::nullopt;
    const Vector step = unit.cwiseProduct(solution->head(unknowns_));
    Form model = at_;
    for (Index j = 0; j < at_.units(); ++j)
      model.V[0].row(j) += step.segment(j * at_.V[0].cols(), at_.V[0].cols()).transpose();
    model.C += step.tail(at_.C.size()).reshaped(at_.C.rows(), at_.C.cols());
    return model;
  }

 private:
  Form at_;
  Index P_, unknowns_;
  Matrix J_;     // of f / h
  Vector gaps_;  // (y - f) / h at `at_`
};

Form by_cutting_planes(const Form& start, const SampleSource& samples, const HalfWidth& half_width,
                       int rounds, const Control& control) {
  const Index kept = kEntriesPerUnknown * (start.V[0].size() + start.C.size());
  CuttingPlanes planes(start);
  Form model = start;
  for (int round = 0; round < rounds && !control.out_of_time(); ++round) {
    Furthest out = furthest(model, samples, half_width, kept, control);
    if (out.beyond() == 0) break;
    planes.add(std::move(out).entries(), model);
    std::optional<Form> next = planes.best();
    if (!next) break;
    model = std::move(*next);
  }
  return model;
}

// One Gauss-Newton step after another towards outputs that follow the model: target(x, fitted, y) changes y.
template <class Target, class Done>
Form follow(const Form& start, const SamplePtr& samples, int rounds, const Target& target, const Done& done,
            const Control& control) {
  Form model = start;
  PolishOptions options;
  options.max_iterations = 1;
  options.damping = 1e-9;
  options.block_rows = kBlockRows;
  for (int round = 0; round < rounds && !control.out_of_time() && !done(model); ++round) {
    const SamplePtr moved = with_outputs(samples, [&model, &target](const Eigen::Ref<const RowMatrix>& x,
                                                                    RowMatrix& y) { target(model, x, y); });
    model = polish(model, *moved, options, control).form;
  }
  return model;
}

Form by_projections(const Form& start, const SamplePtr& samples, const HalfWidth& half_width, int rounds,
                    const Control& control) {
  return follow(
      start, samples, rounds,
      [&](const Form& model, const Eigen::Ref<const RowMatrix>& x, RowMatrix& y) {
        const RowMatrix fitted = evaluate(model, x);
        for (Index i = 0; i < y.rows(); ++i) {
          for (Index o = 0; o < y.cols(); ++o) {
            const double h = kShare * half_width(y(i, o), o);
            y(i, o) = std::clamp(fitted(i, o), y(i, o) - h, y(i, o) + h);
          }
        }
      },
      [&](const Form& model) { return furthest(model, *samples, half_width, 1, control).beyond() == 0; },
      control);
}

}  // namespace

Form fit_rounded(const Form& start, const SamplePtr& samples, const HalfWidth& half_width, int rounds,
                 const Control& control) {
  return follow(
      start, samples, rounds,
      [&](const Form& model, const Eigen::Ref<const RowMatrix>& x, RowMatrix& y) {
        const FormRows rows(model, x, true);
        const Matrix fitted = rows.F() * model.C;
        for (Index i = 0; i < y.rows(); ++i) {
          if (!rows.unit_slopes().row(i).isZero(0)) continue;
          for (Index o = 0; o < y.cols(); ++o) {
            const double h = half_width(y(i, o), o);
            y(i, o) = std::clamp(fitted(i, o), y(i, o) - h, y(i, o) + h);
          }
        }
      },
      [](const Form&) { return false; }, control);
}

Form within_bounds(const Form& start, const SamplePtr& samples, const HalfWidth& half_width, int rounds,
                   const Control& control) {
  if (start.units() > 0 && start.V[0].size() + start.C.size() <= kMostUnknowns)
    return by_cutting_planes(start, *samples, half_width, rounds, control);
  return by_projections(start, samples, half_width, rounds, control);
}

}  // namespace exhume
