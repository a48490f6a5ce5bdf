// The row of the table for networks of several hidden layers (judge/deep/deep_layers.h).
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "exhume/error.h"
#include "fit/deep/search.h"
#include "fit/deep/smooth_layers.h"
#include "judge/deep/deep_layers.h"
#include "judge/deep/deep_noise.h"
#include "model/activation_table.h"
#include "routes/deep/deep_route.h"
#include "routes/fitted.h"

namespace exhume {
namespace {

// Rows below which a deep search is not begun.
constexpr Index kFewest = 500;

void demand_rows(const SampleSource& samples, const RecoverOptions& options) {
  const Matrix& first = options.first_layer;
  if (first.size() > 0 && first.cols() != samples.inputs() + 1) {
    throw std::invalid_argument(fmt::format("the first layer has units of {} inputs, but the samples have {}",
                                            first.cols() - 1, samples.inputs()));
  }
  if (samples.rows() >= kFewest) return;
  throw DataError(fmt::format("{} rows are too few for several hidden layers: at least {} are needed",
                              samples.rows(), kFewest));
}

// Layers of ReLUs, or of the smooth units that were named. Where none were, and the samples look as if smooth
// units had made them, ReLUs get a quarter of the time first: small networks of one hidden layer, by which
// the kind is told, are a poor guide to several.
DeepFound search_layers(Job& job, const DeepSearchOptions& options) {
  const SampleSource& rows = *job.data.standard();
  const ActivationRow* row = find_activation(job.options.activation);
  if (row != nullptr && row->smooth) return search_smooth_layers(rows, row->name, options, job.control);
  if (job.options.first_layer.rows() > 0 || !settled_kind(job).smooth)
    return deep_search(rows, options, job.control);
  DeepFound found = deep_search(rows, options, job.control.within(job.control.seconds_left() / 4));
  if (found.exact || found.noise || job.control.out_of_time()) return found;
  DeepFound smooth = search_smooth_layers(rows, "auto", options, job.control);
  return smooth.exact || smooth.relative_mse < found.relative_mse ? smooth : found;
}

Found search(Job& job, const Start& /*start*/) {
  DeepSearchOptions options;
  options.depth = job.options.depth();
  if (!job.options.widths.empty()) options.widths = job.options.widths;
  options.seed = job.options.seed;
  const Standardisation& coordinates = job.data.coordinates();
  if (job.options.first_layer.rows() > 0) {
    // w.x + b = w'.x' + b' with x = P^-1 x' + mu.
    const Matrix& V = job.options.first_layer;
    const Index d = V.cols() - 1;
    options.first_layer.resize(V.rows(), d + 1);
    options.first_layer.leftCols(d) = V.leftCols(d) * coordinates.back;
    options.first_layer.col(d) = V.col(d) + V.leftCols(d) * coordinates.map.mu;
  }
  options.exact = exact_level(job.data);
  options.structure_left = [&](const DeepForm& form) {
    return structure_left(look_at_deep_residual(form, job.data.standard(), job.control));
  };
  Found found;
  found.deep = search_layers(job, options);
  found.outcome = found.deep->exact   ? SearchOutcome::kExact
                  : found.deep->noise ? SearchOutcome::kNoise
                                      : SearchOutcome::kStuck;
  const std::vector<Index> widths = found.deep->form.widths();
  found.said =
      fmt::format("{} units{}; relative error {:.1e}", fmt::join(widths, "-"),
                  found.deep->form.rectifier ? " of activation " + found.deep->form.rectifier->name : "",
                  found.deep->relative_mse);
  job.clock.lap("students, polish and pruning");
  return found;
}

}  // namespace

double exact_level(Prepared& data) {
  constexpr double kSlack = 1.5;
  const double exact = DeepSearchOptions().exact;
  const std::optional<RoundingNoise> rounding = data.rounding();
  if (!rounding) return exact;
  const auto entries = static_cast<double>(data.training()->rows() * data.training()->outputs());
  return std::max({exact, kSlack * rounding->level(entries), kSlack * rounding->computed});
}

Route deep_route() {
  return {.name = "deep",
          .about = "Several hidden layers: a wide network trained, polished and pruned, then its signs",
          .condition = "several hidden layers are asked for",
          .finds = Finds::kDeepNetwork,
          .search_share = kFitShare,
          .reads = {"activation"},
          .demands = demand_rows,
          .finish = search,
          .judged_as = deep_layers};
}

}  // namespace exhume
