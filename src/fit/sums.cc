#include "fit/sums.h"

#include <cblas.h>

#include <Eigen/Dense>
#include <cmath>

#include "base/inside_parallel.h"
#include "data/resident.h"
#include "fit/conjugate_gradients.h"
#include "fit/device_features.h"
#include "linalg/lapack.h"

namespace exhume {
namespace {

// Multiplications of one step that are worth the way to a device, with one hidden layer and with several:
// there a processor's core takes about a second.
constexpr double kDeviceWork = 1e9, kDeviceWorkOfLayers = 5e9;
constexpr double kMostBytes = 1.5 * (1ULL << 30U);  // that the tasks' matrices may take together
constexpr double kResidualFloor = 1e-9;             // of the mean diagonal, that is damped too

ResidualSums residual_sums_on_device(const Form& form, const DeviceRows& rows, const Control& control) {
  Device& device = *rows.device;
  const Index q = form.features(), m = rows.outputs(),
              strip = std::min(rows.rows(), strip_rows(device, 2 * q + m));
  const DeviceFeatures features(device, form, strip);
  const DeviceMatrix<double> R(device, strip, m), RR(device, m, m), FR(device, q, m);
  device.fill(RR.view(), 0.0);
  device.fill(FR.view(), 0.0);
  for_strips(rows, strip, control, [&](const DeviceStrip& at) {
    const DeviceView<double> r = R.view().block(0, 0, at.x.rows, m);
    device.copy(at.y, r);
    features.subtract(at.x, r);
    device.product(1, r, true, r, false, 1, RR.view());
    device.product(1, features.F(at.x.rows), true, r, false, 1, FR.view());
  });
  return {fetched(device, RR.view()).diagonal(), fetched(device, FR.view())};
}

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
            add_gram(J, 1, to.JJ);
            to.K[static_cast<std::size_t>(o)].noalias() += rows.F().transpose() * J;
            to.gradient.noalias() += J.transpose() * R.col(o);
          }
        });
    LayerProducts& sums = products_.front();
    // With F^T F = L L^T: K^T (F^T F)^-1 K = (L^-1 K)^T (L^-1 K).
    ScaledFactor features;
    static_cast<void>(factor_scaled(FF, kFeatureRidge, features));
    for (Matrix& K : sums.K) {
      Matrix half = features.scale.asDiagonal() * K;
      features.L.triangularView<Eigen::Lower>().solveInPlace(half);
      add_gram(half, -1, sums.JJ);
    }
    Index at = 0;
    for (std::size_t l = form.given; l < form.depth(); ++l) {
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

Vector scale_of(const Matrix& M) { return M.diagonal().cwiseMax(kTiny).cwiseSqrt().cwiseInverse(); }

}  // namespace

void add_gram(const Eigen::Ref<const Matrix>& G, double factor, Matrix& gram) {
  if (G.size() == 0) return;
  const int size = static_cast<int>(G.cols()), rows = static_cast<int>(G.rows());
  cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans, size, rows, factor, G.data(),
              static_cast<int>(G.outerStride()), 1, gram.data(), size);
}

LinearSums linear_sums(const Form& form, const SampleSource& samples, Index block_rows,
                       const Control& control) {
  const Index q = form.features(), m = samples.outputs();
  return reduce_blocks(
      samples, LinearSums{Matrix::Zero(q, q), Matrix::Zero(q, m)}, control, "",
      [&](LinearSums& sums, const SampleBlock& block) {
        const FormBlock rows(form, block, false);
        sums.FF.noalias() += rows.F().transpose() * rows.F();
        sums.FY.noalias() += rows.F().transpose() * rows.Y;
      },
      block_rows);
}

ResidualSums residual_sums(const Form& form, const SampleSource& samples, Index block_rows,
                           const Control& control) {
  const Index q = form.features(), m = samples.outputs();
  if (const DeviceRows* there = rows_on_device(samples); there != nullptr && DeviceFeatures::may_run(form))
    return residual_sums_on_device(form, *there, control);
  return reduce_blocks(
      samples, ResidualSums{Vector::Zero(m), Matrix::Zero(q, m)}, control, "",
      [&](ResidualSums& sums, const SampleBlock& block) {
        const FormBlock rows(form, block, false);
        const Matrix R = rows.Y - rows.F() * form.C;
        sums.squares += R.colwise().squaredNorm().transpose();
        sums.FR.noalias() += rows.F().transpose() * R;
      },
      block_rows);
}

NormalSums normal_sums(const Form& form, const SampleSource& samples, Index block_rows,
                       const Control& control) {
  const Index q = form.features(), k = form.units(), width = form.inputs + 1, P = k * width;
  return reduce_blocks(
      samples, NormalSums{Matrix::Zero(P, P), Matrix::Zero(P, q), Matrix::Zero(q, q), Matrix::Zero(width, k)},
      control, "",
      [&](NormalSums& sums, const SampleBlock& block) {
        const FormBlock rows(form, block, true);
        const Matrix G = rows.gradients();
        const Matrix R = rows.Y - rows.F() * form.C;
        add_gram(G, 1, sums.GG);
        sums.GF.noalias() += G.transpose() * rows.F();
        sums.FF.noalias() += rows.F().transpose() * rows.F();
        const Matrix weights =
            (R * form.C.topRows(k).transpose()).cwiseProduct(rows.unit_slopes());  // rows x k
        sums.gradient.noalias() += rows.X1().transpose() * weights;
      },
      block_rows);
}

bool factor_scaled(const Matrix& M, double first, ScaledFactor& factor) {
  factor.scale = scale_of(M);
  for (double ridge = first; ridge < 1; ridge *= 100) {
    factor.L = factor.scale.asDiagonal() * M * factor.scale.asDiagonal();
    factor.L.diagonal().array() += ridge;
    if (lapack::potrf(factor.L) == 0) return true;
  }
  return M.rows() == 0;
}

Matrix solve_scaled(const Matrix& M, const Matrix& B) {
  ScaledFactor factor;
  if (M.rows() == 0 || !factor_scaled(M, kLeastRidge, factor)) return Matrix::Zero(B.rows(), B.cols());
  Matrix out = factor.scale.asDiagonal() * B;
  lapack::potrs(factor.L, out);
  return factor.scale.asDiagonal() * out;
}

Matrix inverse_scaled(const Matrix& M) {
  ScaledFactor factor;
  if (M.rows() == 0 || !factor_scaled(M, kLeastRidge, factor)) return Matrix::Zero(M.rows(), M.cols());
  lapack::potri(factor.L);
  factor.L.triangularView<Eigen::StrictlyUpper>() = factor.L.transpose();
  return factor.scale.asDiagonal() * factor.L * factor.scale.asDiagonal();
}

Matrix projected_normal_matrix(const Form& form, const NormalSums& sums) {
  const Index k = form.units(), width = form.inputs + 1;
  // With F^T F = L L^T: G^T P G = G^T G - (L^-1 F^T G)^T (L^-1 F^T G), on the lower triangle.
  const Vector scale = scale_of(sums.FF);
  Matrix H = sums.GG;
  for (double ridge = kLeastRidge; ridge < 1; ridge *= 100) {
    Matrix scaled = scale.asDiagonal() * sums.FF * scale.asDiagonal();
    scaled.diagonal().array() += ridge;
    const Eigen::LLT<Eigen::Ref<Matrix>> factor(scaled);
    if (factor.info() != Eigen::Success) continue;
    Matrix half = scale.asDiagonal() * sums.GF.transpose();
    factor.matrixL().solveInPlace(half);
    add_gram(half, -1, H);
    break;
  }
  const Matrix CC = form.C.topRows(k) * form.C.topRows(k).transpose();
  for (Index l = 0; l < k; ++l) {
    for (Index j = l; j < k; ++j) H.block(j * width, l * width, width, width) *= CC(j, l);
  }
  for (Index j = 0; j < k && form.scale_is_free(); ++j) {
    auto block = H.block(j * width, j * width, width, width);
    const Vector v = form.V[0].row(j).normalized();
    block += std::max(block.diagonal().mean(), 0.0) * v * v.transpose();
  }
  H.triangularView<Eigen::StrictlyUpper>() = H.transpose();
  return H;
}

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
  if (control.device && form.given == 0 && flops > kDeviceWorkOfLayers)
    return device_sums(control.device, data);
  return host_sums(data);
}

}  // namespace exhume
