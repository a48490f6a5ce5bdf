// The paper rectified, road by road, with the checks of the front door.
//
//   any              any inputs, few units: sign patterns and linear programs      Algorithms 1, 2
//   routes/rectified/any_inputs.h ica              orthonormal rows, standard normal inputs Algorithm 3
//   routes/rectified/ica.h tensor           Gaussian inputs                                               Algorithms
//   4, 5   routes/rectified/starts.h symmetric        symmetric inputs Section 4.3       routes/rectified/starts.h noise
//   sub-Gaussian noise                                            Algorithm 6       routes/rectified/noise_signs.h
//   few-outputs      fewer outputs than units                                      Algorithm 7
//   routes/rectified/few_outputs.h arbitrary-noise  any noise independent of the inputs Algorithm 8
//   routes/rectified/arbitrary_noise.h sparse-noise     few entries hit by noise of any size Section 8
//   routes/rectified/sparse_noise.h
//
// ica, tensor, symmetric and sparse-noise end in the exact finish (routes/rectified/pattern_finish.h), without a
// polish. Activations other than the ReLU: ica, tensor, noise, few-outputs; the others refuse them. None of
// those needs the multiplicative property: where it is missing, the scale of a row is searched for
// (model/rectified_network.h).
//
// Certified means that the held-out rows are reproduced: to rounding on noiseless roads. What the samples
// cannot tell is said too: with N held-out rows reproduced, another network may still differ on a share
// log(1000)/N of the inputs (99.9% confidence; paper rectified, Lemma 16, is a pair that does), and the bound
// on the function error is that share times the mean square of the outputs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "exhume/base/control.h"
#include "exhume/recover.h"
#include "exhume/model/rectifier.h"
#include "exhume/data/samples.h"

namespace exhume {

enum class RectifiedMethod {
  kAny,
  kIca,
  kTensor,
  kSymmetric,
  kNoise,
  kFewOutputs,
  kArbitraryNoise,
  kSparseNoise
};
// By the names above; anything else throws std::invalid_argument.
[[nodiscard]] RectifiedMethod parse_rectified_method(std::string_view name);
[[nodiscard]] const char* to_string(RectifiedMethod method);

struct RectifiedOptions {
  RectifiedMethod method = RectifiedMethod::kTensor;
  std::optional<Index>
      hidden;  // number of units; empty: the rank of the outputs, or what stands out from the noise
  Rectifier rectifier = rectified_power(1);
  std::uint64_t seed = 0;
  double budget_seconds = 300;
  Index candidates = 400;           // of arbitrary-noise
  Index most_patterns = 2'000'000;  // of any
  // Throws std::invalid_argument naming the field, its value and what it may be.
  void validate() const;
};

struct RectifiedResult : RecoverResult {
  std::vector<std::pair<Index, Index>> support;  // sparse-noise: entries (row, output) that were hit
  Vector gaps;                                   // exact finish: of every start
};

// Rows are loaded into memory. Throws DataError where the data cannot be used at all, std::invalid_argument
// for bad options, Interrupted.
[[nodiscard]] RectifiedResult recover_rectified(const SamplePtr& samples, const RectifiedOptions& options,
                                                const Control& control = {});

}  // namespace exhume
