#include "fit/form_sums.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/inside_parallel.h"
#include "fit/conjugate_gradients.h"
#include "fit/device_features.h"
#include "fit/unit_grams.h"
#include "linalg/lapack.h"

namespace exhume {
namespace {

// Multiplications of one step that are worth the way to a device, with one hidden layer and with several:
// there a processor's core takes about a second.
constexpr double kDeviceWork = 1e9, kDeviceWorkOfLayers = 5e9;
constexpr double kMostBytes = 1.5 * (1ULL << 30U);  // that the tasks' matrices may take together
constexpr double kResidualFloor = 1e-9;             // of the mean diagonal, that is damped too

// H of one hidden layer; it is factored anew for every damping.
class DenseSystem final : public NormalSystem {
 public:
  DenseSystem(const Form& form, const NormalSums& sums)
      : H_(projected_normal_matrix(form, sums)),
        gradient_(sums.gradient.reshaped()),
        diagonal_(H_.diagonal()) {
    diagonal_.array() += 1e-12 * diagonal_.mean() + kTiny;
  }
  [[nodiscard]] std::optional<Vector> step(double damping) const override {
    Matrix damped = H_;
    damped.diagonal() += damping * diagonal_;
    return Vector(solve_scaled(damped, gradient_));
  }
  [[nodiscard]] Matrix matrix() const override { return H_; }

 private:
  Matrix H_;
  Vector gradient_, diagonal_;
};

class SampleSums final : public FormSums {
 public:
  SampleSums(const SampleSource& samples, Index block_rows, Index dense_limit, NormalMatrix matrix)
      : samples_(samples), block_rows_(block_rows), dense_limit_(dense_limit), matrix_(matrix) {}

  LinearSums linear(const Form& form, const Control& control) override {
    return linear_sums(form, samples_, block_rows_, control);
  }
  Residual residual(const Form& form, const Control& control) override {
    ResidualSums sums = residual_sums(form, samples_, block_rows_, control);
    return {std::move(sums.FR), sums.squares.sum()};
  }
  std::unique_ptr<NormalSystem> normal_system(const Form& form, const Matrix&,
                                              const Control& control) override {
    const bool small = form.unknowns() <= dense_limit_;
    if (matrix_ == NormalMatrix::kFormed || (small && matrix_ == NormalMatrix::kCheaper))
      return std::make_unique<DenseSystem>(form, normal_sums(form, samples_, block_rows_, control));
    return std::make_unique<ConjugateSystem>(form, samples_, block_rows_, control);
  }

 private:
  const SampleSource& samples_;
  Index block_rows_, dense_limit_;
  NormalMatrix matrix_;
};

struct LayerProducts {
  Matrix JJ;              // p x p, lower triangle
  std::vector<Matrix> K;  // of every output, q x p
  Vector gradient;
  void clear(Index p, Index q, Index m) {
    JJ.setZero(p, p);
    K.resize(static_cast<std::size_t>(m));
    for (Matrix& k : K) k.setZero(q, p);
    gradient.setZero(p);
  }
  void merge(const LayerProducts& other) {
    for (Index j = 0; j < JJ.cols(); ++j)
      JJ.col(j).tail(JJ.rows() - j) += other.JJ.col(j).tail(JJ.rows() - j);
    for (std::size_t o = 0; o < K.size(); ++o) K[o] += other.K[o];
    gradient += other.gradient;
  }
};

// JJ += J^T J of a strip, lower triangle; layer by layer where units are off at many of its rows.
void add_layer_grams(const Form& form, const FormRows& rows, const Eigen::Ref<const Vector>& c,
                     const Eigen::Ref<const Matrix>& J, Matrix& JJ) {
  const std::vector<Matrix> slopes = rows.slopes(c);
  const auto sparse = [&](std::size_t l) { return sparse_enough(slopes[l], rows.layout().below[l].count); };
  bool any = false;
  for (std::size_t l = form.given; l < form.depth(); ++l) any = any || sparse(l);
  if (!any) return add_gram(J, 1, JJ);
  Index at = 0;
  for (std::size_t l = form.given; l < form.depth(); ++l) {
    const auto [from, width] = rows.layout().below[l];
    const Index size = form.V[l].size(), above = JJ.rows() - at - size;
    const auto mine = J.middleCols(at, size);
    auto block = JJ.block(at, at, size, size);
    if (sparse(l)) {
      add_unit_grams(rows.P().middleCols(from, width), slopes[l], block);
    } else {
      add_gram(mine, 1, block);
    }
    JJ.block(at + size, at, above, size).noalias() += J.rightCols(above).transpose() * mine;
    at += size;
  }
}

// What add_layer_grams left open; whole blocks stay as they are.
void complete_layer_grams(const Form& form, Matrix& JJ) {
  Index at = 0;
  for (std::size_t l = form.given; l < form.depth(); ++l) {
    const Index size = form.V[l].size();
    if (size > 0) complete_blocks(form.V[l].cols(), JJ.block(at, at, size, size));
    at += size;
  }
}

class LayerSystem final : public NormalSystem {
 public:
  LayerSystem(Matrix H, Vector gradient) : H_(std::move(H)), gradient_(std::move(gradient)) {}

  [[nodiscard]] std::optional<Vector> step(double damping) const override {
    const Vector diagonal = H_.diagonal();
    Matrix factor = H_;
    factor.diagonal() += damping * (diagonal.array() + kResidualFloor * diagonal.mean()).matrix();
    if (lapack::potrf(factor) != 0) return std::nullopt;
    Matrix step = gradient_;
    lapack::potrs(factor, step);
    return step.col(0);
  }
  [[nodiscard]] Matrix matrix() const override { return H_; }

 private:
  Matrix H_;
  Vector gradient_;
};

class LayerSums final : public FormSums {
 public:
  explicit LayerSums(const DeepData& data) : data_(data) {}

  LinearSums linear(const Form& form, const Control& control) override {
    const Index q = form.features(), m = data_.y.cols();
    return over_rows(data_.rows(), LinearSums{Matrix::Zero(q, q), Matrix::Zero(q, m)}, control,
                     [&](LinearSums& to, Index first, Index count) {
                       const FormRows rows(form, data_.x.middleRows(first, count));
                       to.FF.noalias() += rows.F().transpose() * rows.F();
                       to.FY.noalias() += rows.F().transpose() * data_.y.middleRows(first, count);
                     });
  }

  Residual residual(const Form& form, const Control& control) override {
    const Index q = form.features(), m = data_.y.cols();
    return over_rows(data_.rows(), Residual{Matrix::Zero(q, m), 0}, control,
                     [&](Residual& to, Index first, Index count) {
                       const FormRows rows(form, data_.x.middleRows(first, count));
                       const Matrix R = data_.y.middleRows(first, count) - rows.F() * form.C;
                       to.FR.noalias() += rows.F().transpose() * R;
                       to.squares += R.squaredNorm();
                     });
  }

  std::unique_ptr<NormalSystem> normal_system(const Form& form, const Matrix& FF,
                                              const Control& control) override {
    const Index p = form.unknowns(), q = form.features(), m = data_.y.cols();
    const double bytes = 8.0 * static_cast<double>(p * (p + q * m));
    const auto tasks =
        static_cast<Index>(std::clamp(kMostBytes / bytes, 2.0, static_cast<double>(kMostTasks)));
    over_rows_into(
        products_, data_.rows(), tasks, control, [&](LayerProducts& to) { to.clear(p, q, m); },
        [&](LayerProducts& to, Index first, Index count) {
          const FormRows rows(form, data_.x.middleRows(first, count));
          const Matrix R = data_.y.middleRows(first, count) - rows.F() * form.C;
          for (Index o = 0; o < m; ++o) {
            const Matrix J = rows.jacobian(form.C.col(o));
            add_layer_grams(form, rows, form.C.col(o), J, to.JJ);
            to.K[static_cast<std::size_t>(o)].noalias() += rows.F().transpose() * J;
            to.gradient.noalias() += J.transpose() * R.col(o);
          }
        });
    LayerProducts& sums = products_.front();
    complete_layer_grams(form, sums.JJ);
    // With F^T F = L L^T: K^T (F^T F)^-1 K = (L^-1 K)^T (L^-1 K).
    ScaledFactor features;
    static_cast<void>(factor_scaled(FF, kFeatureRidge, features));
    for (Matrix& K : sums.K) {
      Matrix half = features.scale.asDiagonal() * K;
      features.L.triangularView<Eigen::Lower>().solveInPlace(half);
      add_gram(half, -1, sums.JJ);
    }
    Index at = 0;
    for (std::size_t l = form.given; l < form.depth() && form.scale_is_free(); ++l) {
      const Matrix& v = form.V[l];
      const Index width = v.cols();
      for (Index j = 0; j < v.rows(); ++j, at += width) {
        auto block = sums.JJ.block(at, at, width, width);
        const double stiffness = block.diagonal().mean();
        block += stiffness * v.row(j).transpose() * v.row(j);
      }
    }
    return std::make_unique<LayerSystem>(sums.JJ, sums.gradient);
  }

 private:
  const DeepData& data_;
  std::vector<LayerProducts> products_;  // of the tasks, kept from step to step
};

}  // namespace

std::unique_ptr<FormSums> host_sums(const SampleSource& samples, Index block_rows, Index dense_limit,
                                    NormalMatrix matrix) {
  return std::make_unique<SampleSums>(samples, block_rows, dense_limit, matrix);
}

std::unique_ptr<FormSums> sums_over(const Form& form, const SampleSource& samples, Index block_rows,
                                    Index dense_limit, const Control& control) {
  const double work = static_cast<double>(samples.rows()) * static_cast<double>(form.V[0].size()) *
                      static_cast<double>(form.units());
  if (control.device && !control.passes && !inside_parallel_for() && !samples.distant() &&
      work >= kDeviceWork && DeviceFeatures::may_run(form))
    return device_sums(control.device, samples, NormalMatrix::kCheaper, control);
  return host_sums(samples, block_rows, dense_limit, NormalMatrix::kCheaper);
}

std::unique_ptr<FormSums> host_sums(const DeepData& data) { return std::make_unique<LayerSums>(data); }

std::unique_ptr<FormSums> sums_over(const Form& form, const DeepData& data, const Control& control) {
  const auto p = static_cast<double>(form.unknowns());
  const double flops = p * p * static_cast<double>(data.rows() * data.y.cols());
  if (control.device && !form.rectifier && form.given == 0 && flops > kDeviceWorkOfLayers)
    return device_sums(control.device, data);
  return host_sums(data);
}

}  // namespace exhume
