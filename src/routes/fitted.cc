#include "routes/fitted.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/counted.h"
#include "exhume/error.h"

namespace exhume {
namespace {

constexpr Index kManyOutputs = 4;
constexpr Index kLeastRows = 20;
// Random starts where an earlier route found no structure left, and its residual is still not noise: another
// kind of function, most likely.
constexpr int kSecondRestarts = 2;
// Equations for every unknown of the sign-free fit, which also has the linear term; a tenth of the rows is
// held out.
constexpr double kLeastEquations = 1.2, kTrainingShare = 0.9;

std::string outcome_words(const Fit& fit) {
  const Index units = fit.model.units();
  switch (fit.outcome) {
    case SearchOutcome::kExact:
      return "exact with " + counted(units, "unit");
    case SearchOutcome::kNoise:
      return fmt::format("{} leave{} {:.2g} of the variance, without structure", counted(units, "unit"),
                         units == 1 ? "s" : "", fit.relative_mse);
    case SearchOutcome::kStuck:
      break;
  }
  return fmt::format("{} leave{} {:.2g} of the variance, with structure left{}", counted(units, "unit"),
                     units == 1 ? "s" : "", fit.relative_mse,
                     fit.out_of_time ? " when its time was up"
                     : fit.stalled   ? "; more units did not help"
                                     : "");
}

}  // namespace

Applies gaussian_inputs(const Prepared& data) {
  if (data.inspection().gaussian) return {};
  return {Applicable::kDoubtful, "the inputs are not Gaussian"};
}

Applies gaussian_inputs_of(Job& job) { return gaussian_inputs(job.data); }

Applies many_outputs(const Job& job) {
  const Index m = job.data.rows()->outputs();
  if (m < kManyOutputs)
    return {Applicable::kDoubtful, fmt::format("{} output{} too few", m, m == 1 ? " is" : "s are")};
  if (job.options.hidden() && *job.options.hidden() > m) {
    return {Applicable::kDoubtful,
            fmt::format("there {} {}, fewer than the {} units asked for", m == 1 ? "is" : "are",
                        counted(m, "output"), *job.options.hidden())};
  }
  return {};
}

void demand_rows_for_fit(const SampleSource& samples, const RecoverOptions& options) {
  const Index n = samples.rows(), d = samples.inputs(), m = samples.outputs();
  if (n == 0 || d == 0 || m == 0) {
    throw DataError(fmt::format(
        "the samples are empty ({} rows, {} inputs, {} outputs); give at least one of each", n, d, m));
  }
  const Index k = options.hidden().value_or(1);
  const Index unknowns = k * (d + m) + m * (d + 1);
  const auto needed = static_cast<Index>(
      std::ceil(kLeastEquations * static_cast<double>(unknowns) / static_cast<double>(m) / kTrainingShare));
  if (n < std::max(needed, kLeastRows)) {
    throw DataError(fmt::format(
        "{} {} too few: {} with {} and {} make {} unknowns; give at least {} rows{}", counted(n, "row"),
        n == 1 ? "is" : "are", counted(k, "hidden unit"), counted(d, "input"), counted(m, "output"), unknowns,
        std::max(needed, kLeastRows), options.hidden() ? " or ask for fewer units" : ""));
  }
}

Start start_from(const Matrix& V, Job& job) {
  const Index d = job.data.rows()->inputs(), m = job.data.rows()->outputs();
  Network guess;
  guess.W() = V.leftCols(d);
  guess.b() = V.col(d);
  guess.A() = Matrix::Zero(m, V.rows());
  guess.c() = Vector::Zero(m);
  const Network standard = job.data.coordinates().from_user(guess);
  Start start;
  start.V.resize(V.rows(), d + 1);
  start.V << standard.W(), standard.b();
  for (Index i = 0; i < V.rows(); ++i) start.V.row(i) /= std::max(start.V.row(i).head(d).norm(), kTiny);
  return start;
}

Found finish_by_fit(Job& job, const Start& start, int restarts, Matrix (*many_units)(Job& job)) {
  FitOptions options;
  options.hidden = job.options.hidden();
  options.seed = job.options.seed;
  options.most_restarts = job.noise_is_final ? restarts : std::min(restarts, kSecondRestarts);
  options.thorough_pruning = job.data.inspection().discrete;
  options.noise_is_final = job.noise_is_final;
  options.rounding = job.data.rounding();
  // Where many ReLUs come next they may learn what small networks of them do not.
  options.another_kind = [&, many_units] {
    return !job.named && (many_units != nullptr ? kind_of_units(job) : settled_kind(job)).smooth;
  };
  if (many_units != nullptr) options.many_units = [&] { return many_units(job); };
  Found found;
  found.fit = fit_units(start.V, job.data.standard(), options, job.control);
  job.clock.lap("fit");
  found.outcome = found.fit.outcome;
  found.said = outcome_words(found.fit);
  if (found.fit.given_up) found.said += "; the units look smooth";
  return found;
}

Found finish_from_start(Job& job, const Start& start) { return finish_by_fit(job, start, 0); }

}  // namespace exhume
