#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <utility>

#include "extract/always_on.h"
#include "extract/deep_finder.h"
#include "extract/deep_fit.h"
#include "extract/first_layer.h"

namespace exhume {
namespace {

constexpr double kGoodStart = 1e-12;         // relative mean square of rows that are known from kinks
constexpr int kReweighted = 30;              // fits of least absolute deviations
constexpr double kRightAnswer = 1e-6;        // what rows from kinks are off, over the answer
constexpr double kRightShare = 0.5;          // of the questions, at least
constexpr double kSmallestDeviation = 1e-9;  // over the spread, that weighs more than a larger one

// (|z|, h, 1): the last hidden layer without its signs, and the features of the layer below.
Matrix last_features(const DeepForm& form, const RowMatrix& u) {
  const RowMatrix h = features_below(form, u);
  const Matrix& V = form.V.back();
  RowMatrix z = h * V.leftCols(V.cols() - 1).transpose();
  z.rowwise() += V.col(V.cols() - 1).transpose();
  Matrix out(u.rows(), z.cols() + h.cols() + 1);
  out << z.cwiseAbs(), h, Vector::Ones(u.rows());
  return out;
}

}  // namespace

DeepForm DeepFinder::plain_so_far() const {
  return plain_layers(layers_.front(), units_, out_.u, out_.y,
                      first_layer(layers_.front(), out_.planes.pieces).signs);
}

std::optional<DeepFinder::PlainLook> DeepFinder::plain_look() const {
  if (layers_.size() < 2) return std::nullopt;
  const DeepForm plain = plain_so_far();
  if (plain.V.empty()) return std::nullopt;
  const Matrix F = last_features(plain, out_.u);
  const Index n = F.rows(), p = F.cols();
  if (n < 2 * p) return std::nullopt;
  const double spread = spread_of(out_.y);
  Matrix B, left;
  Vector weights = Vector::Ones(n);
  for (int round = 0; round < kReweighted; ++round) {
    const Vector root = weights.cwiseSqrt();
    B = Matrix(root.asDiagonal() * F).colPivHouseholderQr().solve(Matrix(root.asDiagonal() * out_.y));
    left = out_.y - F * B;
    weights = left.rowwise().norm().cwiseMax(kSmallestDeviation * spread).cwiseInverse();
  }
  if (!B.allFinite()) return std::nullopt;
  const double scale = out_.planes.scale;
  const Vector middle = space_.middle();
  PlainLook out;
  out.model = [plain, B, spread, scale, middle](const RowMatrix& u) {
    NoisyAnswers said{last_features(plain, u) * B, Vector(u.rows())};
    for (Index i = 0; i < u.rows(); ++i)
      said.noise(i) = kRightAnswer * std::max(spread, said.values.row(i).cwiseAbs().maxCoeff()) *
                      (1 + (u.row(i).transpose() - middle).norm() / scale);
    return said;
  };
  out.always_on = always_on_rows(plain, F, B);
  out.plain = plain;
  const NoisyAnswers said = out.model(out_.u);
  for (Index i = 0; i < n; ++i) {
    const double share = left.row(i).cwiseAbs().maxCoeff() / said.noise(i);
    out.error = std::max(out.error, share);
    if (!(share <= 1)) out.off.push_back(i);
  }
  if (static_cast<double>(out.off.size()) > (1 - kRightShare) * static_cast<double>(n)) return std::nullopt;
  const Vector size = left.rowwise().norm();
  std::stable_sort(out.off.begin(), out.off.end(), [&](Index i, Index j) { return size(i) > size(j); });
  return out;
}

bool DeepFinder::polished_from_above(const DeepForm& start, const Control& control) {
  DeepForm form = start;
  form.given = form.depth() - 1;
  auto fit = polished_on(form, out_.u, out_.y, kPatientSteps, control, kGoodStart);
  if (!fit) return false;
  fit->form.given = start.given;
  return polished(fit->form, control);
}

}  // namespace exhume
