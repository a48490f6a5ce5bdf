// What the polish of a deep form asks of its rows, on the processor or on a device.
//
//     linear part     F^T F, F^T Y                        residual        F^T R, sum of squares of R
//     normal system   H + damping diag H, its step        (fit/deep/polish.h has the equations)
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/device.h"
#include "exhume/control.h"
#include "fit/deep/data.h"

namespace exhume {

struct LinearPart {
  Matrix FF, FY;
  void merge(const LinearPart& other);
};

struct Residual {
  Matrix FR;
  double squares = 0;
  void merge(const Residual& other);
};

// H with every row's own direction made as stiff as the others.
class NormalSystem {
 public:
  virtual ~NormalSystem() = default;
  // (H + damping diag H)^-1 gradient; empty where that is not positive definite.
  [[nodiscard]] virtual std::optional<Vector> step(double damping) const = 0;
  // H, lower triangle.
  [[nodiscard]] virtual Matrix matrix() const = 0;
};

class DeepSums {
 public:
  virtual ~DeepSums() = default;
  [[nodiscard]] virtual LinearPart linear_part(const DeepForm& form) = 0;
  [[nodiscard]] virtual Residual residual(const DeepForm& form) = 0;
  // FF: F^T F at the form; rows of the V_l of unit norm.
  [[nodiscard]] virtual std::unique_ptr<NormalSystem> normal_system(const DeepForm& form,
                                                                    const Matrix& FF) = 0;
};

[[nodiscard]] std::unique_ptr<DeepSums> host_sums(const DeepData& data, const Control& control);
// The rows are copied to the device.
[[nodiscard]] std::unique_ptr<DeepSums> device_sums(const std::shared_ptr<Device>& device,
                                                    const DeepData& data, const Control& control);
// On control's device where there is one and a step on forms of this size is worth the way there.
[[nodiscard]] std::unique_ptr<DeepSums> sums_for(const DeepForm& form, const DeepData& data,
                                                 const Control& control);

// The Cholesky factor of F^T F, its columns scaled to unit norm, with as little ridge as it takes: L L^T =
// scale F^T F scale.
struct FeatureFactor {
  Vector scale;
  Matrix L;
};
[[nodiscard]] FeatureFactor factor_features(const Matrix& FF);

}  // namespace exhume
