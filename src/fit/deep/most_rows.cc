#include "fit/deep/most_rows.h"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "fit/deep/missing_unit.h"
#include "fit/deep/prune.h"
#include "model/form.h"

namespace exhume {
namespace {

// Of the rows, at first; times that where it is not enough, and at most.
constexpr double kLeftOut = 0.01, kMoreLeftOut = 4, kMostLeftOut = 0.17;
constexpr int kStepsARound = 6;
constexpr double kFalls = 0.3;  // a round that leaves more of the error than this is a slow one
constexpr int kSlowRounds = 2;  // in a row, that end it; one of so many rounds, where these are many
constexpr int kSlowOneOf = 6;
constexpr double kRounding = 1e-26;  // relative mean squared residual at which a polish stops
constexpr double kRowOff = 1e3;      // squared residual of a row, over the mean one, that is still rounding

// All rows but those with the largest squares, in their order.
std::vector<Index> but_the_worst(const Vector& squares, double share) {
  std::vector<Index> rows(static_cast<std::size_t>(squares.size()));
  std::iota(rows.begin(), rows.end(), Index{0});
  const auto kept = static_cast<std::ptrdiff_t>((1 - share) * static_cast<double>(rows.size()));
  std::nth_element(rows.begin(), rows.begin() + kept, rows.end(), [&](Index i, Index j) {
    return squares(i) != squares(j) ? squares(i) < squares(j) : i < j;
  });
  rows.resize(static_cast<std::size_t>(kept));
  std::sort(rows.begin(), rows.end());
  return rows;
}

double sum_of(const Vector& values, const std::vector<Index>& rows) {
  double sum = 0;
  for (const Index i : rows) sum += values(i);
  return sum;
}

}  // namespace

DeepData rows_of(const DeepData& data, const std::vector<Index>& rows) {
  return {data.x(rows, Eigen::all), data.y(rows, Eigen::all)};
}

double most_off(const DeepData& data, double exact) {
  return std::sqrt(kRowOff * exact * data.variation / static_cast<double>(data.rows()));
}

std::vector<Index> rows_off(const Form& form, const DeepData& data, double by, const Control& control) {
  const Vector squares = data.squares(form, control);
  std::vector<Index> rows;
  for (Index i = 0; i < squares.size(); ++i)
    if (squares(i) >= by * by) rows.push_back(i);
  return rows;
}

std::vector<Index> not_reproduced(const Form& form, const DeepData& data, double exact,
                                  const Control& control) {
  return rows_off(form, data, most_off(data, exact), control);
}

MostRows polish_most(const Form& start, const DeepData& data, double each, double exact, int rounds,
                     const Control& control) {
  MostRows out{{start, 1, 0, true}, false, {}};
  DeepPolishOptions polishing;
  polishing.max_iterations = kStepsARound;
  polishing.enough_relative = kRounding;
  fit_linear_part(out.fit.form, enough_rows(data, start, each), control);
  Vector squares = data.squares(out.fit.form, control);
  const double limit = std::pow(most_off(data, exact), 2);
  double before = squares.sum() / data.variation;
  double share = kLeftOut;
  for (int round = 0, slow = 0; round < rounds;) {
    const DeepData kept = rows_of(data, but_the_worst(squares, share));
    const Polished polished =
        polish(out.fit.form, enough_rows(kept, out.fit.form, each), polishing, control);
    out.fit.form = polished.form;
    out.fit.iterations += polished.iterations;
    out.fit.in_time = polished.in_time;
    squares = data.squares(out.fit.form, control);
    const std::vector<Index> best = but_the_worst(squares, share);
    out.fit.relative_mse = squares(best).sum() / data.variation;
    out.exact = out.fit.relative_mse < exact && squares(best).maxCoeff() < limit;
    if (out.exact || !out.fit.in_time) break;
    const bool falls = out.fit.relative_mse < kFalls * before;
    slow = falls ? 0 : slow + 1;
    round += falls ? 0 : 1;
    before = out.fit.relative_mse;
    if (slow < std::max(kSlowRounds, rounds / kSlowOneOf)) continue;
    // More rows may be off, where the others are much better than these.
    share *= kMoreLeftOut;
    if (share > kMostLeftOut) break;
    const std::vector<Index> fewer = but_the_worst(squares, share);
    if (sum_of(squares, fewer) > kFalls * sum_of(squares, best)) break;
    slow = 0;
  }
  if (!out.exact) return out;
  out.left = not_reproduced(out.fit.form, data, exact, control);
  return out;
}

bool without_rare_units(Form& form, const DeepData& data, std::vector<Index>& left) {
  std::vector<bool> reproduced(static_cast<std::size_t>(data.rows()), true);
  for (Index i : left) reproduced[static_cast<std::size_t>(i)] = false;
  bool any = false;
  for (std::size_t l = form.depth(); l-- > 1;) {
    const Form before = form;
    const FormRows rows(before,
                        data.x);  // to fold a unit changes what stands on it, not the others of its layer
    for (Index j = before.V[l].rows(); j-- > 0;) {
      std::array<std::vector<Index>, 2> sides;  // of the rows that are reproduced
      for (Index i = 0; i < data.rows(); ++i)
        if (reproduced[static_cast<std::size_t>(i)]) sides[rows.Q(l)(i, j) > 0 ? 1 : 0].push_back(i);
      const bool mostly = sides[1].size() > sides[0].size();
      const std::vector<Index>& few = sides[mostly ? 0 : 1];
      if (static_cast<Index>(few.size()) >= before.V[l].cols() + kOverFew) continue;
      form = folded(form, l, j, mostly ? 1 : -1);
      for (Index i : few) {
        left.push_back(i);
        reproduced[static_cast<std::size_t>(i)] = false;
      }
      any = true;
    }
  }
  std::sort(left.begin(), left.end());
  return any;
}

}  // namespace exhume
