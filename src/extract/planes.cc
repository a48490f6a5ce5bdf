#include "extract/planes.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <utility>

#include "base/random.h"
#include "extract/bend.h"
#include "extract/jacobian.h"
#include "extract/line.h"
#include "extract/line_units.h"
#include "linalg/svd.h"

namespace exhume {
namespace {

// Stages of the meter.
constexpr const char* kLines = "kinks";
constexpr const char* kJacobians = "jacobians";
constexpr const char* kPlanes = "planes";
constexpr int kIntervals = 48;        // of a line, to begin with
constexpr double kTangent = 1e-3;     // of its interval, where answers are doubles
constexpr double kStep = 0.01;        // of a Jacobian, as a share of the gap between its kinks
constexpr double kRankOne = 1e-3;     // second singular value of a jump over the first, at most
constexpr double kSamePlane = 1e-6;   // distance of a kink from a plane that explains it, over the scale
constexpr double kSameNormal = 1e-4;  // and of two planes that are one
constexpr double kFarQuantile = 0.7;  // of the planes' distances: the scale
constexpr double kBendStep = 2e-4;    // h of the places on a plane, over the scale
constexpr Index kFirstPlaces = 4, kMorePlaces = 8;
constexpr Index kLeastAlive = 3;  // places at which f must change for a plane to be judged
constexpr double kBendsEverywhere = 0.75, kBendsNowhere = 0.3;  // shares of the places where f changes
constexpr double kBendsAlways = 0.9;  // the same of the whole plane, where several outputs tell more
constexpr double kTurns = 1e-4;       // angle by which jumps of a unit below others turn, at least
constexpr Index kSpare = 4;           // places beyond the unknowns of a plane
constexpr int kRounds = 4, kFitRounds = 4;
constexpr double kManyMedians =
    12;  // distance from the plane, over the median, from which a place is left out
constexpr double kErrors = 60,
                 kExact = 1e-14;  // how far a kink may be from its plane: in errors, over its size
constexpr double kLeastSpread = 0.7, kMostSpread = 6;  // of places, in scales
constexpr Index kTried = 12;                           // places in a box, for one beyond the plane
constexpr double kShortest = 1e-6;                     // distance of two places that a line may pass through
constexpr double kNearWall = 0.97;                     // of the way from the middle to a wall, at most
constexpr double kMiddling = 0.2, kWalls = 0.35,
                 kMixed = 0.5;    // shares of places in a box, one after another
constexpr double kJitter = 0.4;   // of places on the way to a corner, over half the box
constexpr int kOtherLines = 4;    // one line in so many is not between corners
constexpr Index kMostSlopes = 4;  // that are kept, for every dimension
constexpr double kBrightest = 3;  // mean of all coordinates, over half the box

// A kink of the line, and the plane through it.
struct Candidate {
  Vector place, normal, jump;
  Vector low, high;  // ends of the line
  double error = 0;  // of the normal
  Index alive = 0, bends = 0;
  std::vector<std::pair<Vector, double>> met;  // places of kinks on the plane, with their errors
  std::vector<Vector> jumps;                   // there
  Vector plane;                                // through these; empty where they are too few
  [[nodiscard]] double share() const {
    return alive > 0 ? static_cast<double>(bends) / static_cast<double>(alive) : 0;
  }
};

class Lines {
 public:
  Lines(const Space& space, const PlanesOptions& options, Planes& planes)
      : space_(space), options_(options), planes_(planes), s_(space.dimensions()) {
    if (planes_.V.cols() != s_ + 1) planes_.V.resize(0, s_ + 1);
    if (planes_.lines == 0) planes_.scale = std::sqrt(static_cast<double>(s_));
  }

  // Kinks that were met elsewhere, each between the two ends of its segment.
  void judge_met(const std::vector<UpperKink>& kinks, const std::vector<std::pair<Vector, Vector>>& ends) {
    std::vector<Candidate> candidates;
    for (std::size_t i = 0; i < kinks.size(); ++i) {
      if (on_known_plane(kinks[i].place)) continue;
      Candidate one;
      one.place = kinks[i].place;
      one.normal = kinks[i].normal;
      one.jump = kinks[i].jump;
      one.error = kinks[i].error;
      std::tie(one.low, one.high) = ends[i];
      candidates.push_back(std::move(one));
    }
    drawn_ += static_cast<std::uint64_t>(planes_.judged++) << 14;
    judge(candidates);
  }

  void run() {
    int quiet = 0;
    for (int i = 0; i < options_.most_lines; ++i) {
      const Index before = planes_.V.rows();
      follow(static_cast<std::size_t>(i));
      quiet = planes_.V.rows() > before ? 0 : quiet + 1;
      if (i + 1 >= options_.least_lines && quiet >= options_.quiet_lines) break;
    }
  }

 private:
  void follow(std::size_t number) {
    const Stream random(options_.seed, "extract deep line");
    RowMatrix v(1, s_);
    random.fill_normal(static_cast<std::uint64_t>(planes_.lines), v);
    Vector p = space_.middle();
    if (planes_.lines > 0)
      p = places_about(space_, planes_, options_.seed ^ 0x5bd1e995u,
                       static_cast<std::uint64_t>(planes_.lines), 1)
              .row(0);
    Vector along = v.row(0).transpose();
    // In a box from one place to another: near the walls random directions lead nowhere.
    if (space_.bounded() && planes_.lines > 0) {
      const auto line = static_cast<std::uint64_t>(planes_.lines);
      const bool corners = space_.whole && planes_.slopes.rows() > 0 && planes_.lines % kOtherLines != 0;
      RowMatrix ends(2, s_);
      if (corners) {
        ends = corners_about(space_, planes_, options_.seed, 2 * line, 2);
        p = ends.row(0);
      } else {
        ends.row(1) = places_about(space_, planes_, options_.seed ^ 0x1b873593u, line, 1);
      }
      if ((ends.row(1).transpose() - p).norm() > kShortest * planes_.scale)
        along = ends.row(1).transpose() - p;
    }
    if (number < options_.through.size()) {
      const auto& [from, to] = options_.through[number];
      if ((to - from).norm() > kShortest * planes_.scale) {
        p = from;
        along = to - from;
      }
    }
    LineTask task = line_through(space_, p, along.normalized(), options_.farthest * planes_.scale);
    if (!space_.bounded()) task.scale = planes_.lines > 0 ? 2 * planes_.scale : planes_.scale;
    const std::vector<double> kinks = kinks_of(task);
    if (planes_.lines == 0) {
      planes_.line = {task.low, task.high};
      planes_.kinks = kinks;
    }
    ++planes_.lines;
    std::vector<Candidate> candidates = at_kinks(task, kinks);
    if (planes_.lines == 1) set_scale(candidates);
    judge(candidates);
  }

  [[nodiscard]] AskNoisy asking(const char* stage) const {
    return [this, stage](const RowMatrix& u) { return residual(space_, stage, {}, 0, u); };
  }

  [[nodiscard]] std::vector<double> kinks_of(const LineTask& task) const {
    LineOptions line;
    line.scale = task.scale;
    line.low = task.low;
    line.high = task.high;
    line.intervals = kIntervals;
    line.tangent = std::clamp(300 * std::sqrt(space_.noise.relative), kTangent, 0.2);
    const AskNoisy ask = asking(kLines);
    return kinks_on_line(
               [&](const std::vector<double>& t) {
                 RowMatrix u(static_cast<Index>(t.size()), s_);
                 for (std::size_t i = 0; i < t.size(); ++i)
                   u.row(static_cast<Index>(i)) = (task.p + t[i] * task.v).transpose();
                 NoisyAnswers answers = ask(u);
                 return LineAnswers{std::move(answers.values), std::move(answers.noise)};
               },
               line)
        .at;
  }

  [[nodiscard]] bool on_known_plane(const Vector& u) const {
    if (options_.explained && options_.explained(u)) return true;
    if (planes_.V.rows() == 0) return false;
    const Vector far = (planes_.V.leftCols(s_) * u + planes_.V.col(s_)).cwiseAbs();
    return far.minCoeff() <= kSamePlane * (planes_.scale + (u - space_.middle()).norm());
  }

  // Jacobians, and in a box their rows as far as corners need them.
  void keep_slopes(const std::vector<LocalLinear>& pieces) {
    for (const LocalLinear& piece : pieces) {
      if (!piece.agreed) continue;
      planes_.pieces.push_back(piece);
      if (!space_.bounded() || planes_.slopes.rows() >= kMostSlopes * s_) continue;
      for (Index o = 0; o < piece.jacobian.rows(); ++o) {
        const double size = piece.jacobian.row(o).norm();
        if (!(size > kTiny)) continue;
        planes_.slopes.conservativeResize(planes_.slopes.rows() + 1, s_);
        planes_.slopes.bottomRows(1) = piece.jacobian.row(o) / size;
      }
    }
  }

  // The kinks that no plane explains, with the jumps of the Jacobian there.
  [[nodiscard]] std::vector<Candidate> at_kinks(const LineTask& task, const std::vector<double>& kinks) {
    const std::size_t n = kinks.size();
    std::vector<bool> open(n), wanted(n + 1);
    for (std::size_t i = 0; i < n; ++i) {
      open[i] = !on_known_plane(task.p + kinks[i] * task.v);
      if (open[i]) wanted[i] = wanted[i + 1] = true;
    }
    std::vector<Index> gap(n + 1, -1);
    std::vector<std::pair<double, double>> at;  // middle, step
    for (std::size_t r = 0; r <= n; ++r) {
      if (!wanted[r]) continue;
      const double beyond = n > 1 ? (kinks.back() - kinks.front()) / static_cast<double>(n) : task.scale / 4;
      const double low = r > 0 ? kinks[r - 1] : std::max(task.low, kinks.front() - 2 * beyond);
      const double high = r < n ? kinks[r] : std::min(task.high, kinks.back() + 2 * beyond);
      gap[r] = static_cast<Index>(at.size());
      at.emplace_back((low + high) / 2, kStep * (high - low) / 2);
    }
    RowMatrix points(static_cast<Index>(at.size()), s_);
    Vector steps(points.rows());
    for (Index i = 0; i < points.rows(); ++i) {
      points.row(i) = (task.p + at[static_cast<std::size_t>(i)].first * task.v).transpose();
      steps(i) = at[static_cast<std::size_t>(i)].second;
    }
    std::vector<Candidate> out;
    if (at.empty()) return out;
    const std::vector<LocalLinear> pieces =
        jacobians(asking(kJacobians), space_, points, steps,
                  options_.seed + 1000003 * static_cast<std::uint64_t>(planes_.lines));
    keep_slopes(pieces);
    for (std::size_t i = 0; i < n; ++i) {
      if (!open[i]) continue;
      const LocalLinear &before = pieces[static_cast<std::size_t>(gap[i])],
                        &after = pieces[static_cast<std::size_t>(gap[i + 1])];
      if (!before.agreed || !after.agreed) continue;
      const Svd svd = thin_svd(after.jacobian - before.jacobian);
      if (!(svd.values(0) > 0) || !svd.V.col(0).allFinite() ||
          (svd.values.size() > 1 && svd.values(1) > kRankOne * svd.values(0)))
        continue;
      Candidate one;
      one.place = task.p + kinks[i] * task.v;
      one.normal = svd.V.col(0);
      one.low = task.p + task.low * task.v;
      one.high = task.p + task.high * task.v;
      one.jump = (after.jacobian - before.jacobian) * one.normal;
      one.error =
          space_.noise.at(std::max(before.value.cwiseAbs().maxCoeff(), after.value.cwiseAbs().maxCoeff())) /
          (std::min(before.step, after.step) * one.jump.norm());
      out.push_back(std::move(one));
    }
    return out;
  }

  // What most planes that were met do not exceed.
  void set_scale(const std::vector<Candidate>& candidates) {
    if (space_.bounded() || candidates.empty()) return;
    std::vector<double> far;
    for (const Candidate& each : candidates)
      far.push_back(std::abs(each.normal.dot(each.place - space_.middle())));
    std::sort(far.begin(), far.end());
    planes_.scale =
        std::max(far[static_cast<std::size_t>(kFarQuantile * static_cast<double>(far.size() - 1))], 1e-6);
  }

  // The way from a place to the plane, towards a place on its other side, so that it ends within the box: one of those
  // drawn with it, or else an end of the line on which the plane was met.
  [[nodiscard]] static Vector across(const Candidate& each, const Vector& at, const RowMatrix& others,
                                     Index i) {
    const auto height = [&](const Vector& u) { return each.normal.dot(u - each.place); };
    const double here = height(at);
    const auto way = [&](const Vector& to) -> Vector {
      const double share = here / (here - height(to));
      return share >= 0 && share <= 1 ? Vector(share * (to - at)) : Vector(each.place - at);
    };
    for (Index q = 1; q <= std::min(kTried, others.rows() - 1); ++q) {
      const Vector to = others.row((i + q) % others.rows());
      if ((height(to) < 0) != (here < 0)) return way(to);
    }
    return way((height(each.low) < 0) != (here < 0) ? each.low : each.high);
  }

  // Asks at `count` places of every plane that is listed.
  void ask_at_places(std::vector<Candidate*>& listed, Index count) {
    const Index n = static_cast<Index>(listed.size()) * count;
    if (n == 0) return;
    RowMatrix places = places_about(space_, planes_, options_.seed, drawn_, n), directions(n, s_);
    drawn_ += static_cast<std::uint64_t>(n);
    const RowMatrix others = places;
    for (Index i = 0; i < n; ++i) {
      const Candidate& each = *listed[static_cast<std::size_t>(i / count)];
      const Vector at = places.row(i);
      if (space_.bounded()) {
        places.row(i) = (at + across(each, at, others, i)).transpose();
      } else {
        places.row(i) -= (at - each.place).dot(each.normal) * each.normal.transpose();
      }
      directions.row(i) = each.normal.transpose();
    }
    const double step =
        kBendStep * planes_.scale * std::max(1.0, std::sqrt(space_.noise.relative / 1e-15) / 30);
    const std::vector<Bend> bends = bends_at(space_, kPlanes, places, directions, Vector::Constant(n, step));
    for (Index i = 0; i < n; ++i) {
      const Bend& bend = bends[static_cast<std::size_t>(i)];
      Candidate& each = *listed[static_cast<std::size_t>(i / count)];
      if (bend.alive) ++each.alive;
      if (!bend.bends) continue;
      ++each.bends;
      each.jumps.push_back(bend.jump);
      each.met.emplace_back(places.row(i).transpose() + bend.offset * each.normal, bend.error);
    }
  }

  void judge(std::vector<Candidate>& candidates) {
    std::vector<Candidate*> open;
    for (Candidate& each : candidates) open.push_back(&each);
    ask_at_places(open, kFirstPlaces);
    // Those that are in doubt, once more.
    std::vector<Candidate*> doubtful;
    for (Candidate* each : open) {
      if (each->alive < kLeastAlive || (each->share() < kBendsEverywhere && each->share() > 0))
        doubtful.push_back(each);
    }
    ask_at_places(doubtful, kMorePlaces);
    std::vector<Candidate*> good;
    Index above = 0;
    for (Candidate& each : candidates) {
      if (each.alive >= kLeastAlive && each.share() >= kBendsEverywhere) {
        good.push_back(&each);
      } else {
        ++above;
        planes_.upper.push_back({each.place, each.normal, each.jump, each.error});
      }
    }
    planes_.upper_on_line = std::max(planes_.upper_on_line, above);
    std::vector<Candidate*> unsound = good;
    for (int round = 0; round < kRounds && !unsound.empty(); ++round) {
      ask_at_places(unsound, round == 0 ? s_ + kSpare - std::min<Index>(kFirstPlaces, s_) : kMorePlaces);
      std::erase_if(unsound, [this](Candidate* each) { return fit(*each); });
    }
    for (Candidate* each : good) {
      if (!options_.strict || everywhere(*each)) {
        add(*each);
      } else {
        planes_.upper.push_back({each->place, each->normal, each->jump, each->error});
      }
    }
  }

  // A unit below others bends f all along its plane, by jumps that turn with the units above that are on. A unit of the last
  // hidden layer may bend f along one plane in nearly all of a box, but by one jump.
  [[nodiscard]] bool everywhere(const Candidate& each) const {
    if (each.plane.size() == 0) return false;
    Index on_plane = 0;
    double turned = 0;
    const Vector along = each.jump.normalized();
    for (std::size_t i = 0; i < each.met.size(); ++i) {
      const auto& [at, error] = each.met[i];
      if (std::abs(each.plane.head(s_).dot(at) + each.plane(s_)) > kErrors * error + kExact * at.norm())
        continue;
      ++on_plane;
      turned =
          std::max(turned, (each.jumps[i] - along.dot(each.jumps[i]) * along).norm() / each.jumps[i].norm());
    }
    return static_cast<double>(on_plane) >= kBendsAlways * static_cast<double>(each.alive) && turned > kTurns;
  }

  // The plane through all its kinks, by least squares about what the line gave; false where too few agree.
  [[nodiscard]] bool fit(Candidate& each) const {
    Vector plane(s_ + 1);
    plane << each.normal, -each.normal.dot(each.place);
    Index agree = 0;
    for (int round = 0; round < kFitRounds; ++round) {
      std::vector<double> off;
      for (const auto& one : each.met) off.push_back(std::abs(plane.head(s_).dot(one.first) + plane(s_)));
      std::vector<double> sorted = off;
      std::sort(sorted.begin(), sorted.end());
      // A place beside another kink is far off.
      const double limit = std::max(kManyMedians * (sorted.empty() ? 0 : sorted[sorted.size() / 2]), kTiny);
      agree = 0;
      Matrix A(static_cast<Index>(off.size()) + 1, s_ + 1);
      Vector right = Vector::Zero(A.rows());
      double heaviest = 0;
      for (std::size_t i = 0; i < off.size(); ++i) {
        if (off[i] > limit) continue;
        const auto& [at, error] = each.met[i];
        const double weight = 1 / std::max(error, kTiny);
        heaviest = std::max(heaviest, weight);
        A.row(agree) << weight * at.transpose(), weight;
        right(agree++) = -weight * (plane.head(s_).dot(at) + plane(s_));
      }
      if (agree < s_ + 2) return false;
      A.row(agree) << heaviest * planes_.scale * plane.head(s_).transpose(), 0;
      const Vector step = A.topRows(agree + 1).colPivHouseholderQr().solve(right.head(agree + 1));
      if (!step.allFinite()) return false;
      plane += step;
      plane /= plane.head(s_).norm();
    }
    Index good = 0;
    for (const auto& [at, error] : each.met)
      if (std::abs(plane.head(s_).dot(at) + plane(s_)) <= kErrors * error + kExact * at.norm()) ++good;
    if (good < s_ + 2) return false;
    each.plane = plane;
    return true;
  }

  void add(const Candidate& each) {
    Vector plane = each.plane;
    if (plane.size() == 0) return;
    // Two kinks of a line close together may both give the plane of one.
    for (Index j = 0; j < planes_.V.rows(); ++j) {
      const double cosine = planes_.V.row(j).head(s_).dot(plane.head(s_)), sign = cosine < 0 ? -1 : 1;
      Vector apart = planes_.V.row(j).transpose() - sign * plane;
      apart(s_) /= planes_.scale;
      if (apart.norm() < kSameNormal) return;
    }
    // A unit above others bends f along combinations of their planes, in places all along.
    if (space_.bounded() && space_.whole && planes_.V.rows() > 0 && planes_.V.rows() < s_) {
      const Matrix rows = planes_.V.leftCols(s_).transpose();
      const Vector normal = plane.head(s_);
      if ((normal - rows * rows.colPivHouseholderQr().solve(normal)).norm() < kSameNormal) {
        planes_.upper.push_back({each.place, each.normal, each.jump, each.error});
        return;
      }
    }
    planes_.V.conservativeResize(planes_.V.rows() + 1, Eigen::NoChange);
    planes_.V.bottomRows(1) = plane.transpose();
  }

  const Space& space_;
  const PlanesOptions& options_;
  Planes& planes_;
  Index s_;
  std::uint64_t drawn_ = static_cast<std::uint64_t>(planes_.lines) << 24;
};

// Near its walls at most: the middle that places are drawn about is not quite that of the box.
void keep_inside(const Space& space, RowMatrix& x) {
  const Box& box = space.meter->frame().box();
  const double wall = (1 - kNearWall) * (box.high - box.low) / 2;
  x = x.cwiseMax(box.low + wall).cwiseMin(box.high - wall).eval();
}

}  // namespace

void more_planes(const Space& space, const PlanesOptions& options, Planes& planes) {
  Lines(space, options, planes).run();
}

void judge_kinks(const Space& space, const PlanesOptions& options, const std::vector<UpperKink>& kinks,
                 const std::vector<std::pair<Vector, Vector>>& ends, Planes& planes) {
  Lines(space, options, planes).judge_met(kinks, ends);
}

RowMatrix places_about(const Space& space, const Planes& planes, std::uint64_t seed, std::uint64_t first,
                       Index count) {
  const Index s = space.dimensions();
  const Stream directions(seed, "extract deep places"), radii(seed, "extract deep radii");
  RowMatrix corners;
  if (space.bounded() && space.whole && planes.slopes.rows() > 0)
    corners = corners_about(space, planes, seed, first, count);
  RowMatrix u(count, s);
  directions.fill_normal(first, u);
  for (Index i = 0; i < count; ++i) {
    const auto [r, kind] = radii.uniforms(first + static_cast<std::uint64_t>(i), 0);
    if (!space.bounded()) {
      u.row(i) *= planes.scale * kLeastSpread * std::pow(kMostSpread / kLeastSpread, r);
    } else if (space.whole) {
      const Box& box = space.meter->frame().box();
      const double half = (box.high - box.low) / 2;
      // Some near the middle, some with many coordinates at the walls, some from dark to bright, and half of them on the
      // way to corners.
      if (kind >= kMixed && corners.rows() > 0) {
        u.row(i) = kJitter * half * u.row(i) + r * (corners.row(i) - space.middle().transpose());
      } else if (kind >= kWalls) {
        u.row(i) = 1.5 * half * u.row(i) + Eigen::RowVectorXd::Constant(s, kBrightest * half * (2 * r - 1));
      } else {
        u.row(i) *= half * (kind < kMiddling ? 0.6 : 1.5) * (0.3 + 0.7 * r);
      }
      continue;
    } else {
      const Vector along = u.row(i).normalized();
      u.row(i) = along.transpose() * (0.95 * space.reach(space.middle(), along) * std::sqrt(r));
    }
  }
  u.rowwise() += space.middle().transpose();
  if (space.bounded() && space.whole) keep_inside(space, u);
  return u;
}

RowMatrix corners_about(const Space& space, const Planes& planes, std::uint64_t seed, std::uint64_t first,
                        Index count) {
  RowMatrix drawn(count, planes.slopes.rows());
  Stream(seed, "extract deep corners").fill_normal(first, drawn);
  const Box& box = space.meter->frame().box();
  RowMatrix u = ((box.high - box.low) * (drawn * planes.slopes).array().sign()).matrix();
  u.rowwise() += space.middle().transpose();
  keep_inside(space, u);
  return u;
}

}  // namespace exhume
