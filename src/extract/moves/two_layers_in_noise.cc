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
  int quiet_lines = 2, most_lines = 16, more_lines = 2;
  std::size_t lines_to_wrong = 5;  // and beyond, as a share of the way
  double beyond_wrong = 0.2;
  double far_quantile = 0.9, beyond_planes = 2, least_spread = 1e-3;  // as in extract.cc
  // Planes.
  double plain_jump = 20;  // sigmas that a kink's jump makes over one step
  double errors = 4;       // of a place: the step is at least so many
  double farther = 3;      // radius of the next places over that of the last
  Index spare = 3, far_places = 20, least_judged = 8;
  double bends_near = 0.7, bends_far = 0.75;  // share of the places where f changes
  double outlier = 6;                         // errors from which a place is not used
  double same_plane = 8;                      // errors of a kink from a plane that explains it
  double same_normal = 1e-3;                  // distance of planes that are one
  // Surfaces.
  double near_crossing = 0.03;  // of the spread: the line just beyond a crossing, at most
  double room = 0.3;            // the same of the way to the next plane
  double nearer[2] = {1, 0.2};  // shares of that which are tried
  double windows[2] = {4, 20};  // of that line, in multiples of its distance over the slope along it
  Index window_points = 61;
  double same_jump = 0.02;             // share by which jumps of one unit may differ beside their errors
  double same_direction = 5e-3;        // and their directions on different lines
  double places[3] = {0.7, 0.4, 0.2};  // of the piece, where the surface is met
  double widest = 0.1, shortest[2] = {2e-3, 4e-4};  // steps there: of the room, and of the spread
  int crossings = 60;                               // of one way
  int ways = 3;                                     // towards each plane that was not crossed
  double far = 3.5;                                 // from the middle, in spreads times s^(1/2)
  double consistent = 30;   // errors of a unit's places that are its own, root mean square
  double row_error = 3e-5;  // how far off a unit's surface may lie, over the spread
  // Fits.
  double ridge = 1e-7;
  double sample = 8;  // equations per unknown
  double twins = 5,
         own = 3;  // errors of places that one row explains, root mean square; over that of each alone
  int absolute_rounds = 12;
  double wrong = 1000;     // sigmas of an answer that is wrong: rows are not exact before the polish
  double off = 40;         // the same once it is polished
  Index most_wrong = 200;  // that join the sample at once
  double few_wrong = 0.1;  // share of them that is worth one
  double exact = 3;        // root mean square over sigma of a network that is found
  int rounds = 40, idle_rounds = 7, again = 4;  // at most; without progress; after which all are tried again
  double progress = 0.8;
  double sign_off = 0.3;  // from +-1, of signs that are known
  double needless = 1.2;  // what is left may grow so where a unit goes
};
constexpr InNoiseLimits kInNoise;

// The plane n.u + b = 0 through places with errors, about a kink: theta in the tangent space, and b.
struct PlaneFit {
  Vector normal;
  double offset = 0;  // n.u + offset = 0
  double turn = 0, error = 0;
};

struct NoisyCandidate {
  NoisyKink kink;
  PlaneFit plane;
  std::vector<MetPlace> met;
  double radius = 0;  // of the last places
  bool lost = false;  // f does not bend all along
  bool first_layer = false;
};

Matrix tangents(const Vector& normal) {
  const Index s = normal.size();
  const Matrix Q = Eigen::HouseholderQR<Matrix>(normal).householderQ();
  return Q.rightCols(s - 1);
}

void fit_plane(NoisyCandidate& each) {
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
  std::vector<NoisyKink> others;  // further kinks of it
  std::vector<MetPlace> met;
  Vector kappa;             // k: change of slope across every plane
  std::vector<bool> known;  // k
  Vector r;                 // s: z = kappa.|q| / 2 + r.u + beta
  double beta = 0;
  Vector row;              // k + 1, on (h, 1): once signs are known
  std::vector<bool> told;  // k: weights that places tell
  double alone = 0;        // how far places are off it, in errors
  bool by_row = false;     // kappa, r and beta are not known
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
    int quiet = 0;
    for (int line = 0; line < kInNoise.most_lines && quiet < kInNoise.quiet_lines; ++line) {
      if (control().out_of_time()) return none("the time ended");
      const Index planes = V_.rows();
      follow_random_line();
      set_spread();
      quiet = V_.rows() > planes ? 0 : quiet + 1;
    }
    if (V_.rows() == 0) return none("no plane of a first layer was found");
    int idle = 0;
    std::size_t most = 0, least_wrong = std::numeric_limits<std::size_t>::max();
    for (int round = 0; round < kInNoise.rounds && idle <= kInNoise.idle_rounds; ++round) {
      const Index planes = V_.rows();
      // Ways are drawn anew: what was lost before may be found.
      if (round % kInNoise.again == kInNoise.again - 1) in_vain_.clear();
      trace_kinks();
      units_from_jumps();
      if (control().out_of_time()) return none("the time ended");
      if (units_.empty()) {
        return none(
            fmt::format("{} planes of a first layer were found and {} kinks above it, but none of their "
                        "surfaces could be followed across the planes",
                        V_.rows(), above_.size()));
      }
      if (assemble(out, idle == kInNoise.idle_rounds)) return out;
      const bool further = units_.size() > most || static_cast<double>(wrong_.size()) <
                                                       kInNoise.progress * static_cast<double>(least_wrong);
      idle = further ? 0 : idle + 1;
      most = std::max(most, units_.size());
      least_wrong = std::min(least_wrong, wrong_.size());
      // Lines at random, and to where answers are wrong.
      for (int i = 0; i < kInNoise.more_lines; ++i) follow_random_line();
      follow_lines_to_wrong();
      set_spread();
      if (V_.rows() > planes) {
        start_units_over();
        idle = 0;
        most = 0;
      }
    }
    if (above_.size() > units_.size()) {
      why_ += fmt::format(
          "; the surfaces of {} kinks could not be followed from plane to plane, as those of a "
          "third hidden layer cannot",
          above_.size());
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
    spread_ =
        std::max(kInNoise.least_spread,
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
    for (Index j = 0; j < V_.rows(); ++j) {
      if (std::abs(V_.row(j).head(s_).dot(u) + V_(j, s_)) <=
          kInNoise.same_plane * (error + plane_error_[static_cast<std::size_t>(j)] * (1 + u.norm())))
        return true;
    }
    for (const SurfaceUnit& unit : units_) {
      const auto [z, slope] = value_of(unit, u);
      if (!unit.by_row &&
          std::abs(z) <= kInNoise.same_plane * (error + kInNoise.row_error * spread_) * slope.norm())
        return true;
      if (unit.row.size() == 0) continue;
      const Vector q = values(u).cwiseProduct(signs_), on = (q.array() > 0).cast<double>();
      bool told = true;
      for (Index i = 0; i < q.size(); ++i)
        told = told && (on(i) == 0 || unit.told[static_cast<std::size_t>(i)]);
      if (!told) continue;
      const Vector w = unit.row.head(q.size()).cwiseProduct(on);
      const Vector by_row = V_.leftCols(s_).transpose() * w.cwiseProduct(signs_);
      if (std::abs(w.dot(q) + unit.row(q.size())) <=
          kInNoise.same_plane * (error + kInNoise.row_error * spread_) * by_row.norm())
        return true;
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
    std::vector<NoisyCandidate> candidates;
    for (NoisyKink& kink : kinks_with_normals(f_, p, v, bends)) {
      NoisyCandidate one;
      one.plane = {kink.normal, -kink.normal.dot(kink.place), kink.turn, kink.error};
      one.kink = std::move(kink);
      candidates.push_back(std::move(one));
    }
    follow_planes(candidates);
    for (const NoisyCandidate& each : candidates) {
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

  void add_plane(const NoisyCandidate& each) {
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
    // Of the units that were traced before, nothing is known across this plane.
    for (SurfaceUnit& unit : units_) {
      unit.kappa.conservativeResize(V_.rows());
      unit.kappa(V_.rows() - 1) = 0;
      unit.known.push_back(false);
      unit.row.resize(0);
    }
  }

  // A place of the candidate's plane near u.
  [[nodiscard]] std::optional<Vector> on_plane(const NoisyCandidate& each, const Vector& u,
                                               const Vector& other) const {
    const auto height = [&](const Vector& at) { return each.plane.normal.dot(at) + each.plane.offset; };
    if (!f_.space.bounded()) return Vector(u - height(u) * each.plane.normal);
    const double here = height(u), there = height(other);
    if ((here < 0) == (there < 0)) return std::nullopt;
    return Vector(u + here / (here - there) * (other - u));
  }

  // From near to far.
  void follow_planes(std::vector<NoisyCandidate>& candidates) {
    const Index count = s_ + kInNoise.spare;
    const double last = 2 * spread_ * std::sqrt(static_cast<double>(s_));
    for (NoisyCandidate& each : candidates) each.radius = 0.5 * each.kink.room;
    for (int round = 0;; ++round) {
      std::vector<NoisyCandidate*> open;
      for (NoisyCandidate& each : candidates)
        if (!each.lost && !each.first_layer) open.push_back(&each);
      if (open.empty()) return;
      std::vector<Vector> places, normals;
      std::vector<double> steps;
      std::vector<std::size_t> whose;
      for (std::size_t i = 0; i < open.size(); ++i) {
        const NoisyCandidate& each = *open[i];
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
            if (f_.space.bounded() && !(f_.space.reach(each.kink.place, *at - each.kink.place) > 1))
              at.reset();
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
        NoisyCandidate& each = *open[whose[i]];
        if (seen[i].seen == Seen::kNone) ++none[whose[i]];
        if (seen[i].seen != Seen::kBend) continue;
        ++bends[whose[i]];
        each.met.push_back({places[i] + seen[i].offset * normals[i],
                            std::max(seen[i].error, f_.relative * places[i].norm())});
      }
      for (std::size_t i = 0; i < open.size(); ++i) {
        NoisyCandidate& each = *open[i];
        const bool far = each.radius > last;
        const Index judged = bends[i] + none[i];
        const double share = static_cast<double>(bends[i]) / static_cast<double>(std::max<Index>(judged, 1));
        if (judged < (far ? kInNoise.least_judged : 3) ||
            share < (far ? kInNoise.bends_far : kInNoise.bends_near)) {
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

  // Another plane: surfaces cross it too.
  void start_units_over() {
    for (SurfaceUnit& unit : units_) {
      above_.push_back(std::move(unit.kink));
      for (NoisyKink& other : unit.others) above_.push_back(std::move(other));
    }
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
      const bool again =
          std::any_of(in_vain_.begin(), in_vain_.end(), [&](const Vector& at) { return at == kink.place; });
      if (!again) {
        if (control().out_of_time()) return;
        if (std::optional<SurfaceUnit> unit = trace(kink)) {
          units_.push_back(std::move(*unit));
          know_rows();
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
      if ((lost >= 4 && lost > 2 * whole) || (lost + whole >= 12 && lost > whole)) {
        // Signs tell more: places of some pieces may be enough.
        if (!signs_known()) return std::nullopt;
        unit.alone = solve_row(unit, signs_.asDiagonal() * V_);
        if (!is_told(unit)) return std::nullopt;
        break;
      }
    }
    if (!solve(unit)) return std::nullopt;
    return unit;
  }

  // False where the surface is lost.
  bool follow_surface(SurfaceUnit& unit, const Vector& toward, Index aim) {
    Vector x = unit.kink.place, g = unit.kink.normal;
    Index last = -1;
    double drift = unit.kink.turn;  // of g, about
    int unmet = 0;                  // pieces since it was last met
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
        // The surface once more on this piece: errors do not add up along the way.
        if (const std::optional<MetPlace> met = far_place(unit, at, toward, g, i, drift)) {
          unit.met.push_back(*met);
          x = met->at;
          if (!solve(unit)) return false;
          g = value_of(unit, x).second;
          unmet = 0;
        } else if (++unmet >= 3) {
          return false;
        }
      } else {
        // Across, by g' = g + change ahead.
        const std::optional<Change> rough = change_beyond(unit, at, g, ahead, i);
        if (!rough) return false;
        const Vector rough_g = g + rough->by * ahead;
        const std::optional<MetPlace> met =
            far_place(unit, at, toward, rough_g, i, drift + rough->error / rough_g.norm());
        if (!met) return false;
        // g'.(met - at) = 0 with g' = g + change ahead.
        const double change = -g.dot(met->at - at) / ahead.dot(met->at - at);
        if (!std::isfinite(change)) return false;
        unit.met.push_back(*met);
        unit.known[static_cast<std::size_t>(i)] = true;
        unit.kappa(i) = change;  // along +w it is added, along -w taken away: both are kappa ahead
        x = met->at;
        if (!solve(unit)) return false;
        g = value_of(unit, x).second;
        if (!(g.norm() > 1e-3)) return true;
        unmet = 0;
      }
      last = i;
      if (unit.known[static_cast<std::size_t>(aim)]) return true;
    }
    return true;
  }

  // Are jumps the same, whatever the orientation?
  [[nodiscard]] static bool same_jump(const Vector& jump, const Vector& expected, double error) {
    return std::min((jump - expected).norm(), (jump + expected).norm()) <=
           kInNoise.same_jump * expected.norm() + kInNoise.outlier * error;
  }

  struct Change {
    double by = 0, error = 0;
  };
  // The change of slope just beyond a crossing.
  std::optional<Change> change_beyond(const SurfaceUnit& unit, const Vector& at, const Vector& g,
                                      const Vector& ahead, Index plane) {
    Vector w = g - g.dot(ahead) * ahead;
    const double gamma = w.norm();
    if (!(gamma > 1e-3 * g.norm())) return std::nullopt;
    w /= gamma;
    const double most = std::min(kInNoise.near_crossing * spread_,
                                 kInNoise.room * std::max(room_at(at, plane), 1e-6 * spread_));
    for (const double nearer : kInNoise.nearer) {
      if (const std::optional<Change> change = change_at(unit, at, g, ahead, plane, w, gamma, nearer * most))
        return change;
    }
    return std::nullopt;
  }
  std::optional<Change> change_at(const SurfaceUnit& unit, const Vector& at, const Vector& g,
                                  const Vector& ahead, Index plane, const Vector& w, double gamma,
                                  double delta) {
    const Vector from = at + delta * ahead;
    const double straight = -g.dot(ahead) * delta / gamma;
    const Vector expected = unit.kink.jump * gamma;
    for (const double wide : kInNoise.windows) {
      double low = straight - wide * delta * g.norm() / gamma,
             high = straight + wide * delta * g.norm() / gamma;
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
      std::optional<Change> best;
      double off = std::numeric_limits<double>::infinity();
      for (const LineBend& bend :
           bends_of_line(f_, QueryStage::kSurfaces, from, w, low, high, kInNoise.window_points)) {
        const double other = (bend.jump - expected).norm();
        if (!same_jump(bend.jump, expected, bend.jump_error) || !(other < off)) continue;
        off = other;
        best = Change{-(g.dot(ahead) * delta + gamma * bend.at) / delta, gamma * bend.error / delta};
      }
      if (best) return best;
    }
    return std::nullopt;
  }

  // The surface on the new piece, far from the crossing.
  std::optional<MetPlace> far_place(const SurfaceUnit& unit, const Vector& at, const Vector& toward,
                                    const Vector& g, Index plane, double drift) {
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
      for (const double shortest : kInNoise.shortest) {
        const double h =
            std::min(kInNoise.widest * room,
                     std::max({least, shortest * spread_, kInNoise.errors * drift * share * length}));
        const NoisyBend bend = look_across(f_, QueryStage::kSurfaces, place.transpose(), normal.transpose(),
                                           Vector::Constant(1, h))
                                   .front();
        if (bend.seen == Seen::kNone || bend.seen == Seen::kDead) break;
        if (bend.seen != Seen::kBend) continue;
        const Vector expected = unit.kink.jump * size;
        if (!same_jump(bend.jump, expected, bend.jump_error)) continue;
        return MetPlace{place + bend.offset * normal, std::max(bend.error, f_.relative * place.norm())};
      }
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
      if (unit.by_row) continue;
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
      s = Matrix(weight.asDiagonal() * A.topRows(at))
              .colPivHouseholderQr()
              .solve(weight.cwiseProduct(right.head(at)));
      weight = ((A.topRows(at) * s - right.head(at)).array().abs() + 1e-6).rsqrt();
    }
    return s;
  }

  // The row of a unit on (h, 1) from its places.
  // More equations than weights, and they agree.
  [[nodiscard]] bool is_told(const SurfaceUnit& unit) const {
    Index unknowns = 1;
    for (const bool one : unit.told) unknowns += one ? 1 : 0;
    const auto kinks = static_cast<Index>(unit.others.size()) + 1;
    return static_cast<Index>(unit.met.size()) + kinks * (s_ - 1) >= unknowns + kInNoise.spare &&
           unit.alone < kInNoise.twins;
  }
  [[nodiscard]] bool signs_known() const {
    return signs_.size() == V_.rows() && signs_off_ < kInNoise.sign_off;
  }

  // Kinks of the last hidden layer with one direction of jumps are of one unit, where there are several
  // outputs.
  void units_from_jumps() {
    if (!signs_known() || f_.space.meter->outputs() < 2) return;
    const Matrix W = signs_.asDiagonal() * V_;
    for (std::size_t i = 0; i < above_.size(); ++i) {
      const Vector along = above_[i].jump.normalized();
      SurfaceUnit unit;
      unit.kink = above_[i];
      unit.kappa = Vector::Zero(V_.rows());
      unit.r = Vector::Zero(s_);
      unit.known.assign(static_cast<std::size_t>(V_.rows()), false);
      unit.met.push_back({unit.kink.place, unit.kink.error});
      std::vector<std::size_t> members{i};
      for (std::size_t j = 0; j < above_.size(); ++j) {
        const Vector other = above_[j].jump.normalized();
        if (j == i || std::min((other - along).norm(), (other + along).norm()) > kInNoise.same_direction)
          continue;
        SurfaceUnit more = unit;
        more.others.push_back(above_[j]);
        more.met.push_back({above_[j].place, above_[j].error});
        more.alone = solve_row(more, W);
        if (more.alone > kInNoise.twins) continue;
        unit = std::move(more);
        members.push_back(j);
      }
      if (members.size() < 2 || !is_told(unit)) continue;
      for (std::size_t q = members.size(); q-- > 0;) {
        const auto largest = std::max_element(members.begin(), members.end());
        above_.erase(above_.begin() + static_cast<std::ptrdiff_t>(*largest));
        *largest = 0;
      }
      unit.by_row = true;
      units_.push_back(std::move(unit));
      i = static_cast<std::size_t>(-1);  // from the first again
    }
    join_twins(W);
  }

  // Returns the root mean square of the places' distances over their errors.
  double solve_row(SurfaceUnit& unit, const Matrix& W) const {
    const Index k = W.rows(), n = static_cast<Index>(unit.met.size());
    const auto others = static_cast<Index>(unit.others.size()) * (s_ - 1);
    Matrix A = Matrix::Zero(n + s_ + others + k + 1, k + 1);
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
    met += on;
    Index at = n + s_;
    for (const NoisyKink& other : unit.others) {
      const Vector there = W.leftCols(s_) * other.place + W.col(s_),
                   on_there = (there.array() > 0).cast<double>();
      A.block(at, 0, s_ - 1, k) = tangents(other.normal).transpose() * W.leftCols(s_).transpose() *
                                  on_there.asDiagonal() / std::max(other.turn, f_.relative);
      met += on_there;
      at += s_ - 1;
    }
    A.bottomRows(k + 1) = kInNoise.ridge / turn * Matrix::Identity(k + 1, k + 1);
    unit.row = A.householderQr().solve(right);
    unit.told.assign(static_cast<std::size_t>(k), false);
    for (Index i = 0; i < k; ++i) unit.told[static_cast<std::size_t>(i)] = met(i) > 0;
    const Index count = n + s_ + others;
    return (A.topRows(count) * unit.row - right.head(count)).norm() / std::sqrt(static_cast<double>(count));
  }

  // Signs of the first layer as far as units tell, and all rows on it; units met twice are one.
  void know_rows() {
    const Vector s = signs_of_first();
    signs_ = as_signs(s);
    signs_off_ = (s.cwiseAbs().array() - 1).abs().maxCoeff();
    if (!(signs_off_ < kInNoise.sign_off)) {
      std::erase_if(units_, [](const SurfaceUnit& unit) { return unit.by_row; });
      for (SurfaceUnit& unit : units_) unit.row.resize(0);
      return;
    }
    const Matrix W = signs_.asDiagonal() * V_;
    for (SurfaceUnit& unit : units_) unit.alone = solve_row(unit, W);
    join_twins(W);
  }

  // Units met twice are one: a row that explains the places of both.
  void join_twins(const Matrix& W) {
    for (std::size_t i = 0; i < units_.size(); ++i) {
      for (std::size_t j = units_.size(); j-- > i + 1;) {
        const Vector a = units_[i].kink.jump.normalized(), b = units_[j].kink.jump.normalized();
        if (std::min((a - b).norm(), (a + b).norm()) > kInNoise.same_direction) continue;
        SurfaceUnit both = units_[i];
        both.met.insert(both.met.end(), units_[j].met.begin(), units_[j].met.end());
        both.others.push_back(units_[j].kink);
        both.others.insert(both.others.end(), units_[j].others.begin(), units_[j].others.end());
        both.alone = solve_row(both, W);
        if (both.alone > std::max(kInNoise.twins, kInNoise.own * std::max(units_[i].alone, units_[j].alone)))
          continue;
        SurfaceUnit fits = both;
        fits.alone = 0;
        if (!is_told(fits)) continue;
        if (units_[i].by_row && !units_[j].by_row) {
          both.kappa = units_[j].kappa;
          both.known = units_[j].known;
          both.r = units_[j].r;
          both.beta = units_[j].beta;
          both.by_row = false;
        }
        units_[i] = std::move(both);
        units_.erase(units_.begin() + static_cast<std::ptrdiff_t>(j));
      }
    }
  }

  // whatever: polish, whatever the answers that are wrong.
  bool assemble(NoisyLayers& out, bool whatever) {
    const Index k = V_.rows();
    know_rows();
    const Matrix W = signs_.asDiagonal() * V_;
    for (SurfaceUnit& unit : units_)
      if (unit.row.size() == 0) unit.alone = solve_row(unit, W);
    const auto n2 = static_cast<Index>(units_.size());
    const Index m = f_.space.meter->outputs();
    const Index unknowns = k * (s_ + 1) + n2 * (k + 1) + (n2 + 1) * m;
    const Index wanted =
        static_cast<Index>(kInNoise.sample * static_cast<double>(unknowns) / static_cast<double>(m)) + 500;
    if (sample_spread_ != spread_) {
      u_.resize(0, s_);
      y_.resize(0, m);
      sample_spread_ = spread_;
    }
    if (u_.rows() < wanted) {
      const RowMatrix u = f_.rounded(
          random_places("noisy sample", static_cast<std::uint64_t>(u_.rows()), wanted - u_.rows()));
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
    const LayerSigns signs =
        least_squares_signs(rows, C.topRows(n2).transpose(), C.bottomRows(k + 1).transpose());
    DeepForm plain;
    plain.plain = true;
    plain.inputs = s_;
    plain.V = {W, rows};
    for (Index j = 0; j < n2; ++j)
      if (signs.s(j) < 0) plain.V[1].row(j) *= -1;
    const Vector off = left.rowwise().norm();
    const auto wrong = (off.array() > kInNoise.wrong * sigma).count();
    why_ = fmt::format("{} units of a first layer and {} of a second leave {} of {} answers unexplained", k,
                       n2, wrong, u_.rows());
    // Where most is left, and a place where nothing is.
    wrong_.clear();
    for (Index i = 0; i < u_.rows(); ++i)
      if (off(i) > kInNoise.wrong * sigma) wrong_.push_back(i);
    std::stable_sort(wrong_.begin(), wrong_.end(), [&](Index a, Index b) { return off(a) > off(b); });
    if (static_cast<double>(wrong_.size()) > kInNoise.few_wrong * static_cast<double>(u_.rows()) && !whatever)
      return false;
    FormFitOptions fitting;
    fitting.hope = 0;
    fitting.enough = 1;
    std::optional<FormFit> fit = fit_form(plain, u_, y_, fitting, control());
    if (!fit) return false;
    leave_needless(*fit);
    const RowMatrix rest = y_ - evaluate(fit->form, u_);
    left_ = std::sqrt(rest.squaredNorm() / static_cast<double>(rest.size())) / sigma;
    if (!(left_ < kInNoise.exact)) return false;
    if (learn_from_wrong(fit->form)) {
      why_ =
          fmt::format("{} units of a first layer and {} of a second answer random queries, but not {} others",
                      k, fit->form.V[1].rows(), wrong_.size());
      return false;
    }
    out.form = fit->form;
    out.left = left_;
    out.spread = spread_;
    return true;
  }

  // Queries of lines and surfaces that a network which answers the sample does not answer: they join the
  // sample,
  // and the next lines lead there. False where there are none.
  bool learn_from_wrong(const DeepForm& form) {
    const double sigma = f_.sigma(0);
    RowMatrix u(0, s_), y(0, y_.cols());
    for (const LoggedBlock& block : f_.space.meter->history()) {
      if (!f_.space.holds(block.queries)) continue;
      const RowMatrix left = block.answers - evaluate(form, block.queries.rows);
      for (Index i = 0; i < left.rows() && u.rows() < kInNoise.most_wrong; ++i) {
        const double size = block.answers.row(i).cwiseAbs().maxCoeff();
        if (!(left.row(i).cwiseAbs().maxCoeff() > kInNoise.off * std::max(sigma, f_.sigma(size)))) continue;
        if (outside(block.queries.rows.row(i).transpose())) continue;
        append_rows(u, block.queries.rows.row(i));
        append_rows(y, block.answers.row(i));
      }
    }
    if (u.rows() == 0) return false;
    wrong_.clear();
    for (Index i = 0; i < u.rows(); ++i) wrong_.push_back(u_.rows() + i);
    append_rows(u_, u);
    append_rows(y_, y);
    return true;
  }

  // Units without which the others answer as well, outputs fitted again: those met twice.
  void leave_needless(FormFit& fit) const {
    for (bool any = true; any && fit.form.V[1].rows() > 1;) {
      any = false;
      for (Index j = fit.form.V[1].rows(); j-- > 0;) {
        std::vector<Index> kept;
        for (Index i = 0; i < fit.form.V[1].rows(); ++i)
          if (i != j) kept.push_back(i);
        DeepForm fewer = with_units(fit.form, 1, kept);
        const double left = fit_outputs(fewer, u_, y_, control());
        if (!(left < kInNoise.needless * fit.relative_mse)) continue;
        fit.form = std::move(fewer);
        fit.relative_mse = left;
        any = true;
      }
    }
  }

  bool follow_lines_to_wrong() {
    if (wrong_.empty()) return false;
    // From the nearest place that is answered rightly: few kinks lie in between.
    std::vector<bool> right(static_cast<std::size_t>(u_.rows()), true);
    for (const Index i : wrong_) right[static_cast<std::size_t>(i)] = false;
    for (std::size_t i = 0; i < std::min(kInNoise.lines_to_wrong, wrong_.size()); ++i) {
      const Vector to = u_.row(wrong_[i * wrong_.size() / std::min(kInNoise.lines_to_wrong, wrong_.size())]);
      Vector from;
      double nearest = std::numeric_limits<double>::infinity();
      for (Index q = 0; q < u_.rows(); ++q) {
        const double away = (u_.row(q).transpose() - to).norm();
        if (!right[static_cast<std::size_t>(q)] || !(away < nearest) || !(away > 0)) continue;
        nearest = away;
        from = u_.row(q);
      }
      if (from.size() == 0) return false;
      const Vector way = (to - from) / nearest;
      double beyond = (1 + kInNoise.beyond_wrong) * nearest;
      if (f_.space.bounded()) beyond = std::min(beyond, f_.space.reach(from, way));
      follow_line(from, way, 0, beyond, kInNoise.line_points);
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
  Vector signs_;  // of the first layer
  double signs_off_ = 1;
  std::string why_;
  double left_ = 1;
};

}  // namespace

DepthInNoise tell_depth_in_noise(const Space& space, std::uint64_t seed) {
  return InNoise(space, seed).tell_depth();
}

NoisyLayers find_two_layers_in_noise(const Space& space, std::uint64_t seed) {
  return InNoise(space, seed).run();
}

}  // namespace exhume
