// The row rectified-any: sign patterns and linear programs (papers/rectified/any_inputs.cc).
#include <fmt/format.h>

#include <Eigen/Dense>

#include "exhume/papers/rectified.h"
#include "papers/rectified/rectified_route.h"

namespace exhume {

using namespace rectified;

namespace {

constexpr double kRankTolerance = 1e-11;  // of the outputs, relative to their largest singular value

Found by_patterns(Job& job, const Start& /*start*/) {
  const Rows training = rows_of(*job.data.training());
  Index hidden = job.options.hidden().value_or(0);
  if (hidden == 0) hidden = Eigen::JacobiSVD<Matrix>(Matrix(training.y)).setThreshold(kRankTolerance).rank();
  if (hidden == 0) return refused("all outputs are zero");
  AnyInputsFit fit =
      recover_any_inputs(training.x, training.y, hidden, {job.options.most_patterns}, job.control);
  job.clock.lap("patterns");
  switch (fit.outcome) {
    case AnyInputsOutcome::kRankDeficient:
    case AnyInputsOutcome::kRankExceeded:
      return refused_rank(fit.rank, hidden);
    case AnyInputsOutcome::kNoNetwork:
      return refused(fmt::format(
          "none of the {} sign patterns belongs to a unit that is left: no network of {} ReLUs without "
          "biases reproduces the samples",
          fit.patterns, hidden));
    case AnyInputsOutcome::kBudget:
      return refused(
          fmt::format("the budget ended after {} sign patterns of {} units; give more time, or fewer rows",
                      fit.patterns, hidden));
    case AnyInputsOutcome::kExact:
      break;
  }
  Found found = exact_network(job, training, std::move(fit.network), "");
  found.checks.note("rank of the outputs is the number of units", static_cast<double>(fit.rank),
                    static_cast<double>(hidden), true);
  return found;
}

}  // namespace

Route rectified_any_route() {
  return {.name = "rectified-any",
          .about = "Any inputs, few units without biases: sign patterns and linear programs",
          .condition = "no noise; outputs of rank k, for k up to 3 or 4",
          .standardised = false,
          .hold_out = HoldOut::kExact,
          .reads = {"most_patterns"},
          .demands = demand_two_rows,
          .finish = by_patterns};
}

}  // namespace exhume
