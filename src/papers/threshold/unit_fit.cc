#include "papers/threshold/unit_fit.h"
#include "linalg/orthonormal.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace exhume {
namespace {

constexpr Index kRowsPerUnknown = 3;
constexpr Index kMostRows = 20000;   // of a least-squares problem
constexpr Index kMarginRows = 3000;  // nearest rows that the maximum margin looks at
constexpr Index kBandRowsPerUnknown = 12;

double polynomial(const Vector& beta, double a) {
  double value = 0;
  for (Index s = beta.size() - 1; s >= 0; --s) value = value * a + beta(s);
  return value;
}

double slope(const Vector& beta, double a) {
  double value = 0;
  for (Index s = beta.size() - 1; s >= 1; --s) value = value * a + static_cast<double>(s) * beta(s);
  return value;
}

struct Kept {
  Matrix x;  // rows x d
  Vector y;
};

Kept keep(const AloneRows& rows, const std::vector<Index>& which) {
  const auto n = static_cast<Index>(which.size());
  const Index stride = std::max<Index>(1, n / kMostRows), count = (n + stride - 1) / stride;
  Kept out{Matrix(count, rows.x.cols()), Vector(count)};
  for (Index i = 0; i < count; ++i) {
    out.x.row(i) = rows.x.row(which[static_cast<std::size_t>(i * stride)]);
    out.y(i) = rows.y(which[static_cast<std::size_t>(i * stride)]);
  }
  return out;
}

Matrix powers(const Vector& a, int degree) {
  Matrix B(a.size(), degree + 1);
  B.col(0).setOnes();
  for (int s = 1; s <= degree; ++s) B.col(s) = B.col(s - 1).cwiseProduct(a);
  return B;
}

// Rows of one parity.
template <class M>
M parity(const M& from, Index first) {
  M out((from.rows() - first + 1) / 2, from.cols());
  for (Index i = 0; i < out.rows(); ++i) out.row(i) = from.row(2 * i + first);
  return out;
}

Vector least_squares(const Matrix& J, const Vector& y) { return J.colPivHouseholderQr().solve(y); }

// The root of p(a) = level next to 0, or 0 where Newton does not stay near it.
double root(const Vector& beta, double level) {
  double a = 0;
  for (int i = 0; i < 50; ++i) {
    const double s = slope(beta, a);
    if (s == 0) return 0;
    const double step = (polynomial(beta, a) - level) / s;
    a -= step;
    if (!(std::abs(a) < 0.5)) return 0;
    if (std::abs(step) < 1e-15) break;
  }
  return a;
}

// The gap of z = w.x between rows that are off and rows that are on: the cut with the fewest rows on the
// wrong side.
struct Gap {
  double low = 0, high = 0;
};
Gap activity_gap(const Vector& z, const std::vector<bool>& on) {
  std::vector<Index> order(on.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<Index>(i);
  std::sort(order.begin(), order.end(), [&](Index a, Index b) { return z(a) < z(b); });
  // Cutting before position i: rows that are on before it and off from it on are wrong.
  Index wrong = std::count(on.begin(), on.end(), false), least = wrong;
  std::size_t best = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    wrong += on[static_cast<std::size_t>(order[i])] ? 1 : -1;
    if (wrong < least) least = wrong, best = i + 1;
  }
  if (best == 0) return {z(order.front()), z(order.front())};
  if (best == order.size()) return {z(order.back()), z(order.back())};
  return {z(order[best - 1]), z(order[best])};
}

// Share of responding rows beyond t + 0.1 less the share before t - 0.1.
double contrast(const Vector& z, double t, const std::vector<bool>& on) {
  constexpr double kAway = 0.1;
  double hits[2] = {0, 0}, counts[2] = {0, 0};
  for (Index r = 0; r < z.size(); ++r) {
    if (std::abs(z(r) - t) < kAway) continue;
    const int side = z(r) > t;
    counts[side] += 1;
    hits[side] += on[static_cast<std::size_t>(r)] ? 1 : 0;
  }
  if (counts[0] == 0 || counts[1] == 0) return 0;
  return hits[1] / counts[1] - hits[0] / counts[0];
}

// Mean outputs on the two sides of the plane z = 0.
struct Levels {
  double low = 0, high = 0;
  [[nodiscard]] double size() const { return high - low; }
};

// From rows at least `away` from the plane; nothing where a side has fewer than ten.
std::optional<Levels> levels_of(const Vector& y, const Vector& z, double away) {
  double sums[2] = {0, 0}, counts[2] = {0, 0};
  for (Index r = 0; r < y.size(); ++r) {
    if (std::abs(z(r)) < away) continue;
    const int side = z(r) > 0;
    sums[side] += y(r);
    counts[side] += 1;
  }
  if (counts[0] < 10 || counts[1] < 10) return std::nullopt;
  return Levels{sums[0] / counts[0], sums[1] / counts[1]};
}

// What the rows with |z| <= h say of the plane: (v, dt), v in the coordinates of Q, the complement of w.
struct BandMove {
  Index rows = 0;  // below the least number nothing else is set
  Matrix Q;
  Vector move, half;  // the regression on all rows; the difference of those on even and on odd rows
};

BandMove move_in_band(const AloneRows& rows, const Vector& z, const Vector& w, const Levels& levels,
                      double h) {
  const Index d = w.size();
  std::vector<Index> band;
  for (Index r = 0; r < z.size(); ++r) {
    if (std::abs(z(r)) <= h) band.push_back(r);
  }
  BandMove out;
  out.rows = static_cast<Index>(band.size());
  if (out.rows < kBandRowsPerUnknown * d) return out;
  out.Q = complement(w);
  Matrix J(out.rows, d);
  Vector response(out.rows);
  for (Index i = 0; i < out.rows; ++i) {
    const Index r = band[static_cast<std::size_t>(i)];
    J.row(i).head(d - 1) = rows.x.row(r) * out.Q;
    J(i, d - 1) = -1;
    response(i) = (rows.y(r) - levels.low) / (levels.high - levels.low) - (z(r) > 0 ? 1 : 0);
  }
  const auto solve = [&](const Matrix& A, const Vector& b) {
    return Vector((A.transpose() * A).ldlt().solve(A.transpose() * b) * (2 * h));
  };
  out.move = solve(J, response);
  out.half = solve(parity(J, 0), parity(response, 0)) - solve(parity(J, 1), parity(response, 1));
  return out;
}

// Moves w and t by regressions in a narrowing band. False where rows are too few or do not respond.
bool narrow_band(const AloneRows& rows, const StepOptions& options, UnitFit& fit, Levels& levels) {
  const Index d = fit.w.size();
  double h = options.band;
  bool moved = false;
  for (int step = 0; step < options.steps; ++step) {
    const Vector z = (rows.x * fit.w).array() - fit.t;
    const auto found = levels_of(rows.y, z, std::min(0.3, std::max(h, 0.05)));
    if (!found) return false;
    levels = *found;
    if (std::abs(levels.size()) < 1e-12 * (std::abs(levels.high) + std::abs(levels.low))) {
      fit.outcome = FitOutcome::kNoResponse;
      return false;
    }
    const BandMove band = move_in_band(rows, z, fit.w, levels, h);
    if (band.rows < kBandRowsPerUnknown * d || !band.move.allFinite() || band.move.norm() > 1.5) break;
    fit.w += band.Q * band.move.head(d - 1);
    // The plane w.x = t with w no longer of unit norm: rescale both.
    const double norm = fit.w.norm();
    fit.t = (fit.t + band.move(d - 1)) / norm;
    fit.w /= norm;
    fit.rows = band.rows;
    fit.angle_error = 0.5 * band.half.head(d - 1).norm();
    fit.threshold_error = 0.5 * std::abs(band.half(d - 1));
    moved = true;
    h = std::clamp(8 * band.move.norm(), h / 3, h);
  }
  fit.size = levels.size();
  return moved;
}

// How well the plane z = 0 explains the rows; response: s of every row, 0 or 1 without noise.
void judge(const AloneRows& rows, const Levels& levels, const Vector& response, const Vector& z,
           UnitFit& fit) {
  std::vector<bool> on(static_cast<std::size_t>(z.size()));
  for (Index r = 0; r < z.size(); ++r) {
    on[static_cast<std::size_t>(r)] = std::abs(rows.y(r) - levels.high) < std::abs(rows.y(r) - levels.low);
  }
  fit.response = contrast(z, 0, on);
  fit.misfit = std::sqrt((response - (z.array() > 0).cast<double>().matrix()).squaredNorm() /
                         std::max(1.0, response.squaredNorm()));
}

// Moves w and t to the maximum margin over the rows nearest to the plane z = 0. False, and nothing moved,
// where the labels are not separable; otherwise z is that of the new plane.
bool widen_margin(const AloneRows& rows, const Vector& response, Vector& z, UnitFit& fit) {
  const Index d = fit.w.size(), n = z.size();
  std::vector<Index> order(static_cast<std::size_t>(n));
  for (Index r = 0; r < n; ++r) order[static_cast<std::size_t>(r)] = r;
  const Index count = std::min(n, kMarginRows);
  std::partial_sort(order.begin(), order.begin() + count, order.end(),
                    [&](Index a, Index b) { return std::abs(z(a)) < std::abs(z(b)); });
  const Matrix Q = complement(fit.w);
  Matrix X(count, d - 1);
  Vector g(count), labels(count);
  for (Index i = 0; i < count; ++i) {
    const Index r = order[static_cast<std::size_t>(i)];
    X.row(i) = rows.x.row(r) * Q;
    g(i) = z(r);
    labels(i) = response(r) > 0.5 ? 1 : -1;
  }
  if ((labels.array() > 0).all() || (labels.array() < 0).all()) return false;
  const MaximumMargin best = maximum_margin(X, g, labels);
  if (best.margin <= 0) return false;
  Vector w = fit.w + Q * best.v;
  const double norm = w.norm(), t = (fit.t + best.c) / norm;
  w /= norm;
  // Rows farther away must agree too.
  const Vector all = (rows.x * w).array() - t;
  const auto wrong = ((all.array() > 0) != (response.array() > 0.5)).count();
  if (wrong > 0) return false;
  fit.w = w;
  fit.t = t;
  fit.margin = best.margin;
  // Every plane that separates the rows is as good as this one; they differ by the margin a coordinate.
  fit.angle_error = std::max(fit.angle_error, best.margin * std::sqrt(static_cast<double>(d)));
  fit.threshold_error = std::max(fit.threshold_error, best.margin);
  z = all;
  return true;
}

}  // namespace

Matrix complement(const Vector& w) { return orthonormal_basis(w).rightCols(w.size() - 1); }

UnitFit fit_kink(const AloneRows& rows, const Vector& w, double t, const RestLevel& rest,
                 const KinkOptions& options) {
  UnitFit fit;
  fit.w = w;
  fit.t = t;
  const Index d = w.size();
  std::vector<Index> active;
  for (Index r = 0; r < rows.y.size(); ++r) {
    const bool on = rest.exact ? std::abs(rows.y(r) - rest.value) > rest.tolerance
                               : rows.x.row(r).dot(w) > t + options.guard;
    if (on) active.push_back(r);
  }
  fit.rows = static_cast<Index>(active.size());
  const int degree = options.degree;
  if (fit.rows < kRowsPerUnknown * (d + degree)) return fit;
  const Kept kept = keep(rows, active);
  const Index n = kept.y.size();
  Vector beta = least_squares(powers(kept.x * fit.w - Vector::Constant(n, fit.t), degree), kept.y);
  Matrix J(n, degree + d);  // degree + 1 powers, d - 1 directions
  Vector a, solution;
  for (int step = 0; step < options.steps; ++step) {
    const Matrix Q = complement(fit.w);
    a = kept.x * fit.w - Vector::Constant(n, fit.t);
    J.leftCols(degree + 1) = powers(a, degree);
    const Vector slopes = a.unaryExpr([&](double at) { return slope(beta, at); });
    J.rightCols(d - 1) = slopes.asDiagonal() * (kept.x * Q);
    solution = least_squares(J, kept.y);
    if (!solution.allFinite()) return fit;
    beta = solution.head(degree + 1);
    const Vector v = Q * solution.tail(d - 1);
    if (v.norm() > 1) return fit;  // the unit does not respond the way a kink does
    fit.w = (fit.w + v).normalized();
    if (v.norm() < 1e-14) break;
  }
  a = kept.x * fit.w - Vector::Constant(n, fit.t);
  beta = least_squares(powers(a, degree), kept.y);
  double shift = root(beta, rest.value);
  std::vector<bool> on(static_cast<std::size_t>(rows.y.size()));
  for (Index r = 0; r < rows.y.size(); ++r) {
    on[static_cast<std::size_t>(r)] = std::abs(rows.y(r) - rest.value) > rest.tolerance;
  }
  const Vector z = rows.x * fit.w;
  if (rest.exact) {
    const Gap gap = activity_gap(z, on);
    if (fit.t + shift < gap.low || fit.t + shift > gap.high) shift = 0.5 * (gap.low + gap.high) - fit.t;
    fit.threshold_error = 0.5 * (gap.high - gap.low);
  }
  fit.t += shift;
  fit.size = slope(beta, shift);
  // With noise a small response may drown; then nothing is said against the unit here.
  fit.response = rest.exact ? contrast(z, fit.t, on) : 1;
  const Vector left = kept.y - powers(a, degree) * beta;
  const double total = (kept.y.array() - rest.value).matrix().norm();
  fit.misfit = total > 0 ? left.norm() / total : 0;
  if (n >= 2 * kRowsPerUnknown * (d + degree)) {
    Vector halves[2];
    for (Index h = 0; h < 2; ++h) halves[h] = least_squares(parity(J, h), parity(kept.y, h)).tail(d - 1);
    fit.angle_error = 0.5 * (halves[0] - halves[1]).norm();
  } else {
    fit.angle_error = 1;
  }
  fit.outcome = fit.size != 0 && std::isfinite(fit.size) ? FitOutcome::kFitted : FitOutcome::kNoResponse;
  return fit;
}

MaximumMargin maximum_margin(const Matrix& X, const Vector& g, const Vector& labels) {
  const Index n = X.rows(), q = X.cols() + 1;
  Matrix J(n, q);
  J << X, -Vector::Ones(n);
  J = (labels.asDiagonal() * J).eval();
  const Vector offset = labels.cwiseProduct(g);
  Vector theta = Vector::Zero(q);
  // (1/s) log sum exp(-s m_i): an upper bound of -min m_i that is tight to log(n)/s.
  const auto soft = [&](const Vector& at, double s, Vector* weights) {
    const Vector m = offset + J * at;
    const double least = m.minCoeff();
    Vector e = (-s * (m.array() - least)).exp();
    const double sum = e.sum();
    if (weights != nullptr) *weights = e / sum;
    return -least + std::log(sum) / s;
  };
  const double scale = std::max(offset.cwiseAbs().mean(), 1e-12);
  for (double s = 1 / scale; s < 1e6 / scale; s *= 2) {
    for (int it = 0; it < 12; ++it) {
      Vector p;
      const double value = soft(theta, s, &p);
      const Vector mean = J.transpose() * p;
      Matrix H = s * (J.transpose() * p.asDiagonal() * J - mean * mean.transpose());
      H.diagonal().array() += 1e-10 * H.trace() + kTiny;
      const Vector direction = H.ldlt().solve(mean);  // minus the gradient is +mean
      const double gain = direction.dot(mean);
      if (!(gain > 1e-12 * scale)) break;
      double length = 1;
      while (length > 1e-6 && soft(theta + length * direction, s, nullptr) > value - 1e-4 * length * gain)
        length /= 2;
      if (length <= 1e-6) break;
      theta += length * direction;
    }
  }
  MaximumMargin out;
  out.v = theta.head(q - 1);
  out.c = theta(q - 1);
  out.margin = (offset + J * theta).minCoeff();
  return out;
}

UnitFit fit_step(const AloneRows& rows, const Vector& w, double t, const StepOptions& options) {
  UnitFit fit;
  fit.w = w;
  fit.t = t;
  Levels levels;
  if (!narrow_band(rows, options, fit, levels)) return fit;
  fit.outcome = FitOutcome::kFitted;
  Vector z = (rows.x * fit.w).array() - fit.t;
  const Vector response = (rows.y.array() - levels.low) / (levels.high - levels.low);
  judge(rows, levels, response, z, fit);
  if (options.maximum_margin && widen_margin(rows, response, z, fit)) judge(rows, levels, response, z, fit);
  return fit;
}

}  // namespace exhume
