#include "fit/deep/finish.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "fit/deep/plain.h"
#include "fit/deep/prune.h"
#include "fit/deep/rounding.h"
#include "fit/signs.h"

namespace exhume {
namespace {

// Equations per unknown in the last polish: kPlainEquations, but kHeavyEquations where a step on so many
// would cost more than kHeavyFlops.
constexpr double kPlainEquations = 40, kHeavyEquations = 12, kHeavyFlops = 5e11;
constexpr double kLastDigits = 1e-31;  // relative mean square at which the last polish stops
constexpr double kNear = 1e-4;         // relative mean square from which a last polish may still get there

constexpr double kSameRow = 1e-8;  // distance of rows of unit norm

// A plain network whose units of one layer with the same row are one, with what stands on all of them. Shares
// between twins are open, and a polish without one of them need not find that the other can take its place.
Form merge_twins(Form plain) {
  for (std::size_t l = 0; l < plain.depth(); ++l) {
    normalise(plain);
    const Matrix& V = plain.V[l];
    std::vector<Index> kept;
    for (Index j = 0; j < V.rows(); ++j) {
      const auto twin = std::find_if(kept.begin(), kept.end(),
                                     [&](Index r) { return (V.row(r) - V.row(j)).norm() < kSameRow; });
      if (twin == kept.end()) {
        kept.push_back(j);
      } else if (l + 1 < plain.depth()) {
        plain.V[l + 1].col(*twin) += plain.V[l + 1].col(j);
      } else {
        plain.C.row(*twin) += plain.C.row(j);
      }
    }
    plain = with_units(plain, l, kept);
  }
  return plain;
}

class Finish {
 public:
  Finish(DeepData& data, const FinishOptions& options, const Control& control)
      : data_(data), options_(options), control_(control) {}

  DeepFound run(const Polished& start) {
    Pruned pruned{start, options_.minimal};
    if (!pruned.minimal) pruned = prune_units(start, false);
    DeepFound found;
    if (!find_plain(pruned.fit.form, found) && !pruned.minimal) {
      // Only the least network has signs, so that none need be tried beyond it: each is, in the plain
      // network.
      pruned = prune_units(pruned.fit, true, [](const Form& form) { return find_signs(form).plain; });
      if (!find_plain(pruned.fit.form, found) && !pruned.minimal) {
        pruned = prune_units(pruned.fit, true);
        find_plain(pruned.fit.form, found);
      }
    }
    found.minimal = pruned.minimal;
    if (!found.plain) {
      keep(polish_all_layers(pruned.fit.form), found);
    } else {
      try_every_unit(found);
    }
    found.out_of_time = control_.out_of_time();
    return found;
  }

  // Tries every unit of a plain network.
  void try_every_unit(DeepFound& found) {
    const Form single = merge_twins(found.form);
    const double error = relative_error(single, data_, control_);
    const bool same = error < options_.exact;
    const Pruned least =
        prune_units({same ? single : found.form, same ? error : found.relative_mse, 0, true}, true);
    found.minimal = least.minimal;
    keep(polish_all_layers(least.fit.form), found);
  }

  [[nodiscard]] Polished polish_last_digits(const Form& start) const {
    DeepPolishOptions polishing;
    polishing.enough_relative = kLastDigits;
    const bool heavy = !control_.device && step_flops(data_, start, kPlainEquations) > kHeavyFlops;
    const double each = heavy ? kHeavyEquations : kPlainEquations;
    Polished out = polish(start, enough_rows(data_, start, each), polishing, control_);
    out.relative_mse = relative_error(out.form, data_, control_);
    if (out.relative_mse < options_.exact || !(out.relative_mse < kNear)) return out;
    return polish(out.form, data_, polishing, control_);
  }

  // The same, the rows that it fits worst among those that it is polished on.
  [[nodiscard]] Polished polish_beginning_with(const Form& start, Index rows) {
    data_.bring_forward(start, rows, 0, control_);
    return polish_last_digits(start);
  }

 private:
  // Layers that were given have the last word too: they may be so to few digits.
  [[nodiscard]] Polished polish_all_layers(Form form) const {
    form.given = 0;
    return polish_last_digits(form);
  }

  Pruned prune_units(const Polished& start, bool singly, std::function<bool(const Form&)> until = {}) {
    PruneOptions pruning;
    pruning.until = std::move(until);
    pruning.exact = options_.exact;
    pruning.singly = singly;
    Pruned out = prune(start, data_, pruning, control_);
    out.minimal = out.minimal && singly;
    return out;
  }

  void keep(Polished polished, DeepFound& found) const {
    found.form = std::move(polished.form);
    found.relative_mse = polished.relative_mse;
    found.exact = polished.relative_mse < options_.exact;
  }

  // The plain network behind the form, where there is one.
  bool find_plain(const Form& form, DeepFound& found) {
    const DeepSigns signs = find_signs(form);
    found.signs = signs.layers;
    found.signs_determined = signs.determined;
    // Signs that are far from +-1 may still be right: rows that say little of a unit leave its skip terms
    // open.
    Form plain = signs.form;
    plain.given = form.given;
    Polished last = polish_last_digits(plain);
    if (!(last.relative_mse < options_.exact)) {
      const std::optional<Form> by_rows =
          find_plain_by_rows(form, data_, options_.left, kPlainEquations, options_.exact, control_);
      if (!by_rows) return false;
      last = polish_last_digits(*by_rows);
      if (!(last.relative_mse < options_.exact)) return false;
    }
    keep(std::move(last), found);
    found.plain = true;
    return true;
  }

  DeepData& data_;
  FinishOptions options_;
  const Control& control_;
};

}  // namespace

DeepFound finish(const Polished& start, DeepData& data, const FinishOptions& options,
                 const Control& control) {
  return Finish(data, options, control).run(start);
}

std::optional<bool> needs_every_unit(const Form& plain, DeepData& data, double exact,
                                     const Control& control) {
  const double error = relative_error(plain, data, control);
  if (!(error < exact)) return std::nullopt;
  PruneOptions pruning;
  pruning.exact = exact;
  const Pruned least = prune({plain, error, 0, true}, data, pruning, control);
  if (control.out_of_time()) return std::nullopt;
  return least.minimal && least.fit.form.widths() == plain.widths();
}

std::optional<DeepFound> finish_on_most(const Form& start, const std::vector<Index>& left, DeepData& data,
                                        const FinishOptions& options, const Control& control) {
  DeepData reproduced = data;
  DeepData others = reproduced.take_out(left);
  const double error = relative_error(start, reproduced, control);
  if (!(error < options.exact)) return std::nullopt;
  FinishOptions with_left = options;
  with_left.left = &others;
  DeepFound most = finish({start, error, 0, true}, reproduced, with_left, control);
  if (!most.exact) return std::nullopt;
  // Weights that the sign-free form left open are settled: the plain network may reproduce rows that it did
  // not.
  const double off = most_off(data, options.exact);
  others = rows_of(others, rows_off(most.form, others, off, control));
  if (others.rows() == 0) {
    most.relative_mse = relative_error(most.form, data, control);
    if (most.relative_mse < options.exact) return most;
  }
  const std::size_t last = most.form.depth() - 1;
  if (most.plain) {
    // A weight that only these rows show was open without them.
    Finish on_all(data, options, control);
    if (const Polished all = on_all.polish_beginning_with(most.form, others.rows());
        all.relative_mse < options.exact) {
      most.form = all.form;
      most.relative_mse = all.relative_mse;
      return most;
    }
    if (const std::optional<Form> more = add_missing_unit(most.form, last, others, off)) {
      const Polished all = on_all.polish_last_digits(*more);
      if (all.relative_mse < options.exact) {
        most.form = all.form;
        most.relative_mse = all.relative_mse;
        on_all.try_every_unit(most);
        return most;
      }
    }
  }
  if (others.rows() >= most.form.V[last].cols() + kOverFew) return std::nullopt;
  most.left = others.rows();
  return most;
}

namespace {

constexpr double kNearly = 3;  // structure that units too many may still show

class InNoise {
 public:
  InNoise(DeepData& data, const StructureLeft& structure_left, const Control& control)
      : data_(data), structure_left_(structure_left), control_(control) {
    const auto entries = static_cast<double>(data.rows() * data.y.cols());
    forgiven_ = std::log(entries) / entries;
  }

  std::optional<DeepFound> run(const Form& start) {
    const Polished wide = polish_to_convergence(start);
    if (control_.out_of_time() || structure_left_(wide.form) > kNearly) return std::nullopt;
    const Pruned free = prune_units(wide, true);
    DeepFound found;
    const DeepSigns signs = find_signs(free.fit.form);
    found.signs = signs.layers;
    found.signs_determined = signs.determined;
    const Polished plain = polish_to_convergence(signs.form);
    const double limit =
        free.fit.relative_mse * (1 + forgiven_ * (weights(free.fit.form) - weights(plain.form)));
    found.plain = plain.relative_mse < limit;
    const Pruned least = found.plain ? prune_units(plain, true) : free;
    if (control_.out_of_time() || structure_left_(least.fit.form) > 1) return std::nullopt;
    found.form = least.fit.form;
    found.relative_mse = least.fit.relative_mse;
    found.minimal = least.minimal;
    found.noise = true;
    return found;
  }

 private:
  [[nodiscard]] static double weights(const Form& form) {
    return static_cast<double>(form.unknowns() + form.C.size());
  }

  [[nodiscard]] Polished polish_to_convergence(const Form& start) const {
    return polish(start, data_, noisy_polish(), control_);
  }

  [[nodiscard]] Pruned prune_units(const Polished& start, bool singly) {
    PruneOptions pruning;
    pruning.forgiven = forgiven_;
    pruning.singly = singly;
    return prune(start, data_, pruning, control_);
  }

  DeepData& data_;
  const StructureLeft& structure_left_;
  double forgiven_ = 0;
  const Control& control_;
};

}  // namespace

std::optional<DeepFound> finish_in_noise(const Form& start, DeepData& data,
                                         const StructureLeft& structure_left, const Control& control) {
  return InNoise(data, structure_left, control).run(start);
}

}  // namespace exhume
