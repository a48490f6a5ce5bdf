#include "fit/normal_sums.h"

#include <cblas.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "data/resident.h"
#include "fit/device_features.h"
#include "linalg/lapack.h"

namespace exhume {
namespace {

ResidualSums residual_sums_on_device(const SeparableModel& model, const DeviceRows& rows,
                                     const Control& control) {
  Device& device = *rows.device;
  const Index q = model.features(), m = rows.outputs(),
              strip = std::min(rows.rows(), strip_rows(device, 2 * q + m));
  const DeviceFeatures features(device, model, strip);
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

}  // namespace

void add_gram(const Matrix& G, double factor, Matrix& gram) {
  if (G.size() == 0) return;
  const int size = static_cast<int>(G.cols()), rows = static_cast<int>(G.rows());
  cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans, size, rows, factor, G.data(), rows, 1, gram.data(),
              size);
}

LinearSums linear_sums(const SeparableModel& model, const SampleSource& samples, Index block_rows,
                       const Control& control) {
  const Index q = model.features(), m = samples.outputs();
  return reduce_blocks(
      samples, LinearSums{Matrix::Zero(q, q), Matrix::Zero(q, m)}, control, "",
      [&](LinearSums& sums, const SampleBlock& block) {
        const ModelBlock rows(model, block, false);
        sums.FF.noalias() += rows.F.transpose() * rows.F;
        sums.FY.noalias() += rows.F.transpose() * rows.Y;
      },
      block_rows);
}

ResidualSums residual_sums(const SeparableModel& model, const SampleSource& samples, Index block_rows,
                           const Control& control) {
  const Index q = model.features(), m = samples.outputs();
  if (const DeviceRows* there = rows_on_device(samples); there != nullptr && DeviceFeatures::may_run(model))
    return residual_sums_on_device(model, *there, control);
  return reduce_blocks(
      samples, ResidualSums{Vector::Zero(m), Matrix::Zero(q, m)}, control, "",
      [&](ResidualSums& sums, const SampleBlock& block) {
        const ModelBlock rows(model, block, false);
        const Matrix R = rows.Y - rows.F * model.C;
        sums.squares += R.colwise().squaredNorm().transpose();
        sums.FR.noalias() += rows.F.transpose() * R;
      },
      block_rows);
}

Matrix residual_products(const SeparableModel& model, const SampleSource& samples, Index block_rows,
                         const Control& control) {
  struct Products {
    Matrix RR;
    void merge(const Products& other) { RR += other.RR; }
  };
  const Index m = samples.outputs();
  return reduce_blocks(
             samples, Products{Matrix::Zero(m, m)}, control, "",
             [&](Products& to, const SampleBlock& block) {
               const ModelBlock rows(model, block, false);
               const Matrix R = rows.Y - rows.F * model.C;
               to.RR.noalias() += R.transpose() * R;
             },
             block_rows)
      .RR;
}

NormalSums normal_sums(const SeparableModel& model, const SampleSource& samples, Index block_rows,
                       const Control& control) {
  const Index q = model.features(), k = model.units(), width = model.V.cols(), P = k * width;
  return reduce_blocks(
      samples, NormalSums{Matrix::Zero(P, P), Matrix::Zero(P, q), Matrix::Zero(q, q), Matrix::Zero(width, k)},
      control, "",
      [&](NormalSums& sums, const SampleBlock& block) {
        const ModelBlock rows(model, block, true);
        const Matrix G = rows.gradients();
        const Matrix R = rows.Y - rows.F * model.C;
        add_gram(G, 1, sums.GG);
        sums.GF.noalias() += G.transpose() * rows.F;
        sums.FF.noalias() += rows.F.transpose() * rows.F;
        const Matrix weights = (R * model.C.topRows(k).transpose()).cwiseProduct(rows.slopes);  // rows x k
        sums.gradient.noalias() += rows.X1.transpose() * weights;
      },
      block_rows);
}

namespace {

// L of D (M + ridge) D = L L^T in the lower triangle, D = `scale` the inverse roots of M's diagonal; the
// least ridge that works.
bool factor_scaled(const Matrix& M, const Vector& scale, Matrix& factor) {
  for (double ridge = 1e-15; ridge < 1; ridge *= 100) {
    factor = scale.asDiagonal() * M * scale.asDiagonal();
    factor.diagonal().array() += ridge;
    if (lapack::potrf(factor) == 0) return true;
  }
  return M.rows() == 0;
}

Vector scale_of(const Matrix& M) { return M.diagonal().cwiseMax(kTiny).cwiseSqrt().cwiseInverse(); }

}  // namespace

Matrix solve_scaled(const Matrix& M, const Matrix& B) {
  const Vector scale = scale_of(M);
  Matrix factor;
  if (M.rows() == 0 || !factor_scaled(M, scale, factor)) return Matrix::Zero(B.rows(), B.cols());
  Matrix out = scale.asDiagonal() * B;
  lapack::potrs(factor, out);
  return scale.asDiagonal() * out;
}

Matrix inverse_scaled(const Matrix& M) {
  const Vector scale = scale_of(M);
  Matrix out;
  if (M.rows() == 0 || !factor_scaled(M, scale, out)) return Matrix::Zero(M.rows(), M.cols());
  lapack::potri(out);
  out.triangularView<Eigen::StrictlyUpper>() = out.transpose();
  return scale.asDiagonal() * out * scale.asDiagonal();
}

Matrix projected_normal_matrix(const SeparableModel& model, const NormalSums& sums) {
  const Index k = model.units(), width = model.V.cols();
  // With F^T F = L L^T: G^T P G = G^T G - (L^-1 F^T G)^T (L^-1 F^T G), on the lower triangle.
  const Vector scale = scale_of(sums.FF);
  Matrix H = sums.GG;
  for (double ridge = 1e-15; ridge < 1; ridge *= 100) {
    Matrix scaled = scale.asDiagonal() * sums.FF * scale.asDiagonal();
    scaled.diagonal().array() += ridge;
    const Eigen::LLT<Eigen::Ref<Matrix>> factor(scaled);
    if (factor.info() != Eigen::Success) continue;
    Matrix half = scale.asDiagonal() * sums.GF.transpose();
    factor.matrixL().solveInPlace(half);
    add_gram(half, -1, H);
    break;
  }
  const Matrix CC = model.C.topRows(k) * model.C.topRows(k).transpose();
  for (Index l = 0; l < k; ++l) {
    for (Index j = l; j < k; ++j) H.block(j * width, l * width, width, width) *= CC(j, l);
  }
  for (Index j = 0; j < k && model.scale_is_free(); ++j) {
    auto block = H.block(j * width, j * width, width, width);
    const Vector v = model.V.row(j).normalized();
    block += std::max(block.diagonal().mean(), 0.0) * v * v.transpose();
  }
  H.triangularView<Eigen::StrictlyUpper>() = H.transpose();
  return H;
}

}  // namespace exhume
