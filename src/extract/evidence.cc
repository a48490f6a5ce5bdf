#include "extract/evidence.h"

#include <cmath>

#include "base/random.h"

namespace exhume {
namespace {

// Chosen by experience on random and digit-trained networks; not derived.
struct PlaceLimits {
  double least_spread = 0.7, most_spread = 6;  // of places without a box, in scales: log-uniform between
  double near_wall = 0.97;                     // of the way from the middle to a wall, at most
  double of_reach = 0.95;                      // of the way to the box within a subspace
  double middling = 0.2, walls = 0.35, mixed = 0.5;  // shares of the kinds of places in a box, added up
  double jitter = 0.4;                               // of places on the way to a corner, over half the box
  double brightest = 3;                              // mean of all coordinates, over half the box
};
constexpr PlaceLimits kPlaces;

// Near its walls at most: the middle that places are drawn about is not quite that of the box.
void keep_inside(const Space& space, RowMatrix& x) {
  const Box& box = space.frame->box();
  const double wall = (1 - kPlaces.near_wall) * (box.high - box.low) / 2;
  x = x.cwiseMax(box.low + wall).cwiseMin(box.high - wall).eval();
}

}  // namespace

QueryEvidence QueryEvidence::measured() const {
  QueryEvidence out;
  out.kinks = kinks;
  out.jacobians = jacobians;
  out.slopes = slopes;
  out.scale = scale;
  out.lines = lines;
  out.judged = judged;
  out.first_line = first_line;
  out.first_kinks = first_kinks;
  return out;
}

void ask_for_sample(const Space& space, QueryEvidence& evidence, const RowMatrix& u) {
  if (u.rows() == 0) return;
  const std::size_t before = space.meter->history().size();
  append_rows(evidence.y, space.ask(QueryStage::kSample, u));
  for (std::size_t i = before; i < space.meter->history().size(); ++i) evidence.sample_blocks.push_back(i);
  append_rows(evidence.u, u);
}

void fill_sample(const Space& space, QueryEvidence& evidence, std::uint64_t seed, Index count) {
  const Index have = evidence.u.rows();
  if (have >= count) return;
  ask_for_sample(space, evidence,
                 places_about(space, evidence, sub_seed(seed, "sample"), static_cast<std::uint64_t>(have),
                              count - have));
}

RowMatrix domain_inputs(const Frame& frame, double spread, std::uint64_t seed, std::uint64_t first,
                        Index count) {
  RowMatrix x(count, frame.inputs());
  const Stream random(seed, "extract domain");
  if (frame.box().bounded()) {
    random.fill_uniform(first, x);
    x = (frame.box().low + (frame.box().high - frame.box().low) * x.array()).matrix();
  } else {
    random.fill_normal(first, x);
    x *= spread;
  }
  return x;
}

RowMatrix places_about(const Space& space, const QueryEvidence& evidence, std::uint64_t seed,
                       std::uint64_t first, Index count) {
  const Index s = space.dimensions();
  const Stream directions(seed, "extract deep places"), radii(seed, "extract deep radii");
  RowMatrix corners;
  if (space.bounded() && space.whole && evidence.slopes.rows() > 0)
    corners = corners_about(space, evidence, seed, first, count);
  RowMatrix u(count, s);
  directions.fill_normal(first, u);
  for (Index i = 0; i < count; ++i) {
    const auto [r, kind] = radii.uniforms(first + static_cast<std::uint64_t>(i), 0);
    if (!space.bounded()) {
      u.row(i) *=
          evidence.scale * kPlaces.least_spread * std::pow(kPlaces.most_spread / kPlaces.least_spread, r);
    } else if (space.whole) {
      const Box& box = space.frame->box();
      const double half = (box.high - box.low) / 2;
      // Some near the middle, some with many coordinates at the walls, some from dark to bright, and half of
      // them on the way to corners.
      if (kind >= kPlaces.mixed && corners.rows() > 0) {
        u.row(i) = kPlaces.jitter * half * u.row(i) + r * (corners.row(i) - space.middle().transpose());
      } else if (kind >= kPlaces.walls) {
        u.row(i) =
            1.5 * half * u.row(i) + Eigen::RowVectorXd::Constant(s, kPlaces.brightest * half * (2 * r - 1));
      } else {
        u.row(i) *= half * (kind < kPlaces.middling ? 0.6 : 1.5) * (0.3 + 0.7 * r);
      }
    } else {
      const Vector along = u.row(i).normalized();
      u.row(i) = along.transpose() * (kPlaces.of_reach * space.reach(space.middle(), along) * std::sqrt(r));
    }
  }
  u.rowwise() += space.middle().transpose();
  if (space.bounded() && space.whole) keep_inside(space, u);
  return u;
}

RowMatrix corners_about(const Space& space, const QueryEvidence& evidence, std::uint64_t seed,
                        std::uint64_t first, Index count) {
  RowMatrix drawn(count, evidence.slopes.rows());
  Stream(seed, "extract deep corners").fill_normal(first, drawn);
  const Box& box = space.frame->box();
  RowMatrix u = ((box.high - box.low) * (drawn * evidence.slopes).array().sign()).matrix();
  u.rowwise() += space.middle().transpose();
  keep_inside(space, u);
  return u;
}

Segment corners_along(const Space& space, const Vector& w) {
  const Box& box = space.frame->box();
  Vector corner = (box.high - box.low) / 2 * kPlaces.near_wall * w.array().sign().matrix();
  corner.array() += (box.low + box.high) / 2;
  return {Vector::Constant(w.size(), box.low + box.high) - corner, corner};
}

}  // namespace exhume
