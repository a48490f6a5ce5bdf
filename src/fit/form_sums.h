// What a polish asks of its rows, by one interface for any number of layers.
//
//     linear          F^T F, F^T Y                  the least-squares C
//     residual        |R|^2, F^T R                  R = Y - F C
//     normal system   (H + damping diag H)^-1 gradient
//
// Behind it: rows of a SampleSource with one hidden layer, where one Gram matrix serves all outputs (or none
// is formed, fit/conjugate_gradients.h) and passes may be shared by processes; rows in memory with any number
// of layers; and both on a device.
#pragma once

#include <memory>

#include "engine/device.h"
#include "fit/data.h"
#include "fit/sums.h"

namespace exhume {

struct Residual {
  Matrix FR;
  double squares = 0;
  void merge(const Residual& other) {
    FR += other.FR;
    squares += other.squares;
  }
};

class FormSums {
 public:
  virtual ~FormSums() = default;
  [[nodiscard]] virtual LinearSums linear(const Form& form, const Control& control) = 0;
  [[nodiscard]] virtual Residual residual(const Form& form, const Control& control) = 0;
  // FF: F^T F at the form. `control` outlives the system.
  [[nodiscard]] virtual std::unique_ptr<NormalSystem> normal_system(const Form& form, const Matrix& FF,
                                                                    const Control& control) = 0;
};

// Whether H is formed, or only multiplied with.
enum class NormalMatrix { kCheaper, kFormed, kFree };

// One hidden layer on samples. On control's device where there is one, nobody shares the passes, and a step
// of a form of this size is worth the way; there rows are copied. dense_limit: most unknowns for which H is
// formed here.
[[nodiscard]] std::unique_ptr<FormSums> sums_over(const Form& form, const SampleSource& samples,
                                                  Index block_rows, Index dense_limit,
                                                  const Control& control);
[[nodiscard]] std::unique_ptr<FormSums> host_sums(const SampleSource& samples, Index block_rows,
                                                  Index dense_limit, NormalMatrix matrix);
[[nodiscard]] std::unique_ptr<FormSums> device_sums(const std::shared_ptr<Device>& device,
                                                    const SampleSource& samples, NormalMatrix matrix,
                                                    const Control& control);

// Any number of layers on rows in memory, and on control's device where there is one and a step is worth the
// way there.
[[nodiscard]] std::unique_ptr<FormSums> sums_over(const Form& form, const DeepData& data,
                                                  const Control& control);
[[nodiscard]] std::unique_ptr<FormSums> host_sums(const DeepData& data);
[[nodiscard]] std::unique_ptr<FormSums> device_sums(const std::shared_ptr<Device>& device,
                                                    const DeepData& data);

}  // namespace exhume
