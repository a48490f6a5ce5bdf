// Moments of several orders side by side, each divided by its noise, and what they span.
//
//     G = sum_j T_j T_j^T / s_j^2,     N = sum_j D_j D_j^T / s_j^2,     s_j^2: mean square of D_j's entries
//
//     T_j: p x anything, the estimate of order j; D_j: distributed like its error
//
// G - N = (T_even T_odd^T + T_odd T_even^T)/2 stacked: noise has expectation zero there and both signs, so
// that its least eigenvalue says how large noise alone gets. Where the rows lie on a device, so do G and N.
#pragma once

#include <memory>
#include <optional>

#include "exhume/samples.h"
#include "moments/moments.h"

namespace exhume {

struct StackSpectrum {
  Vector singular_values;  // of the stack less its noise, decreasing
  double noise_floor = 0;  // what sampling noise alone shows
  Index above_noise = 0;   // singular values that stand out from it
  Matrix basis;            // p x count, leading eigenvectors of G
};

class MomentStack {
 public:
  virtual ~MomentStack() = default;
  // The Hermite moment of this order of the samples' outputs.
  virtual void add(const SampleSource& samples, int order, const Control& control) = 0;
  // With `hidden` basis vectors, or as many as stand out. At the end: what was added is used up.
  [[nodiscard]] virtual StackSpectrum spectrum(std::optional<Index> hidden, const Control& control) = 0;
};

// p = d(d+1)/2 of the samples' inputs; on their device where they lie on one.
[[nodiscard]] std::unique_ptr<MomentStack> moment_stack(const SampleSource& samples);

// On the processor: moments that are there already.
class HostStack final : public MomentStack {
 public:
  explicit HostStack(Index pairs) : gram_(Matrix::Zero(pairs, pairs)), crossed_(gram_) {}
  void add(const SampleSource& samples, int order, const Control& control) override;
  void add(const Matrix& T, const Matrix& D);
  [[nodiscard]] StackSpectrum spectrum(std::optional<Index> hidden, const Control& control) override;

 private:
  Matrix gram_, crossed_;
};

}  // namespace exhume
