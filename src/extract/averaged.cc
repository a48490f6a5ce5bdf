#include "extract/averaged.h"

#include <cmath>

#include "exhume/fit/polish.h"
#include "extract/missed.h"

namespace exhume {
namespace {

constexpr const char* kStage = "average";
constexpr double kEquations = 1.5;          // for every unknown
constexpr std::uint64_t kFirst = 1u << 25;  // row of the domain's random inputs
constexpr int kSteps = 12;
constexpr Index kReserve = 2000;  // questions left for the last check

}  // namespace

SeparableModel averaged(Meter& meter, const SeparableModel& model, const AveragedOptions& options) {
  const Index k = model.units(), d = model.inputs(), m = meter.outputs();
  const auto unknowns = static_cast<double>(k * (d + 1) + (k + d + 1) * m);
  const auto wanted = static_cast<Index>(std::ceil(kEquations * unknowns / static_cast<double>(m)));
  if (k == 0 || wanted + kReserve > meter.left()) return model;
  const RowMatrix x = domain_inputs(meter.frame(), options.spread, options.seed, kFirst, wanted);
  const RowMatrix y = meter.ask(kStage, plain_rows(x));
  const double before = (y - evaluate(model, x)).squaredNorm();
  PolishOptions polishing;
  polishing.damping = 1e-6;
  polishing.max_iterations = kSteps;
  polishing.least_progress = 1e-2;
  polishing.enough_relative = options.noise.relative * options.noise.relative / 100;
  polishing.patience = 2;
  const SamplePtr samples = memory_samples(x, y);
  SeparableModel found = polish(model, *samples, polishing, meter.control().within(options.seconds)).model;
  if (!((y - evaluate(found, x)).squaredNorm() < before)) return model;
  for (Index j = 0; j < k; ++j) {
    const double norm = found.V.row(j).head(d).norm();
    found.V.row(j) /= norm;
    found.C.row(j) *= norm;
  }
  return found;
}

}  // namespace exhume
