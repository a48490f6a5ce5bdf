// The row of the table that asks nothing of the inputs: units grown from the residual (fit/unit_search.h), or
// read off where the inputs lie along a curve (fit/curve_pieces.h).
#include "fit/curve_pieces.h"
#include "fit/student_units.h"
#include "routes/fitted.h"
#include "routes/residual_rounds.h"

namespace exhume {
namespace {

constexpr int kRestarts = 40;

// No units, unless the inputs lie along a curve: then the outputs fall into pieces that show them.
Start along_a_curve(Job& job) {
  Start start;
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
  const StudentUnits found = student_units(*standard, options, job.control);
  RoundsOptions rounds;
  rounds.spectral.hidden = job.options.hidden();
  rounds.spectral.seed = job.options.seed;
  if (const std::optional<RoundingNoise> rounding = job.data.rounding())
    rounds.exact = std::max(rounds.exact, rounding->level(static_cast<double>(standard->rows())));
  rounds.look = [&](const SampleSource& residual, int round) {
    StudentUnitsOptions more = options;
    more.hidden.reset();
    more.seed += 7919 * static_cast<std::uint64_t>(round + 1);
    return student_units(residual, more, job.control).V;
  };
  return residual_rounds(found.V, standard, rounds, job.control).V;
}

Found grow(Job& job, const Start& start) { return finish_by_fit(job, start, kRestarts, units_of_students); }

}  // namespace

Route any_inputs_route() {
  return {.name = "any_inputs",
          .about = "No assumption on the inputs: units grown from the residual, restarts and repairs",
          .condition = "always",
          .automatic = true,
          .search_share = kFitShare,
          .demands = demand_rows_for_fit,
          .start = along_a_curve,
          .finish = grow};
}

}  // namespace exhume
