#include "extract/surface.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "extract/kink.h"
#include "linalg/svd.h"

namespace exhume {
namespace {

// Chosen by experience on random and digit-trained networks; not derived.
struct SurfaceLimits {
  int steps = 64, halvings = 60;
  double least_error = 1e-15, smallest = 1e-13;
  double contradicted = 1e4;        // distance of a place from the surface of the others, in errors
  double most_contradicted = 0.25;  // of all places
  double least_free = 1e-2;         // share of an equation that the others do not use up
};
constexpr SurfaceLimits kSurface;

}  // namespace

AlongSurface along_surface(const Space& space, const SignFreeLayers& below, const QueryEvidence& evidence,
                           const Vector& row, Index places, std::uint64_t seed) {
  const Index s = space.dimensions();
  const RowMatrix from = places_about(space, evidence, sub_seed(seed, "along a surface"), 0, 8 * places);
  std::vector<Vector> at, normals;
  for (Index i = 0; i + 1 < from.rows() && static_cast<Index>(at.size()) < places; i += 2) {
    const Vector a = from.row(i), b = from.row(i + 1);
    const auto z = [&](double t) { return below.value(row, a + t * (b - a)).z; };
    double low = 0, before = z(0);
    for (int q = 1; q <= kSurface.steps; ++q) {
      const double t = static_cast<double>(q) / kSurface.steps, now = z(t);
      if ((before < 0) != (now < 0)) {
        double high = t;
        for (int half = 0; half < kSurface.halvings; ++half) {
          const double middle = (low + high) / 2;
          ((z(middle) < 0) == (before < 0) ? low : high) = middle;
        }
        const Vector u = a + low * (b - a);
        const Vector slope = below.value(row, u).slope;
        if (slope.norm() > kTiny) {
          at.push_back(u);
          normals.push_back(slope.normalized());
        }
        break;
      }
      low = t;
      before = now;
    }
  }
  const auto n = static_cast<Index>(at.size());
  AlongSurface out;
  if (n == 0) return out;
  RowMatrix u(n, s), w(n, s);
  for (Index i = 0; i < n; ++i) {
    u.row(i) = at[static_cast<std::size_t>(i)].transpose();
    w.row(i) = normals[static_cast<std::size_t>(i)].transpose();
  }
  std::vector<Bend> bends =
      bends_at(space, QueryStage::kSurfaces, u, w, Vector::Constant(n, kBendSteps[0] * evidence.scale));
  // Those at which it does not bend so near, once more.
  std::vector<Index> again;
  for (Index i = 0; i < n; ++i)
    if (!bends[static_cast<std::size_t>(i)].bends) again.push_back(i);
  const std::vector<Bend> wider =
      bends_at(space, QueryStage::kSurfaces, u(again, Eigen::all), w(again, Eigen::all),
               Vector::Constant(static_cast<Index>(again.size()), kBendSteps[1] * evidence.scale));
  for (std::size_t i = 0; i < again.size(); ++i) bends[static_cast<std::size_t>(again[i])] = wider[i];
  for (std::size_t i = 0; i < bends.size(); ++i) {
    if (bends[i].alive) ++out.alive;
    if (!bends[i].bends) continue;
    ++out.bends;
    out.met.push_back({at[i] + bends[i].offset * normals[i], bends[i].error});
  }
  return out;
}

Vector through_places(const SignFreeLayers& below, const Vector& row, const std::vector<Kink>& kinks,
                      std::vector<MetPlace>& met, double& off, const Matrix& plain) {
  const Index s = below.inputs(), K = below.units(), q = K + s + 1;
  const auto least_places =
      static_cast<std::size_t>((1 - kSurface.most_contradicted) * static_cast<double>(met.size()));
  // theta = row + T y.
  Matrix T = Matrix::Identity(q, q);
  if (plain.rows() > 0) {
    T.resize(q, plain.rows() + 1);
    T << plain.transpose(), Vector::Unit(q, q - 1);
  }
  Vector theta = row;
  for (int round = 0; round < 2;) {
    const auto n = static_cast<Index>(met.size());
    Matrix A = Matrix::Zero(n + static_cast<Index>(kinks.size()) * (1 + s) + 1, q);
    Vector right = Vector::Zero(A.rows());
    const auto equation = [&](Index i, const Vector& u, double error) {
      const SignFreeLayers::Value value = below.value(theta, u);
      const double weight =
          1 / (std::max(error, kSurface.least_error * u.norm()) * std::max(value.slope.norm(), kTiny));
      A.row(i) = weight * below.row(below.values(u).cwiseAbs(), u, 1).transpose();
      right(i) = -weight * value.z;
    };
    for (Index i = 0; i < n; ++i)
      equation(i, met[static_cast<std::size_t>(i)].at, met[static_cast<std::size_t>(i)].error);
    Index at = n;
    for (const Kink& kink : kinks) {
      equation(at++, kink.place, kSurface.least_error * (1 + kink.place.norm()));
      // The slope at a kink has no part across the normal.
      const Piece piece = below.at(kink.place);
      const SignFreeLayers::Value start = below.value(theta, kink.place);
      const double weight = 1 / (std::max(kink.error, 1e-13) * std::max(start.slope.norm(), kTiny));
      for (Index a = 0; a < s; ++a, ++at) {
        const Vector across = Vector::Unit(s, a) - kink.normal(a) * kink.normal;
        A.row(at) = weight * below.row(piece.sides.cwiseProduct(piece.G * across), across, 0).transpose();
        right(at) = -weight * start.slope.dot(across);
      }
    }
    A.row(at) = theta.transpose() / kSurface.least_error;
    A = A * T;
    const Vector norms = A.colwise().norm().cwiseMax(kTiny).transpose();
    const Svd svd = thin_svd(A * norms.cwiseInverse().asDiagonal());
    Vector inverse = svd.values;
    const double least = kSurface.smallest * inverse(0);
    Index rank = 0;
    for (Index i = 0; i < inverse.size(); ++i) {
      if (inverse(i) > least) rank = i + 1;
      inverse(i) = inverse(i) > least ? 1 / inverse(i) : 0;
    }
    const Vector y =
        norms.cwiseInverse().asDiagonal() * (svd.V * (inverse.asDiagonal() * (svd.U.transpose() * right)));
    if (!y.allFinite()) break;
    // The place that is farthest from where the others have the surface, in errors (deleted residuals).
    const Vector left = right - A * y;
    const Vector taken = svd.U.leftCols(rank).rowwise().squaredNorm();
    Index worst = -1;
    double most = kSurface.contradicted;
    for (Index i = 0; i < n; ++i) {
      const double free = 1 - taken(i);
      if (free > kSurface.least_free && std::abs(left(i)) / free > most)
        most = std::abs(left(i)) / free, worst = i;
    }
    if (worst >= 0 && met.size() > least_places) {
      met.erase(met.begin() + worst);
      continue;
    }
    theta = (theta + T * y).normalized();
    ++round;
  }
  off = 0;
  for (const MetPlace& place : met) {
    const SignFreeLayers::Value value = below.value(theta, place.at);
    off = std::max(off, std::abs(value.z) / std::max(value.slope.norm(), kTiny));
  }
  return theta;
}

}  // namespace exhume
