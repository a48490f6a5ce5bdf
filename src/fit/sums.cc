#include "fit/sums.h"

#include <cblas.h>

#include <Eigen/Dense>
#include <cmath>

#include "base/packed_shape.h"
#include "data/resident.h"
#include "fit/device_features.h"
#include "linalg/lapack.h"

namespace exhume {
namespace {

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

Vector scale_of(const Matrix& M) { return M.diagonal().cwiseMax(kTiny).cwiseSqrt().cwiseInverse(); }

}  // namespace

void add_gram(const Eigen::Ref<const Matrix>& G, double factor, Eigen::Ref<Matrix> gram) {
  if (G.size() == 0) return;
  const int size = static_cast<int>(G.cols()), rows = static_cast<int>(G.rows());
  cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans, size, rows, factor, G.data(),
              static_cast<int>(G.outerStride()), 1, gram.data(), static_cast<int>(gram.outerStride()));
}

LinearSums linear_sums(const Form& form, const SampleSource& samples, Index block_rows,
                       const Control& control) {
  const Index q = form.features(), m = samples.outputs();
  const LinearSums empty{Matrix::Zero(q, q), Matrix::Zero(q, m)};
  return of_shape(reduce_blocks(
                      samples, empty, control, "",
                      [&](LinearSums& sums, const SampleBlock& block) {
                        const FormBlock rows(form, block, false);
                        sums.FF.noalias() += rows.F().transpose() * rows.F();
                        sums.FY.noalias() += rows.F().transpose() * rows.Y;
                      },
                      block_rows),
                  empty);
}

ResidualSums residual_sums(const Form& form, const SampleSource& samples, Index block_rows,
                           const Control& control) {
  const Index q = form.features(), m = samples.outputs();
  if (const DeviceRows* there = rows_on_device(samples); there != nullptr && DeviceFeatures::may_run(form))
    return residual_sums_on_device(form, *there, control);
  const ResidualSums empty{Vector::Zero(m), Matrix::Zero(q, m)};
  return of_shape(reduce_blocks(
                      samples, empty, control, "",
                      [&](ResidualSums& sums, const SampleBlock& block) {
                        const FormBlock rows(form, block, false);
                        const Matrix R = rows.Y - rows.F() * form.C;
                        sums.squares += R.colwise().squaredNorm().transpose();
                        sums.FR.noalias() += rows.F().transpose() * R;
                      },
                      block_rows),
                  empty);
}

NormalSums normal_sums(const Form& form, const SampleSource& samples, Index block_rows,
                       const Control& control) {
  const Index q = form.features(), k = form.units(), width = form.inputs + 1, P = k * width;
  const NormalSums empty{Matrix::Zero(P, P), Matrix::Zero(P, q), Matrix::Zero(q, q), Matrix::Zero(width, k)};
  return of_shape(reduce_blocks(
                      samples, empty, control, "",
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
                      block_rows),
                  empty);
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
    if (half.size() == 0) break;  // no unit
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

}  // namespace exhume
