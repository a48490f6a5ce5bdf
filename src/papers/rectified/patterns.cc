#include "exhume/papers/rectified.h"

#include <algorithm>

#include "linalg/linear_program.h"

namespace exhume {
namespace {

// Columns have unit norm and |w| <= 1 in every coordinate: an entry above this is positive.
constexpr double kPositive = 1e-7;

struct Cell {
  SignPattern pattern;  // of the columns so far
  Vector point;         // a w with this pattern
  bool any = false;     // is anything positive
};

// The point of a pattern with the largest smallest positive entry, or nothing.
std::optional<Vector> point_of(const Matrix& B, const SignPattern& pattern) {
  const Index k = B.rows(), n = static_cast<Index>(pattern.size());
  LinearProgram program;
  program.M = Matrix::Zero(n, k + 1);
  program.low = Vector::Constant(n, -kUnbounded);
  program.high = Vector::Constant(n, kUnbounded);
  for (Index i = 0; i < n; ++i) {
    program.M.row(i).head(k) = B.col(i).transpose();
    if (pattern[static_cast<size_t>(i)]) {
      program.M(i, k) = -1;
      program.low(i) = 0;
    } else {
      program.high(i) = 0;
    }
  }
  program.bound_low = Vector::Constant(k + 1, -1);
  program.bound_high = Vector::Ones(k + 1);
  program.bound_low(k) = 0;
  program.objective = Vector::Zero(k + 1);
  program.objective(k) = 1;
  const auto solution = solve(program);
  if (!solution || (*solution)(k) <= kPositive) return std::nullopt;
  return Vector(solution->head(k));
}

// Is there a w with all entries at most 0 and some entry below?
bool has_negative_cell(const Matrix& B) {
  const Index k = B.rows(), n = B.cols();
  LinearProgram program;
  program.M = B.transpose();
  program.low = Vector::Constant(n, -kUnbounded);
  program.high = Vector::Zero(n);
  program.bound_low = Vector::Constant(k, -1);
  program.bound_high = Vector::Ones(k);
  program.objective = -B.rowwise().sum();
  const auto solution = solve(program);
  return solution && program.objective.dot(*solution) > kPositive;
}

}  // namespace

double patterns_in_general_position(Index k, Index n) {
  double sum = 0, choose = 1;
  for (Index i = 0; i < k; ++i) {
    sum += choose;
    choose *= static_cast<double>(n - 1 - i) / static_cast<double>(i + 1);
  }
  return 2 * sum;
}

SignPatterns sign_patterns(const Matrix& B, const PatternBudget& budget, const Control& control) {
  const Index k = B.rows(), n = B.cols();
  Matrix unit = B;
  const double largest = B.colwise().norm().maxCoeff();
  for (Index j = 0; j < n; ++j) {
    const double size = B.col(j).norm();
    unit.col(j) = size > 1e-12 * largest ? Vector(B.col(j) / size) : Vector(Vector::Zero(k));
  }
  SignPatterns out;
  std::vector<Cell> cells = {{{}, Vector::Zero(k), false}}, next;
  for (Index j = 0; j < n; ++j) {
    control.report("sign patterns", static_cast<double>(j) / static_cast<double>(n));
    next.clear();
    for (Cell& cell : cells) {
      control.check();
      if (static_cast<Index>(next.size()) > budget.most_patterns || control.out_of_time()) {
        out.complete = false;
        break;
      }
      const double value = unit.col(j).dot(cell.point);
      for (const bool positive : {true, false}) {
        Cell grown = cell;
        grown.pattern.push_back(positive);
        grown.any = cell.any || positive;
        const bool known = positive ? value > kPositive : value <= 0;
        if (!known) {
          ++out.programs;
          if (!grown.any) continue;  // value > 0 cannot be at w = 0
          auto point = point_of(unit, grown.pattern);
          if (!point) continue;
          grown.point = std::move(*point);
        }
        next.push_back(std::move(grown));
      }
    }
    cells.swap(next);
  }
  for (Cell& cell : cells) {
    if (cell.any || has_negative_cell(unit)) out.patterns.push_back(std::move(cell.pattern));
  }
  return out;
}

}  // namespace exhume
