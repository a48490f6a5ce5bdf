#include "fit/polish_sums.h"

#include "base/inside_parallel.h"
#include "fit/device_features.h"
#include "fit/gauss_newton_cg.h"

namespace exhume {
namespace {

// Multiplications of one step (rows times unknowns times units) that are worth the way to a device.
constexpr double kDeviceWork = 1e9;

// (H + lambda diag H) for one linearisation; H is factored anew for every lambda.
class DenseSteps final : public PolishSteps {
 public:
  DenseSteps(const SeparableModel& model, const SampleSource& samples, Index block_rows,
             const Control& control) {
    const NormalSums sums = normal_sums(model, samples, block_rows, control);
    H_ = projected_normal_matrix(model, sums);
    gradient_ = sums.gradient.reshaped();
    diagonal_ = H_.diagonal();
    diagonal_.array() += 1e-12 * diagonal_.mean() + kTiny;
  }
  [[nodiscard]] Matrix step(double lambda, const SeparableModel& model) const override {
    Matrix damped = H_;
    damped.diagonal() += lambda * diagonal_;
    const Vector x = solve_scaled(damped, gradient_);
    return Eigen::Map<const Matrix>(x.data(), model.V.cols(), model.V.rows()).transpose();
  }

 private:
  Matrix H_;
  Vector gradient_, diagonal_;
};

class MatrixFreeSteps final : public PolishSteps {
 public:
  MatrixFreeSteps(const SeparableModel& model, const SampleSource& samples, Index block_rows,
                  const Control& control)
      : steps_(model, samples, block_rows, control) {}
  [[nodiscard]] Matrix step(double lambda, const SeparableModel& model) const override {
    return steps_.step(lambda, model);
  }

 private:
  ConjugateStep steps_;
};

class HostSums final : public PolishSums {
 public:
  HostSums(const SampleSource& samples, Index block_rows) : samples_(samples), block_rows_(block_rows) {}
  LinearSums linear(const SeparableModel& model, const Control& control) override {
    return linear_sums(model, samples_, block_rows_, control);
  }
  ResidualSums residual(const SeparableModel& model, const Control& control) override {
    return residual_sums(model, samples_, block_rows_, control);
  }
  PolishMatrix cheaper(const SeparableModel& model, Index dense_limit) const override {
    return model.V.size() <= dense_limit ? PolishMatrix::kFormed : PolishMatrix::kFree;
  }
  std::unique_ptr<PolishSteps> steps(const SeparableModel& model, PolishMatrix matrix,
                                     const Control& control) override {
    if (matrix == PolishMatrix::kFormed)
      return std::make_unique<DenseSteps>(model, samples_, block_rows_, control);
    return std::make_unique<MatrixFreeSteps>(model, samples_, block_rows_, control);
  }

 private:
  const SampleSource& samples_;
  Index block_rows_;
};

}  // namespace

std::unique_ptr<PolishSums> polish_sums(const SeparableModel& model, const SampleSource& samples,
                                        Index block_rows, const Control& control) {
  const double work = static_cast<double>(samples.rows()) * static_cast<double>(model.V.size()) *
                      static_cast<double>(model.units());
  if (control.device && !control.passes && !inside_parallel_for() && !samples.distant() &&
      work >= kDeviceWork && DeviceFeatures::may_run(model))
    return device_polish_sums(control.device, samples, control);
  return std::make_unique<HostSums>(samples, block_rows);
}

}  // namespace exhume
