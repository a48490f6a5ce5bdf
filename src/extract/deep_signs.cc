#include <algorithm>
#include <cmath>

#include "extract/deep_finder.h"
#include "extract/first_layer.h"
#include "extract/same_unit.h"

namespace exhume {
namespace {

constexpr double kNoPart = 1e-5;     // of a slope that a unit has which is off
constexpr double kMostVotes = 0.6;   // for the sign of a unit, over all
constexpr double kSignsTold = 1e-3;  // how far the solutions for signs may be from -1 and 1
constexpr double kLeastVotes = 2;    // kinks that vote
constexpr Index kLeastOff = 2;       // units that have no part in a slope, of a kink that votes

}  // namespace

Matrix DeepFinder::plain_rows_of(std::size_t layer) const {
  if (layers_.size() <= layer) return {};
  const Matrix& V = layers_[layer];
  const Index k = V.rows(), c = V.cols() - 1;
  std::vector<Vector> rows;
  if (layers_.size() > layer + 1)
    for (const FoundUnit& unit : units_[layer])
      if (unit.open == 0) rows.push_back(unit.row);
  Matrix out(k, k + c + 1);
  out << Matrix(0.5 * Matrix::Identity(k, k)), V;
  Vector told;
  if (layer == 0) {
    // All Jacobians lie in the span of the planes: none is missing.
    const FirstLayer first = first_layer(V, out_.planes.pieces);
    if (first.left.empty()) told = first.signs;
  } else if (rows.empty()) {
    told = signs_by_kinks(layer);
  }
  if (told.size() > 0) out.rightCols(c + 1) = 0.5 * told.asDiagonal() * V;
  if (told.size() > 0 || rows.empty()) return told.size() > 0 ? out : Matrix();
  Matrix U(static_cast<Index>(rows.size()), k), R(U.rows(), c);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    U.row(static_cast<Index>(i)) = rows[i].head(k).transpose();
    R.row(static_cast<Index>(i)) = rows[i].segment(k, c).transpose();
  }
  const Vector s = signs_between(U, V.leftCols(c), R);
  if (!((s.cwiseAbs().array() - 1).abs().maxCoeff() <= kSignsTold)) return {};
  out.rightCols(c + 1) = 0.5 * s.array().sign().matrix().asDiagonal() * V;
  return out;
}

Vector DeepFinder::signs_by_kinks(std::size_t layer) const {
  const Index k = layers_[layer].rows();
  if (layer == 0 || k > s_) return {};
  const KnownLayers under = below(layer + 1);
  const std::size_t kinks = out_.planes.upper.size();
  if (told_.kinks != kinks || told_.rows.rows() != k || told_.rows != layers_[layer])
    told_ = {layers_[layer], kinks, signs_by_sums(under, k, out_.planes.upper)};
  if (told_.signs.size() > 0) return told_.signs;
  Vector votes = Vector::Zero(k);
  double voters = 0;
  for (const UpperKink& kink : out_.planes.upper) {
    const Piece piece = under.at(kink.place);
    const Matrix slopes = piece.G.bottomRows(k).transpose();
    const Vector x = slopes.colPivHouseholderQr().solve(kink.normal);
    if (!x.allFinite() || !((slopes * x - kink.normal).norm() <= kNoPart)) continue;
    const Vector part = x.cwiseAbs().cwiseProduct(slopes.colwise().norm().transpose());
    const Vector sides = piece.sides.tail(k);
    const Vector on = (part.array() > kNoPart).select(sides, -sides);
    const Index off = (part.array() <= kNoPart).count();
    // One unit alone is the layer's own kink.
    if (off < kLeastOff || off + 1 >= k) continue;
    votes += on;
    ++voters;
  }
  if (voters < kLeastVotes || !(votes.cwiseAbs().minCoeff() >= kMostVotes * voters)) return {};
  return votes.array().sign().matrix();
}

}  // namespace exhume
