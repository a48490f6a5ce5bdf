#include "papers/threshold/activity.h"

#include <algorithm>
#include <cmath>

#include "data/reduce.h"

namespace exhume {

Activity::Activity(Index d) { resting.x = stray.x = Vector::Zero(d); }

void Activity::Quiet::merge(const Quiet& other) {
  count += other.count;
  square += other.square;
  x += other.x;
}

void Activity::merge(const Activity& other) {
  none += other.none;
  one += other.one;
  more += other.more;
  fourth += other.fourth;
  rows += other.rows;
  resting.merge(other.resting);
  stray.merge(other.stray);
}

double Activity::stray_pull() const {
  if (stray.count < 1 || resting.count < 1) return 0;
  const auto d = static_cast<double>(stray.x.size());
  const Vector shift = stray.x / stray.count - resting.x / resting.count;
  const double mean = (stray.count * shift.squaredNorm() - d) / std::sqrt(2 * d);
  const double length =
      (stray.square / stray.count - resting.square / resting.count) * std::sqrt(stray.count / (2 * d));
  return std::max(mean, length);
}

double Activity::stray_rate() const { return stray.count / std::max(1.0, stray.count + resting.count); }

Activity measure_activity(const SampleSource& samples, const LowestUnits& units, const RestLevel& rest,
                          const Control& control) {
  const Matrix W = units.W;
  return reduce_blocks(
      samples, Activity(samples.inputs()), control, "held-out rows", [&](Activity& to, const SampleBlock& b) {
        const RowMatrix Z = W.rows() > 0 ? RowMatrix(b.x() * W.transpose()) : RowMatrix(b.rows(), 0);
        for (Index r = 0; r < b.rows(); ++r) {
          const double f = std::abs(b.y()(r, 0) - rest.value);
          const Index active = (Z.row(r).transpose().array() > units.t.array()).count();
          to.fourth += std::pow(b.x().row(r).squaredNorm(), 2);
          if (active == 0) {
            Activity::Quiet& quiet = f <= rest.tolerance ? to.resting : to.stray;
            quiet.count += 1;
            quiet.square += b.x().row(r).squaredNorm();
            quiet.x += b.x().row(r).transpose();
          }
          if (f <= rest.tolerance) continue;
          (active == 0 ? to.none : active == 1 ? to.one : to.more) += f;
        }
        to.rows += b.rows();
      });
}

}  // namespace exhume
