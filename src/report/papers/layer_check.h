// The certificate of a lowest layer, or of a set of halfspaces, against what its samples give when it is
// learnt again.
//
// A layer says nothing of what lies above it, so no row can be reproduced by it; but learning it is a
// function of samples, seed and options, at a cost of some forty passes. The options are those that the
// certificate states; of one that states none (those of before 0.3), all units that there are, then as many
// as stated. units.safetensors, units.svg and features.npy, where they are in `folder`, have to be those of
// that layer.
#pragma once

#include <filesystem>
#include <vector>

#include "certify/certificate_check.h"

namespace exhume {

[[nodiscard]] std::vector<Finding> check_layer_by_learning(const Document& document, const StoredLayer& layer,
                                                           const SamplePtr& samples,
                                                           const std::filesystem::path& folder,
                                                           const Control& control);

}  // namespace exhume
