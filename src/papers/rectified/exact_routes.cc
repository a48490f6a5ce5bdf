// The rows rectified-ica, rectified-tensor, rectified-symmetric and rectified-sparse-noise: a rough start of
// their own each, then the exact finish (papers/rectified/pattern_finish.cc).
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "exhume/papers/rectified.h"
#include "model/rectified_network.h"
#include "papers/rectified/rectified_route.h"
#include "papers/rectified/starts.h"
#include "routes/fitted.h"

namespace exhume {

using namespace rectified;

namespace {

constexpr int kStarts = 4;  // from different seeds, where one leaves units out

// Rough units of this many, from the i-th seed.
using RoughUnits = Matrix (*)(Job& job, const Rows& training, Index hidden, int i);

std::uint64_t seed_of(const Job& job, int i) { return job.options.seed + static_cast<std::uint64_t>(i); }

Matrix by_ica(Job& job, const Rows& training, Index hidden, int i) {
  IcaOptions ica;
  ica.seed = seed_of(job, i);
  ica.contrast = i % 2 == 0 ? Contrast::kTanh : Contrast::kKurtosis;
  return ica_start(training.x, training.y, hidden, job.rectifier, ica, job.control);
}

Matrix by_tensor(Job& job, const Rows& training, Index hidden, int i) {
  return tensor_start(training.view(), hidden, seed_of(job, i), job.control);
}

Matrix by_symmetry(Job& job, const Rows& training, Index hidden, int i) {
  return symmetric_units(training.view(), hidden, seed_of(job, i), job.control);
}

Found exact_finish(Job& job, RoughUnits rough_units, const char* start_assumes) {
  const Rows training = rows_of(*job.data.training());
  const OutputSpace space = output_space(training.y);
  const Index hidden = job.options.hidden().value_or(space.rank);
  if (hidden != space.rank) return refused_rank(space.rank, hidden);
  if (training.x.rows() < 4 * (std::max(hidden, training.x.cols()) + 1)) {
    return refused(fmt::format("{} rows are too few for the exact finish of {} units with {} inputs",
                               training.x.rows(), hidden, training.x.cols()));
  }
  PatternFinish finish;
  Matrix V(0, training.x.cols() + 1);
  for (int i = 0; i < kStarts; ++i) {
    const Matrix more = rough_units(job, training, hidden, i);
    V.conservativeResize(V.rows() + more.rows(), Eigen::NoChange);
    V.bottomRows(more.rows()) = more;
    finish = pattern_finish(V, hidden, training.x, training.y, job.rectifier, {}, job.control);
    if (finish.outcome != PatternOutcome::kNoNullVector || job.control.out_of_time()) break;
  }
  job.clock.lap("exact finish");
  std::string otherwise = fmt::format(
      "{} of {} units have a pattern on which the outputs vanish, and together they leave {:.2g} of the "
      "variance: {}{}",
      finish.network.hidden(), hidden, finish.relative_mse,
      space.rank == training.y.cols()
          ? "there may be more units than outputs (route rectified-few-outputs), or noise (rectified-noise)"
          : "another activation, or a start that was too rough",
      start_assumes);
  if (!job.data.inspection().gaussian && rough_units != by_symmetry)
    otherwise += "; the inputs are not Gaussian, which the start rests on";
  Found found = exact_network(job, training, std::move(finish.network), std::move(otherwise));
  found.checks.note("rank of the outputs is the number of units", static_cast<double>(space.rank),
                    static_cast<double>(hidden), true);
  const double exact_gap = PatternOptions().exact_gap;
  found.checks.note("every unit has a null vector (gap)",
                    finish.outcome == PatternOutcome::kExact ? exact_gap : finish.gaps.maxCoeff(), exact_gap,
                    finish.outcome != PatternOutcome::kNoNullVector);
  found.spectrum = Spectrum{space.singular_values, 0, space.rank};
  found.gaps = std::move(finish.gaps);
  return found;
}

Found ica(Job& job, const Start& /*start*/) {
  return exact_finish(job, by_ica,
                      "; independent components assume orthonormal rows of W and uncorrelated inputs");
}
Found tensor(Job& job, const Start& /*start*/) { return exact_finish(job, by_tensor, ""); }
Found symmetric(Job& job, const Start& /*start*/) { return exact_finish(job, by_symmetry, ""); }

// Entries of the outputs that were hit, found and taken out.
SamplePtr without_hits(const SamplePtr& samples, const RecoverOptions& options, Found& found,
                       const Control& control) {
  const Rows all = rows_of(*samples);
  CleanOptions clean;
  clean.pursuit.seed = options.seed;
  CleanOutputs cleaned = clean_outputs(all.y, clean, control);
  found.checks.note("entries off the support fit to rounding", cleaned.worst_clean, clean.clean,
                    cleaned.exact);
  if (!cleaned.exact) {
    found.refusal = found.said = fmt::format(
        "no low-rank part explains the entries that were not hit (rank {}, off by {:.2g}): the outputs "
        "carry dense noise, or more entries are hit than the rank allows",
        cleaned.rank, cleaned.worst_clean);
    return nullptr;
  }
  found.support = std::move(cleaned.support);
  return memory_samples(all.x, std::move(cleaned.y));
}

// The cleaned outputs are the route's own work: what counts is that the network reproduces most entries as
// they were given, in every output. A network that is not the truth reproduces next to none of them to
// rounding.
void most_entries(const Network& network, const SampleSource& given, const RecoverOptions& options,
                  Checks& checks) {
  constexpr double kLeastShare = 0.5, kSame = 1e-8;
  const Rows raw = rows_of(given);
  const Matrix predicted = evaluate(network, parse_rectifier(options.unit_name()), raw.x);
  double least = 1;
  for (Index o = 0; o < raw.y.cols(); ++o) {
    const double scale = kSame * std::max(1.0, predicted.col(o).cwiseAbs().maxCoeff());
    const Index same = ((predicted.col(o) - raw.y.col(o)).array().abs() <= scale).count();
    least = std::min(least, static_cast<double>(same) / static_cast<double>(raw.x.rows()));
  }
  checks.require("entries as given reproduced to rounding, least share of an output", least, kLeastShare,
                 least >= kLeastShare,
                 fmt::format("an output keeps only {:.0f}% of its entries as they were given: the pursuit "
                             "took the wrong part for noise",
                             100 * least));
}

}  // namespace

Route rectified_ica_route() {
  return {.name = "rectified-ica",
          .about = "Standard normal inputs, orthonormal rows of W: independent components, exact finish",
          .condition = "no noise; inputs look Gaussian; outputs of rank k",
          .standardised = false,
          .hold_out = HoldOut::kExact,
          .reads = {"activation"},
          .demands = demand_two_rows,
          .applies = gaussian_inputs_of,
          .finish = ica};
}

Route rectified_tensor_route() {
  return {.name = "rectified-tensor",
          .about = "Gaussian inputs: order-2 moments over the outputs, exact finish",
          .condition = "no noise; inputs look Gaussian; outputs of rank k",
          .standardised = false,
          .hold_out = HoldOut::kExact,
          .reads = {"activation"},
          .demands = demand_two_rows,
          .applies = gaussian_inputs_of,
          .finish = tensor};
}

Route rectified_symmetric_route() {
  return {.name = "rectified-symmetric",
          .about = "Symmetric inputs: the pure-neuron detector's units, exact finish",
          .condition = "no noise; inputs symmetric about zero; outputs of rank k",
          .standardised = false,
          .hold_out = HoldOut::kExact,
          .demands = demand_two_rows,
          .finish = symmetric};
}

Route rectified_sparse_noise_route() {
  return {.name = "rectified-sparse-noise",
          .about = "A few entries of the outputs are wrong: found by pursuit, then rectified-tensor",
          .condition = "inputs look Gaussian; far more outputs than units; few wrong entries",
          .standardised = false,
          .hold_out = HoldOut::kExact,
          .demands = demand_two_rows,
          .repair = without_hits,
          .applies = gaussian_inputs_of,
          .finish = tensor,
          .recheck = most_entries};
}

}  // namespace exhume
