// What lowest-layer and halfspaces write and say: units, features, certificate.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "command.h"
#include "exhume/io/atomic_file.h"
#include "exhume/routes/threshold/lowest_layer.h"

namespace exhume::cli {

// The result as a certificate, with the units in it.
[[nodiscard]] nlohmann::ordered_json lowest_layer_json(const LowestLayerResult& result,
                                                       const std::vector<std::string>& files,
                                                       const std::string& command);

// units.safetensors (W: k x d, t: k) and features.npy (rows x k: u(Wx - t)).
[[nodiscard]] std::string units_bytes(const LowestLayerResult& result);
void write_features(AtomicFile& file, const LowestLayerResult& result, const SampleSource& samples,
                    const Control& control);

// units.svg: the mean output along every direction, counted from its threshold. A unit that is one bends or
// jumps at 0; of at most kDrawnUnits units.
constexpr Index kDrawnUnits = 8;
[[nodiscard]] std::string units_picture(const LowestLayerResult& result, const SampleSource& samples,
                                        const Control& control);

// The verdict and a table of the units, at most a screen.
[[nodiscard]] std::string lowest_layer_summary(const LowestLayerResult& result);

}  // namespace exhume::cli
