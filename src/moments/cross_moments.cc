#include "moments/cross_moments.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "base/blas.h"
#include "data/reduce.h"
#include "linalg/symmetric_matrix.h"
#include "linalg/symmetric_runs.h"

namespace exhume {
namespace {

constexpr Index kCrossTile = 512;
Index features(Index d) { return 1 + d + symmetric_size(d); }

}  // namespace

CrossMoments::CrossMoments(Index d, Index m)
    : inputs(d),
      outputs(m),
      gram(Matrix::Zero(features(d), features(d))),
      phi_y(Matrix::Zero(features(d), m)),
      yy(Matrix::Zero(m, m)),
      yxxx(Matrix::Zero(symmetric_size(d), d * m)),
      yyxx(Matrix::Zero(symmetric_size(d), symmetric_size(m))) {}

void CrossMoments::add(const SampleBlock& block) {
  const Index d = inputs, m = outputs, p = symmetric_size(d);
  Matrix phi, quadratic_y, xy, y;
  for (Index first = 0; first < block.rows(); first += kCrossTile) {
    const Index rows = std::min(kCrossTile, block.rows() - first);
    phi.resize(rows, features(d));
    phi.col(0).setOnes();
    phi.middleCols(1, d) = block.x().middleRows(first, rows);
    const Matrix x = phi.middleCols(1, d);
    y = block.y().middleRows(first, rows);
    quadratic_features(x, phi.rightCols(p));
    quadratic_y.resize(rows, symmetric_size(m));
    quadratic_features(y, quadratic_y);
    xy.resize(rows, d * m);
    for (Index c = 0; c < d; ++c) xy.middleCols(c * m, m) = y.array().colwise() * x.col(c).array();
    gram.selfadjointView<Eigen::Lower>().rankUpdate(phi.transpose());
    phi_y.noalias() += phi.transpose() * y;
    yy.noalias() += y.transpose() * y;
    const auto quadratic_x = phi.rightCols(p);
    for_symmetric_runs(d, [&](Index b, Index from, Index size) {
      yxxx.block(from, b * m, size, (d - b) * m).noalias() +=
          quadratic_x.middleCols(from, size).transpose() * xy.rightCols((d - b) * m);
    });
    yyxx.noalias() += quadratic_x.transpose() * quadratic_y;
  }
  count += block.rows();
}

void CrossMoments::merge(const CrossMoments& other) {
  gram += other.gram;
  phi_y += other.phi_y;
  yy += other.yy;
  yxxx += other.yxxx;
  yyxx += other.yyxx;
  count += other.count;
}

Matrix CrossMoments::mean_xx() const {
  return Matrix(gram.block(1, 1, inputs, inputs).selfadjointView<Eigen::Lower>()) /
         static_cast<double>(count);
}
Matrix CrossMoments::mean_yx() const {
  return phi_y.middleRows(1, inputs).transpose() / static_cast<double>(count);
}
Matrix CrossMoments::mean_yy() const { return yy / static_cast<double>(count); }
Vector CrossMoments::mean_y() const { return phi_y.row(0).transpose() / static_cast<double>(count); }
Matrix CrossMoments::mean_yyxx() const { return yyxx / static_cast<double>(count); }

Matrix CrossMoments::mean_yqxx(const Matrix& Q) const {
  const Index d = inputs, m = outputs, p = symmetric_size(d), r = Q.rows();
  // A triple of inputs a <= b <= c is stored at row (a,b), column c; scale undoes and redoes the root of two.
  const double root = std::sqrt(2.0);
  Matrix out = Matrix::Zero(p, r * m);
  Matrix slice(d, m);  // sum x_a x_b x_c y_o over c = 0..d-1
  for (Index b = 0; b < d; ++b) {
    for (Index a = 0; a <= b; ++a) {
      for (Index c = 0; c < d; ++c) {
        Index s[3] = {a, b, c};
        std::sort(s, s + 3);
        const double scale = s[0] == s[1] ? 1.0 : root;
        slice.row(c) = yxxx.block(symmetric_position(s[0], s[1]), s[2] * m, 1, m) / scale;
      }
      const Matrix mixed = Q * slice * ((a == b ? 1.0 : root) / static_cast<double>(count));  // r x m
      for (Index q = 0; q < r; ++q) out.block(symmetric_position(a, b), q * m, 1, m) = mixed.row(q);
    }
  }
  return out;
}

Matrix CrossMoments::linear_part() const {
  const Matrix C = mean_xx();
  return C.ldlt().solve(mean_yx().transpose()).transpose();
}

Matrix CrossMoments::linear_part_controlled() const {
  const Index q = features(inputs);
  if (count < 4 * q) return linear_part();
  Matrix G = Matrix(gram.selfadjointView<Eigen::Lower>()) / static_cast<double>(count);
  // Features may be dependent (inputs of +-1 have x_a^2 = 1): a ridge far below sampling
  // error keeps it solvable.
  const Vector scale = G.diagonal().cwiseMax(kTiny).cwiseSqrt().cwiseInverse();
  G = scale.asDiagonal() * G * scale.asDiagonal();
  G.diagonal().array() += 1e-10;
  const Matrix right = scale.asDiagonal() * phi_y / static_cast<double>(count);
  const Matrix beta = scale.asDiagonal() * G.ldlt().solve(right);
  return beta.middleRows(1, inputs).transpose();
}

double CrossMoments::flops_per_row(Index d, Index m) {
  const auto real = [](Index i) { return static_cast<double>(i); };
  const double q = real(features(d)), p = real(symmetric_size(d));
  double flops = q * (q + 1) + 2 * q * real(m) + 2 * real(m * m) + 2 * p * real(symmetric_size(m));
  for_symmetric_runs(d, [&](Index b, Index, Index size) { flops += 2 * real(size) * real((d - b) * m); });
  return flops;
}

CrossMoments cross_moments(const SampleSource& samples, const Control& control) {
  const SingleThreadedBlas single;
  return reduce_blocks(samples, CrossMoments(samples.inputs(), samples.outputs()), control, "cross moments",
                       [](CrossMoments& to, const SampleBlock& block) { to.add(block); });
}

}  // namespace exhume
