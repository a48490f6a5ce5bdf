// What the two routes to a lowest layer share: coordinates, angles, and the checks that both make.
#pragma once

#include <string>

#include "exhume/papers/threshold.h"
#include "papers/threshold/alone.h"
#include "routes/route.h"

namespace exhume::lowest {

// Accurate for small angles, unlike the arc cosine; any lengths above 0.
[[nodiscard]] double angle(const Eigen::Ref<const Vector>& a, const Eigen::Ref<const Vector>& b);
// The smallest between two rows; pi where there is only one.
[[nodiscard]] double least_angle(const Matrix& W);

// Inputs of mean 0 and covariance I by `moments`, outputs as they are; training rows in memory where they
// fit.
struct StandardRows {
  AffineMap map;
  SamplePtr training, held_out;
};
[[nodiscard]] StandardRows standard_rows(const Prepared& data, const Standardisation& coordinates);

// w.x' > t in the coordinates of x; rows of unit norm, or of the norm that comes out.
[[nodiscard]] LowestUnits to_user(const LowestUnits& standard, const AffineMap& map, bool unit_norm);

// One output, two inputs or more, and rows enough for moments of order 4; throws DataError.
void demand_one_output(const SampleSource& samples, const RecoverOptions& options);

// A check whose name is what it asserts: it reads "this check failed: <name>" where it fails.
void require(Checks& checks, const std::string& name, double value, double threshold, bool holds);
// least_threshold and least_angle of the layer, and the number of units.
void require_high_and_apart(Checks& checks, const LowestLayer& layer, const LowestLayerOptions& options);
void require_number(Checks& checks, const LowestLayer& layer, const LowestLayerOptions& options);

}  // namespace exhume::lowest
