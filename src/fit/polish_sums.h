// What the polish asks of its rows, on the processor or on a device.
//
//     linear      F^T F, F^T Y           residual      |R|^2, F^T R           (fit/polish.h has the equations)
//     steps       (H + lambda diag H)^-1 gradient, H formed or never formed
#pragma once

#include <memory>

#include "fit/normal_sums.h"

namespace exhume {

// Steps of one linearisation.
class PolishSteps {
 public:
  virtual ~PolishSteps() = default;
  // k x (d+1)
  [[nodiscard]] virtual Matrix step(double lambda, const SeparableModel& model) const = 0;
};

// Whether H is formed, or only multiplied with.
enum class PolishMatrix { kFormed, kFree };

class PolishSums {
 public:
  virtual ~PolishSums() = default;
  [[nodiscard]] virtual LinearSums linear(const SeparableModel& model, const Control& control) = 0;
  [[nodiscard]] virtual ResidualSums residual(const SeparableModel& model, const Control& control) = 0;
  // What costs less; `dense_limit`: most unknowns on the processor.
  [[nodiscard]] virtual PolishMatrix cheaper(const SeparableModel& model, Index dense_limit) const = 0;
  // `control` outlives the steps.
  [[nodiscard]] virtual std::unique_ptr<PolishSteps> steps(const SeparableModel& model, PolishMatrix matrix,
                                                           const Control& control) = 0;
};

// On control's device where there is one, nobody shares the passes, and a step of a model of this size is worth the way.
[[nodiscard]] std::unique_ptr<PolishSums> polish_sums(const SeparableModel& model,
                                                      const SampleSource& samples, Index block_rows,
                                                      const Control& control);
// Rows are copied to the device.
[[nodiscard]] std::unique_ptr<PolishSums> device_polish_sums(const std::shared_ptr<Device>& device,
                                                             const SampleSource& samples,
                                                             const Control& control);

}  // namespace exhume
