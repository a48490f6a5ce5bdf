#include "fit/deep/peel.h"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <utility>

#include "base/random.h"
#include "fit/deep/prune.h"
#include "model/form.h"

namespace exhume {
namespace {

constexpr Index kFeatureRows = 4096;  // from which the features' covariance is taken
constexpr double kFlat = 1e-9;        // of the largest variance: no unit is drawn along directions with less
constexpr double kBias = 0.5;         // of a random unit, in standard deviations of its features
// Equations an unknown and steps of one polish after the other, and the relative mean square that is enough.
struct Stage {
  double equations;
  int steps;
};
constexpr std::array<Stage, 3> kStages{{{2, 20}, {4, 40}, {7, 40}}};
constexpr double kRough = 1e-5;
constexpr double kFirstDamping = 1e-2;

// Units v.(p, 1) = v'.(p', 1) with p' = L^T (p - mu) of covariance I: v = L v', b = b' - v.mu.
Matrix random_units(Index count, const Eigen::Ref<const Matrix>& P, std::uint64_t seed) {
  const Index q = P.cols() - 1;  // the last column is the constant
  const Eigen::RowVectorXd mean = P.leftCols(q).colwise().mean();
  const Matrix centred = P.leftCols(q).rowwise() - mean;
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(
      Matrix(centred.transpose() * centred / static_cast<double>(P.rows())));
  const double least = kFlat * eigen.eigenvalues().maxCoeff();
  const Vector inverse = (eigen.eigenvalues().array() > least)
                             .select(eigen.eigenvalues().cwiseMax(kTiny).cwiseSqrt().cwiseInverse(), 0.0);
  const Matrix drawn = Stream(seed, "units above").normal_matrix(count, q + 1);
  Matrix V(count, q + 1);
  V.leftCols(q) = drawn.leftCols(q) * inverse.asDiagonal() * eigen.eigenvectors().transpose();
  V.col(q) = kBias * drawn.col(q) - V.leftCols(q) * mean.transpose();
  return V;
}

}  // namespace

Polished peel(const Form& lower, Index width, const DeepData& data, std::uint64_t seed,
                  const Control& control) {
  Form form = lower;
  form.C.resize(0, 0);
  form.V.push_back(
      random_units(width, FormRows(lower, data.x.topRows(std::min(kFeatureRows, data.rows()))).P(), seed));
  form.given = lower.depth();
  DeepPolishOptions options;
  options.enough_relative = kRough;
  options.damping = kFirstDamping;
  Polished out{std::move(form), 1, 0, true};
  for (const Stage& stage : kStages) {
    options.max_iterations = stage.steps;
    out = polish(out.form, enough_rows(data, out.form, stage.equations), options, control);
    options.damping = DeepPolishOptions().damping;
  }
  return out;
}

}  // namespace exhume
