// The row of the table for smooth units (tanh, GELU and others): told from the samples, or named; nothing is
// asked of the inputs. Students, polish and pruning are in fit/smooth_search.h.
#include <fmt/format.h>

#include "base/counted.h"
#include "fit/smooth_search.h"
#include "model/activation_table.h"
#include "routes/fitted.h"

namespace exhume {
namespace {

bool smooth_units_named(const RecoverOptions& options) {
  const ActivationRow* row = find_activation(options.activation);
  return row != nullptr && row->smooth;
}

// Fewer rows tell nothing about the kind of a unit.
constexpr Index kLeastScreenRows = 500;

UnitKind look_at_units(Job& job, bool settle) {
  if (job.options.activation != "auto") return {false, false, "the units are piecewise linear, as asked"};
  if (job.options.leak != 0) return {false, false, "a slope below zero is that of leaky ReLUs"};
  const SamplePtr& rows = job.data.standard();
  if (rows->distant()) return {false, false, "rows of other processes are not read here"};
  if (rows->rows() < kLeastScreenRows)
    return {false, false, fmt::format("{} rows are too few to tell smooth units", rows->rows())};
  const SmoothScreen seen = screen_units(*rows, job.options.seed, job.control, !settle);
  job.clock.lap("kind of units");
  return {
      settle ? seen.looks_smooth() : seen.clearly_smooth(), !settle && seen.open(),
      fmt::format(
          "small networks of ReLUs leave {:.1e} of the variance after a short training, smooth ones {:.1e}",
          seen.piecewise, seen.smooth)};
}

Applies looks_smooth(Job& job) {
  if (smooth_units_named(job.options)) return {};
  if (job.named && job.options.activation == "auto" && job.options.leak == 0) return {};
  const UnitKind& kind = settled_kind(job);
  return kind.smooth ? Applies{} : Applies{Applicable::kNo, kind.why};
}

std::string in_words(const SmoothFound& found) {
  std::string words;
  for (const SmoothTrial& trial : found.trials) {
    words += fmt::format("{}{} {:.1e} with {}", words.empty() ? "" : ", ", trial.activation, trial.polished,
                         counted(trial.units, "unit"));
  }
  return words;
}

Found find_smooth_units(Job& job, const Start&) {
  SmoothSearchOptions options;
  options.activation = smooth_units_named(job.options) ? job.options.activation : "auto";
  options.hidden = job.options.hidden();
  options.seed = job.options.seed;
  options.rounding = job.data.rounding();
  SmoothFound smooth = search_smooth_units(job.data.standard(), options, job.control);
  job.clock.lap("fit");
  Found found;
  found.fit = std::move(smooth.fit);
  found.outcome = found.fit.outcome;
  found.said = fmt::format("{} of activation {} leave {:.2g} of the variance; tried: {}",
                           counted(found.fit.model.units(), "unit"), smooth.activation,
                           found.fit.relative_mse, in_words(smooth));
  return found;
}

}  // namespace

const UnitKind& kind_of_units(Job& job) {
  if (!job.kind) job.kind = look_at_units(job, false);
  return *job.kind;
}

const UnitKind& settled_kind(Job& job) {
  if (!job.kind || job.kind->open) job.kind = look_at_units(job, true);
  return *job.kind;
}

Route smooth_route() {
  return {.name = "smooth",
          .about = "Smooth units (tanh, sigmoid, GELU, SiLU, softplus, ELU, erf, ...); which one is detected",
          .condition = "a wide network of smooth units fits better than one of ReLUs",
          .automatic = true,
          .search_share = kFitShare,
          .reads = {"activation"},
          .demands = demand_rows_for_fit,
          .applies = looks_smooth,
          .finish = find_smooth_units};
}

}  // namespace exhume
