// Does the route `symmetric` apply to samples, and how many would it take?
#pragma once

#include <optional>
#include <string>

#include "certify/symmetry_test.h"
#include "exhume/control.h"
#include "exhume/network.h"
#include "moments/detector.h"
#include "routes/symmetric.h"

namespace exhume {

struct DiagnoseOptions {
  std::optional<Index> hidden{};  // number of hidden units; empty: by the rank of the linear part
  double leak = 0;                // slope of the units below zero
  std::uint64_t seed = 0;
  // Adds the singular values of its distinguishing matrices N and M on these inputs; it has as many inputs.
  std::optional<Network> network{};
};

struct SymmetricOutlook {
  SymmetryTest symmetry;  // of the inputs
  DetectorOutcome outcome = DetectorOutcome::kNothing;
  DetectorDiagnosis detector;  // how well pure neurons stand out from sampling noise
  Index samples = 0, hidden = 0;
  std::optional<DistinguishingSummary> distinguishing{};

  // Symmetric inputs, and pure neurons that stand out.
  [[nodiscard]] bool applies() const;
};

[[nodiscard]] SymmetricOutlook diagnose(const SamplePtr& samples, const DiagnoseOptions& options,
                                        const Control& control = {});

}  // namespace exhume
