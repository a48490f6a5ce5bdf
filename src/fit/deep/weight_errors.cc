#include "fit/deep/weight_errors.h"

#include <algorithm>
#include <cmath>

#include "fit/sums.h"
#include "model/form.h"
#include "linalg/lapack.h"

namespace exhume {
namespace {

// A without its constraints, and B.
struct Sandwich {
  Matrix A, B;
  void merge(const Sandwich& other) {
    A += other.A;
    B += other.B;
  }
};

Sandwich sandwich(const Form& form, const DeepData& data, const Vector& weights, const Control& control) {
  const Index p = form.unknowns(), q = form.features(), m = data.y.cols(), all = p + q * m;
  const Sandwich empty{Matrix::Zero(all, all), Matrix::Zero(all, all)};
  return over_rows(data.rows(), empty, control, [&](Sandwich& to, Index first, Index count) {
    const FormRows rows(form, data.x.middleRows(first, count));
    const Matrix residuals = data.y.middleRows(first, count) - rows.F() * form.C;
    Matrix pull = Matrix::Zero(count, all), g(count, all);
    for (Index o = 0; o < m; ++o) {
      g.setZero();
      g.leftCols(p) = rows.jacobian(form.C.col(o));
      g.middleCols(p + o * q, q) = rows.F();
      to.A.noalias() += weights(o) * (g.transpose() * g);
      pull.noalias() += weights(o) * (residuals.col(o).asDiagonal() * g);
    }
    to.B.noalias() += pull.transpose() * pull;
  });
}

// sum_u c_u c_u^T, on the scale of A.
void fix_scales(const Form& form, Matrix& A) {
  Index at = 0;
  for (const Matrix& V : form.V) {
    const Index width = V.cols();
    for (Index j = 0; j < V.rows(); ++j, at += width) {
      const Vector w = V.row(j).head(width - 1).transpose();
      A.block(at, at, width - 1, width - 1) +=
          A.diagonal().segment(at, width).maxCoeff() * (w * w.transpose());
    }
  }
}

}  // namespace

DeepNetwork weight_errors(const DeepNetwork& network, const DeepData& rows, Index fitted,
                          const Vector& weights, const Control& control) {
  const Form form = to_plain_form(network);
  Sandwich sums = sandwich(form, rows, weights, control);
  fix_scales(form, sums.A);
  const Vector scale = sums.A.diagonal().cwiseMax(kTiny).cwiseSqrt().cwiseInverse();
  Matrix inverse = scale.asDiagonal() * sums.A * scale.asDiagonal();
  if (lapack::potrf(inverse) != 0 || lapack::potri(inverse) != 0) return {};
  inverse.triangularView<Eigen::StrictlyUpper>() = inverse.transpose();
  inverse = (scale.asDiagonal() * inverse * scale.asDiagonal()).eval();
  const auto entries = static_cast<double>(fitted * network.outputs());
  const double taken = entries / std::max(1.0, entries - static_cast<double>(network.parameters()));
  const double fewer = static_cast<double>(rows.rows()) / static_cast<double>(fitted);
  const Vector variance = (inverse * sums.B).cwiseProduct(inverse).rowwise().sum() * (taken * fewer);
  const Vector errors = variance.cwiseMax(0).cwiseSqrt();
  DeepNetwork out = network;
  Index at = 0;
  for (std::size_t l = 0; l < out.layers.size(); ++l) {
    Layer& layer = out.layers[l];
    for (Index j = 0; j < layer.W.rows(); ++j) {
      layer.W.row(j) = errors.segment(at, layer.W.cols()).transpose();
      layer.b(j) = errors(at + layer.W.cols());
      at += layer.W.cols() + 1;
    }
  }
  return out;
}

}  // namespace exhume
