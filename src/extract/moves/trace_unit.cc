#include "extract/moves/trace_unit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"
#include "extract/kink.h"
#include "extract/line.h"
#include "extract/line_units.h"

namespace exhume {
namespace {

// Chosen by experience on random and digit-trained networks; not derived.
struct TraceUnitLimits {
  double short_step = 2e-3;                      // beyond a crossing, over the scale
  double share = 0.05;                           // the same over the piece that the old slope would give
  double windows[2] = {3, 20};                   // half widths of the search beyond a crossing, in steps
  double places[2] = {0.7, 0.15};                // far places, as shares of the piece
  double long_piece = 4;                         // in scales: as far as a far place is at most
  double determined = 1e-5;                      // share of a slope change that is new to the equations
  double slope_left = 1e-6, slope_errors = 1e3;  // of a kink's slope: at least, and in errors of it
  Index most_crossings = 4;                      // in one direction, times the units below
  double near = 1e-9;                     // crossings nearer than this are the last one, over the scale
  double almost = 0.97;                   // of a part, where the surface is looked for
  double aside = 1e-3;                    // of the line beside it, over the length
  double before = 0.05, shortest = 1e-6;  // where that line begins, and a part that is too short for one
  double same = 1e-6;
  Index equations = 3;  // for every unknown: fewer would agree by themselves
};
constexpr TraceUnitLimits kTrace;

// Equations a.U = e, and which combinations of U they determine.
class Equations {
 public:
  explicit Equations(Index unknowns) : basis_(unknowns, 0), solution_(Vector::Zero(unknowns)) {}

  void add(const Vector& a, double e) {
    const double size = a.norm();
    if (!(size > kTiny)) return;
    rows_.push_back(a / size);
    right_.push_back(e / size);
    const Vector fresh = rest(rows_.back());
    if (fresh.norm() > kTrace.determined) {
      basis_.conservativeResize(Eigen::NoChange, basis_.cols() + 1);
      basis_.rightCols(1) = fresh.normalized();
    }
    const auto n = static_cast<Index>(rows_.size());
    Matrix A(n, solution_.size());
    Vector b(n);
    for (Index i = 0; i < n; ++i) {
      A.row(i) = rows_[static_cast<std::size_t>(i)].transpose();
      b(i) = right_[static_cast<std::size_t>(i)];
    }
    // Least norm among the solutions: within the span of the basis.
    solution_ = basis_ * (A * basis_).colPivHouseholderQr().solve(b);
  }
  [[nodiscard]] bool determines(const Vector& d) const {
    return rest(d).norm() <= kTrace.determined * d.norm();
  }
  [[nodiscard]] const Vector& solution() const { return solution_; }
  [[nodiscard]] Index rank() const { return basis_.cols(); }
  // The unit of which least is known.
  [[nodiscard]] Index least_known(Index skip) const {
    std::vector<std::pair<double, Index>> known;
    for (Index i = 0; i < solution_.size(); ++i) known.emplace_back(basis_.row(i).norm(), i);
    std::sort(known.begin(), known.end());
    return known[static_cast<std::size_t>(skip) % known.size()].second;
  }
  // Directions that the equations say nothing of: unknowns x so many.
  [[nodiscard]] Matrix undetermined() const {
    const Index n = solution_.size(), rank = basis_.cols();
    if (rank == 0) return Matrix::Identity(n, n);
    const Matrix Q = Eigen::HouseholderQR<Matrix>(basis_).householderQ();
    return Q.rightCols(n - rank);
  }
  [[nodiscard]] Index open() const {
    Index count = 0;
    for (Index i = 0; i < solution_.size(); ++i)
      if (basis_.row(i).norm() < 1 - kTrace.determined) ++count;
    return count;
  }

 private:
  [[nodiscard]] Vector rest(Vector a) const {
    if (basis_.cols() == 0) return a;
    for (int twice = 0; twice < 2; ++twice) a -= basis_ * (basis_.transpose() * a);
    return a;
  }
  Matrix basis_;
  Vector solution_;
  std::vector<Vector> rows_;
  std::vector<double> right_;
};

class Tracer {
 public:
  Tracer(const Space& space, const SignFreeLayers& below, const Kink& kink, const TraceOptions& options)
      : space_(space),
        below_(below),
        options_(options),
        p_(kink.place),
        g_(kink.normal),
        error_(kink.error),
        start_(below.at(kink.place)),
        map_(Matrix::Identity(below.units(), below.units())),
        s_(space.dimensions()) {
    const Index n = options.plain.rows();
    if (n > 0) map_.resize(below.units(), n);
    for (Index j = 0; j < n; ++j) map_.col(j) = below.parts(options.plain.row(j).transpose());
    equations_ = Equations(map_.cols());
  }

  TracedUnit run() {
    TracedUnit out;
    if (options_.plain.rows() > 0 && !use_slope()) return out;
    if (options_.plain.rows() > 0) out.agreed = s_ - equations_.rank();
    for (const Kink& other : options_.same) use(other);
    const Stream random(options_.seed, "extract slices");
    int whole = 0;  // ways along which it was not lost
    for (int slices = 0; slices < options_.most_slices && equations_.rank() < map_.cols(); ++slices) {
      RowMatrix drawn(1, s_);
      random.fill_normal(static_cast<std::uint64_t>(slices), drawn);
      Vector tau = drawn.row(0).transpose() / std::sqrt(static_cast<double>(s_));
      if (slices > 0) {
        // Towards a surface that was not met.
        const Index unit = below_.units() - map_.cols() + equations_.least_known(slices / 2);
        const Vector along = -start_.sides(unit) * start_.G.row(unit).transpose();
        tau = along.normalized() + 0.3 * tau;
      }
      tau -= tau.dot(g_) * g_;
      slice_n_ = g_;
      slice_t_ = tau.normalized();
      if (!slice_t_.allFinite()) continue;
      for (double side : {1.0, -1.0}) {
        if (slices > 0 && side < 0) break;
        way_.clear();
        if (trace(side)) {
          ++whole;
        } else {
          ++out.breaks;
          out.lost.push_back(way_);
        }
        if (out.breaks >= options_.most_breaks && out.breaks > whole) return out;
      }
      if (out.breaks >= 2 * options_.most_breaks) break;
    }
    out.open = equations_.open();
    out.met = met_;
    const Vector U = map_ * equations_.solution();
    const Vector turned = U.cwiseProduct(start_.sides);
    Vector row = below_.row(U, g_ - start_.G.transpose() * turned, -g_.dot(p_) - turned.dot(start_.c));
    out.row = row / row.norm();
    const Matrix free = map_ * equations_.undetermined();
    out.free.resize(free.cols(), row.size());
    for (Index i = 0; i < free.cols(); ++i) {
      const Vector side = free.col(i).cwiseProduct(start_.sides);
      out.free.row(i) =
          below_.row(free.col(i), -(start_.G.transpose() * side), -side.dot(start_.c)).transpose();
    }
    return out;
  }

 private:
  void add(const Vector& a, double e) { equations_.add(map_.transpose() * a, e); }

  // The slope at the kink, as equations for x; false where no unit above the layer has it.
  bool use_slope() {
    const Index K = below_.units();
    const Matrix A = options_.plain.middleCols(K, s_).transpose() +
                     start_.G.transpose() * start_.sides.asDiagonal() * map_;
    for (Index a = 0; a < s_; ++a) equations_.add(A.row(a).transpose(), g_(a));
    return (A * equations_.solution() - g_).norm() <=
           std::max(kTrace.slope_left, kTrace.slope_errors * error_);
  }

  // Another kink of the unit, as equations for U.
  void use(const Kink& other) {
    const Piece there = below_.at(other.place);
    const Vector z = there.sides.cwiseProduct(there.G * other.place + there.c) -
                     start_.sides.cwiseProduct(start_.G * other.place + start_.c);
    add(z, -g_.dot(other.place - p_));
    const Matrix slopes = there.sides.asDiagonal() * there.G - start_.sides.asDiagonal() * start_.G;
    const Matrix Q = Eigen::HouseholderQR<Matrix>(other.normal).householderQ();
    for (Index a = 1; a < s_; ++a) add(slopes * Q.col(a), -g_.dot(Q.col(a)));
  }

  // The part of a vector that lies in the slice, as a vector of the space.
  [[nodiscard]] Vector in_slice(const Vector& v) const {
    return slice_n_.dot(v) * slice_n_ + slice_t_.dot(v) * slice_t_;
  }
  // The direction of the slice that is orthogonal to v's part in it, of unit norm.
  [[nodiscard]] Vector across(const Vector& v) const {
    const Vector out = slice_n_.dot(v) * slice_t_ - slice_t_.dot(v) * slice_n_;
    return out / std::max(out.norm(), kTiny);
  }

  struct Crossing {
    double at = std::numeric_limits<double>::infinity();
    Index unit = -1;
  };
  // Where a ray first meets a surface of a known unit, as its piece says.
  [[nodiscard]] Crossing next_crossing(const Piece& piece, const Vector& x, const Vector& e,
                                       Index last) const {
    Crossing out;
    const Vector value = piece.G * x + piece.c, rate = piece.G * e;
    for (Index i = 0; i < value.size(); ++i) {
      if (i == last || !(std::abs(rate(i)) > kTiny)) continue;
      const double t = -value(i) / rate(i);
      if (t > kTrace.near * options_.scale && t < out.at) out = {t, i};
    }
    return out;
  }

  [[nodiscard]] double limit(const Vector& x, const Vector& e) const {
    double far = options_.farthest * options_.scale;
    if (space_.bounded()) far = std::min(far, 0.98 * space_.reach(x, e));
    return far;
  }

  // Follows the surface to one side; false where it ends at nothing known.
  bool trace(double side) {
    Piece piece = start_;
    Vector x = p_, e = side * slice_t_, g = g_;
    Index last = -1;
    for (Index step = 0; step < kTrace.most_crossings * below_.units() + 4; ++step) {
      const Crossing crossing = next_crossing(piece, x, e, last);
      if (crossing.unit < 0 || crossing.at > limit(x, e) ||
          (x - p_).norm() > options_.farthest * options_.scale)
        return true;
      way_.push_back({x, x + crossing.at * e, g.normalized()});
      x += crossing.at * e;
      const Index unit = crossing.unit;
      Vector sides = piece.sides;
      sides(unit) = -sides(unit);
      Piece next = below_.with_sides(sides);
      const Vector normal = piece.G.row(unit);
      // How the slopes of all |q| change, in multiples of the normal.
      const Vector change = (next.sides.asDiagonal() * next.G - piece.sides.asDiagonal() * piece.G) * normal /
                            normal.squaredNorm();
      const double ahead = normal.dot(e) > 0 ? 1 : -1;
      const auto beyond = [&](double kappa) {
        Vector direction = across(g + kappa * normal);
        if (normal.dot(direction) * ahead < 0) direction = -direction;
        return direction;
      };
      const Vector told = map_.transpose() * change;
      if (equations_.determines(told)) {
        g += equations_.solution().dot(told) * normal;
      } else {
        double kappa = 0;
        if (!measure(next, x, g, normal, ahead, unit, kappa)) return false;
        if (!far_place(next, x, beyond(kappa), g + kappa * normal, unit)) return false;
        const Vector& met = met_.back().at;
        // From both places on this piece, so that errors do not add up along the way.
        kappa = -g.dot(met - x) / normal.dot(met - x);
        if (!std::isfinite(kappa)) return false;
        equations_.add(told, kappa);
        g += kappa * normal;
        x = met;
        way_.clear();
      }
      e = beyond(0);
      piece = std::move(next);
      last = unit;
    }
    return true;
  }

  // The change of slope at a crossing x, from the kink on a short line beyond it.
  bool measure(const Piece& next, const Vector& x, const Vector& g, const Vector& normal, double ahead,
               Index unit, double& kappa) const {
    const Vector w = across(normal), b = ahead * in_slice(normal).normalized();
    const double gamma = g.dot(w);
    if (!b.allFinite() || !(std::abs(gamma) > 1e-6 * g.norm())) return false;
    // Beside other known surfaces shorter steps are taken.
    double room = std::numeric_limits<double>::infinity();
    const Vector value = next.G * x + next.c;
    for (Index i = 0; i < value.size(); ++i)
      if (i != unit) room = std::min(room, std::abs(value(i)) / std::max(next.G.row(i).norm(), kTiny));
    double delta = std::min(kTrace.short_step * options_.scale, kTrace.share * room);
    for (int tries = 0; tries < 3; ++tries, delta *= 0.1) {
      if (!(delta > 1e-8 * options_.scale)) return false;
      const Vector from = x + delta * b;
      const double straight = -g.dot(b) * delta / gamma;
      bool crowded = false;
      for (double width : kTrace.windows) {
        double low = straight - width * delta, high = straight + width * delta;
        // As far as the piece goes.
        const Vector at = next.G * from + next.c, rate = next.G * w;
        for (Index i = 0; i < at.size(); ++i) {
          if (!(std::abs(rate(i)) > kTiny)) continue;
          const double t = -at(i) / rate(i);
          if (t > straight) high = std::min(high, straight + 0.95 * (t - straight));
          if (t < straight) low = std::max(low, straight - 0.95 * (straight - t));
        }
        if (space_.bounded()) {
          high = std::min(high, 0.98 * space_.reach(from, w));
          low = std::max(low, -0.98 * space_.reach(from, -w));
        }
        if (!(low < high)) return false;
        const std::vector<double> kinks = kinks_between(from, w, low, high);
        if (kinks.size() == 1) {
          kappa = -(g.dot(b) * delta + gamma * kinks.front()) / (normal.dot(b) * delta);
          return std::isfinite(kappa);
        }
        if (kinks.size() > 1) {
          crowded = true;
          break;
        }
      }
      if (!crowded) return false;
    }
    return false;
  }

  [[nodiscard]] std::vector<double> kinks_between(const Vector& from, const Vector& w, double low,
                                                  double high) const {
    LineOptions line;
    line.low = low;
    line.high = high;
    line.scale = 10 * std::max(std::abs(low), std::abs(high));
    line.intervals = 1;
    line.tangent = 0.02;
    line.narrowest = 1e-4 * (high - low) / line.scale;
    return kinks_along(space_, QueryStage::kSurfaces, from, w, line);
  }

  // The kink far out on the new piece.
  bool far_place(const Piece& next, const Vector& x, const Vector& e, const Vector& g, Index unit) {
    const Crossing end = next_crossing(next, x, e, unit);
    const double length = std::min({end.at, kTrace.long_piece * options_.scale, limit(x, e)});
    const Vector normal = g.normalized();
    if (!(length > kTrace.near * options_.scale) || !normal.allFinite()) return false;
    way_.push_back({x, x + kTrace.places[0] * length * e, normal});
    for (double share : kTrace.places) {
      const Vector place = x + share * length * e;
      const Vector value = next.G * place + next.c;
      double room = std::numeric_limits<double>::infinity();
      for (Index i = 0; i < value.size(); ++i)
        room = std::min(room, std::abs(value(i)) / std::max(next.G.row(i).norm(), kTiny));
      if (!(room > 5e-9 * options_.scale)) continue;
      for (const double step : kBendSteps) {
        const double h = std::min(step * options_.scale, 0.2 * room);
        const Bend bend = bends_at(space_, QueryStage::kSurfaces, place.transpose(), normal.transpose(),
                                   Vector::Constant(1, h))
                              .front();
        if (!bend.bends) continue;
        met_.push_back({place + bend.offset * normal, bend.error});
        return true;
      }
    }
    return false;
  }

  const Space& space_;
  const SignFreeLayers& below_;
  const TraceOptions& options_;
  Vector p_, g_;
  double error_;  // of g_
  Piece start_;
  Matrix map_;  // U = map x: unknowns are x
  Equations equations_{0};
  Index s_;
  Vector slice_n_, slice_t_;
  std::vector<MetPlace> met_;
  std::vector<Lost> way_;  // since the surface was last met
};

}  // namespace

TracedUnit trace_unit(const Space& space, const SignFreeLayers& below, const Kink& kink,
                      const TraceOptions& options) {
  return Tracer(space, below, kink, options).run();
}

std::vector<Kink> kinks_at_break(const Space& space, const std::vector<Lost>& parts, double scale,
                                 std::uint64_t seed) {
  for (const Lost& part : parts) {
    const Vector along = part.to - part.from;
    const double length = along.norm();
    if (!(length > kTrace.shortest * scale)) continue;
    const Vector end = part.from + kTrace.almost * along;
    const double h = std::min(kBendSteps[1] * scale, kTrace.aside * length);
    const Bend bend = bends_at(space, QueryStage::kSurfaces, end.transpose(), part.normal.transpose(),
                               Vector::Constant(1, h))
                          .front();
    if (bend.bends) continue;
    Vector aside = kTrace.aside * length * part.normal;
    if (space.bounded() && !(space.reach(part.to, aside) > 1 && space.reach(part.from, aside) > 1))
      aside = -aside;
    return kinks_of_segment(space, part.from + kTrace.before * along + aside, part.to + aside, seed);
  }
  return {};
}

std::optional<Vector> joined_row(const Vector& a, const Matrix& free_a, const Vector& b,
                                 const Matrix& free_b) {
  const Index n = a.size(), p = free_a.rows(), q = free_b.rows();
  if (kTrace.equations * (p + q + 1) > n) return std::nullopt;
  Matrix A(n, p + q + 1);
  if (p > 0) A.leftCols(p) = free_a.transpose();
  if (q > 0) A.middleCols(p, q) = free_b.transpose();
  A.col(p + q) = b;
  const Vector norms = A.colwise().norm().cwiseMax(kTiny).transpose();
  const Matrix scaled = A * norms.cwiseInverse().asDiagonal();
  const Vector x =
      norms.cwiseInverse().asDiagonal() * Vector(scaled.completeOrthogonalDecomposition().solve(Vector(-a)));
  const Vector joined = a + A.leftCols(p) * x.head(p);
  if (!((a + A * x).norm() <= kTrace.same * a.norm()) ||
      !(std::abs(x(p + q)) * b.norm() > kTrace.same * a.norm()) || !(joined.norm() > kTrace.same * a.norm()))
    return std::nullopt;
  return Vector(joined / joined.norm());
}

}  // namespace exhume
