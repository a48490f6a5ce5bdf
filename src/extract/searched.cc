#include "extract/searched.h"

#include <cmath>

#include "certify/stored_precision.h"
#include "exhume/samples.h"
#include "fit/fit.h"

namespace exhume {
namespace {

// A signed model as a sign-free one: max(z, 0) = (z + |z|) / 2.
SeparableModel sign_free(const SeparableModel& model) {
  const Index k = model.units(), s = model.inputs(), m = model.C.cols();
  SeparableModel out;
  out.V = model.V;
  out.C = Matrix::Zero(k + s + 1, m);
  out.C.bottomRows(1) = model.C.bottomRows(1);
  if (model.linear_term) out.C.middleRows(k, s) = model.C.middleRows(k, s);
  if (model.activation == Activation::kAbsolute) {
    out.C.topRows(k) = model.C.topRows(k);
    return out;
  }
  out.C.topRows(k) = model.C.topRows(k) / 2;
  out.C.bottomRows(s + 1) += model.V.transpose() * model.C.topRows(k) / 2;
  return out;
}

}  // namespace

SeparableModel searched_units(const SeparableModel& start, const RowMatrix& u, const RowMatrix& y,
                              std::uint64_t seed, const Control& control) {
  const Index s = u.cols(), m = y.cols();
  const auto n = static_cast<double>(u.rows());
  // Standardised: inputs by one factor, outputs by their own mean and spread.
  const double width = std::sqrt(u.squaredNorm() / (n * static_cast<double>(s)));
  const Vector mean = y.colwise().mean();
  const Vector spread =
      ((y.rowwise() - mean.transpose()).colwise().norm() / std::sqrt(n)).transpose().cwiseMax(kTiny);
  const SamplePtr samples = memory_samples(u, y);
  AffineMap map{Matrix::Identity(s, s) / width, Vector::Zero(s), spread.cwiseInverse(), mean};
  const SamplePtr standard = load(*affine(samples, map));
  FitOptions options;
  options.seed = seed;
  const StoredPrecision stored = stored_precision(*samples, control);
  if (stored.coarse()) options.rounding = stored.noise(spread);
  Matrix V = start.V;
  for (Index j = 0; j < V.rows(); ++j) {
    V.row(j).head(s) *= width;
    V.row(j) /= std::max(V.row(j).norm(), kTiny);
  }
  const Fit fit = fit_units(V, standard, options, control);
  SeparableModel out = sign_free(fit.model);
  out.V.leftCols(s) /= width;
  const Index k = out.units();
  out.C.middleRows(k, s) /= width;
  for (Index o = 0; o < m; ++o) out.C.col(o) *= spread(o);
  out.C.bottomRows(1) += mean.transpose();
  for (Index j = 0; j < k; ++j) {
    const double norm = std::max(out.V.row(j).head(s).norm(), kTiny);
    out.V.row(j) /= norm;
    out.C.row(j) *= norm;
  }
  return out;
}

}  // namespace exhume
