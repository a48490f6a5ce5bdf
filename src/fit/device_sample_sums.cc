#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/parallel.h"
#include "data/resident.h"
#include "engine/transfer.h"
#include "fit/conjugate_gradients.h"
#include "fit/device_features.h"
#include "fit/form_sums.h"
#include "linalg/lapack.h"

namespace exhume {
namespace {

using Doubles = DeviceMatrix<double>;
using View = DeviceView<double>;

// Multiplications of a Gram matrix, and the share of the device's memory for two copies of it, up to which it
// is formed there.
constexpr double kMostGram = 1.5e13, kMostMemory = 0.6;

// All rows of a polish, and a model's features of them.
struct Rows {
  std::shared_ptr<Device> device;
  Doubles X1, Y;  // n x (d+1), n x m
  Index n, d, m;

  [[nodiscard]] View X() const { return X1.view().columns(0, d); }
};

// R = Y - F C
Doubles residuals(const Rows& rows, const View& F, const View& C) {
  Doubles R(*rows.device, rows.n, rows.m);
  rows.device->copy(rows.Y.view(), R.view());
  rows.device->product(-1, F, false, C, false, 1, R.view());
  return R;
}

// slopes * (R C_units^T): n x k
Doubles weighted_slopes(const Rows& rows, const DeviceFeatures& features, const View& R) {
  const View z = features.Z(rows.n);
  Doubles W(*rows.device, rows.n, z.cols);
  rows.device->product(1, R, false, features.C_units(), true, 0, W.view());
  rows.device->slope(features.kind(), z, W.view(), W.view());
  return W;
}

// (H + lambda diag H) factored on the device for every lambda.
class DenseOnDevice final : public NormalSystem {
 public:
  DenseOnDevice(const Rows& rows, const Form& form, const Control& control)
      : device_(*rows.device),
        units_(form.units()),
        width_(form.inputs + 1),
        H_(zeros(device_, size(), size())),
        gradient_(device_, width_, units_) {
    const DeviceFeatures features(device_, form, rows.n);
    const View F = features.make(rows.X());
    const Index q = F.cols, P = size();
    const Doubles GF = zeros(device_, P, q), FF(device_, q, q);
    {
      const Index strip = std::min(rows.n, strip_rows(device_, P));
      const Doubles G(device_, strip, P), ones(device_, strip, units_), S(device_, strip, units_);
      device_.fill(ones.view(), 1.0);
      for (Index first = 0; first < rows.n; first += strip) {
        control.check();
        const Index count = std::min(strip, rows.n - first);
        const View g = G.view().block(0, 0, count, P), s = S.view().block(0, 0, count, units_);
        device_.slope(features.kind(), features.Z(rows.n).block(first, 0, count, units_),
                      ones.view().block(0, 0, count, units_), s);
        device_.row_products(s, rows.X1.view().block(first, 0, count, width_), g);
        device_.gram(1, g, 1, H_.view());
        device_.product(1, g, true, F.block(first, 0, count, q), false, 1, GF.view());
      }
    }
    device_.product(1, F, true, F, false, 0, FF.view());
    const Doubles R = residuals(rows, F, features.C());
    device_.product(1, rows.X1.view(), true, weighted_slopes(rows, features, R.view()).view(), false, 0,
                    gradient_.view());
    project(fetched(device_, FF.view()), GF.view());
    const Matrix C = form.C.topRows(units_);
    device_.scale_blocks(sent(device_, C * C.transpose()).view(), width_, H_.view());
    if (form.scale_is_free()) fix_scales(form);
    diagonal_ = diagonal();
    diagonal_.array() += 1e-12 * diagonal_.mean() + kTiny;
  }

  [[nodiscard]] std::optional<Vector> step(double lambda) const override {
    const Doubles factor(device_, size(), size()), x(device_, size(), 1);
    const Vector plain = diagonal();
    for (double ridge = 1e-15; ridge < 1; ridge *= 100) {
      device_.copy(H_.view(), factor.view());
      const Vector added = lambda * diagonal_ + ridge * (plain + lambda * diagonal_);
      device_.add_diagonal(factor.view(), sent(device_, added).view());
      if (!device_.cholesky(factor.view())) continue;
      device_.copy({gradient_.data(), size(), 1, size()}, x.view());
      device_.solve_cholesky(factor.view(), x.view());
      return Vector(fetched(device_, x.view()));
    }
    return Vector(Vector::Zero(size()));
  }

 private:
  [[nodiscard]] Index size() const { return units_ * width_; }
  [[nodiscard]] Vector diagonal() const {
    return fetched(device_, {H_.data(), 1, size(), size() + 1}).transpose();
  }

  // H -= G^T F (F^T F)^-1 F^T G, with F^T F scaled to unit diagonal and as little ridge as it takes.
  void project(const Matrix& FF, const View& GF) {
    const Vector scale = FF.diagonal().cwiseMax(kTiny).cwiseSqrt().cwiseInverse();
    for (double ridge = 1e-15; ridge < 1; ridge *= 100) {
      Matrix scaled = scale.asDiagonal() * FF * scale.asDiagonal();
      scaled.diagonal().array() += ridge;
      if (lapack::potrf(scaled) != 0) continue;
      const Doubles half(device_, FF.rows(), GF.rows), L = sent(device_, scaled),
                                                       D = sent(device_, Matrix(scale.asDiagonal()));
      device_.product(1, D.view(), false, GF, true, 0, half.view());
      device_.solve_lower(L.view(), half.view());
      device_.gram(-1, half.view(), 1, H_.view());
      return;
    }
  }

  void fix_scales(const Form& form) {
    const Vector before = diagonal();
    const Doubles V = sent(device_, form.V[0].rowwise().normalized().transpose());
    for (Index j = 0; j < units_; ++j) {
      const View v = V.view().columns(j, 1);
      device_.product(std::max(before.segment(j * width_, width_).mean(), 0.0), v, false, v, true, 1,
                      H_.view().block(j * width_, j * width_, width_, width_));
    }
    device_.synchronise();
  }

  Device& device_;
  Index units_, width_;
  Doubles H_, gradient_;
  Vector diagonal_;
};

// The same without H, as fit/conjugate_gradients.h on the processor. Directions: one vector, V (k x (d+1)),
// then C (q x m).
class ConjugateOnDevice final : public NormalSystem {
 public:
  ConjugateOnDevice(const Rows& rows, const Form& form, const Control& control)
      : rows_(rows),
        device_(*rows.device),
        control_(control),
        features_(device_, form, rows.n),
        k_(form.units()),
        width_(form.inputs + 1),
        q_(form.features()),
        scale_is_free_(form.scale_is_free()),
        gradient_(device_, k_ * width_ + q_ * rows.m, 1),
        U_(device_, rows.n, rows.m),
        S_(device_, rows.n, k_) {
    const View F = features_.make(rows.X());
    const Doubles R = residuals(rows, F, features_.C()), FF(device_, q_, q_);
    device_.product(1, weighted_slopes(rows, features_, R.view()).view(), true, rows.X1.view(), false, 0,
                    V(gradient_));
    device_.product(1, F, true, R.view(), false, 0, C(gradient_));
    device_.product(1, F, true, F, false, 0, FF.view());
    Matrix features = fetched(device_, FF.view());
    features.diagonal() *= 1 + 1e-14;
    inverse_FF_.emplace(sent(device_, inverse_scaled(features)));
    make_blocks(form);
  }

  [[nodiscard]] std::optional<Vector> step(double lambda) const override {
    const Index size = gradient_.view().rows;
    const Doubles x = zeros(device_, size, 1), r(device_, size, 1), z(device_, size, 1), p(device_, size, 1),
                  Ap(device_, size, 1);
    const Doubles damp = sent(device_, lambda * blocks_.diagonal().transpose()),
                  along = sent(device_, blocks_.along().transpose()),
                  hold = sent(device_, blocks_.stiff().transpose()), parts(device_, k_, 1),
                  held(device_, k_, width_);
    // held = (along_j . rows of `of`) times the rows of `by`
    const auto project = [&](const View& of, const Doubles& by) {
      device_.fill(parts.view(), 0.0);
      device_.row_dots(along.view(), of, parts.view());
      device_.row_products(parts.view(), by.view(), held.view());
    };
    const auto apply = [&](const Doubles& from, const Doubles& to) {
      product(from, to);
      device_.add_products(damp.view(), V(from), V(to));
      if (!scale_is_free_) return;
      project(V(from), hold);
      device_.add(1, held.view(), V(to));
    };
    const Matrix inverse = inverses(lambda);
    const Doubles inverted = sent(device_, inverse);
    Matrix turned = Matrix::Zero(1, 1), weights = turned;  // of one block for all
    if (blocks_.alike()) {
      turned = inverse * blocks_.along();
      turned = (turned * blocks_.shares(turned).asDiagonal()).transpose().eval();
      weights = blocks_.weights().cwiseInverse();
    }
    const Doubles turn = sent(device_, turned), weight = sent(device_, weights);
    const auto precondition = [&] {
      device_.product(1, inverse_FF_->view(), false, C(r), false, 0, C(z));
      if (!blocks_.alike()) return device_.product_each(inverted.view(), V(r), V(z));
      device_.product(1, V(r), false, inverted.view(), false, 0, V(z));
      project(V(z), turn);
      device_.add(-1, held.view(), V(z));
      device_.row_products(weight.view(), V(z), held.view());
      device_.copy(held.view(), V(z));
    };
    device_.copy(gradient_.view(), r.view());
    precondition();
    device_.copy(z.view(), p.view());
    double rz = device_.dot(r.view(), z.view());
    const double enough = rz * kForcing * kForcing;
    for (int products = 0; products < kMostProducts && rz > enough && rz > 0; ++products) {
      control_.check();
      apply(p, Ap);
      const double alpha = rz / device_.dot(p.view(), Ap.view());
      if (!std::isfinite(alpha) || alpha <= 0) break;
      device_.add(alpha, p.view(), x.view());
      device_.add(-alpha, Ap.view(), r.view());
      precondition();
      const double next = device_.dot(r.view(), z.view());
      device_.scale(next / rz, p.view());
      device_.add(1, z.view(), p.view());
      rz = next;
    }
    return Vector(Matrix(fetched(device_, V(x)).transpose()).reshaped());
  }

 private:
  [[nodiscard]] View V(const Doubles& at) const { return {at.data(), k_, width_, k_}; }
  [[nodiscard]] View C(const Doubles& at) const { return {at.data() + k_ * width_, q_, rows_.m, q_}; }

  // J^T J
  void product(const Doubles& from, const Doubles& to) const {
    const View z = features_.Z(rows_.n), F = features_.F(rows_.n), X1 = rows_.X1.view();
    device_.product(1, X1, false, V(from), true, 0, S_.view());
    device_.slope(features_.kind(), z, S_.view(), S_.view());
    device_.product(1, S_.view(), false, features_.C_units(), false, 0, U_.view());
    device_.product(1, F, false, C(from), false, 1, U_.view());
    device_.product(1, U_.view(), false, features_.C_units(), true, 0, S_.view());
    device_.slope(features_.kind(), z, S_.view(), S_.view());
    device_.product(1, S_.view(), true, X1, false, 0, V(to));
    device_.product(1, F, true, U_.view(), false, 0, C(to));
  }

  void make_blocks(const Form& form) {
    UnitBlockSums sums(form);
    const Doubles GG(device_, width_, width_), ones(device_, rows_.n, k_), active(device_, 1, k_);
    const View X1 = rows_.X1.view(), one = ones.view().columns(0, 1);
    device_.fill(ones.view(), 1.0);
    device_.slope(features_.kind(), features_.Z(rows_.n), ones.view(), S_.view());
    if (sums.alike()) {
      device_.product(1, X1, true, X1, false, 0, GG.view());
      sums.GG.front() = fetched(device_, GG.view());
    } else {
      const Doubles G(device_, rows_.n, width_);
      for (Index j = 0; j < k_; ++j) {
        device_.row_products(S_.view().columns(j, 1), X1, G.view());
        device_.product(1, G.view(), true, G.view(), false, 0, GG.view());
        sums.GG[static_cast<std::size_t>(j)] = fetched(device_, GG.view());
      }
    }
    // Slopes times themselves, summed over the rows.
    device_.slope(features_.kind(), features_.Z(rows_.n), S_.view(), S_.view());
    device_.product(1, one, true, S_.view(), false, 0, active.view());
    sums.slopes = fetched(device_, active.view()).transpose();
    blocks_ = UnitBlocks(form, sums, rows_.n);
  }

  // Of every damped block, side by side.
  [[nodiscard]] Matrix inverses(double lambda) const {
    Matrix all(width_, width_ * blocks_.count());
    parallel_for(blocks_.count(), control_, [&](Index i) {
      Matrix block = blocks_.damped(i, lambda);
      const Vector diagonal = block.diagonal();
      if (lapack::potrf(block) == 0) {
        lapack::potri(block);
        block.triangularView<Eigen::StrictlyUpper>() = block.transpose();
      } else {
        block = Matrix(diagonal.cwiseInverse().asDiagonal());
      }
      all.middleCols(i * width_, width_) = block;
    });
    return all;
  }

  const Rows& rows_;
  Device& device_;
  const Control& control_;
  DeviceFeatures features_;
  Index k_, width_, q_;
  bool scale_is_free_;
  std::optional<Doubles> inverse_FF_;
  UnitBlocks blocks_;
  Doubles gradient_, U_, S_;
};

class SampleSumsOnDevice final : public FormSums {
 public:
  SampleSumsOnDevice(const std::shared_ptr<Device>& device, const SampleSource& samples, NormalMatrix matrix,
                     const Control& control)
      : matrix_(matrix) {
    const Index n = samples.rows(), d = samples.inputs(), m = samples.outputs();
    Matrix X1(n, d + 1), Y(n, m);
    X1.col(d).setOnes();
    parallel_for((n + kBlockRows - 1) / kBlockRows, control, [&](Index b) {
      SampleBlock block;
      const Index first = b * kBlockRows, count = std::min(kBlockRows, n - first);
      samples.read(first, count, block);
      X1.block(first, 0, count, d) = block.x();
      Y.middleRows(first, count) = block.y();
    });
    rows_.emplace(Rows{device, sent(*device, X1), sent(*device, Y), n, d, m});
  }

  LinearSums linear(const Form& form, const Control& control) override {
    control.check();
    Device& device = *rows_->device;
    Form units = form;
    units.C = Matrix::Zero(form.features(), rows_->m);
    const DeviceFeatures features(device, units, rows_->n);
    const View F = features.make(rows_->X());
    const Doubles FF(device, F.cols, F.cols), FY(device, F.cols, rows_->m);
    device.product(1, F, true, F, false, 0, FF.view());
    device.product(1, F, true, rows_->Y.view(), false, 0, FY.view());
    return {fetched(device, FF.view()), fetched(device, FY.view())};
  }

  Residual residual(const Form& form, const Control& control) override {
    control.check();
    Device& device = *rows_->device;
    const DeviceFeatures features(device, form, rows_->n);
    const View F = features.make(rows_->X());
    const Doubles R = residuals(*rows_, F, features.C()), RR(device, rows_->m, rows_->m),
                  FR(device, F.cols, rows_->m);
    device.product(1, R.view(), true, R.view(), false, 0, RR.view());
    device.product(1, F, true, R.view(), false, 0, FR.view());
    return {fetched(device, FR.view()), fetched(device, RR.view()).diagonal().sum()};
  }

  std::unique_ptr<NormalSystem> normal_system(const Form& form, const Matrix&,
                                              const Control& control) override {
    const double p = static_cast<double>(form.unknowns());
    const bool small = static_cast<double>(rows_->n) * p * p <= kMostGram &&
                       16 * p * p <= kMostMemory * rows_->device->bytes_free();
    if (matrix_ == NormalMatrix::kFormed || (small && matrix_ == NormalMatrix::kCheaper))
      return std::make_unique<DenseOnDevice>(*rows_, form, control);
    return std::make_unique<ConjugateOnDevice>(*rows_, form, control);
  }

 private:
  std::optional<Rows> rows_;
  NormalMatrix matrix_;
};

}  // namespace

std::unique_ptr<FormSums> device_sums(const std::shared_ptr<Device>& device, const SampleSource& samples,
                                      NormalMatrix matrix, const Control& control) {
  return std::make_unique<SampleSumsOnDevice>(device, samples, matrix, control);
}

}  // namespace exhume
