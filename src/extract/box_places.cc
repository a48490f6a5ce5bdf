#include "extract/box_places.h"

#include "base/random.h"

namespace exhume {
namespace {

// Chosen by experience on random and digit-trained networks; not derived.
struct BoxPlacesLimits {
  double wall = 0.01;                             // of the box, that places keep from it
  double darkest = -1, brightest = 2, noise = 1;  // of a box from 0 to 1
  int steps = 12;
  double taken_for_on = 0.15;
  double least_part = 0.1;  // of the units that a climb is about
};
constexpr BoxPlacesLimits kBoxPlaces;

// From coordinates between 0 and 1, cut off there.
void into_box(const Space& space, RowMatrix& x) {
  const Box& box = space.frame->box();
  x = x.cwiseMax(kBoxPlaces.wall).cwiseMin(1 - kBoxPlaces.wall).eval();
  x = (box.low + (box.high - box.low) * x.array()).matrix();
}

}  // namespace

RowMatrix dark_to_bright(const Space& space, std::uint64_t seed, std::uint64_t first, Index count) {
  RowMatrix x(count, space.dimensions());
  Stream(seed, "extract dark to bright").fill_normal(first, x);
  const Stream means(seed, "extract brightness");
  for (Index i = 0; i < count; ++i) {
    const double mean =
        kBoxPlaces.darkest + (kBoxPlaces.brightest - kBoxPlaces.darkest) *
                                 means.uniforms(first + static_cast<std::uint64_t>(i), 0).first;
    x.row(i) = (kBoxPlaces.noise * x.row(i).array() + mean).matrix();
  }
  into_box(space, x);
  return x;
}

RowMatrix climbs(const Space& space, const Matrix& V, std::uint64_t seed, std::uint64_t first, Index count) {
  const Index k = V.rows();
  RowMatrix g(count, k), part(count, k);
  Stream(seed, "extract climbs").fill_normal(first, g);
  Stream(seed, "extract parts of climbs").fill_uniform(first, part);
  const Stream shares(seed, "extract shares of climbs");
  for (Index i = 0; i < count; ++i) {
    const double share =
        kBoxPlaces.least_part +
        (1 - kBoxPlaces.least_part) * shares.uniforms(first + static_cast<std::uint64_t>(i), 0).first;
    for (Index j = 0; j < k; ++j)
      if (part(i, j) > share) g(i, j) = 0;
  }
  return climbs_to(space, V, g, seed, first);
}

RowMatrix climbs_to(const Space& space, const Matrix& V, const RowMatrix& g, std::uint64_t seed,
                    std::uint64_t first) {
  const Index k = V.rows(), d = V.cols() - 1, count = g.rows();
  RowMatrix taken(count, k);
  RowMatrix x = dark_to_bright(space, sub_seed(seed, "start of climbs"), first, count);
  for (int step = 0; step < kBoxPlaces.steps; ++step) {
    Stream(sub_seed(seed, "step of climbs", step), "extract units of climbs").fill_uniform(first, taken);
    RowMatrix z = x * V.leftCols(d).transpose();
    z.rowwise() += V.col(d).transpose();
    const RowMatrix on =
        (z.array() > 0 || taken.array() < kBoxPlaces.taken_for_on).cast<double>().matrix().cwiseProduct(g);
    x = ((on * V.leftCols(d)).array() > 0).cast<double>().matrix();
    into_box(space, x);
  }
  return x;
}

RowMatrix far_places(const Space& space, const Matrix& V, std::uint64_t seed, std::uint64_t first,
                     Index count) {
  RowMatrix x = dark_to_bright(space, seed, first, count);
  if (V.rows() == 0) return x;
  const RowMatrix others = climbs(space, V, seed, first, count);
  for (Index i = 0; i < count; ++i)
    if ((first + static_cast<std::uint64_t>(i)) % 2 == 1) x.row(i) = others.row(i);
  return x;
}

}  // namespace exhume
