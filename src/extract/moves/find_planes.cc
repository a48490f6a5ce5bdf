#include "extract/moves/find_planes.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/random.h"
#include "extract/jacobian.h"
#include "extract/kink.h"
#include "extract/line.h"
#include "extract/line_units.h"

namespace exhume {
namespace {

// Chosen by experience on random and digit-trained networks; not derived, but where said.
struct FindPlanesLimits {
  // Lines.
  int intervals = 48;         // of a line, to begin with
  double tangent = 1e-3;      // of its interval, where answers are doubles
  double step = 0.01;         // of a Jacobian, as a share of the gap between its kinks
  double shortest = 1e-6;     // distance of two places that a line may pass through
  int other_lines = 4;        // in a box, one line in so many is not between corners
  double far_quantile = 0.7;  // of the planes' distances: the scale
  Index most_slopes = 4;      // that are kept per dimension
  // Planes.
  double same_plane = 1e-6;   // distance of a kink from a plane that explains it, over the scale
  double same_normal = 1e-4;  // and of two planes that are one
  double bend_step = 2e-4;    // h of the places on a plane, over the scale
  Index first_places = 4, more_places = 8;
  Index least_alive = 3;           // places at which f must change for a plane to be judged
  double bends_everywhere = 0.75;  // share of the places where f changes
  double bends_always = 0.9;       // the same of the whole plane, where several outputs tell more
  double turns = 1e-4;             // angle by which jumps of a unit below others turn, at least
  Index tried = 12;                // places in a box, for one beyond the plane
  // Planes through their places.
  Index spare = 4;  // places beyond the unknowns of a plane
  int rounds = 4, fit_rounds = 4;
  double many_medians = 12;  // distance from the plane, over the median, from which a place is left out
  double errors = 60,
         exact = 1e-14;  // how far a kink may be from its plane: in errors; derived: rounding, over its size
};
constexpr FindPlanesLimits kFindPlanes;

// A kink of the line, and the plane through it.
struct Candidate {
  Kink kink;
  Vector low, high;  // ends of the line
  Index alive = 0, bends = 0;
  std::vector<MetPlace> met;  // places of kinks on the plane
  std::vector<Vector> jumps;  // there
  Vector plane;               // through these; empty where they are too few
  [[nodiscard]] double share() const {
    return alive > 0 ? static_cast<double>(bends) / static_cast<double>(alive) : 0;
  }
};

class PlaneFinder {
 public:
  PlaneFinder(const Space& space, const PlanesOptions& options, QueryEvidence& evidence, Matrix& planes)
      : space_(space), options_(options), evidence_(evidence), V_(planes), s_(space.dimensions()) {
    if (V_.cols() != s_ + 1) V_.resize(0, s_ + 1);
    if (evidence_.lines == 0) evidence_.scale = std::sqrt(static_cast<double>(s_));
  }

  // Kinks that were met elsewhere, each between the two ends of its segment.
  void judge_met(const std::vector<Kink>& kinks, const std::vector<Segment>& ends) {
    std::vector<Candidate> candidates;
    for (std::size_t i = 0; i < kinks.size(); ++i) {
      if (on_known_plane(kinks[i].place)) continue;
      candidates.push_back({kinks[i], ends[i].first, ends[i].second, 0, 0, {}, {}, {}});
    }
    drawn_ += static_cast<std::uint64_t>(evidence_.judged++) << 14;
    judge(candidates);
  }

  void run() {
    int quiet = 0;
    for (int i = 0; i < options_.most_lines; ++i) {
      const Index before = V_.rows();
      follow(static_cast<std::size_t>(i));
      quiet = V_.rows() > before ? 0 : quiet + 1;
      if (i + 1 >= options_.least_lines && quiet >= options_.quiet_lines) break;
    }
  }

 private:
  void follow(std::size_t number) {
    const Stream random(options_.seed, "extract deep line");
    RowMatrix v(1, s_);
    random.fill_normal(static_cast<std::uint64_t>(evidence_.lines), v);
    Vector p = space_.middle();
    if (evidence_.lines > 0)
      p = places_about(space_, evidence_, sub_seed(options_.seed, "line from"),
                       static_cast<std::uint64_t>(evidence_.lines), 1)
              .row(0);
    Vector along = v.row(0).transpose();
    // In a box from one place to another: near the walls random directions lead nowhere.
    if (space_.bounded() && evidence_.lines > 0) {
      const auto line = static_cast<std::uint64_t>(evidence_.lines);
      const bool corners =
          space_.whole && evidence_.slopes.rows() > 0 && evidence_.lines % kFindPlanes.other_lines != 0;
      RowMatrix ends(2, s_);
      if (corners) {
        ends = corners_about(space_, evidence_, options_.seed, 2 * line, 2);
        p = ends.row(0);
      } else {
        ends.row(1) = places_about(space_, evidence_, sub_seed(options_.seed, "line to"), line, 1);
      }
      if ((ends.row(1).transpose() - p).norm() > kFindPlanes.shortest * evidence_.scale)
        along = ends.row(1).transpose() - p;
    }
    if (number < options_.through.size()) {
      const auto& [from, to] = options_.through[number];
      if ((to - from).norm() > kFindPlanes.shortest * evidence_.scale) {
        p = from;
        along = to - from;
      }
    }
    LineTask task = line_through(space_, p, along.normalized(), options_.farthest * evidence_.scale);
    if (!space_.bounded()) task.scale = evidence_.lines > 0 ? 2 * evidence_.scale : evidence_.scale;
    const std::vector<double> kinks = kinks_of(task);
    if (evidence_.lines == 0) {
      evidence_.first_line = {task.low, task.high};
      evidence_.first_kinks = kinks;
    }
    ++evidence_.lines;
    std::vector<Candidate> candidates = at_kinks(task, kinks);
    if (evidence_.lines == 1) set_scale(candidates);
    judge(candidates);
  }

  [[nodiscard]] std::vector<double> kinks_of(const LineTask& task) const {
    LineOptions line;
    line.scale = task.scale;
    line.low = task.low;
    line.high = task.high;
    line.intervals = kFindPlanes.intervals;
    line.tangent = std::clamp(300 * std::sqrt(space_.noise.relative), kFindPlanes.tangent, 0.2);
    return kinks_along(space_, QueryStage::kKinks, task.p, task.v, line);
  }

  [[nodiscard]] bool on_known_plane(const Vector& u) const {
    if (options_.explained && options_.explained(u)) return true;
    if (V_.rows() == 0) return false;
    const Vector far = (V_.leftCols(s_) * u + V_.col(s_)).cwiseAbs();
    return far.minCoeff() <= kFindPlanes.same_plane * (evidence_.scale + (u - space_.middle()).norm());
  }

  // Jacobians, and in a box their rows as far as corners need them.
  void keep_slopes(const std::vector<LocalLinear>& pieces) {
    for (const LocalLinear& piece : pieces) {
      if (!piece.agreed) continue;
      evidence_.jacobians.push_back(piece);
      if (!space_.bounded() || evidence_.slopes.rows() >= kFindPlanes.most_slopes * s_) continue;
      for (Index o = 0; o < piece.jacobian.rows(); ++o) {
        const double size = piece.jacobian.row(o).norm();
        if (!(size > kTiny)) continue;
        evidence_.slopes.conservativeResize(evidence_.slopes.rows() + 1, s_);
        evidence_.slopes.bottomRows(1) = piece.jacobian.row(o) / size;
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
    const std::vector<Gap> gaps = gaps_between(task, kinks);
    std::vector<std::size_t> piece(n + 1);
    std::vector<Vector> at;
    Vector steps(static_cast<Index>(n + 1));
    for (std::size_t r = 0; r <= n; ++r) {
      if (!wanted[r]) continue;
      piece[r] = at.size();
      steps(static_cast<Index>(at.size())) = kFindPlanes.step * gaps[r].half;
      at.emplace_back(task.p + gaps[r].middle * task.v);
    }
    std::vector<Candidate> out;
    if (at.empty()) return out;
    const std::vector<LocalLinear> pieces = jacobians(
        space_.asking(QueryStage::kJacobians), space_, as_rows(at, s_),
        steps.head(static_cast<Index>(at.size())), sub_seed(options_.seed, "jacobians", evidence_.lines));
    keep_slopes(pieces);
    for (std::size_t i = 0; i < n; ++i) {
      if (!open[i]) continue;
      const LocalLinear &before = pieces[piece[i]], &after = pieces[piece[i + 1]];
      if (!before.agreed || !after.agreed) continue;
      auto kink = kink_between(space_, before, after, task.p + kinks[i] * task.v);
      if (!kink) continue;
      out.push_back(
          {std::move(*kink), task.p + task.low * task.v, task.p + task.high * task.v, 0, 0, {}, {}, {}});
    }
    return out;
  }

  // What most planes that were met do not exceed.
  void set_scale(const std::vector<Candidate>& candidates) {
    if (space_.bounded() || candidates.empty()) return;
    std::vector<double> far;
    for (const Candidate& each : candidates)
      far.push_back(std::abs(each.kink.normal.dot(each.kink.place - space_.middle())));
    std::sort(far.begin(), far.end());
    evidence_.scale = std::max(
        far[static_cast<std::size_t>(kFindPlanes.far_quantile * static_cast<double>(far.size() - 1))], 1e-6);
  }

  // The way from a place to the plane, towards a place on its other side, so that it ends within the box: one
  // of those drawn with it, or else an end of the line on which the plane was met.
  [[nodiscard]] static Vector across(const Candidate& each, const Vector& at, const RowMatrix& others,
                                     Index i) {
    const auto height = [&](const Vector& u) { return each.kink.normal.dot(u - each.kink.place); };
    const double here = height(at);
    const auto way = [&](const Vector& to) -> Vector {
      const double share = here / (here - height(to));
      return share >= 0 && share <= 1 ? Vector(share * (to - at)) : Vector(each.kink.place - at);
    };
    for (Index q = 1; q <= std::min(kFindPlanes.tried, others.rows() - 1); ++q) {
      const Vector to = others.row((i + q) % others.rows());
      if ((height(to) < 0) != (here < 0)) return way(to);
    }
    return way((height(each.low) < 0) != (here < 0) ? each.low : each.high);
  }

  // Asks at `count` places of every plane that is listed.
  void ask_at_places(std::vector<Candidate*>& listed, Index count) {
    const Index n = static_cast<Index>(listed.size()) * count;
    if (n == 0) return;
    RowMatrix places = places_about(space_, evidence_, options_.seed, drawn_, n), directions(n, s_);
    drawn_ += static_cast<std::uint64_t>(n);
    const RowMatrix others = places;
    for (Index i = 0; i < n; ++i) {
      const Candidate& each = *listed[static_cast<std::size_t>(i / count)];
      const Vector at = places.row(i);
      if (space_.bounded()) {
        places.row(i) = (at + across(each, at, others, i)).transpose();
      } else {
        places.row(i) -= (at - each.kink.place).dot(each.kink.normal) * each.kink.normal.transpose();
      }
      directions.row(i) = each.kink.normal.transpose();
    }
    const double step = kFindPlanes.bend_step * evidence_.scale *
                        std::max(1.0, std::sqrt(space_.noise.relative / 1e-15) / 30);
    const std::vector<Bend> bends =
        bends_at(space_, QueryStage::kPlanes, places, directions, Vector::Constant(n, step));
    for (Index i = 0; i < n; ++i) {
      const Bend& bend = bends[static_cast<std::size_t>(i)];
      Candidate& each = *listed[static_cast<std::size_t>(i / count)];
      if (bend.alive) ++each.alive;
      if (!bend.bends) continue;
      ++each.bends;
      each.jumps.push_back(bend.jump);
      each.met.push_back({places.row(i).transpose() + bend.offset * each.kink.normal, bend.error});
    }
  }

  void judge(std::vector<Candidate>& candidates) {
    std::vector<Candidate*> open;
    for (Candidate& each : candidates) open.push_back(&each);
    ask_at_places(open, kFindPlanes.first_places);
    // Those that are in doubt, once more.
    std::vector<Candidate*> doubtful;
    for (Candidate* each : open) {
      if (each->alive < kFindPlanes.least_alive ||
          (each->share() < kFindPlanes.bends_everywhere && each->share() > 0))
        doubtful.push_back(each);
    }
    ask_at_places(doubtful, kFindPlanes.more_places);
    std::vector<Candidate*> good;
    for (Candidate& each : candidates) {
      if (each.alive >= kFindPlanes.least_alive && each.share() >= kFindPlanes.bends_everywhere) {
        good.push_back(&each);
      } else {
        evidence_.kinks.push_back(each.kink);
      }
    }
    std::vector<Candidate*> unsound = good;
    for (int round = 0; round < kFindPlanes.rounds && !unsound.empty(); ++round) {
      ask_at_places(unsound, round == 0
                                 ? s_ + kFindPlanes.spare - std::min<Index>(kFindPlanes.first_places, s_)
                                 : kFindPlanes.more_places);
      std::erase_if(unsound, [this](Candidate* each) { return fit(*each); });
    }
    for (Candidate* each : good) {
      if (!options_.strict || everywhere(*each)) {
        add(*each);
      } else {
        evidence_.kinks.push_back(each->kink);
      }
    }
  }

  // A unit below others bends f all along its plane, by jumps that turn with the units above that are on. A
  // unit of the last hidden layer may bend f along one plane in nearly all of a box, but by one jump.
  [[nodiscard]] bool everywhere(const Candidate& each) const {
    if (each.plane.size() == 0) return false;
    Index on_plane = 0;
    double turned = 0;
    const Vector along = each.kink.jump.normalized();
    for (std::size_t i = 0; i < each.met.size(); ++i) {
      const auto& [at, error] = each.met[i];
      if (std::abs(each.plane.head(s_).dot(at) + each.plane(s_)) >
          kFindPlanes.errors * error + kFindPlanes.exact * at.norm())
        continue;
      ++on_plane;
      turned =
          std::max(turned, (each.jumps[i] - along.dot(each.jumps[i]) * along).norm() / each.jumps[i].norm());
    }
    return static_cast<double>(on_plane) >= kFindPlanes.bends_always * static_cast<double>(each.alive) &&
           turned > kFindPlanes.turns;
  }

  // The plane through all its kinks, by least squares about what the line gave; false where too few agree.
  [[nodiscard]] bool fit(Candidate& each) const {
    Vector plane(s_ + 1);
    plane << each.kink.normal, -each.kink.normal.dot(each.kink.place);
    Index agree = 0;
    for (int round = 0; round < kFindPlanes.fit_rounds; ++round) {
      std::vector<double> off;
      for (const MetPlace& one : each.met) off.push_back(std::abs(plane.head(s_).dot(one.at) + plane(s_)));
      std::vector<double> sorted = off;
      std::sort(sorted.begin(), sorted.end());
      // A place beside another kink is far off.
      const double limit =
          std::max(kFindPlanes.many_medians * (sorted.empty() ? 0 : sorted[sorted.size() / 2]), kTiny);
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
      A.row(agree) << heaviest * evidence_.scale * plane.head(s_).transpose(), 0;
      const Vector step = A.topRows(agree + 1).colPivHouseholderQr().solve(right.head(agree + 1));
      if (!step.allFinite()) return false;
      plane += step;
      plane /= plane.head(s_).norm();
    }
    Index good = 0;
    for (const auto& [at, error] : each.met)
      if (std::abs(plane.head(s_).dot(at) + plane(s_)) <=
          kFindPlanes.errors * error + kFindPlanes.exact * at.norm())
        ++good;
    if (good < s_ + 2) return false;
    each.plane = plane;
    return true;
  }

  void add(const Candidate& each) {
    Vector plane = each.plane;
    if (plane.size() == 0) return;
    // Two kinks of a line close together may both give the plane of one.
    for (Index j = 0; j < V_.rows(); ++j) {
      const double cosine = V_.row(j).head(s_).dot(plane.head(s_)), sign = cosine < 0 ? -1 : 1;
      Vector apart = V_.row(j).transpose() - sign * plane;
      apart(s_) /= evidence_.scale;
      if (apart.norm() < kFindPlanes.same_normal) return;
    }
    // A unit above others bends f along combinations of their planes, in places all along.
    if (space_.bounded() && space_.whole && V_.rows() > 0 && V_.rows() < s_) {
      const Matrix rows = V_.leftCols(s_).transpose();
      const Vector normal = plane.head(s_);
      if ((normal - rows * rows.colPivHouseholderQr().solve(normal)).norm() < kFindPlanes.same_normal) {
        evidence_.kinks.push_back(each.kink);
        return;
      }
    }
    V_.conservativeResize(V_.rows() + 1, Eigen::NoChange);
    V_.bottomRows(1) = plane.transpose();
  }

  const Space& space_;
  const PlanesOptions& options_;
  QueryEvidence& evidence_;
  Matrix& V_;
  Index s_;
  std::uint64_t drawn_ = static_cast<std::uint64_t>(evidence_.lines) << 24;
};

}  // namespace

void find_planes(const Space& space, const PlanesOptions& options, QueryEvidence& evidence, Matrix& planes) {
  PlaneFinder(space, options, evidence, planes).run();
}

void find_planes_along(const Space& space, PlanesOptions options, std::vector<Segment> through,
                       QueryEvidence& evidence, Matrix& planes) {
  if (through.empty()) return;
  options.least_lines = options.most_lines = static_cast<int>(through.size());
  options.through = std::move(through);
  find_planes(space, options, evidence, planes);
}

void judge_kinks(const Space& space, const PlanesOptions& options, const std::vector<Kink>& kinks,
                 const std::vector<Segment>& ends, QueryEvidence& evidence, Matrix& planes) {
  PlaneFinder(space, options, evidence, planes).judge_met(kinks, ends);
}

}  // namespace exhume
