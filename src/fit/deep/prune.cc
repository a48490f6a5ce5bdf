#include "fit/deep/prune.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <set>

#include "base/order.h"
#include "base/parallel.h"
#include "base/remembered.h"
#include "model/form.h"
#include "model/form_shape.h"

namespace exhume {
namespace {

constexpr Index kMergeRows = 4096;      // rows on which features are compared
constexpr double kTrialEquations = 12;  // equations per unknown in a trial
// A trial begins on fewer rows, because what fails there fails on more: equations per unknown, and at least.
constexpr double kFewEquations = 2;
constexpr Index kLeastEquations = 1000;
constexpr double kPromising = 1e-4;  // a trial below this is not given up for being slow
// A plain network was pruned before and is the least, as a rule: its units are tried with less patience.
constexpr double kFarOff = 1e-3;
constexpr double kCheapFlops = 1.5e9;  // of a step, up to which more rows than kTrialEquations are taken
// Rows that a trial fits worst are brought forward into those in use: rounds, and share of the rows per
// round.
constexpr int kRounds = 6;
constexpr double kHard = 0.1;
constexpr double kEnough = 1e-26;  // relative mean squared residual at which a trial stops
// Steps of a trial's polish: without a share of the units, and without a single one.
constexpr int kShareSteps = 60, kSingleSteps = 40;
constexpr std::size_t kTogether = 8;  // units that are tried singly at the same time

Form without(const Form& form, std::size_t l, const std::set<Index>& gone) {
  std::vector<Index> kept;
  for (Index j = 0; j < form.V[l].rows(); ++j)
    if (!gone.contains(j)) kept.push_back(j);
  return with_units(form, l, kept);
}

class Pruning {
 public:
  Pruning(const Polished& start, DeepData& data, const PruneOptions& options, const Control& control)
      : data_(data), options_(options), control_(control), now_(start) {}

  Pruned run() {
    prune_in_shares();
    bool minimal = noisy() || now_.relative_mse < options_.exact;
    if (minimal && options_.singly) minimal = prune_singly();
    return {now_, minimal && !control_.out_of_time()};
  }

 private:
  [[nodiscard]] bool enough() const { return options_.until && options_.until(now_.form); }
  [[nodiscard]] bool noisy() const { return options_.forgiven > 0; }

  [[nodiscard]] PolishOptions trial_options(int iterations) const {
    if (noisy()) return noisy_polish();
    DeepPolishOptions polishing;
    polishing.max_iterations = iterations;
    polishing.damping = 1e-4;
    polishing.enough_relative = kEnough;
    polishing.hope = 5;
    polishing.hopeful = now_.form.plain ? options_.exact : std::max(options_.exact, kPromising);
    if (now_.form.plain) polishing.far = kFarOff;
    return polishing;
  }

  // Relative mean squared residual up to which a network with fewer units is as good.
  [[nodiscard]] double limit(const Form& fewer) const {
    if (!noisy()) return std::max(options_.exact, options_.loss * now_.relative_mse);
    const Index gone = now_.form.unknowns() + now_.form.C.size() - fewer.unknowns() - fewer.C.size();
    return now_.relative_mse * (1 + options_.forgiven * static_cast<double>(gone));
  }

  // Removes units and polishes the rest; true where it is as good as before, on all rows.
  bool try_without(std::size_t l, const std::set<Index>& gone) {
    if (static_cast<Index>(gone.size()) >= now_.form.V[l].rows() + (l > 0 ? 1 : 0)) return false;
    Polished trial{without(now_.form, l, gone), 0, 0, true};
    if (!noisy() && now_.relative_mse < options_.exact) {
      trial = polish(trial.form, few_rows(trial.form), trial_options(kShareSteps), control_);
      if (!(trial.relative_mse < limit(trial.form))) return false;
    }
    return holds_on_all(trial.form, kShareSteps);
  }

  // Polishes it on all rows; where that is as good as before it takes the place of what there was.
  bool holds_on_all(const Form& fewer, int iterations) {
    Polished trial = noisy() ? polish(fewer, data_, trial_options(iterations), control_)
                             : polish_all(fewer, data_, kTrialEquations, limit(fewer),
                                          trial_options(iterations), control_);
    if (!(trial.relative_mse < limit(trial.form))) return false;
    now_ = std::move(trial);
    report();
    return true;
  }

  [[nodiscard]] DeepData few_rows(const Form& form) const {
    if (noisy()) return data_;
    const auto p = static_cast<double>(form.unknowns()), m = static_cast<double>(data_.y.cols());
    const double needed = kFewEquations * (p / m + static_cast<double>(form.features()));
    const auto rows = static_cast<Index>(std::max(needed, static_cast<double>(kLeastEquations) / m));
    const Index few = std::min(data_.rows(), rows);
    return {data_.x.topRows(few), data_.y.topRows(few)};
  }

  void report() const {
    const std::vector<Index> widths = now_.form.widths();
    control_.report(fmt::format("prune {}, error {:.0e}", fmt::join(widths, "-"), now_.relative_mse), 0);
  }

  [[nodiscard]] Vector worth(std::size_t l) const {
    return unit_worth(now_.form, l, enough_rows(data_, now_.form, kTrialEquations), control_);
  }

  void prune_in_shares() {
    const std::size_t depth = now_.form.depth();
    std::vector<double> share(depth, 0.5);
    std::vector<bool> refused(depth, false);  // since the last change, a single unit of the layer
    std::fill_n(refused.begin(), now_.form.given, true);
    std::size_t layer = depth - 1;
    while (std::find(refused.begin(), refused.end(), false) != refused.end() && !control_.out_of_time()) {
      const Index units = now_.form.V[layer].rows();
      const Index count = std::max<Index>(1, static_cast<Index>(share[layer] * static_cast<double>(units)));
      if (units > 0 && !refused[layer]) {
        const std::vector<Index> order = increasing_order(worth(layer));
        const std::set<Index> gone(order.begin(), order.begin() + count);
        if (try_without(layer, gone)) {
          std::fill(refused.begin() + static_cast<std::ptrdiff_t>(now_.form.given), refused.end(), false);
          continue;
        }
      }
      if (count == 1) refused[layer] = true;
      share[layer] *= 0.4;
      layer = layer == 0 ? depth - 1 : layer - 1;
    }
  }

  // Every unit of every layer; true where none could go, false where time or `until` ended it.
  bool prune_singly() {
    for (bool changed = true; changed;) {
      changed = false;
      if (enough()) return false;
      const std::size_t lowest = options_.given_too ? 0 : now_.form.given;
      for (std::size_t l = now_.form.depth(); l-- > lowest && !changed;) {
        const std::vector<Index> order = increasing_order(worth(l));
        for (std::size_t at = 0; at < order.size() && !changed; at += kTogether) {
          if (control_.out_of_time()) return false;
          const std::size_t end = std::min(at + kTogether, order.size());
          changed = drop_any_of(l, {order.begin() + static_cast<std::ptrdiff_t>(at),
                                    order.begin() + static_cast<std::ptrdiff_t>(end)});
        }
      }
    }
    return true;
  }

  // Units of layer l, each tried alone and all at the same time on few rows; the first that can go on all
  // goes.
  bool drop_any_of(std::size_t l, const std::vector<Index>& units) {
    if (now_.form.V[l].rows() == 1 && l == 0) return false;
    std::vector<Polished> trials = remembered(
        control_, "units singly",
        [&] {
          std::vector<Polished> tried(units.size());
          Control alone = control_;
          if (!control_.device) alone.threads = 1;
          const auto one = [&](Index i) {
            const auto at = static_cast<std::size_t>(i);
            Form fewer = without(now_.form, l, {units[at]});
            if (l < fewer.given) fewer.given = 0;
            tried[at] = polish(fewer, few_rows(fewer), trial_options(kSingleSteps), alone);
          };
          if (control_.device) {
            for (Index i = 0; i < static_cast<Index>(units.size()); ++i) one(i);
          } else {
            parallel_for(static_cast<Index>(units.size()), control_, one);
          }
          return tried;
        },
        [&](const std::vector<Polished>& tried) {
          return std::all_of(tried.begin(), tried.end(), [&](const Polished& trial) {
            return is_whole(trial.form, now_.form.inputs, data_.y.cols(), now_.form.depth());
          });
        });
    for (Polished& trial : trials) trial.form.rectifier = now_.form.rectifier;
    return std::any_of(trials.begin(), trials.end(), [&](const Polished& trial) {
      return trial.relative_mse < limit(trial.form) && holds_on_all(trial.form, kSingleSteps);
    });
  }

  DeepData& data_;
  const PruneOptions& options_;
  const Control& control_;
  Polished now_;
};

}  // namespace

namespace {

Index how_many_rows(const DeepData& data, const Form& form, double each) {
  const auto p = static_cast<double>(form.unknowns()), m = static_cast<double>(data.y.cols());
  const double needed = each * (p / m + static_cast<double>(form.features()));
  const double cheap = kCheapFlops / (m * p * p + 1);
  return std::min(data.rows(), static_cast<Index>(std::max({2000.0, needed, std::min(cheap, 1e9)})));
}

}  // namespace

DeepData enough_rows(const DeepData& data, const Form& form, double each) {
  const Index rows = how_many_rows(data, form, each);
  return {data.x.topRows(rows), data.y.topRows(rows)};
}

double step_flops(const DeepData& data, const Form& form, double each) {
  const auto p = static_cast<double>(form.unknowns());
  return p * p * static_cast<double>(data.y.cols() * how_many_rows(data, form, each));
}

Polished polish_all(const Form& start, DeepData& data, double each, double exact,
                    const PolishOptions& options, const Control& control) {
  Polished out{start, 0, 0, true};
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

Form merge_units(const Form& form, std::size_t l, double cosine, const DeepData& data,
                 const Control& control) {
  const Index count = std::min(kMergeRows, data.rows()), m = data.y.cols();
  Form out = form;
  normalise(out);
  const FormRows rows(out, data.x.topRows(count));
  const Matrix Z = rows.Q(l).cwiseAbs();
  Matrix centred = Z.rowwise() - Z.colwise().mean();
  Vector strength = Vector::Zero(Z.cols());
  for (Index o = 0; o < m; ++o) strength += rows.slopes(out.C.col(o))[l].colwise().squaredNorm().transpose();
  strength.array() *= centred.colwise().squaredNorm().transpose().array();
  centred.array().rowwise() /= centred.colwise().norm().array().max(kTiny);
  const Matrix G = centred.transpose() * centred;
  std::vector<Index> order = increasing_order(-strength), kept;
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

Pruned prune(const Polished& start, DeepData& data, const PruneOptions& options, const Control& control) {
  return Pruning(start, data, options, control).run();
}

}  // namespace exhume
