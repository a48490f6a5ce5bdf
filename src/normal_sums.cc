#include "normal_sums.h"

#include <Eigen/Dense>
#include <cmath>

namespace exhume {
namespace {

// gram += factor * G^T G, lower triangle, by dsyrk; Eigen's own update does not reach BLAS with a transposed
// factor.
void add_gram(const Matrix& G, double factor, Matrix& gram) {
  if (G.size() == 0) return;
  const char lower = 'L', transposed = 'T';
  const int size = static_cast<int>(G.cols()), rows = static_cast<int>(G.rows());
  const double one = 1;
  dsyrk_(&lower, &transposed, &size, &rows, &factor, G.data(), &rows, &one, gram.data(), &size);
}

}  // namespace

ModelBlock::ModelBlock(const SeparableModel& model, const SampleBlock& block, bool with_slopes) {
  const Index rows = block.rows(), d = model.inputs(), k = model.units();
  X1.resize(rows, d + 1);
  X1.leftCols(d) = block.x();
  X1.col(d).setOnes();
  Y = block.y();
  F.resize(rows, model.features());
  Matrix Z(rows, k);
  if (k > 0) Z.noalias() = X1 * model.V.transpose();  // BLAS complains of empty products
  if (with_slopes) {
    slopes.resize(rows, k);
    if (model.rectifier) {
      activate(*model.rectifier, Z, F.leftCols(k), slopes);
    } else {
      activate(model.activation, Z, F.leftCols(k), slopes);
    }
  } else if (model.rectifier) {
    activate(*model.rectifier, Z, F.leftCols(k));
  } else {
    activate(model.activation, Z, F.leftCols(k));
  }
  if (model.linear_term) {
    F.rightCols(d + 1) = X1;
  } else {
    F.col(k).setOnes();
  }
}

Matrix ModelBlock::gradients() const {
  const Index k = slopes.cols(), width = X1.cols();
  Matrix G(X1.rows(), k * width);
  for (Index j = 0; j < k; ++j) {
    G.middleCols(j * width, width) = X1.array().colwise() * slopes.col(j).array();
  }
  return G;
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

Matrix solve_scaled(const Matrix& M, const Matrix& B) {
  const Vector scale = M.diagonal().cwiseMax(1e-300).cwiseSqrt().cwiseInverse();
  for (double ridge = 1e-15; ridge < 1; ridge *= 100) {
    Matrix scaled = scale.asDiagonal() * M * scale.asDiagonal();
    scaled.diagonal().array() += ridge;
    const Eigen::LLT<Eigen::Ref<Matrix>> factor(scaled);  // in place
    if (factor.info() == Eigen::Success) return scale.asDiagonal() * factor.solve(scale.asDiagonal() * B);
  }
  return Matrix::Zero(B.rows(), B.cols());
}

Matrix projected_normal_matrix(const SeparableModel& model, const NormalSums& sums) {
  const Index k = model.units(), width = model.V.cols();
  // With F^T F = L L^T: G^T P G = G^T G - (L^-1 F^T G)^T (L^-1 F^T G), on the lower triangle.
  const Vector scale = sums.FF.diagonal().cwiseMax(1e-300).cwiseSqrt().cwiseInverse();
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
