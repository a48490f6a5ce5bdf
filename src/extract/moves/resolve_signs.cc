#include "extract/moves/resolve_signs.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "extract/moves/assemble_network.h"
#include "linalg/svd.h"

namespace exhume {
namespace {

// Chosen by experience on random and digit-trained networks; not derived.
struct ResolveSignsLimits {
  // By Jacobians.
  double beyond = 1e-6;  // singular value of what is beyond the span, over the Jacobians', that counts
  // By kinks: their slopes as sums over units.
  double sharp_normal = 1e-7;  // error of a normal that is used
  double sum_left = 1e-6;      // of a slope that units which are on do not give
  double agree = 1e-5;         // two kinks' weights, and their constants
  Index least_common = 4;      // units that are on at both
  double barely_on = 1e-9;     // value of a unit, over the largest, below which its side is not known
  Index most_signed = 12;      // units whose signs are tried in all ways
  Index surplus = 2;           // equations beyond the units that are on, of a kink that tells signs
  int least_sums = 3;          // such kinks
  // By kinks: votes.
  double no_part = 1e-5;    // of a slope that a unit has which is off
  double most_votes = 0.6;  // for the sign of a unit, over all
  double least_votes = 2;   // kinks that vote
  Index least_off = 2;      // units that have no part in a slope, of a kink that votes
  // By rows above.
  double signs_told = 1e-3;  // how far the solutions for signs may be from -1 and 1
};
constexpr ResolveSignsLimits kSigns;

struct Weights {
  Vector x;      // on the units below, 0 where off
  Vector on, h;  // of 0 and 1; values
  double constant = 0;
  bool told = false;
};

Weights weights_at(const SignFreeLayers& below, const Matrix& plain, const Kink& kink) {
  const Index n = plain.rows(), s = below.inputs();
  Weights out{Vector::Zero(n), Vector::Zero(n), Vector(n)};
  if (!(kink.error < kSigns.sharp_normal)) return out;
  std::vector<Index> on;
  Matrix slopes(s, n);
  for (Index i = 0; i < n; ++i) {
    const SignFreeLayers::Value value = below.value(plain.row(i).transpose(), kink.place);
    out.h(i) = value.z;
    slopes.col(i) = value.slope;
  }
  const double least = kSigns.barely_on * out.h.maxCoeff();
  for (Index i = 0; i < n; ++i)
    if (out.h(i) > least) on.push_back(i), out.on(i) = 1;
  if (on.empty() || static_cast<Index>(on.size()) > s) return out;
  const Matrix some = slopes(Eigen::all, on);
  const Eigen::ColPivHouseholderQR<Matrix> qr(some);
  const Vector x = qr.solve(kink.normal);
  if (qr.rank() < some.cols() || !x.allFinite() || !((some * x - kink.normal).norm() <= kSigns.sum_left))
    return out;
  for (std::size_t i = 0; i < on.size(); ++i) out.x(on[i]) = x(static_cast<Index>(i));
  out.constant = -out.x.dot(out.h);
  out.told = true;
  return out;
}

bool of_one_unit(const Weights& a, const Weights& b) {
  if (!a.told || !b.told) return false;
  const Vector both = a.on.cwiseProduct(b.on);
  if (both.sum() < static_cast<double>(kSigns.least_common)) return false;
  const Vector p = a.x.cwiseProduct(both), q = b.x.cwiseProduct(both);
  if (!(q.squaredNorm() > 0)) return false;
  const double t = p.dot(q) / q.squaredNorm();
  const double size = a.x.cwiseAbs().dot(a.h.cwiseMax(0)) + std::abs(t) * b.x.cwiseAbs().dot(b.h.cwiseMax(0));
  return (p - t * q).norm() <= kSigns.agree * p.norm() &&
         std::abs(a.constant - t * b.constant) <= kSigns.agree * size;
}

// What a kink says of signs: its slope and those of the units, in the units' span.
struct Sum {
  Matrix slopes;  // r x k
  Vector normal;  // r
  Vector sides;   // k
};

// Where the layer has no more units than the space has dimensions: the slope at a kink above it is a sum of
// the slopes of its units, in which those that are off have no part.
Vector signs_by_kinks(LayerSearch& search, std::size_t layer) {
  const std::vector<Kink>& kinks = search.evidence.kinks;
  Hypothesis& known = search.hypothesis;
  const Index k = known.layers[layer].rows();
  if (layer == 0 || k > search.dimensions()) return {};
  const SignFreeLayers under = known.below(layer + 1);
  auto& told = known.told;
  if (told.kinks != kinks.size() || told.rows.rows() != k || told.rows != known.layers[layer])
    told = {known.layers[layer], kinks.size(), signs_by_sums(under, k, kinks)};
  if (told.signs.size() > 0) return told.signs;
  Vector votes = Vector::Zero(k);
  double voters = 0;
  for (const Kink& kink : kinks) {
    const Piece piece = under.at(kink.place);
    const Matrix slopes = piece.G.bottomRows(k).transpose();
    const Vector x = slopes.colPivHouseholderQr().solve(kink.normal);
    if (!x.allFinite() || !((slopes * x - kink.normal).norm() <= kSigns.no_part)) continue;
    const Vector part = x.cwiseAbs().cwiseProduct(slopes.colwise().norm().transpose());
    const Vector sides = piece.sides.tail(k);
    const Vector on = (part.array() > kSigns.no_part).select(sides, -sides);
    const Index off = (part.array() <= kSigns.no_part).count();
    // One unit alone is the layer's own kink.
    if (off < kSigns.least_off || off + 1 >= k) continue;
    votes += on;
    ++voters;
  }
  if (voters < kSigns.least_votes || !(votes.cwiseAbs().minCoeff() >= kSigns.most_votes * voters)) return {};
  return votes.array().sign().matrix();
}

}  // namespace

SignsFromJacobians signs_from_jacobians(const Matrix& V, const std::vector<LocalLinear>& pieces) {
  SignsFromJacobians out;
  const Index k = V.rows(), s = V.cols() - 1;
  if (k == 0 || k > s || pieces.empty()) return out;
  const Index m = pieces.front().jacobian.rows(), n = static_cast<Index>(pieces.size());
  Matrix J(n * m, s), above(n, k);
  for (Index p = 0; p < n; ++p) {
    const LocalLinear& piece = pieces[static_cast<std::size_t>(p)];
    J.middleRows(p * m, m) = piece.jacobian;
    above.row(p) = (V.leftCols(s) * piece.point + V.col(s)).transpose();
  }
  const Matrix W = V.leftCols(s);
  const Matrix B = W.transpose().colPivHouseholderQr().solve(J.transpose()).transpose();  // n m x k
  const Svd beyond = thin_svd(J - B * W);
  Index count = 0;
  while (count < beyond.values.size() && beyond.values(count) > kSigns.beyond * J.norm()) ++count;
  const Matrix b = beyond.U.leftCols(count) * beyond.values.head(count).asDiagonal();  // n m x count
  out.signs = Vector::Ones(k);
  Matrix gamma = Matrix::Zero(k, count);
  for (Index j = 0; j < k; ++j) {
    double least = -1;
    for (const double side : {1.0, -1.0}) {
      std::vector<Index> rows;
      for (Index p = 0; p < n; ++p)
        if (side * above(p, j) < 0)
          for (Index o = 0; o < m; ++o) rows.push_back(p * m + o);
      if (rows.empty()) continue;
      const Vector there = B(rows, j);
      Vector part = Vector::Zero(count);
      double off = there.squaredNorm();
      if (count > 0) {
        const Matrix some = b(rows, Eigen::all);
        part = some.completeOrthogonalDecomposition().solve(there);
        off = (there - some * part).squaredNorm();
      }
      off /= static_cast<double>(rows.size());
      if (least >= 0 && !(off < least)) continue;
      least = off;
      out.signs(j) = side;
      gamma.row(j) = part.transpose();
    }
  }
  for (Index a = 0; a < count; ++a) out.left.emplace_back(beyond.V.col(a) + W.transpose() * gamma.col(a));
  return out;
}

std::vector<std::vector<std::size_t>> group_kinks_by_unit(const SignFreeLayers& below, const Matrix& plain,
                                                          const std::vector<Kink>& kinks) {
  std::vector<Weights> weights;
  for (const Kink& kink : kinks) weights.push_back(weights_at(below, plain, kink));
  std::vector<std::vector<std::size_t>> out(kinks.size());
  for (std::size_t i = 0; i < kinks.size(); ++i)
    for (std::size_t j = 0; j < kinks.size(); ++j)
      if (j != i && of_one_unit(weights[i], weights[j])) out[i].push_back(j);
  return out;
}

Vector signs_by_sums(const SignFreeLayers& below, Index units, const std::vector<Kink>& kinks) {
  if (units < 1 || units > kSigns.most_signed) return {};
  std::vector<Sum> sums;
  for (const Kink& kink : kinks) {
    if (!(kink.error < kSigns.sharp_normal)) continue;
    const Piece piece = below.at(kink.place);
    Matrix slopes = piece.G.bottomRows(units).transpose();
    const Vector norms = slopes.colwise().norm().cwiseMax(kTiny).transpose();
    slopes = slopes * norms.cwiseInverse().asDiagonal();
    // A kink of the layer itself says nothing.
    if ((slopes.transpose() * kink.normal).cwiseAbs().maxCoeff() > 1 - kSigns.sum_left) continue;
    Eigen::ColPivHouseholderQR<Matrix> qr(slopes);
    qr.setThreshold(kSigns.sum_left);
    const Index rank = qr.rank();
    if (rank < kSigns.surplus + 1) continue;
    const Matrix Q = Matrix(qr.householderQ()).leftCols(rank);
    const Vector inside = Q.transpose() * kink.normal;
    if (!((kink.normal - Q * inside).norm() <= kSigns.sum_left)) continue;
    sums.push_back({Q.transpose() * slopes, inside, piece.sides.tail(units)});
  }
  struct Score {
    Index surplus = 0;
    int kinks = 0;
  };
  std::vector<Score> scores(std::size_t{1} << units);
  std::size_t best = 0;
  for (std::size_t way = 0; way < scores.size(); ++way) {
    for (const Sum& sum : sums) {
      std::vector<Index> on;
      for (Index j = 0; j < units; ++j)
        if (((way >> j & 1) != 0) == (sum.sides(j) > 0)) on.push_back(j);
      const Index surplus = sum.normal.size() - static_cast<Index>(on.size());
      if (surplus < kSigns.surplus || on.empty()) continue;
      const Matrix some = sum.slopes(Eigen::all, on);
      const Vector x = some.householderQr().solve(sum.normal);
      if (!((some * x - sum.normal).norm() <= kSigns.sum_left)) continue;
      scores[way].surplus += surplus;
      ++scores[way].kinks;
    }
    if (scores[way].surplus > scores[best].surplus) best = way;
  }
  if (scores[best].kinks < kSigns.least_sums) return {};
  Vector out(units);
  for (Index j = 0; j < units; ++j) {
    if (scores[best ^ (std::size_t{1} << j)].surplus == scores[best].surplus) return {};
    out(j) = (best >> j & 1) != 0 ? 1 : -1;
  }
  return out;
}

Matrix plain_rows_of(LayerSearch& search, std::size_t layer) {
  const Hypothesis& known = search.hypothesis;
  if (known.layers.size() <= layer) return {};
  const Matrix& V = known.layers[layer];
  const Index k = V.rows(), c = V.cols() - 1;
  const std::vector<Vector> rows = known.whole_rows(layer + 1);
  Matrix out(k, k + c + 1);
  out << Matrix(0.5 * Matrix::Identity(k, k)), V;
  Vector told;
  if (layer == 0) {
    // All Jacobians lie in the span of the planes: none is missing.
    const SignsFromJacobians first = signs_from_jacobians(V, search.evidence.jacobians);
    if (first.left.empty()) told = first.signs;
  } else if (rows.empty()) {
    told = signs_by_kinks(search, layer);
  }
  if (told.size() > 0) out.rightCols(c + 1) = 0.5 * told.asDiagonal() * V;
  if (told.size() > 0 || rows.empty()) return told.size() > 0 ? out : Matrix();
  const Matrix above = as_rows(rows, rows.front().size());
  const Vector s = signs_between(above.leftCols(k), V.leftCols(c), above.middleCols(k, c));
  if (!((s.cwiseAbs().array() - 1).abs().maxCoeff() <= kSigns.signs_told)) return {};
  out.rightCols(c + 1) = 0.5 * s.array().sign().matrix().asDiagonal() * V;
  return out;
}

DeepForm network_of_layers(const LayerSearch& search) {
  const Hypothesis& known = search.hypothesis;
  return assemble_network(known.layers.front(), known.units, search.evidence.u, search.evidence.y,
                          signs_from_jacobians(known.layers.front(), search.evidence.jacobians).signs);
}

}  // namespace exhume
