// The row of the table for smooth units (tanh, GELU and others): told from the samples, or named; nothing is
// asked of the inputs. Students, polish and pruning are in fit/smooth_search.h.
#include <fmt/format.h>

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

Applies looks_smooth(Job& job) {
  if (smooth_units_named(job.options)) return {};
  if (job.options.activation != "auto") return {Applicable::kNo, "the units are piecewise linear, as asked"};
  if (job.options.leak != 0) return {Applicable::kNo, "a slope below zero is that of leaky ReLUs"};
  if (job.named) return {};
  const SamplePtr& rows = job.data.standard();
  if (rows->distant()) return {Applicable::kNo, "rows of other processes are not read here"};
  if (rows->rows() < kLeastScreenRows)
    return {Applicable::kDoubtful, fmt::format("{} rows are too few to tell smooth units", rows->rows())};
  const SmoothScreen seen = screen_units(*rows, job.options.seed, job.control);
  job.clock.lap("kind of units");
  if (seen.looks_smooth()) return {};
  return {
      Applicable::kDoubtful,
      fmt::format("small networks of ReLUs come closer ({:.1e} of the variance) than smooth ones ({:.1e})",
                  seen.piecewise, seen.smooth)};
}

std::string in_words(const SmoothFound& found) {
  std::string words;
  for (const SmoothTrial& trial : found.trials) {
    words += fmt::format("{}{} {:.1e} with {} units", words.empty() ? "" : ", ", trial.activation,
                         trial.polished, trial.units);
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
  found.said =
      fmt::format("{} units of activation {} leave {:.2g} of the variance; tried: {}",
                  found.fit.model.units(), smooth.activation, found.fit.relative_mse, in_words(smooth));
  return found;
}

}  // namespace

Route smooth_route() {
  return {.name = "smooth",
          .about = "Smooth units (tanh, sigmoid, GELU, SiLU, softplus, ELU, erf, ...), told from the samples",
          .condition = "students of smooth units come closer than those of ReLUs",
          .automatic = true,
          .search_share = kFitShare,
          .reads = {"activation"},
          .demands = demand_rows_for_fit,
          .applies = looks_smooth,
          .finish = find_smooth_units};
}

}  // namespace exhume
