#include "papers/threshold/trust_region.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

namespace exhume {
namespace {

// argmin g.s + s.diag(h) s/2 over |s| <= radius, in the eigenbasis: s = -g/(h + mu), mu >= max(0, -least h),
// by bisection.
Vector step_in_eigenbasis(const Vector& g, const Vector& h, double radius) {
  const double floor = 1e-14 * std::max(kTiny, h.cwiseAbs().maxCoeff());
  const auto at = [&](double mu) { return Vector(-(g.array() / (h.array() + mu).max(floor))); };
  double low = std::max(0.0, -h(0));
  if (h(0) > 0) {
    Vector newton = at(0);
    if (newton.norm() <= radius) return newton;
  }
  double high = low + g.norm() / radius + floor;
  for (int i = 0; i < 100; ++i) {
    const double mu = 0.5 * (low + high);
    (at(mu).norm() > radius ? low : high) = mu;
  }
  Vector s = at(high);
  // The hard case: nothing of g lies along the most negative curvature; go to the boundary along it.
  const double left = radius * radius - s.squaredNorm();
  if (h(0) < 0 && left > 1e-6 * radius * radius) s(0) += (s(0) >= 0 ? 1 : -1) * std::sqrt(left);
  return s;
}

}  // namespace

LocalMinimum minimise(const SmoothFunction& f, Vector start, const TrustRegionOptions& options) {
  LocalMinimum out;
  out.at = std::move(start);
  SecondOrderModel here = f(out.at);
  const double first = here.gradient.norm();
  double radius = options.radius;
  Eigen::SelfAdjointEigenSolver<Matrix> eigen(here.hessian);
  for (; out.iterations < options.max_iterations; ++out.iterations) {
    const double curvature_scale =
        std::max(std::abs(eigen.eigenvalues()(0)), eigen.eigenvalues().cwiseAbs().maxCoeff());
    if (here.gradient.norm() <= options.tolerance * first &&
        eigen.eigenvalues()(0) >= -1e-9 * curvature_scale) {
      out.converged = true;
      break;
    }
    const Vector s =
        eigen.eigenvectors() *
        step_in_eigenbasis(eigen.eigenvectors().transpose() * here.gradient, eigen.eigenvalues(), radius);
    const double promised = -(here.gradient.dot(s) + 0.5 * s.dot(here.hessian * s));
    SecondOrderModel there = f(out.at + s);
    const double got = here.value - there.value;
    // Near the minimum the gain is below rounding: there the gradient decides.
    const bool rounding = promised <= 1e-13 * std::max(std::abs(here.value), kTiny);
    const bool take = rounding ? there.gradient.norm() < here.gradient.norm() : got > 1e-4 * promised;
    if (!take) {
      if (rounding) {
        out.converged = eigen.eigenvalues()(0) >= -1e-6 * curvature_scale;
        break;
      }
      radius = 0.25 * std::min(radius, s.norm());
      if (radius < 1e-16) break;
      continue;
    }
    if (got > 0.75 * promised && s.norm() > 0.9 * radius) radius = std::min(2 * radius, 10 * options.radius);
    if (!rounding && got < 0.25 * promised) radius *= 0.5;
    out.at += s;
    here = std::move(there);
    eigen.compute(here.hessian);
  }
  out.value = here.value;
  out.gradient_norm = here.gradient.norm();
  out.least_curvature = eigen.eigenvalues()(0);
  return out;
}

}  // namespace exhume
