// What the two roads of lowest_layer share: coordinates, stages, and the list of assumptions with its
// verdict.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "exhume/moments/moments.h"
#include "exhume/routes/threshold/lowest_layer.h"

namespace exhume::lowest {

class Clock {
 public:
  explicit Clock(std::vector<StageTime>& to) : to_(to) {}
  void lap(const char* stage);

 private:
  std::vector<StageTime>& to_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// Accurate for small angles, unlike the arc cosine; any lengths above 0.
[[nodiscard]] double angle(const Eigen::Ref<const Vector>& a, const Eigen::Ref<const Vector>& b);
// The smallest between two rows; pi where there is only one.
[[nodiscard]] double least_angle(const Matrix& W);

// Inputs of mean 0 and covariance I; one row in twenty is held out, the others are in memory if they fit.
struct StandardRows {
  AffineMap map;
  SamplePtr training, held_out;
};
[[nodiscard]] StandardRows standard_rows(const SamplePtr& samples, const SecondMoments& moments,
                                         std::uint64_t seed);

// w.x' > t in the coordinates of x; rows of unit norm, or of the norm that comes out.
[[nodiscard]] LowestUnits to_user(const LowestUnits& standard, const AffineMap& map, bool unit_norm);

void assume(LowestLayerResult& result, std::string name, double value, double threshold, bool holds);
// `fourth` is the mean of |x|^4 over `rows` rows.
void assume_gaussian(LowestLayerResult& result, double fourth, Index rows, Index d);
// least_threshold and least_angle of the result, and the number of units.
void assume_high_and_apart(LowestLayerResult& result, const LowestLayerOptions& options);
void assume_number(LowestLayerResult& result, const LowestLayerOptions& options);
// Certified, with this reason, if every assumption holds; otherwise the first that fails is the reason.
void conclude(LowestLayerResult& result, std::string certified);

// Sigmoid units (routes/threshold_sigmoid.cc).
[[nodiscard]] LowestLayerResult sigmoid_layer(const SamplePtr& samples, const LowestLayerOptions& options,
                                              const Control& control);

}  // namespace exhume::lowest
