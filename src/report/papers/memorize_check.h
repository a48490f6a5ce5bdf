// The certificate of a network that memorised labels, against what network and rows give again.
//
// The rows memorised lie beside the network. Where the files that they came from are there, it is checked
// too that they are those rows, perturbed as the seed says, and what the network makes of them as given.
// How a descent went is not known afterwards: its iterations are not compared, where it ended is.
#pragma once

#include <vector>

#include "certify/certificate_check.h"

namespace exhume {

// given: empty where the files are not there.
[[nodiscard]] std::vector<Finding> check_memorized_by_rows(const Document& document,
                                                           const QuadraticNetwork& network,
                                                           const SamplePtr& memorised, const SamplePtr& given,
                                                           const Control& control);

}  // namespace exhume
