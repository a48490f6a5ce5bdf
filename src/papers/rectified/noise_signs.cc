#include "exhume/papers/rectified.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "base/blas.h"
#include "base/parallel.h"
#include "data/reduce.h"
#include "fit/polish.h"
#include "model/rectified_network.h"

namespace exhume {
namespace {

struct Sums {
  Matrix FF, FY;
  double YY = 0;
  void merge(const Sums& other) {
    FF += other.FF;
    FY += other.FY;
    YY += other.YY;
  }
};

// |P Y|^2 for the projection on the functions `kept`, dependent ones included once.
double explained(const Sums& sums, const std::vector<Index>& kept) {
  const Matrix G = sums.FF(kept, kept);
  const Vector scale = G.diagonal().cwiseMax(kTiny).cwiseSqrt().cwiseInverse();
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(Matrix(scale.asDiagonal() * G * scale.asDiagonal()));
  const Matrix projected = eigen.eigenvectors().transpose() * scale.asDiagonal() * sums.FY(kept, Eigen::all);
  double total = 0;
  for (Index i = 0; i < G.rows(); ++i) {
    if (eigen.eigenvalues()(i) > 1e-11) total += projected.row(i).squaredNorm() / eigen.eigenvalues()(i);
  }
  return total;
}

Form signed_form(const Matrix& V, const Rectifier& rectifier) {
  Form form = one_layer(V);
  form.plain = true;
  if (rectifier.name != "relu") form.rectifier = std::make_shared<Rectifier>(rectifier);
  return form;
}

Vector residual_variances(const Form& model, const SampleSource& samples, const Control& control) {
  struct Squares {
    Vector sum;
    void merge(const Squares& other) { sum += other.sum; }
  };
  const Squares squares =
      reduce_blocks(samples, Squares{Vector::Zero(samples.outputs())}, control, "",
                    [&](Squares& to, const SampleBlock& block) {
                      to.sum += (evaluate(model, block.x()) - block.y()).colwise().squaredNorm().transpose();
                    });
  return squares.sum / static_cast<double>(std::max<Index>(samples.rows(), 1));
}

}  // namespace

NoiseSigns recover_signs(const Matrix& V, const SampleSource& samples, const Rectifier& rectifier,
                         const Control& control) {
  const SingleThreadedBlas single;
  const Index k = V.rows(), d = V.cols() - 1, m = samples.outputs(), q = 2 * k + 1;
  const Matrix W = V.leftCols(d);
  const Vector b = V.col(d);
  const Sums sums = reduce_blocks(samples, Sums{Matrix::Zero(q, q), Matrix::Zero(q, m), 0}, control, "signs",
                                  [&](Sums& to, const SampleBlock& block) {
                                    Matrix F(block.rows(), q);
                                    F.leftCols(k) = hidden_outputs(W, b, rectifier, block.x());
                                    F.middleCols(k, k) = hidden_outputs(-W, -b, rectifier, block.x());
                                    F.col(2 * k).setOnes();
                                    to.FF.noalias() += F.transpose() * F;
                                    to.FY.noalias() += F.transpose() * block.y();
                                    to.YY += block.y().squaredNorm();
                                  });
  std::vector<Index> all(static_cast<size_t>(q));
  for (Index i = 0; i < q; ++i) all[static_cast<size_t>(i)] = i;
  const auto without = [&](Index left_out) {
    std::vector<Index> kept = all;
    kept.erase(kept.begin() + left_out);
    return explained(sums, kept);
  };
  NoiseSigns out;
  out.signs.resize(k);
  out.margins.resize(k);
  const double freedom = static_cast<double>(std::max<Index>(samples.rows() - q, 1) * m);
  out.noise_variance = std::max(sums.YY - explained(sums, all), 0.0) / freedom;
  // Rounding of the sums is the least noise there can be.
  const double floor = std::max(out.noise_variance, 1e-15 * sums.YY / freedom);
  for (Index i = 0; i < k; ++i) {
    control.check();
    const double plus = without(k + i), minus = without(i);  // explained: more is better
    out.signs(i) = plus >= minus ? 1.0 : -1.0;
    out.margins(i) = std::abs(plus - minus) / std::max(floor, kTiny);
  }
  return out;
}

NoisyFit fit_noisy(const Matrix& V, const SamplePtr& samples, const Rectifier& rectifier, bool polished,
                   const Control& control) {
  const SingleThreadedBlas single;
  const Index d = samples->inputs(), m = samples->outputs();
  NoisyFit out;
  out.signs = recover_signs(V, *samples, rectifier, control);
  Form model = signed_form(out.signs.signs.asDiagonal() * V, rectifier);
  PolishOptions options;
  options.block_rows = kBlockRows;
  if (polished) {
    options.max_iterations = 25;
    options.damping = 1e-4;
    options.least_progress = 1e-9;
    options.patience = 1;
    model = polish(model, *samples, options, control).form;
    const Vector spread = residual_variances(model, *samples, control).cwiseMax(kTiny).cwiseSqrt();
    const AffineMap weights{Matrix::Identity(d, d), Vector::Zero(d), spread.cwiseInverse(), Vector::Zero(m)};
    options.damping = 1e-6;
    model = polish(model, *affine(samples, weights), options, control).form;
  }
  out.relative_mse = fit_linear_part(model, *samples, options, control);
  out.noise_variance = residual_variances(model, *samples, control);
  out.network = to_network(model);
  return out;
}

}  // namespace exhume
