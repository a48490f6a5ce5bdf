#include "fit/effects.h"

#include <Eigen/Dense>
#include <cmath>
#include <limits>
#include <utility>

namespace exhume {
namespace {

constexpr double kOpen = std::numeric_limits<double>::infinity();

// A number and its derivatives by the parameters that it depends on.
struct Estimate {
  double value = 0;
  std::vector<Index> at{};
  std::vector<double> slopes{};
  void depend(Index parameter, double slope) {
    if (slope == 0) return;
    at.push_back(parameter);
    slopes.push_back(slope);
  }
  Estimate& operator+=(const Estimate& other) {
    value += other.value;
    at.insert(at.end(), other.at.begin(), other.at.end());
    slopes.insert(slopes.end(), other.slopes.begin(), other.slopes.end());
    return *this;
  }
};

class Effects {
 public:
  Effects(const FitCovariance& covariance, const Standardisation& coordinates, const Matrix& unmix,
          double reach)
      : fit_(covariance),
        form_(covariance.form()),
        map_(coordinates.map),
        unmix_(unmix),
        reach_(reach),
        k_(form_.units()),
        d_(form_.inputs),
        m_(form_.C.cols()),
        linear_(form_.features() > k_ + 1),
        centre_(map_.P * map_.mu) {
    if (k_ == 0) return;
    w_ = form_.V[0].leftCols(d_) * map_.P;          // k x d, the user's
    a_ = unmix_ * form_.C.topRows(k_).transpose();  // m x k
  }

  std::vector<Effect> run(const std::vector<Index>& order) {
    for (std::size_t i = 0; i < order.size(); ++i) add_unit(static_cast<Index>(i), order[i]);
    for (Index o = 0; o < m_; ++o) {
      for (Index j = 0; j < d_ && linear_; ++j) add("slope", -1, j, o, linear_slope(o, j));
      add("constant", -1, -1, o, constant(o));
    }
    return std::move(list_);
  }

 private:
  [[nodiscard]] double covariance(const Estimate& a, const Estimate& b) const {
    double sum = 0;
    for (std::size_t s = 0; s < a.at.size(); ++s) {
      double inner = 0;
      for (std::size_t t = 0; t < b.at.size(); ++t) inner += fit_.matrix()(a.at[s], b.at[t]) * b.slopes[t];
      sum += a.slopes[s] * inner;
    }
    return sum;
  }

  void add(const char* kind, Index unit, Index input, Index output, const Estimate& e) {
    const double error = std::sqrt(std::max(covariance(e, e), 0.0));
    list_.push_back(
        {kind, unit, input, output, e.value, error, e.value - reach_ * error, e.value + reach_ * error});
  }

  // a_o times a linear function z of the unit's row: values and derivatives of z by its d + 1 entries.
  [[nodiscard]] Estimate times_output(Index unit, Index o, double z, const Vector& dz) const {
    Estimate e{a_(o, unit) * z};
    for (Index a = 0; a <= d_; ++a) e.depend(fit_.of_V(unit, a), a_(o, unit) * dz(a));
    for (Index from = 0; from < m_; ++from) e.depend(fit_.of_C(unit, from), unmix_(o, from) * z);
    return e;
  }
  [[nodiscard]] Vector along_input(Index j) const {
    Vector dz = Vector::Zero(d_ + 1);
    dz.head(d_) = map_.P.col(j);
    return dz;
  }
  [[nodiscard]] Estimate bend(Index unit, Index j, Index o) const {
    return times_output(unit, o, w_(unit, j), along_input(j));
  }
  [[nodiscard]] Estimate linear_slope(Index o, Index j) const {
    Estimate e;
    for (Index from = 0; from < m_ && linear_; ++from) {
      for (Index a = 0; a < d_; ++a) {
        const double slope = unmix_(o, from) * map_.P(a, j);
        e.value += slope * form_.C(k_ + a, from);
        e.depend(fit_.of_C(k_ + a, from), slope);
      }
    }
    return e;
  }
  [[nodiscard]] Estimate constant(Index o) const {
    Estimate e{map_.nu(o)};
    const Index last = form_.features() - 1;
    for (Index from = 0; from < m_; ++from) {
      e.value += unmix_(o, from) * form_.C(last, from);
      e.depend(fit_.of_C(last, from), unmix_(o, from));
      for (Index a = 0; a < d_ && linear_; ++a) {
        e.value -= unmix_(o, from) * centre_(a) * form_.C(k_ + a, from);
        e.depend(fit_.of_C(k_ + a, from), -unmix_(o, from) * centre_(a));
      }
    }
    return e;
  }

  void add_unit(Index number, Index unit) {
    const Vector v = form_.V[0].row(unit).transpose();
    const double norm = v.head(d_).norm();
    // The point of the hinge nearest to the mean, which is 0: the other units that are on there.
    const Vector nearest = -v(d_) / (norm * norm) * v.head(d_);
    std::vector<Index> on;
    for (Index l = 0; l < k_; ++l) {
      const auto other = form_.V[0].row(l);
      if (l != unit && other.head(d_).dot(nearest) + other(d_) > 0) on.push_back(l);
    }
    for (Index o = 0; o < m_; ++o) {
      for (Index j = 0; j < d_; ++j) {
        Estimate slope = linear_slope(o, j);
        for (const Index l : on) slope += bend(l, j, o);
        const Estimate change = bend(unit, j, o);
        add("bend", number, j, o, change);
        add("before", number, j, o, slope);
        add("after", number, j, o, slope += change);
      }
      Vector of_norm = Vector::Zero(d_ + 1), of_b = Vector::Unit(d_ + 1, d_);
      of_norm.head(d_) = v.head(d_) / norm;
      of_b.head(d_) = -centre_;
      add("size", number, -1, o, times_output(unit, o, norm, of_norm));
      add("offset", number, -1, o, times_output(unit, o, of_b.dot(v), of_b));
    }
    for (Index j = 0; j < d_; ++j) add_hinge(number, unit, j);
  }

  // mu_j + u / v with u = -b', v = w_j.
  void add_hinge(Index number, Index unit, Index j) {
    Estimate u{-form_.V[0](unit, d_)}, v{w_(unit, j)};
    u.depend(fit_.of_V(unit, d_), -1);
    for (Index a = 0; a < d_; ++a) v.depend(fit_.of_V(unit, a), map_.P(a, j));
    const double c = reach_ * reach_, vv = v.value * v.value - c * covariance(v, v),
                 uv = u.value * v.value - c * covariance(u, v), uu = u.value * u.value - c * covariance(u, u);
    Effect e{"hinge", number, j, -1, map_.mu(j) + u.value / v.value, 0, -kOpen, kOpen};
    const double root = uv * uv - vv * uu;
    if (v.value == 0 || !std::isfinite(e.value)) e.value = std::numeric_limits<double>::quiet_NaN();
    if (vv > 0 && root >= 0) {
      e.lower = map_.mu(j) + (uv - std::sqrt(root)) / vv;
      e.upper = map_.mu(j) + (uv + std::sqrt(root)) / vv;
    }
    list_.push_back(e);
  }

  const FitCovariance& fit_;
  const Form& form_;
  const AffineMap& map_;
  const Matrix& unmix_;
  double reach_;
  Index k_, d_, m_;
  bool linear_;
  Vector centre_;
  Matrix w_, a_;
  std::vector<Effect> list_;
};

}  // namespace

Index effect_count(const Form& form) {
  const Index k = form.units(), d = form.inputs, m = form.C.cols();
  return k * (m * (3 * d + 2) + d) + m * (d + 1);
}

std::vector<Effect> effects_of(const FitCovariance& covariance, const Standardisation& coordinates,
                               const Matrix& unmix, const std::vector<Index>& order, double reach) {
  return Effects(covariance, coordinates, unmix, reach).run(order);
}

}  // namespace exhume
