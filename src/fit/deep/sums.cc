#include <cblas.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/parallel.h"
#include "fit/deep/over_rows.h"
#include "fit/deep/rows.h"
#include "fit/deep/sums.h"
#include "linalg/lapack.h"

namespace exhume {
namespace {

constexpr double kMostBytes = 1.5 * (1ULL << 30U);  // that the tasks' matrices may take together
constexpr double kResidualFloor = 1e-9;             // of the mean diagonal, that is damped too
constexpr double kWorthDevice = 5e9;  // of one step of the polish that is worth the way to a device

struct Products {
  Matrix JJ;              // p x p, lower triangle
  std::vector<Matrix> K;  // of every output, q x p
  Vector gradient;
  void clear(Index p, Index q, Index m) {
    JJ.setZero(p, p);
    K.resize(static_cast<std::size_t>(m));
    for (Matrix& k : K) k.setZero(q, p);
    gradient.setZero(p);
  }
  void merge(const Products& other) {
    for (Index j = 0; j < JJ.cols(); ++j)
      JJ.col(j).tail(JJ.rows() - j) += other.JJ.col(j).tail(JJ.rows() - j);
    for (std::size_t o = 0; o < K.size(); ++o) K[o] += other.K[o];
    gradient += other.gradient;
  }
};

class HostSystem final : public NormalSystem {
 public:
  HostSystem(Matrix H, Vector gradient) : H_(std::move(H)), gradient_(std::move(gradient)) {}

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

class HostSums final : public DeepSums {
 public:
  HostSums(const DeepData& data, const Control& control) : data_(data), control_(control) {}

  LinearPart linear_part(const DeepForm& form) override {
    const Index q = form.features(), m = data_.y.cols();
    return over_rows(data_.rows(), kMostTasks, LinearPart{Matrix::Zero(q, q), Matrix::Zero(q, m)}, control_,
                     [&](LinearPart& to, Index first, Index count) {
                       const DeepRows rows(form, data_.x.middleRows(first, count));
                       to.FF.noalias() += rows.F().transpose() * rows.F();
                       to.FY.noalias() += rows.F().transpose() * data_.y.middleRows(first, count);
                     });
  }

  Residual residual(const DeepForm& form) override {
    const Index q = form.features(), m = data_.y.cols();
    return over_rows(data_.rows(), kMostTasks, Residual{Matrix::Zero(q, m), 0}, control_,
                     [&](Residual& to, Index first, Index count) {
                       const DeepRows rows(form, data_.x.middleRows(first, count));
                       const Matrix R = data_.y.middleRows(first, count) - rows.F() * form.C;
                       to.FR.noalias() += rows.F().transpose() * R;
                       to.squares += R.squaredNorm();
                     });
  }

  std::unique_ptr<NormalSystem> normal_system(const DeepForm& form, const Matrix& FF) override {
    const Index p = form.unknowns(), q = form.features(), m = data_.y.cols();
    const double bytes = 8.0 * static_cast<double>(p * (p + q * m));
    const auto tasks =
        static_cast<Index>(std::clamp(kMostBytes / bytes, 2.0, static_cast<double>(kMostTasks)));
    over_rows_into(
        products_, data_.rows(), tasks, control_, [&](Products& to) { to.clear(p, q, m); },
        [&](Products& to, Index first, Index count) {
          const DeepRows rows(form, data_.x.middleRows(first, count));
          const Matrix R = data_.y.middleRows(first, count) - rows.F() * form.C;
          for (Index o = 0; o < m; ++o) {
            const Matrix J = rows.jacobian(form.C.col(o));
            cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans, static_cast<int>(p), static_cast<int>(count),
                        1, J.data(), static_cast<int>(count), 1, to.JJ.data(), static_cast<int>(p));
            to.K[static_cast<std::size_t>(o)].noalias() += rows.F().transpose() * J;
            to.gradient.noalias() += J.transpose() * R.col(o);
          }
        });
    Products& sums = products_.front();
    // With F^T F = L L^T: K^T (F^T F)^-1 K = (L^-1 K)^T (L^-1 K).
    const FeatureFactor features = factor_features(FF);
    for (Matrix& K : sums.K) {
      Matrix half = features.scale.asDiagonal() * K;
      features.L.triangularView<Eigen::Lower>().solveInPlace(half);
      cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans, static_cast<int>(p), static_cast<int>(q), -1,
                  half.data(), static_cast<int>(q), 1, sums.JJ.data(), static_cast<int>(p));
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
    return std::make_unique<HostSystem>(sums.JJ, sums.gradient);
  }

 private:
  const DeepData& data_;
  const Control& control_;
  std::vector<Products> products_;  // of the tasks, kept from step to step
};

}  // namespace

void LinearPart::merge(const LinearPart& other) {
  FF += other.FF;
  FY += other.FY;
}

void Residual::merge(const Residual& other) {
  FR += other.FR;
  squares += other.squares;
}

FeatureFactor factor_features(const Matrix& FF) {
  FeatureFactor out;
  out.scale = FF.diagonal().cwiseMax(kTiny).cwiseSqrt().cwiseInverse();
  for (double ridge = 1e-14; ridge < 1; ridge *= 100) {
    out.L = out.scale.asDiagonal() * FF * out.scale.asDiagonal();
    out.L.diagonal().array() += ridge;
    if (lapack::potrf(out.L) == 0) break;
  }
  return out;
}

std::unique_ptr<DeepSums> host_sums(const DeepData& data, const Control& control) {
  return std::make_unique<HostSums>(data, control);
}

std::unique_ptr<DeepSums> sums_for(const DeepForm& form, const DeepData& data, const Control& control) {
  const auto p = static_cast<double>(form.unknowns());
  const double flops = p * p * static_cast<double>(data.rows() * data.y.cols());
  if (control.device && form.given == 0 && flops > kWorthDevice)
    return device_sums(control.device, data, control);
  return host_sums(data, control);
}

}  // namespace exhume
