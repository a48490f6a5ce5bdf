#include "exhume/fit/deep/prune.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "fit/deep/rows.h"

namespace exhume {
namespace {

constexpr Index kMergeRows = 4096;      // from which features are compared
constexpr double kTrialEquations = 12;  // an unknown
// On which a trial is begun, equations an unknown and rows at least: what fails there fails on more.
constexpr double kFewEquations = 2;
constexpr Index kFewRows = 1000;
constexpr double kPromising = 1e-4;    // a trial below this is not given up for being slow
constexpr double kCheapFlops = 1.5e9;  // of a step, up to which rows beyond those are taken too
constexpr int kRounds = 6;             // of rows brought forward
constexpr double kHard = 0.1;          // of the rows in use that may be such, a round
constexpr double kEnough = 1e-26;      // relative mean squared residual at which a trial stops

std::vector<Index> by_increasing(const Vector& worth) {
  std::vector<Index> order(static_cast<std::size_t>(worth.size()));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index i, Index j) { return worth(i) < worth(j); });
  return order;
}

DeepForm without(const DeepForm& form, std::size_t l, const std::set<Index>& gone) {
  std::vector<Index> kept;
  for (Index j = 0; j < form.V[l].rows(); ++j)
    if (!gone.contains(j)) kept.push_back(j);
  return with_units(form, l, kept);
}

class Pruning {
 public:
  Pruning(const DeepPolished& start, DeepData& data, const PruneOptions& options, const Control& control)
      : data_(data), options_(options), control_(control), now_(start) {}

  Pruned run() {
    in_shares();
    bool minimal = now_.relative_mse < options_.exact;
    if (minimal && options_.singly) minimal = singly();
    return {now_, minimal && !control_.out_of_time()};
  }

 private:
  // Removes units and polishes the rest; true where it is as good as before, on all rows.
  bool try_without(std::size_t l, const std::set<Index>& gone, int iterations) {
    if (static_cast<Index>(gone.size()) >= now_.form.V[l].rows() + (l > 0 ? 1 : 0)) return false;
    DeepPolishOptions polishing;
    polishing.max_iterations = iterations;
    polishing.damping = 1e-4;
    polishing.enough_relative = kEnough;
    polishing.hope = 5;
    polishing.hopeful = std::max(options_.exact, kPromising);
    const double limit = std::max(options_.exact, options_.loss * now_.relative_mse);
    DeepPolished trial{without(now_.form, l, gone), 0, 0, true};
    if (now_.relative_mse < options_.exact) {
      trial = polish(trial.form, few_rows(trial.form), polishing, control_);
      if (!(trial.relative_mse < limit)) return false;
    }
    trial = polish_all(trial.form, data_, kTrialEquations, limit, polishing, control_);
    if (!(trial.relative_mse < limit)) return false;
    now_ = std::move(trial);
    report();
    return true;
  }

  [[nodiscard]] DeepData few_rows(const DeepForm& form) const {
    const auto p = static_cast<double>(form.unknowns()), m = static_cast<double>(data_.y.cols());
    const double needed = kFewEquations * (p / m + static_cast<double>(form.features()));
    const Index rows = std::min(data_.rows(), std::max(kFewRows, static_cast<Index>(needed)));
    return {data_.x.topRows(rows), data_.y.topRows(rows)};
  }

  void report() const {
    const std::vector<Index> widths = now_.form.widths();
    control_.report(fmt::format("prune {}, error {:.0e}", fmt::join(widths, "-"), now_.relative_mse), 0);
  }

  [[nodiscard]] Vector worth(std::size_t l) const {
    return unit_worth(now_.form, l, enough_rows(data_, now_.form, kTrialEquations), control_);
  }

  void in_shares() {
    const std::size_t depth = now_.form.depth();
    std::vector<double> share(depth, 0.5);
    std::size_t layer = depth - 1, refused = 0;
    while (refused < 2 * depth && !control_.out_of_time()) {
      const Index units = now_.form.V[layer].rows();
      const Index count = std::max<Index>(1, static_cast<Index>(share[layer] * static_cast<double>(units)));
      if (units > 0) {
        const std::vector<Index> order = by_increasing(worth(layer));
        const std::set<Index> gone(order.begin(), order.begin() + count);
        if (try_without(layer, gone, 60)) {
          refused = 0;
          continue;
        }
      }
      if (count == 1) ++refused;
      share[layer] *= 0.4;
      layer = layer == 0 ? depth - 1 : layer - 1;
    }
  }

  // Every unit of every layer; true where none could go.
  bool singly() {
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t l = now_.form.depth(); l-- > 0 && !changed;) {
        for (Index j : by_increasing(worth(l))) {
          if (control_.out_of_time()) return false;
          if (try_without(l, {j}, 40)) {
            changed = true;
            break;
          }
        }
      }
    }
    return true;
  }

  DeepData& data_;
  const PruneOptions& options_;
  const Control& control_;
  DeepPolished now_;
};

}  // namespace

DeepData enough_rows(const DeepData& data, const DeepForm& form, double each) {
  const auto p = static_cast<double>(form.unknowns()), m = static_cast<double>(data.y.cols());
  const double needed = each * (p / m + static_cast<double>(form.features()));
  const double cheap = kCheapFlops / (m * p * p + 1);
  const Index rows =
      std::min(data.rows(), static_cast<Index>(std::max({2000.0, needed, std::min(cheap, 1e9)})));
  return {data.x.topRows(rows), data.y.topRows(rows)};
}

DeepPolished polish_all(const DeepForm& start, DeepData& data, double each, double exact,
                        const DeepPolishOptions& options, const Control& control) {
  DeepPolished out{start, 0, 0, true};
  for (int round = 0;; ++round) {
    const DeepData rows = enough_rows(data, out.form, each);
    out = polish(out.form, rows, options, control);
    if (!(out.relative_mse < exact) || rows.rows() == data.rows()) return out;
    out.relative_mse = relative_error(out.form, data, control);
    if (out.relative_mse < exact || round == kRounds || control.out_of_time()) return out;
    const auto most = static_cast<Index>(kHard * static_cast<double>(rows.rows()));
    const double mean = data.variation / static_cast<double>(data.rows());
    data.bring_forward(out.form, most, exact * mean, control);
  }
}

DeepForm merge_units(const DeepForm& form, std::size_t l, double cosine, const DeepData& data,
                     const Control& control) {
  const Index count = std::min(kMergeRows, data.rows()), m = data.y.cols();
  DeepForm out = form;
  normalise(out);
  const DeepRows rows(out, data.x.topRows(count));
  const Matrix Z = rows.Q(l).cwiseAbs();
  Matrix centred = Z.rowwise() - Z.colwise().mean();
  Vector strength = Vector::Zero(Z.cols());
  for (Index o = 0; o < m; ++o) strength += rows.slopes(out.C.col(o))[l].colwise().squaredNorm().transpose();
  strength.array() *= centred.colwise().squaredNorm().transpose().array();
  centred.array().rowwise() /= centred.colwise().norm().array().max(kTiny);
  const Matrix G = centred.transpose() * centred;
  std::vector<Index> order = by_increasing(-strength), kept;
  for (Index j : order) {
    const auto twin = std::find_if(kept.begin(), kept.end(), [&](Index r) { return G(j, r) > cosine; });
    if (twin == kept.end()) {
      kept.push_back(j);
      continue;
    }
    const double share = Z.col(j).dot(Z.col(*twin)) / Z.col(*twin).squaredNorm();
    Index first = 0;  // of |Q_l| in P_u
    for (std::size_t u = l + 1; u <= out.depth(); ++u) {
      if (u == out.depth()) {
        out.C.row(first + *twin) += share * out.C.row(first + j);
      } else {
        out.V[u].col(first + *twin) += share * out.V[u].col(first + j);
        first += out.V[u].rows();
      }
    }
  }
  control.check();
  std::sort(kept.begin(), kept.end());
  return with_units(out, l, kept);
}

Pruned prune(const DeepPolished& start, DeepData& data, const PruneOptions& options, const Control& control) {
  return Pruning(start, data, options, control).run();
}

}  // namespace exhume
