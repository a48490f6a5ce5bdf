#include "normal_sums.h"

#include <Eigen/Dense>
#include <cmath>

namespace exhume {

ModelBlock::ModelBlock(const SeparableModel& model, const SampleBlock& block, bool with_slopes) {
  const Index rows = block.rows(), d = model.inputs(), k = model.units();
  X1.resize(rows, d + 1);
  X1.leftCols(d) = block.x();
  X1.col(d).setOnes();
  Y = block.y();
  F.resize(rows, model.features());
  const Matrix Z = X1 * model.V.transpose();
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
      samples, NormalSums{Matrix::Zero(P, P), Matrix::Zero(P, q), Matrix::Zero(q, q), Matrix::Zero(width, k)}, control,
      "",
      [&](NormalSums& sums, const SampleBlock& block) {
        const ModelBlock rows(model, block, true);
        const Matrix G = rows.gradients();
        const Matrix R = rows.Y - rows.F * model.C;
        sums.GG.selfadjointView<Eigen::Lower>().rankUpdate(G.transpose());
        sums.GF.noalias() += G.transpose() * rows.F;
        sums.FF.noalias() += rows.F.transpose() * rows.F;
        const Matrix weights = (R * model.C.topRows(k).transpose()).cwiseProduct(rows.slopes);  // rows x k
        sums.gradient.noalias() += rows.X1.transpose() * weights;
      },
      block_rows);
}

Matrix solve_scaled(const Matrix& M, const Matrix& B) {
  const Vector scale = M.diagonal().cwiseMax(1e-300).cwiseSqrt().cwiseInverse();
  Matrix scaled = scale.asDiagonal() * M * scale.asDiagonal();
  const Matrix right = scale.asDiagonal() * B;
  for (double ridge = 1e-15; ridge < 1; ridge *= 100) {
    Matrix ridged = scaled;
    ridged.diagonal().array() += ridge;
    const Eigen::LLT<Matrix> factor(ridged);
    if (factor.info() == Eigen::Success) return scale.asDiagonal() * factor.solve(right);
  }
  return Matrix::Zero(B.rows(), B.cols());
}

Matrix projected_normal_matrix(const SeparableModel& model, const NormalSums& sums) {
  const Index k = model.units(), width = model.V.cols();
  Matrix H = sums.GG.selfadjointView<Eigen::Lower>();
  H.noalias() -= sums.GF * solve_scaled(sums.FF, sums.GF.transpose());
  const Matrix CC = model.C.topRows(k) * model.C.topRows(k).transpose();
  for (Index l = 0; l < k; ++l) {
    for (Index j = 0; j < k; ++j) H.block(j * width, l * width, width, width) *= CC(j, l);
  }
  H = ((H + H.transpose()) / 2).eval();
  if (!model.scale_is_free()) return H;
  for (Index j = 0; j < k; ++j) {
    const double curvature = H.diagonal().segment(j * width, width).mean();
    const Vector v = model.V.row(j).normalized();
    H.block(j * width, j * width, width, width) += std::max(curvature, 0.0) * v * v.transpose();
  }
  return H;
}

}  // namespace exhume
