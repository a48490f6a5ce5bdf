// The options of `generate --model threshold`: a lowest layer with thresholds under a polynomial, a gate or a
// network.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "routes/threshold/models.h"

namespace exhume::cli {

class ThresholdGenerator {
 public:
  void declare(CLI::App& app);
  [[nodiscard]] bool wanted() const { return model_ == "threshold"; }
  // The planted model, its samples, and its lowest layer as a .safetensors file (W, t).
  struct Planted {
    SamplePtr samples;
    std::string units;
    Index inputs = 0, hidden = 0;
  };
  [[nodiscard]] Planted make(Index inputs, Index hidden, Index samples, double noise, std::uint64_t seed,
                             const Control& control) const;

 private:
  std::string model_ = "network", activation_ = "relu", upper_ = "products";
  double threshold_ = 2, spread_ = 0, least_angle_ = -1, flips_ = 0;
  bool biased_ = false;
};

}  // namespace exhume::cli
