#include "extract/moves/two_layers_in_noise.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/random.h"
#include "extract/evidence.h"
#include "extract/form_fit.h"
#include "fit/signs.h"

namespace exhume {
namespace {

// Chosen on random float32 networks of two hidden layers; not derived, but where said.
struct InNoiseLimits {
  // Lines.
  Index line_points = 1201, first_points = 2401;
  double reach = 4, first_reach = 24;  // of a line to either side, in spreads of inputs
  int least_lines = 6, quiet_lines = 3, most_lines = 24;
  double far_quantile = 0.9, beyond_planes = 2, least_spread = 1e-3;  // as in extract.cc
  // Planes.
  double plain_jump = 20;   // sigmas that a kink's jump makes over one step
  double errors = 4;        // of a place: the step is at least so many
  double farther = 3;       // radius of the next places over that of the last
  Index spare = 3, far_places = 20, least_judged = 8;
  double bends_near = 0.7, bends_far = 0.75;  // share of the places where f changes
  double outlier = 6;        // errors from which a place is not used
  double same_plane = 8;     // errors of a kink from a plane that explains it
  double same_normal = 1e-3;  // distance of planes that are one
  // Surfaces.
  double near_crossing = 0.03;  // of the spread: the line just beyond a crossing, at most
  double room = 0.3;            // the same of the way to the next plane
  double windows[2] = {4, 20};  // of that line, in multiples of its distance over the slope along it
  Index window_points = 61;
  double same_jump = 0.15;
  double places[3] = {0.7, 0.4, 0.2};  // of the piece, where the surface is met
  double widest = 0.1, shortest = 2e-3;  // steps there: of the room, and of the spread
  int crossings = 60;                    // of one way
  int ways = 3;                          // towards each plane that was not crossed
  double far = 3.5;                      // from the middle, in spreads times s^(1/2)
  double consistent = 30;                // errors of a unit's places that are its own, root mean square
  // Fits.
  double ridge = 1e-7;
  double sample = 8;                      // equations per unknown
  double twins = 1e-3;                    // distance of rows that are one, over what both say
  int absolute_rounds = 12;
  double right = 25;                      // sigmas of an answer that is right
  double exact = 3;                       // root mean square over sigma of a network that is found
  int rounds = 8;
};
constexpr InNoiseLimits kInNoise;

// The plane n.u + b = 0 through places with errors, about a kink: theta in the tangent space, and b.
struct PlaneFit {
  Vector normal;
  double offset = 0;  // n.u + offset = 0
  double turn = 0, error = 0;
};

struct Candidate {
  NoisyKink kink;
  PlaneFit plane;
  std::vector<MetPlace> met;
  double radius = 0;       // of the last places
  bool lost = false;       // f does not bend all along
  bool first_layer = false;
};

Matrix tangents(const Vector& normal) {
  const Index s = normal.size();
  const Matrix Q = Eigen::HouseholderQR<Matrix>(normal).householderQ();
  return Q.rightCols(s - 1);
}

void fit_plane(Candidate& each) {
  const Index s = each.kink.place.size();
  const Matrix T = tangents(each.plane.normal);
  const Vector p = each.kink.place;
  std::vector<bool> used(each.met.size(), true);
  for (int round = 0; round < 3; ++round) {
    Index n = 0;
    for (const bool one : used) n += one ? 1 : 0;
    Matrix A = Matrix::Zero(n + 1 + s - 1, s);
    Vector right = Vector::Zero(A.rows());
    Index at = 0;
    for (std::size_t i = 0; i < each.met.size(); ++i) {
      if (!used[i]) continue;
      const Vector x = each.met[i].at - p;
      A.row(at).head(s - 1) = (T.transpose() * x).transpose() / each.met[i].error;
      A(at, s - 1) = 1 / each.met[i].error;
      right(at++) = -each.plane.normal.dot(x) / each.met[i].error;
    }
    A(at, s - 1) = 1 / each.kink.error;
    ++at;
    // The normal of the Jacobians.
    const Vector off = T.transpose() * each.kink.normal;
    for (Index a = 0; a < s - 1; ++a) {
      A(at, a) = 1 / each.kink.turn;
      right(at++) = off(a) / each.kink.turn;
    }
    const Matrix H = A.transpose() * A;
    const Eigen::LDLT<Matrix> solver(H);
    const Vector x = solver.solve(A.transpose() * right);
    if (!x.allFinite()) return;
    Vector normal = each.plane.normal + T * x.head(s - 1);
    const double size = normal.norm();
    normal /= size;
    const double offset = x(s - 1) / size - normal.dot(p);
    bool changed = false;
    double squares = 0;
    for (std::size_t i = 0; i < each.met.size(); ++i) {
      const double left = std::abs(normal.dot(each.met[i].at) + offset) / each.met[i].error;
      const bool good = left < kInNoise.outlier;
      changed = changed || good != used[i];
      used[i] = good;
      if (good) squares += left * left;
    }
    if (changed && round < 2) continue;
    const Matrix covariance = solver.solve(Matrix::Identity(s, s));
    const double worse = std::max(1.0, std::sqrt(squares / static_cast<double>(std::max<Index>(n, 1))));
    each.plane.normal = normal;
    each.plane.offset = offset;
    each.plane.turn =
        s > 1 ? worse * std::sqrt(covariance.topLeftCorner(s - 1, s - 1).diagonal().maxCoeff()) : 0.0;
    each.plane.error = worse * std::sqrt(covariance(s - 1, s - 1));
    return;
  }
}

// A unit above the first layer, as its surface was met.
struct SurfaceUnit {
  NoisyKink kink;
  std::vector<MetPlace> met;
  Vector kappa;             // k: change of slope across every plane
  std::vector<bool> known;  // k
  Vector r;                 // s: z = kappa.|q| / 2 + r.u + beta
  double beta = 0;
  Vector row;               // k + 1, on (h, 1): once signs are known
  std::vector<bool> told;   // k: weights that places tell
};

class InNoise {
 public:
  InNoise(const Space& space, std::uint64_t seed) : f_(space), seed_(seed), s_(space.dimensions()) {
    V_.resize(0, s_ + 1);
    spread_ = space.bounded() ? 0.5 * (space.frame->box().high - space.frame->box().low) : 1.0;
  }

  DepthInNoise tell_depth() {
    DepthInNoise out;
    for (int i = 0; i < 2 && !out.is_deep(); ++i) {
      const std::size_t before = above_.size();
      const Index planes = V_.rows();
      follow_random_line();
      if (i == 0) set_spread();
      out.planes += V_.rows() - planes;
      out.broken += static_cast<Index>(above_.size() - before);
    }
    return out;
  }

  NoisyLayers run() {
    NoisyLayers out;
    int quiet = 0, lines = 0;
    std::size_t units = 0;
    for (int round = 0; round < kInNoise.rounds; ++round) {
      for (; lines < kInNoise.most_lines; ++lines) {
        const Index planes = V_.rows();
        if (control().out_of_time()) return none("the time ended");
        follow_random_line();
        set_spread();
        if (V_.rows() > planes) start_units_over();
        trace_kinks();
        quiet = V_.rows() > planes || units_.size() > units ? 0 : quiet + 1;
        units = units_.size();
        if (lines + 1 >= kInNoise.least_lines && quiet >= kInNoise.quiet_lines) break;
      }
      if (units_.empty())
        return none(fmt::format("{} planes of a first layer were found and {} kinks above it, but none of their "
                                "surfaces could be followed across the planes",
                                V_.rows(), above_.size()));
      if (assemble(out)) return out;
      const Index planes = V_.rows();
      if (!follow_lines_to_wrong()) break;
      set_spread();
      if (V_.rows() > planes) start_units_over();
      trace_kinks();
      quiet = 0;
      ++lines;
    }
    NoisyLayers failed = none(why_);
    failed.left = left_;
    return failed;
  }

 private:
  [[nodiscard]] const Control& control() const { return f_.space.meter->control(); }
  [[nodiscard]] NoisyLayers none(std::string why) const {
    NoisyLayers out;
    out.missing = fmt::format(
        "answers are exact to {:.0e} only, and no network of two hidden layers was found that gives them: {}",
        f_.space.noise.relative, why);
    return out;
  }

  [[nodiscard]] RowMatrix random_places(std::string_view purpose, std::uint64_t first, Index count) const {
    RowMatrix u(count, s_);
    const Stream random(seed_, purpose);
    if (f_.space.bounded() && f_.space.whole) {
      random.fill_uniform(first, u);
      const Box& box = f_.space.frame->box();
      return (box.low + (box.high - box.low) * u.array()).matrix();
    }
    random.fill_normal(first, u);
    u *= spread_;
    if (f_.space.bounded()) {
      for (Index i = 0; i < count; ++i) {
        const double reach = f_.space.reach(f_.space.middle(), u.row(i).transpose());
        if (reach < 1) u.row(i) *= 0.95 * reach;
      }
    }
    u.rowwise() += f_.space.middle().transpose();
    return u;
  }

  [[nodiscard]] Vector values(const Vector& u) const { return V_.leftCols(s_) * u + V_.col(s_); }

  void set_spread() {
    if (f_.space.bounded() || V_.rows() == 0) return;
    Vector far = V_.col(s_).cwiseAbs();
    std::sort(far.data(), far.data() + far.size());
    spread_ = std::max(kInNoise.least_spread,
                       kInNoise.beyond_planes *
                           far(static_cast<Index>(kInNoise.far_quantile * static_cast<double>(far.size() - 1))));
  }

  void follow_random_line() {
    const auto number = static_cast<std::uint64_t>(lines_++);
    Vector p = number == 0 ? f_.space.middle()
                           : Vector(random_places("noisy line from", number, 1).row(0).transpose());
    RowMatrix drawn(1, s_);
    Stream(seed_, "noisy line along").fill_normal(number, drawn);
    Vector v = drawn.row(0).transpose().normalized();
    double low = -kInNoise.reach * spread_, high = -low;
    if (f_.space.bounded()) {
      low = -0.999 * f_.space.reach(p, -v);
      high = 0.999 * f_.space.reach(p, v);
    } else if (number == 0) {
      // How far out the planes lie is not known: what most kinks of a long line do not exceed.
      low = -kInNoise.first_reach;
      high = -low;
      std::vector<double> far;
      for (const LineBend& bend :
           bends_of_line(f_, QueryStage::kKinks, p, v, low, high, kInNoise.first_points))
        far.push_back(std::abs(bend.at));
      std::sort(far.begin(), far.end());
      if (!far.empty()) {
        const double most = far[static_cast<std::size_t>(0.7 * static_cast<double>(far.size() - 1))];
        spread_ = std::clamp(2 * most / std::sqrt(static_cast<double>(s_)), 0.05, 20.0);
      }
      low = -kInNoise.reach * spread_;
      high = -low;
    }
    follow_line(p, v, low, high, kInNoise.line_points);
  }

  [[nodiscard]] bool on_known(const Vector& u, double error) const {
    for (Index j = 0; j < V_.rows(); ++j)
      if (std::abs(V_.row(j).head(s_).dot(u) + V_(j, s_)) <=
          kInNoise.same_plane * (error + plane_error_[static_cast<std::size_t>(j)] * (1 + u.norm())))
        return true;
    for (const SurfaceUnit& unit : units_) {
      const auto [z, slope] = value_of(unit, u);
      if (std::abs(z) <= kInNoise.same_plane * (error + 1e-5 * spread_) * slope.norm()) return true;
    }
    return false;
  }

  // z and its slope, by (kappa, r, beta).
  [[nodiscard]] std::pair<double, Vector> value_of(const SurfaceUnit& unit, const Vector& u) const {
    const Vector q = values(u);
    const Vector half = unit.kappa / 2;
    const Vector sides = (q.array() < 0).select(Vector::Constant(q.size(), -1), Vector::Ones(q.size()));
    return {half.dot(q.cwiseAbs()) + unit.r.dot(u) + unit.beta,
            Vector(unit.r + V_.leftCols(s_).transpose() * half.cwiseProduct(sides))};
  }

  void follow_line(const Vector& p, const Vector& v, double low, double high, Index points) {
    std::vector<LineBend> bends = bends_of_line(f_, QueryStage::kKinks, p, v, low, high, points);
    std::erase_if(bends, [&](const LineBend& bend) { return on_known(p + bend.at * v, bend.error); });
    std::vector<Candidate> candidates;
    for (NoisyKink& kink : kinks_with_normals(f_, p, v, bends)) {
      Candidate one;
      one.plane = {kink.normal, -kink.normal.dot(kink.place), kink.turn, kink.error};
      one.kink = std::move(kink);
      candidates.push_back(std::move(one));
    }
    follow_planes(candidates);
    for (const Candidate& each : candidates) {
      if (each.first_layer) {
        add_plane(each);
      } else {
        NoisyKink kink = each.kink;
        kink.normal = each.plane.normal;
        kink.turn = each.plane.turn;
        above_.push_back(std::move(kink));
      }
    }
  }

  void add_plane(const Candidate& each) {
    const PlaneFit& plane = each.plane;
    for (Index j = 0; j < V_.rows(); ++j) {
      const double side = V_.row(j).head(s_).dot(plane.normal) < 0 ? -1 : 1;
      const double apart = (V_.row(j).head(s_).transpose() - side * plane.normal).norm() +
                           std::abs(V_(j, s_) - side * plane.offset) / spread_;
      if (apart < kInNoise.same_normal) return;
    }
    V_.conservativeResize(V_.rows() + 1, Eigen::NoChange);
    V_.bottomRows(1) << plane.normal.transpose(), plane.offset;
    plane_error_.push_back(std::max(plane.turn, f_.relative));
  }

  // A place of the candidate's plane near u.
  [[nodiscard]] std::optional<Vector> on_plane(const Candidate& each, const Vector& u, const Vector& other) const {
    const auto height = [&](const Vector& at) { return each.plane.normal.dot(at) + each.plane.offset; };
    if (!f_.space.bounded()) return Vector(u - height(u) * each.plane.normal);
    const double here = height(u), there = height(other);
    if ((here < 0) == (there < 0)) return std::nullopt;
    return Vector(u + here / (here - there) * (other - u));
  }

  // From near to far.
  void follow_planes(std::vector<Candidate>& candidates) {
    const Index count = s_ + kInNoise.spare;
    const double last = 2 * spread_ * std::sqrt(static_cast<double>(s_));
    for (Candidate& each : candidates) each.radius = 0.5 * each.kink.room;
    for (int round = 0;; ++round) {
      std::vector<Candidate*> open;
      for (Candidate& each : candidates)
        if (!each.lost && !each.first_layer) open.push_back(&each);
      if (open.empty()) return;
      std::vector<Vector> places, normals;
      std::vector<double> steps;
      std::vector<std::size_t> whose;
      for (std::size_t i = 0; i < open.size(); ++i) {
        const Candidate& each = *open[i];
        const bool far = each.radius > last;
        const Index n = far ? kInNoise.far_places : count;
        const auto first = static_cast<std::uint64_t>(drawn_);
        drawn_ += 4 * n;
        const RowMatrix random = random_places("noisy planes", first, 4 * n);
        Index found = 0;
        for (Index q = 0; q < 4 * n && found < n; ++q) {
          std::optional<Vector> at;
          if (far) {
            at = on_plane(each, random.row(q).transpose(), random.row((q + 1) % (4 * n)).transpose());
          } else {
            Vector way = random.row(q).transpose() - f_.space.middle();
            way -= way.dot(each.plane.normal) * each.plane.normal;
            at = each.kink.place + each.radius * way.normalized();
            *at -= (each.plane.normal.dot(*at) + each.plane.offset) * each.plane.normal;
            if (f_.space.bounded() && !(f_.space.reach(each.kink.place, *at - each.kink.place) > 1)) at.reset();
          }
          if (!at || !at->allFinite()) continue;
          ++found;
          const double away = (*at - each.kink.place).norm();
          const double sigma = f_.sigma(0), jump = each.kink.jump.norm();
          const double h = std::max(kInNoise.plain_jump * sigma / jump,
                                    kInNoise.errors * (each.plane.turn * away + each.plane.error));
          places.push_back(*at);
          normals.push_back(each.plane.normal);
          steps.push_back(h);
          whose.push_back(i);
        }
      }
      const std::vector<NoisyBend> seen =
          look_across(f_, QueryStage::kPlanes, as_rows(places, s_), as_rows(normals, s_),
                      Eigen::Map<const Vector>(steps.data(), static_cast<Index>(steps.size())));
      std::vector<Index> bends(open.size()), none(open.size());
      for (std::size_t i = 0; i < seen.size(); ++i) {
        Candidate& each = *open[whose[i]];
        if (seen[i].seen == Seen::kNone) ++none[whose[i]];
        if (seen[i].seen != Seen::kBend) continue;
        ++bends[whose[i]];
        each.met.push_back({places[i] + seen[i].offset * normals[i],
                            std::max(seen[i].error, f_.relative * places[i].norm())});
      }
      for (std::size_t i = 0; i < open.size(); ++i) {
        Candidate& each = *open[i];
        const bool far = each.radius > last;
        const Index judged = bends[i] + none[i];
        const double share = static_cast<double>(bends[i]) / static_cast<double>(std::max<Index>(judged, 1));
        if (judged < (far ? kInNoise.least_judged : 3) || share < (far ? kInNoise.bends_far : kInNoise.bends_near)) {
          each.lost = true;
          continue;
        }
        fit_plane(each);
        each.first_layer = far;
        each.radius *= kInNoise.farther;
      }
    }
  }

  // Surfaces of units above, across the planes.

  void start_units_over() {
    for (SurfaceUnit& unit : units_) above_.push_back(std::move(unit.kink));
    units_.clear();
    in_vain_.clear();
  }

  void trace_kinks() {
    std::vector<NoisyKink> waiting = std::move(above_);
    above_.clear();
    // The sharpest first.
    std::stable_sort(waiting.begin(), waiting.end(),
                     [](const NoisyKink& a, const NoisyKink& b) { return a.turn < b.turn; });
    for (NoisyKink& kink : waiting) {
      if (on_known(kink.place, kink.error)) continue;
      const bool again = std::any_of(in_vain_.begin(), in_vain_.end(),
                                     [&](const Vector& at) { return at == kink.place; });
      if (!again) {
        if (std::optional<SurfaceUnit> unit = trace(kink)) {
          units_.push_back(std::move(*unit));
          continue;
        }
        in_vain_.push_back(kink.place);
      }
      above_.push_back(std::move(kink));
    }
  }

  struct Crossing {
    double at = std::numeric_limits<double>::infinity();
    Index plane = -1;
  };
  [[nodiscard]] Crossing next_crossing(const Vector& x, const Vector& e, Index last) const {
    Crossing out;
    const Vector q = values(x), rate = V_.leftCols(s_) * e;
    for (Index i = 0; i < q.size(); ++i) {
      if (i == last || !(std::abs(rate(i)) > 1e-9)) continue;
      const double t = -q(i) / rate(i);
      if (t > 0 && t < out.at) out = {t, i};
    }
    return out;
  }
  [[nodiscard]] bool outside(const Vector& x) const {
    const Vector away = x - f_.space.middle();
    if (f_.space.bounded()) return !(f_.space.reach(f_.space.middle(), away) > 1.001);
    return away.norm() > kInNoise.far * spread_ * std::sqrt(static_cast<double>(s_));
  }
  // Distance of the nearest plane but one.
  [[nodiscard]] double room_at(const Vector& x, Index but) const {
    double room = std::numeric_limits<double>::infinity();
    const Vector q = values(x).cwiseAbs();
    for (Index i = 0; i < q.size(); ++i)
      if (i != but) room = std::min(room, q(i));
    return room;
  }

  std::optional<SurfaceUnit> trace(const NoisyKink& kink) {
    const Index k = V_.rows();
    SurfaceUnit unit;
    unit.kink = kink;
    unit.kappa = Vector::Zero(k);
    unit.known.assign(static_cast<std::size_t>(k), false);
    unit.met.push_back({kink.place, kink.error});
    const Stream random(seed_, "noisy ways");
    int lost = 0, whole = 0;
    std::vector<int> tried(static_cast<std::size_t>(k));
    for (int way = 0; way < kInNoise.ways * static_cast<int>(k); ++way) {
      // Towards the plane that was aimed at least, of those not crossed.
      Index aim = -1;
      for (Index i = 0; i < k; ++i) {
        const auto at = static_cast<std::size_t>(i);
        if (!unit.known[at] && tried[at] < kInNoise.ways &&
            (aim < 0 || tried[at] < tried[static_cast<std::size_t>(aim)]))
          aim = i;
      }
      if (aim < 0) break;
      ++tried[static_cast<std::size_t>(aim)];
      RowMatrix drawn(1, s_);
      random.fill_normal(static_cast<std::uint64_t>(ways_++), drawn);
      const Vector q = values(kink.place);
      Vector toward = -(q(aim) < 0 ? -1.0 : 1.0) * V_.row(aim).head(s_).transpose();
      toward += (0.3 + 0.4 * tried[static_cast<std::size_t>(aim)]) * drawn.row(0).transpose() /
                std::sqrt(static_cast<double>(s_));
      if (follow_surface(unit, toward, aim)) {
        ++whole;
      } else {
        ++lost;
      }
      if (lost >= 4 && lost > 2 * whole) return std::nullopt;
      if (lost + whole >= 12 && lost > whole) return std::nullopt;
    }
    if (!solve(unit)) return std::nullopt;
    return unit;
  }

  // False where the surface is lost.
  bool follow_surface(SurfaceUnit& unit, const Vector& toward, Index aim) {
    Vector x = unit.kink.place, g = unit.kink.normal;
    Index last = -1;
    double drift = unit.kink.turn;  // of g, about
    for (int step = 0; step < kInNoise.crossings; ++step) {
      Vector e = toward - toward.dot(g) / g.squaredNorm() * g;
      if (!(e.norm() > 1e-6)) return true;
      e.normalize();
      const Crossing crossing = next_crossing(x, e, last);
      if (crossing.plane < 0) return true;
      const Vector at = x + crossing.at * e;
      if (outside(at)) return true;
      const Index i = crossing.plane;
      const Vector w = V_.row(i).head(s_).transpose();
      const Vector ahead = (w.dot(e) > 0 ? 1.0 : -1.0) * w;
      const double side = w.dot(e) > 0 ? 1.0 : -1.0;
      if (unit.known[static_cast<std::size_t>(i)]) {
        g += side * unit.kappa(i) * w;
        x = at;
      } else {
        // Across, by g' = g + change ahead.
        const std::optional<double> rough = change_beyond(unit, at, g, ahead, i);
        if (!rough) return false;
        const Vector rough_g = g + *rough * ahead;
        const std::optional<MetPlace> met = far_place(unit, at, toward, rough_g, i, drift);
        if (!met) return false;
        // g'.(met - at) = 0 with g' = g + change ahead.
        const double change = -g.dot(met->at - at) / ahead.dot(met->at - at);
        if (!std::isfinite(change)) return false;
        unit.met.push_back(*met);
        unit.known[static_cast<std::size_t>(i)] = true;
        unit.kappa(i) = change;
        // Going ahead along +w adds kappa w; along -w it takes it away: -kappa w = kappa ahead.
        if (side < 0) unit.kappa(i) = change;
        g += change * ahead;
        x = met->at;
        if (!(g.norm() > 1e-3)) return true;
      }
      last = i;
      if (unit.known[static_cast<std::size_t>(aim)]) return true;
    }
    return true;
  }

  // The change of slope just beyond a crossing.
  std::optional<double> change_beyond(const SurfaceUnit& unit, const Vector& at, const Vector& g,
                                      const Vector& ahead, Index plane) {
    Vector w = g - g.dot(ahead) * ahead;
    const double gamma = w.norm();
    if (!(gamma > 1e-3 * g.norm())) return std::nullopt;
    w /= gamma;
    const double delta =
        std::min(kInNoise.near_crossing * spread_, kInNoise.room * std::max(room_at(at, plane), 1e-6 * spread_));
    const Vector from = at + delta * ahead;
    const double straight = -g.dot(ahead) * delta / gamma;
    const Vector expected = unit.kink.jump * gamma;
    for (const double wide : kInNoise.windows) {
      double low = straight - wide * delta * g.norm() / gamma, high = straight + wide * delta * g.norm() / gamma;
      // As far as the piece goes.
      const Vector q = values(from), rate = V_.leftCols(s_) * w;
      for (Index i = 0; i < q.size(); ++i) {
        if (i == plane || !(std::abs(rate(i)) > 1e-9)) continue;
        const double t = -q(i) / rate(i);
        if (t > straight) high = std::min(high, t);
        if (t < straight) low = std::max(low, t);
      }
      if (f_.space.bounded()) {
        high = std::min(high, 0.99 * f_.space.reach(from, w));
        low = std::max(low, -0.99 * f_.space.reach(from, -w));
      }
      if (!(high - low > 0.1 * delta)) return std::nullopt;
      std::optional<double> best;
      double off = kInNoise.same_jump;
      for (const LineBend& bend :
           bends_of_line(f_, QueryStage::kSurfaces, from, w, low, high, kInNoise.window_points)) {
        const double other = (bend.jump - expected).norm() / expected.norm();
        if (other < off) {
          off = other;
          best = bend.at;
        }
      }
      if (best) return -(g.dot(ahead) * delta + gamma * *best) / delta;
    }
    return std::nullopt;
  }

  // The surface on the new piece, far from the crossing.
  std::optional<MetPlace> far_place(const SurfaceUnit& unit, const Vector& at, const Vector& toward, const Vector& g,
                                    Index plane, double drift) {
    const double size = g.norm();
    const Vector normal = g / size;
    Vector e = toward - toward.dot(normal) * normal;
    const Vector w = V_.row(plane).head(s_).transpose();
    if (!(e.norm() > 1e-6)) return std::nullopt;
    e.normalize();
    // Ahead of the plane, as the way went.
    if ((w.dot(e) > 0) != (w.dot(toward) > 0)) e = -e;
    double length = std::min(next_crossing(at, e, plane).at, 2 * spread_);
    if (f_.space.bounded()) length = std::min(length, 0.98 * f_.space.reach(at, e));
    for (const double share : kInNoise.places) {
      const Vector place = at + share * length * e;
      const double room = room_at(place, -1);
      const double least = kInNoise.plain_jump * f_.sigma(0) / (unit.kink.jump.norm() * size);
      const double h = std::min(kInNoise.widest * room,
                                std::max({least, kInNoise.shortest * spread_, kInNoise.errors * drift * share * length}));
      const NoisyBend bend = look_across(f_, QueryStage::kSurfaces, place.transpose(), normal.transpose(),
                                         Vector::Constant(1, h))
                                 .front();
      if (bend.seen != Seen::kBend) continue;
      const Vector expected = unit.kink.jump * size;
      if ((bend.jump - expected).norm() > kInNoise.same_jump * expected.norm()) continue;
      return MetPlace{place + bend.offset * normal, std::max(bend.error, f_.relative * place.norm())};
    }
    return std::nullopt;
  }

  // (kappa, r, beta) from all places at once; false where they do not agree.
  bool solve(SurfaceUnit& unit) const {
    const Index k = V_.rows(), n = static_cast<Index>(unit.met.size()), columns = k + s_ + 1;
    Matrix A = Matrix::Zero(n + s_ + columns, columns);
    Vector right = Vector::Zero(A.rows());
    for (Index i = 0; i < n; ++i) {
      const auto& [at, error] = unit.met[static_cast<std::size_t>(i)];
      A.row(i) << values(at).cwiseAbs().transpose() / 2, at.transpose(), 1;
      A.row(i) /= error;
    }
    // The slope at the kink: that of the normal.
    const Vector q = values(unit.kink.place);
    const Vector sides = (q.array() < 0).select(Vector::Constant(k, -1), Vector::Ones(k));
    Matrix slope(s_, columns);
    slope << V_.leftCols(s_).transpose() * sides.asDiagonal() / 2, Matrix::Identity(s_, s_), Vector::Zero(s_);
    const Matrix T = tangents(unit.kink.normal);
    const double turn = std::max(unit.kink.turn, f_.relative);
    A.middleRows(n, s_ - 1) = T.transpose() * slope / turn;
    A.row(n + s_ - 1) = unit.kink.normal.transpose() * slope / turn;
    right(n + s_ - 1) = 1 / turn;
    // Little of what is not told.
    A.bottomRows(columns) = kInNoise.ridge / turn * Matrix::Identity(columns, columns);
    for (Index i = 0; i < k; ++i)
      if (!unit.known[static_cast<std::size_t>(i)]) A(n + s_ + i, i) = 1e3 / turn;
    const Vector x = A.householderQr().solve(right);
    if (!x.allFinite()) return false;
    const double off = (A.topRows(n) * x).norm() / std::sqrt(static_cast<double>(n));
    unit.kappa = x.head(k);
    unit.r = x.segment(k, s_);
    unit.beta = x(columns - 1);
    return off < kInNoise.consistent;
  }

  // The network.

  // Signs of the first layer from r = sum_i kappa_i s_i w_i / 2, off the planes that a surface did not cross.
  [[nodiscard]] Vector signs_of_first() const {
    const Index k = V_.rows();
    Matrix A(static_cast<Index>(units_.size()) * s_, k);
    Vector right(A.rows());
    Index at = 0;
    for (const SurfaceUnit& unit : units_) {
      Matrix open(s_, 0);
      Vector half = unit.kappa / 2;
      for (Index i = 0; i < k; ++i) {
        if (unit.known[static_cast<std::size_t>(i)]) continue;
        open.conservativeResize(Eigen::NoChange, open.cols() + 1);
        open.rightCols(1) = V_.row(i).head(s_).transpose();
        half(i) = 0;
      }
      Matrix P = Matrix::Identity(s_, s_);
      if (open.cols() >= s_) continue;
      if (open.cols() > 0) {
        const Matrix Q = Matrix(Eigen::HouseholderQR<Matrix>(open).householderQ()).leftCols(open.cols());
        P -= Q * Q.transpose();
      }
      A.middleRows(at, s_) = P * V_.leftCols(s_).transpose() * half.asDiagonal();
      right.segment(at, s_) = P * unit.r;
      at += s_;
    }
    if (at == 0) return Vector::Zero(k);
    // Units that say something else do not count: least absolute deviations.
    Vector weight = Vector::Ones(at), s;
    for (int round = 0; round < kInNoise.absolute_rounds; ++round) {
      s = Matrix(weight.asDiagonal() * A.topRows(at)).colPivHouseholderQr().solve(weight.cwiseProduct(right.head(at)));
      weight = ((A.topRows(at) * s - right.head(at)).array().abs() + 1e-6).rsqrt();
    }
    return s;
  }

  // The row of a unit on (h, 1) from its places.
  void solve_row(SurfaceUnit& unit, const Matrix& W) const {
    const Index k = W.rows(), n = static_cast<Index>(unit.met.size());
    Matrix A = Matrix::Zero(n + s_ + k + 1, k + 1);
    Vector right = Vector::Zero(A.rows());
    Vector met = Vector::Zero(k);
    for (Index i = 0; i < n; ++i) {
      const auto& [at, error] = unit.met[static_cast<std::size_t>(i)];
      const Vector h = (W.leftCols(s_) * at + W.col(s_)).cwiseMax(0.0);
      met += h;
      A.row(i) << h.transpose() / error, 1 / error;
    }
    const Vector q = W.leftCols(s_) * unit.kink.place + W.col(s_);
    const Vector on = (q.array() > 0).cast<double>();
    Matrix slope = Matrix::Zero(s_, k + 1);
    slope.leftCols(k) = W.leftCols(s_).transpose() * on.asDiagonal();
    const double turn = std::max(unit.kink.turn, f_.relative);
    A.middleRows(n, s_ - 1) = tangents(unit.kink.normal).transpose() * slope / turn;
    A.row(n + s_ - 1) = unit.kink.normal.transpose() * slope / turn;
    right(n + s_ - 1) = 1 / turn;
    A.bottomRows(k + 1) = kInNoise.ridge / turn * Matrix::Identity(k + 1, k + 1);
    unit.row = A.householderQr().solve(right);
    unit.told.assign(static_cast<std::size_t>(k), false);
    for (Index i = 0; i < k; ++i) unit.told[static_cast<std::size_t>(i)] = met(i) > 0;
  }

  // Units met twice are one.
  void join_twins(const Matrix& W) {
    const Index k = W.rows();
    for (std::size_t i = 0; i < units_.size(); ++i) {
      for (std::size_t j = units_.size(); j-- > i + 1;) {
        Vector a = units_[i].row, b = units_[j].row;
        for (Index c = 0; c < k; ++c)
          if (!units_[i].told[static_cast<std::size_t>(c)] || !units_[j].told[static_cast<std::size_t>(c)])
            a(c) = b(c) = 0;
        a.normalize();
        b.normalize();
        if (std::min((a - b).norm(), (a + b).norm()) > kInNoise.twins) continue;
        units_[i].met.insert(units_[i].met.end(), units_[j].met.begin(), units_[j].met.end());
        units_.erase(units_.begin() + static_cast<std::ptrdiff_t>(j));
        solve_row(units_[i], W);
      }
    }
  }

  bool assemble(NoisyLayers& out) {
    const Index k = V_.rows();
    const Vector s = signs_of_first();
    Matrix W = V_;
    for (Index i = 0; i < k; ++i)
      if (s(i) < 0) W.row(i) *= -1;
    for (SurfaceUnit& unit : units_) solve_row(unit, W);
    join_twins(W);
    const auto n2 = static_cast<Index>(units_.size());
    const Index m = f_.space.meter->outputs();
    const Index unknowns = k * (s_ + 1) + n2 * (k + 1) + (n2 + 1) * m;
    const Index wanted = static_cast<Index>(kInNoise.sample * static_cast<double>(unknowns) / static_cast<double>(m)) + 500;
    if (sample_spread_ != spread_) {
      u_.resize(0, s_);
      y_.resize(0, m);
      sample_spread_ = spread_;
    }
    if (u_.rows() < wanted) {
      const RowMatrix u = f_.rounded(random_places("noisy sample", static_cast<std::uint64_t>(u_.rows()),
                                                   wanted - u_.rows()));
      append_rows(y_, f_.ask(QueryStage::kSample, u));
      append_rows(u_, u);
    }
    Matrix rows(n2, k + 1);
    for (Index j = 0; j < n2; ++j) rows.row(j) = units_[static_cast<std::size_t>(j)].row.transpose();
    const RowMatrix h = layer_values(W, u_).cwiseMax(0.0), z = layer_values(rows, h);
    Matrix F(u_.rows(), n2 + k + 1);
    F << z.cwiseAbs(), h, Vector::Ones(u_.rows());
    // Answers that a missing unit makes do not count: least absolute deviations.
    Matrix C;
    Vector weight = Vector::Ones(u_.rows());
    const double sigma = f_.sigma(0);
    for (int round = 0; round < kInNoise.absolute_rounds; ++round) {
      C = solve_by_columns(weight.asDiagonal() * F, weight.asDiagonal() * Matrix(y_));
      weight = ((F * C - y_).rowwise().norm().array() + sigma).rsqrt();
    }
    const RowMatrix left = y_ - F * C;
    // Signs of the second layer.
    const LayerSigns signs = least_squares_signs(rows, C.topRows(n2).transpose(), C.bottomRows(k + 1).transpose());
    DeepForm plain;
    plain.plain = true;
    plain.inputs = s_;
    plain.V = {W, rows};
    for (Index j = 0; j < n2; ++j)
      if (signs.s(j) < 0) plain.V[1].row(j) *= -1;
    const Vector off = left.rowwise().norm();
    const auto wrong = (off.array() > kInNoise.right * sigma * 40).count();
    why_ = fmt::format("{} units of a first layer and {} of a second leave {} of {} answers unexplained", k, n2, wrong,
                       u_.rows());
    if (getenv("EXHUME_TRACE")) {
      fmt::print(stderr, "spread {:.3g} planes {} units {} above {} wrong {} of {} median off {:.2e} sigma {:.2e}\n", spread_, k, n2, above_.size(),
                 wrong, u_.rows(), median(off), sigma);
      fmt::print(stderr, "signs1 off {:.2e} signs2 off {:.2e}\n", (s.cwiseAbs().array() - 1).abs().maxCoeff(), signs.off);
    }
    wrong_.clear();
    FormFitOptions fitting;
    fitting.hope = 0;
    fitting.enough = 1;
    const std::optional<FormFit> fit = fit_form(plain, u_, y_, fitting, control());
    if (!fit) return false;
    const RowMatrix rest = y_ - evaluate(fit->form, u_);
    left_ = std::sqrt(rest.squaredNorm() / static_cast<double>(rest.size())) / sigma;
    if (getenv("EXHUME_TRACE")) fmt::print(stderr, "fit left {:.3g} sigma, mse {:.2e}\n", left_, fit->relative_mse);
    if (left_ < kInNoise.exact) {
      out.form = fit->form;
      out.left = left_;
      out.spread = spread_;
      return true;
    }
    // Where most is left.
    for (Index i = 0; i < u_.rows(); ++i)
      if (off(i) > kInNoise.right * sigma * 40) wrong_.push_back(i);
    std::stable_sort(wrong_.begin(), wrong_.end(), [&](Index a, Index b) { return off(a) > off(b); });
    right_place_ = u_.row(std::min_element(off.data(), off.data() + off.size()) - off.data());
    return false;
  }

  [[nodiscard]] static double median(Vector v) {
    std::nth_element(v.data(), v.data() + v.size() / 2, v.data() + v.size());
    return v(v.size() / 2);
  }

  bool follow_lines_to_wrong() {
    if (wrong_.empty()) return false;
    for (std::size_t i = 0; i < std::min<std::size_t>(4, wrong_.size()); ++i) {
      const Vector to = u_.row(wrong_[i * wrong_.size() / 4]);
      const Vector way = to - right_place_;
      follow_line(right_place_, way.normalized(), 0, 1.2 * way.norm(), kInNoise.line_points);
    }
    return true;
  }

  NoisySpace f_;
  std::uint64_t seed_;
  Index s_;
  double spread_ = 1, sample_spread_ = -1;
  Matrix V_;
  std::vector<double> plane_error_;
  std::vector<NoisyKink> above_;
  std::vector<SurfaceUnit> units_;
  std::vector<Vector> in_vain_;
  int lines_ = 0;
  Index drawn_ = 0;
  std::int64_t ways_ = 0;
  RowMatrix u_, y_;
  std::vector<Index> wrong_;
  Vector right_place_;
  std::string why_;
  double left_ = 1;
};

}  // namespace

DepthInNoise tell_depth_in_noise(const Space& space, std::uint64_t seed) { return InNoise(space, seed).tell_depth(); }

NoisyLayers find_two_layers_in_noise(const Space& space, std::uint64_t seed) { return InNoise(space, seed).run(); }

}  // namespace exhume
