#include "extract/always_on.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "extract/deep_fit.h"

namespace exhume {
namespace {

constexpr Index kMostSignsTried = 12;  // units of the last hidden layer whose signs are tried in all ways
constexpr double kNoRest = 1e-5;       // of the features' part, that needs no such unit

}  // namespace

std::vector<AlwaysOnRow> always_on_rows(const DeepForm& plain, const Matrix& F, const Matrix& B) {
  const Matrix& V = plain.V.back();
  const Index k = V.rows(), below = V.cols() - 1;
  std::vector<AlwaysOnRow> out;
  if (B.cols() != 1 || k > kMostSignsTried) return out;
  const Matrix parts = B.topRows(k).asDiagonal() * V.leftCols(below);
  const Vector linear = B.middleRows(k, below);
  Matrix H = F.middleCols(k, below);
  H = (H.rowwise().norm().cwiseMax(kTiny).cwiseInverse().asDiagonal() * H).eval();
  std::vector<std::pair<double, AlwaysOnRow>> order;
  for (std::size_t way = 0; way < std::size_t{1} << k; ++way) {
    AlwaysOnRow each{linear, Vector(k)};
    for (Index i = 0; i < k; ++i) each.signs(i) = (way >> i & 1) != 0 ? 1 : -1;
    each.row -= parts.transpose() * each.signs;
    const double size = each.row.norm();
    if (!(size > kNoRest * linear.norm())) return {};  // the known units are all
    each.row /= size;
    const Vector at = H * each.row;
    const double least = at.minCoeff(), most = at.maxCoeff();
    if (!(least > -most)) each.row = -each.row;
    order.emplace_back(least > -most ? -least : most, std::move(each));
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& each : order) out.push_back(std::move(each.second));
  return out;
}

DeepForm with_always_on(const DeepForm& plain, const AlwaysOnRow& unit, const Vector& u, const Vector& on) {
  DeepForm out = plain;
  const Matrix& V = plain.V.back();
  const Index k = V.rows(), below = V.cols() - 1;
  RowMatrix both(2, u.size());
  both << u.transpose(), on.transpose();
  const RowMatrix h = features_below(plain, both);
  const double side = unit.row.dot((h.row(1) - h.row(0)).transpose()) < 0 ? -1 : 1;
  Matrix more(k + 1, below + 1);
  more.topRows(k) = unit.signs.asDiagonal() * V;
  more.row(k).head(below) = side * unit.row.transpose();
  more(k, below) = -side * unit.row.dot(h.row(0).transpose());
  out.V.back() = std::move(more);
  out.C.resize(0, 0);
  return out;
}

}  // namespace exhume
