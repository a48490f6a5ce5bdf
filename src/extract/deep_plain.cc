#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <utility>

#include "extract/climb.h"
#include "extract/deep_finder.h"
#include "extract/deep_fit.h"
#include "extract/first_layer.h"

namespace exhume {
namespace {

constexpr Index kMostSignsTried = 12;      // units of the last hidden layer whose signs are tried in all ways
constexpr std::size_t kMostAlwaysOn = 24;  // rows of a unit that may be on at all questions
constexpr double kNoRest = 1e-5;           // of the features' part, that needs no such unit
constexpr double kGoodStart = 1e-12;       // relative mean square of rows that are known from kinks
constexpr int kReweighted = 30;            // fits of least absolute deviations
constexpr double kRightAnswer = 1e-6;      // what rows from kinks are off, over the answer
constexpr double kRightShare = 0.5;        // of the questions, at least
constexpr double kSmallestDeviation = 1e-9;  // over the spread, that weighs more than a larger one

// (|z|, h, 1): the last hidden layer without its signs, and the features of the layer below.
Matrix last_features(const DeepForm& form, const RowMatrix& u) {
  RowMatrix h = u, z;
  for (std::size_t l = 0; l < form.depth(); ++l) {
    const Matrix& V = form.V[l];
    if (l > 0) h = z.cwiseMax(0.0);
    z = h * V.leftCols(V.cols() - 1).transpose();
    z.rowwise() += V.col(V.cols() - 1).transpose();
  }
  Matrix out(u.rows(), z.cols() + h.cols() + 1);
  out << z.cwiseAbs(), h, Vector::Ones(u.rows());
  return out;
}

// Rows on h of a unit that is on at all questions. With one output its row is what the features' part L of the outputs has beyond
// the known units, sum_i s_i c_i w_i, and any signs s leave one. A unit that is on everywhere is hardly less than 0 for h far out:
// rows of which that holds best come first.
std::vector<Vector> always_on_rows(const DeepForm& plain, const Matrix& F, const Matrix& B) {
  const Matrix& V = plain.V.back();
  const Index k = V.rows(), below = V.cols() - 1;
  std::vector<Vector> out;
  if (B.cols() != 1 || k > kMostSignsTried) return out;
  const Matrix parts = B.topRows(k).asDiagonal() * V.leftCols(below);
  const Vector linear = B.middleRows(k, below);
  Matrix H = F.middleCols(k, below);
  H = (H.rowwise().norm().cwiseMax(kTiny).cwiseInverse().asDiagonal() * H).eval();
  std::vector<std::pair<double, Vector>> order;
  for (std::size_t way = 0; way < std::size_t{1} << k; ++way) {
    Vector row = linear;
    for (Index i = 0; i < k; ++i) row -= ((way >> i & 1) != 0 ? 1.0 : -1.0) * parts.row(i).transpose();
    const double size = row.norm();
    if (!(size > kNoRest * linear.norm())) return {};  // the known units are all
    row /= size;
    const Vector at = H * row;
    const double least = at.minCoeff(), most = at.maxCoeff();
    order.emplace_back(least > -most ? -least : most, least > -most ? row : Vector(-row));
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < std::min(kMostAlwaysOn, order.size()); ++i) out.push_back(order[i].second);
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
  out.rows = always_on_rows(plain, F, B);
  const NoisyAnswers said = out.model(out_.u);
  for (Index i = 0; i < n; ++i)
    if (!(left.row(i).cwiseAbs().maxCoeff() <= said.noise(i))) out.off.push_back(i);
  if (static_cast<double>(out.off.size()) > (1 - kRightShare) * static_cast<double>(n)) return std::nullopt;
  const Vector size = left.rowwise().norm();
  std::stable_sort(out.off.begin(), out.off.end(), [&](Index i, Index j) { return size(i) > size(j); });
  return out;
}

RowMatrix DeepFinder::where_always_on_switch(const std::vector<Vector>& rows, std::uint64_t look) const {
  const std::size_t top = layers_.size() - 1;
  const Matrix B = plain_rows_of(top - 1);
  if (B.rows() == 0) return {};
  const KnownLayers under = below(top);
  RowMatrix out(static_cast<Index>(rows.size()), s_);
  for (std::size_t i = 0; i < rows.size(); ++i)
    out.row(static_cast<Index>(i)) = place_of_most(space_, out_.planes, under, -(B.transpose() * rows[i]),
                                                   options_.seed + 49979687 * (look + 1) + 7 * i)
                                         .transpose();
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
