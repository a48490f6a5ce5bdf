// The row of the table that asks nothing of the inputs: a handful of units grown from the residual
// (fit/unit_search.h), more by students (fit/student_units.h), or read off where the inputs lie along a curve
// (fit/curve_pieces.h).
#include "fit/curve_pieces.h"
#include "fit/student_units.h"
#include "routes/fitted.h"
#include "routes/residual_rounds.h"

namespace exhume {
namespace {

constexpr int kRestarts = 40;
constexpr Index kMostRough = 48;  // units of a student that has not learnt the function

// No units, unless the inputs lie along a curve: then the outputs fall into pieces that show them.
Start along_a_curve(Job& job) {
  Start start;
  if (!job.named && job.kind && job.kind->smooth) {
    start.usable = false;
    start.said = "does not apply: the units look smooth";
    return start;
  }
  start.V = units_along_curve(*job.data.standard(), *job.data.training());
  if (start.V.rows() > 0) job.clock.lap("pieces along a curve");
  return start;
}

// Units of students, polished; what they leave, by students of the residual.
Matrix units_of_students(Job& job) {
  const SamplePtr& standard = job.data.standard();
  StudentUnitsOptions options;
  options.hidden = job.options.hidden();
  options.seed = job.options.seed;
  job.clock.lap("growth");
  const StudentUnits found = student_units(*standard, options, job.control);
  job.clock.lap("students");
  // Noise, another kind of function, or no time: what there is, unless it is too much to be worth a polish.
  if (!found.trained && !job.named) static_cast<void>(settled_kind(job));
  if (!found.trained)
    return found.V.rows() <= kMostRough || job.control.out_of_time() ? found.V : Matrix(0, found.V.cols());
  RoundsOptions rounds;
  rounds.spectral.hidden = job.options.hidden();
  rounds.spectral.seed = job.options.seed;
  if (const std::optional<RoundingNoise> rounding = job.data.rounding())
    rounds.exact = std::max(rounds.exact, rounding->level(static_cast<double>(standard->rows())));
  rounds.patience = 1;
  rounds.look = [&](const SampleSource& residual, int round) {
    StudentUnitsOptions more = options;
    more.hidden.reset();
    more.seed += 7919 * static_cast<std::uint64_t>(round + 1);
    return student_units(residual, more, job.control).V;
  };
  Matrix V = residual_rounds(found.V, standard, rounds, job.control).V;
  job.clock.lap("rounds on the residual");
  return V;
}

Found grow(Job& job, const Start& start) { return finish_by_fit(job, start, kRestarts, units_of_students); }

}  // namespace

Route any_inputs_route() {
  return {.name = "any_inputs",
          .about = "Any inputs: units added where the residual bends, or taken from wide trained networks",
          .condition = "always",
          .automatic = true,
          .search_share = kFitShare,
          .demands = demand_rows_for_fit,
          .start = along_a_curve,
          .finish = grow};
}

}  // namespace exhume
