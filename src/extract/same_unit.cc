#include "extract/same_unit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace exhume {
namespace {

constexpr double kSharpNormal = 1e-7;  // error of a normal that is used
constexpr double kSumLeft = 1e-6;      // of a slope that units which are on do not give
constexpr double kAgree = 1e-5;        // two kinks' weights, and their constants
constexpr Index kLeastCommon = 4;      // units that are on at both
constexpr double kBarelyOn = 1e-9;     // value of a unit, over the largest, below which its side is not known
constexpr Index kMostSigned = 12;      // units whose signs are tried in all ways
constexpr Index kSurplus = 2;          // equations beyond the units that are on, of a kink that tells signs
constexpr int kLeastSums = 3;          // such kinks

struct Weights {
  Vector x;      // on the units below, 0 where off
  Vector on, h;  // of 0 and 1; values
  double constant = 0;
  bool told = false;
};

Weights weights_at(const KnownLayers& below, const Matrix& plain, const UpperKink& kink) {
  const Index n = plain.rows(), s = below.inputs();
  Weights out{Vector::Zero(n), Vector::Zero(n), Vector(n)};
  if (!(kink.error < kSharpNormal)) return out;
  std::vector<Index> on;
  Matrix slopes(s, n);
  for (Index i = 0; i < n; ++i) {
    const KnownLayers::Value value = below.value(plain.row(i).transpose(), kink.place);
    out.h(i) = value.z;
    slopes.col(i) = value.slope;
  }
  const double least = kBarelyOn * out.h.maxCoeff();
  for (Index i = 0; i < n; ++i)
    if (out.h(i) > least) on.push_back(i), out.on(i) = 1;
  if (on.empty() || static_cast<Index>(on.size()) > s) return out;
  const Matrix some = slopes(Eigen::all, on);
  const Eigen::ColPivHouseholderQR<Matrix> qr(some);
  const Vector x = qr.solve(kink.normal);
  if (qr.rank() < some.cols() || !x.allFinite() || !((some * x - kink.normal).norm() <= kSumLeft)) return out;
  for (std::size_t i = 0; i < on.size(); ++i) out.x(on[i]) = x(static_cast<Index>(i));
  out.constant = -out.x.dot(out.h);
  out.told = true;
  return out;
}

bool of_one_unit(const Weights& a, const Weights& b) {
  if (!a.told || !b.told) return false;
  const Vector both = a.on.cwiseProduct(b.on);
  if (both.sum() < static_cast<double>(kLeastCommon)) return false;
  const Vector p = a.x.cwiseProduct(both), q = b.x.cwiseProduct(both);
  if (!(q.squaredNorm() > 0)) return false;
  const double t = p.dot(q) / q.squaredNorm();
  const double size = a.x.cwiseAbs().dot(a.h.cwiseMax(0)) + std::abs(t) * b.x.cwiseAbs().dot(b.h.cwiseMax(0));
  return (p - t * q).norm() <= kAgree * p.norm() && std::abs(a.constant - t * b.constant) <= kAgree * size;
}

// What a kink says of signs: its slope and those of the units, in the units' span.
struct Sum {
  Matrix slopes;  // r x k
  Vector normal;  // r
  Vector sides;   // k
};

}  // namespace

std::vector<std::vector<std::size_t>> kinks_of_one_unit(const KnownLayers& below, const Matrix& plain,
                                                        const std::vector<UpperKink>& kinks) {
  std::vector<Weights> weights;
  for (const UpperKink& kink : kinks) weights.push_back(weights_at(below, plain, kink));
  std::vector<std::vector<std::size_t>> out(kinks.size());
  for (std::size_t i = 0; i < kinks.size(); ++i)
    for (std::size_t j = 0; j < kinks.size(); ++j)
      if (j != i && of_one_unit(weights[i], weights[j])) out[i].push_back(j);
  return out;
}

Vector signs_by_sums(const KnownLayers& below, Index units, const std::vector<UpperKink>& kinks) {
  if (units < 1 || units > kMostSigned) return {};
  std::vector<Sum> sums;
  for (const UpperKink& kink : kinks) {
    if (!(kink.error < kSharpNormal)) continue;
    const Piece piece = below.at(kink.place);
    Matrix slopes = piece.G.bottomRows(units).transpose();
    const Vector norms = slopes.colwise().norm().cwiseMax(kTiny).transpose();
    slopes = slopes * norms.cwiseInverse().asDiagonal();
    // A kink of the layer itself says nothing.
    if ((slopes.transpose() * kink.normal).cwiseAbs().maxCoeff() > 1 - kSumLeft) continue;
    Eigen::ColPivHouseholderQR<Matrix> qr(slopes);
    qr.setThreshold(kSumLeft);
    const Index rank = qr.rank();
    if (rank < kSurplus + 1) continue;
    const Matrix Q = Matrix(qr.householderQ()).leftCols(rank);
    const Vector inside = Q.transpose() * kink.normal;
    if (!((kink.normal - Q * inside).norm() <= kSumLeft)) continue;
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
      if (surplus < kSurplus || on.empty()) continue;
      const Matrix some = sum.slopes(Eigen::all, on);
      const Vector x = some.householderQr().solve(sum.normal);
      if (!((some * x - sum.normal).norm() <= kSumLeft)) continue;
      scores[way].surplus += surplus;
      ++scores[way].kinks;
    }
    if (scores[way].surplus > scores[best].surplus) best = way;
  }
  if (scores[best].kinks < kLeastSums) return {};
  Vector out(units);
  for (Index j = 0; j < units; ++j) {
    if (scores[best ^ (std::size_t{1} << j)].surplus == scores[best].surplus) return {};
    out(j) = (best >> j & 1) != 0 ? 1 : -1;
  }
  return out;
}

}  // namespace exhume
