#include "extract/second_layer.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <utility>

#include "extract/form_fit.h"

namespace exhume {
namespace {

// Chosen by experience on random and digit-trained networks; not derived.
struct SecondLayerLimits {
  double sharp = 1e-6;           // error of a normal that is used
  double same_direction = 1e-5;  // of jumps of one unit
  double consistent = 1e-4;      // what is left of a normal, and of units that are off, over its size
  double on_plane = 1e-7;        // distance from a plane below which its side is not known
  double singular = 1e-7;        // of the second smallest eigenvalue, from which on a row is known
  double same_bias = 1e-4;
};
constexpr SecondLayerLimits kSecondLayer;

struct Usable {
  const Kink* kink;
  Vector a;   // k, zero where off, unit norm
  Vector on;  // k, of 0 and 1
  Vector h;   // k
};

std::vector<Usable> usable_kinks(const FirstUnits& first, const std::vector<Kink>& kinks) {
  std::vector<Usable> out;
  for (const Kink& kink : kinks) {
    if (!(kink.error < kSecondLayer.sharp)) continue;
    double left = 0;
    Usable one{&kink, first.coordinates(kink.normal, left), {}, {}};
    const double size = one.a.norm();
    if (!(left <= kSecondLayer.consistent)) continue;
    const Vector z = first.values(kink.place);
    if (z.cwiseAbs().minCoeff() < kSecondLayer.on_plane) continue;
    one.on = (z.array() > 0).cast<double>();
    one.h = z.cwiseMax(0);
    if ((one.a - one.on.cwiseProduct(one.a)).norm() > kSecondLayer.consistent * size) continue;
    one.a = one.on.cwiseProduct(one.a).normalized();
    out.push_back(std::move(one));
  }
  return out;
}

// The null vector of kinks, and what a second one would have; rows of units that are off at all of them are
// open.
SecondUnit solved(const std::vector<const Usable*>& group, double& second) {
  const Index k = group.front()->a.size();
  Matrix N = Matrix::Zero(k, k);
  Vector met = Vector::Zero(k);
  for (const Usable* one : group) {
    N += one->on.asDiagonal();
    N -= one->a * one->a.transpose();
    met += one->on;
  }
  SecondUnit unit;
  unit.row = Vector::Zero(k + 1);
  unit.open.assign(static_cast<std::size_t>(k), false);
  std::vector<Index> told;
  for (Index j = 0; j < k; ++j) {
    if (met(j) > 0) {
      told.push_back(j);
    } else {
      unit.open[static_cast<std::size_t>(j)] = true;
    }
  }
  const Matrix some = N(told, told);
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(some);
  second = eigen.eigenvalues().size() > 1 ? eigen.eigenvalues()(1) : 1;
  const Vector w = eigen.eigenvectors().col(0);
  for (std::size_t i = 0; i < told.size(); ++i) unit.row(told[i]) = w(static_cast<Index>(i));
  std::vector<double> bias;
  for (const Usable* one : group) bias.push_back(-unit.row.head(k).dot(one->h));
  std::nth_element(bias.begin(), bias.begin() + static_cast<std::ptrdiff_t>(bias.size() / 2), bias.end());
  unit.row(k) = bias[bias.size() / 2];
  return unit;
}

bool agrees(const SecondUnit& unit, const Usable& kink) {
  const Index k = kink.a.size();
  const Vector w = kink.on.cwiseProduct(Vector(unit.row.head(k)));
  const double size = w.cwiseProduct(kink.h).norm();
  return (w - kink.a.dot(w) * kink.a).norm() <= kSecondLayer.consistent * w.norm() &&
         std::abs(w.dot(kink.h) + unit.row(k)) <= kSecondLayer.same_bias * (size + std::abs(unit.row(k)));
}

}  // namespace

bool SecondUnit::any_open() const {
  return std::any_of(open.begin(), open.end(), [](bool each) { return each; });
}

FirstUnits::FirstUnits(Matrix V) : V_(std::move(V)) {
  const Matrix W = V_.leftCols(V_.cols() - 1);
  inverse_ = W.transpose().colPivHouseholderQr().solve(Matrix::Identity(W.cols(), W.cols()));
}

Vector FirstUnits::values(const Vector& x) const {
  return V_.leftCols(V_.cols() - 1) * x + V_.col(V_.cols() - 1);
}

RowMatrix FirstUnits::features(const RowMatrix& x) const { return layer_values(V_, x).cwiseMax(0.0); }

Vector FirstUnits::coordinates(const Vector& normal, double& left) const {
  Vector a = inverse_ * normal;
  left = (normal - V_.leftCols(V_.cols() - 1).transpose() * a).norm();
  return a;
}

std::vector<SecondUnit> second_units(const FirstUnits& first, const std::vector<Kink>& kinks) {
  const std::vector<Usable> usable = usable_kinks(first, kinks);
  std::vector<SecondUnit> units;
  std::vector<bool> used(usable.size(), false);
  for (std::size_t i = 0; i < usable.size(); ++i) {
    if (used[i]) continue;
    std::vector<const Usable*> group{&usable[i]};
    const Vector along = usable[i].kink->jump.normalized();
    for (std::size_t j = i + 1; j < usable.size(); ++j) {
      const Vector& jump = usable[j].kink->jump;
      if (used[j] || (jump - along.dot(jump) * along).norm() > kSecondLayer.same_direction * jump.norm())
        continue;
      used[j] = true;
      group.push_back(&usable[j]);
    }
    double second = 0;
    SecondUnit unit = solved(group, second);
    const std::size_t all = group.size();
    std::erase_if(group, [&](const Usable* one) { return !agrees(unit, *one); });
    if (group.size() < 2 || 2 * group.size() < all) continue;
    if (group.size() < all) unit = solved(group, second);
    if (!(second > kSecondLayer.singular)) continue;
    units.push_back(std::move(unit));
  }
  return units;
}

bool on_surface(const FirstUnits& first, const std::vector<SecondUnit>& units, const Vector& x,
                double tolerance) {
  const Index k = first.units(), d = x.size();
  const Vector h = first.values(x).cwiseMax(0);
  for (const SecondUnit& unit : units) {
    bool open = false;
    Vector slope = Vector::Zero(d);
    for (Index j = 0; j < k; ++j) {
      if (!(h(j) > 0)) continue;
      open = open || unit.open[static_cast<std::size_t>(j)];
      slope += unit.row(j) * first.V().row(j).head(d).transpose();
    }
    if (!open && std::abs(unit.row.head(k).dot(h) + unit.row(k)) <= tolerance * slope.norm()) return true;
  }
  return false;
}

}  // namespace exhume
