#include "session/diagnose.h"

#include <fmt/format.h>

#include "exhume/error.h"

namespace exhume {

bool SymmetricOutlook::applies() const {
  return symmetry.holds() && outcome == DetectorOutcome::kFound && detector.clear();
}

SymmetricOutlook diagnose(const SamplePtr& samples, const DiagnoseOptions& options, const Control& control) {
  SymmetricOutlook found;
  found.symmetry = test_symmetry(*samples, options.seed, control);
  SymmetricOptions how;
  how.hidden = options.hidden;
  how.leak = options.leak;
  how.seed = options.seed;
  const SymmetricNetwork network = symmetric_network(samples, how, control);
  found.outcome = network.outcome;
  found.detector = network.diagnosis;
  found.hidden = network.units;
  found.samples = samples->rows();
  if (!options.network) return found;
  if (options.network->depth() != 1) {
    throw DataError(fmt::format("the network has {} hidden layers, but the route symmetric is about one",
                                options.network->depth()));
  }
  if (options.network->inputs() != samples->inputs()) {
    throw DataError(
        fmt::format("the network has {} inputs, but the samples have {}; give the network of these samples",
                    options.network->inputs(), samples->inputs()));
  }
  found.distinguishing = distinguishing_summary(options.network->W(), *samples, control);
  return found;
}

}  // namespace exhume
