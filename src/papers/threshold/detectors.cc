#include "papers/threshold/detectors.h"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "data/reduce.h"
#include "papers/threshold/unit_fit.h"

namespace exhume {
namespace {

constexpr double kWidthOfStep = 2;
constexpr double kScore = 6;     // of a unit
constexpr double kFarthest = 2;  // first steps from the start: beyond it the search is no longer local

struct Slabs {
  Matrix count, sum, square;  // 4 x q
  void merge(const Slabs& other) {
    count += other.count;
    sum += other.sum;
    square += other.square;
  }
};

}  // namespace

Detection detect(const SampleSource& samples, Detector detector, const Matrix& directions, const Vector& s,
                 double width, const Control& control) {
  const Index q = directions.cols();
  if (directions.rows() != samples.inputs() || s.size() != q || !(width > 0) || samples.outputs() != 1) {
    throw std::invalid_argument(
        fmt::format("detect: directions are {} x {}, {} thresholds, width {}, for samples of {} inputs and "
                    "{} outputs; one "
                    "threshold a direction, a positive width and one output are needed",
                    directions.rows(), q, s.size(), width, samples.inputs(), samples.outputs()));
  }
  const Matrix zero = Matrix::Zero(4, q);
  const Slabs slabs =
      reduce_blocks(samples, Slabs{zero, zero, zero}, control, "slabs", [&](Slabs& to, const SampleBlock& b) {
        const RowMatrix Z = b.x() * directions;
        for (Index r = 0; r < b.rows(); ++r) {
          const double f = b.y()(r, 0);
          for (Index i = 0; i < q; ++i) {
            const double place = (Z(r, i) - s(i)) / width + 2;
            if (!(place >= 0 && place < 4)) continue;
            const auto j = static_cast<Index>(place);
            to.count(j, i) += 1;
            to.sum(j, i) += f;
            to.square(j, i) += f * f;
          }
        }
      });
  // Weights of m_-2, m_-1, m_0, m_1.
  const double step[4] = {0.5, -1.5, 1.5, -0.5};
  const double kink[4] = {1 / width, -1 / width, -1 / width, 1 / width};
  const double* weight = detector == Detector::kStep ? step : kink;
  Detection out{Vector::Zero(q), Vector::Zero(q)};
  for (Index i = 0; i < q; ++i) {
    double variance = 0;
    for (Index j = 0; j < 4; ++j) {
      const double n = slabs.count(j, i);
      if (n < 2) {
        variance = INFINITY;
        continue;
      }
      const double mean = slabs.sum(j, i) / n;
      out.value(i) += weight[j] * mean;
      variance += weight[j] * weight[j] * std::max(0.0, slabs.square(j, i) / n - mean * mean) / (n - 1);
    }
    out.error(i) = std::sqrt(variance);
  }
  return out;
}

namespace {

Detected climb_once(const SampleSource& samples, Detector detector, const Vector& z, double s,
                    const DetectorSearch& options, const Control& control) {
  // What is climbed: noise alone, two standard errors of it, is worth nothing.
  const auto worth = [](double value, double error) {
    return std::isfinite(error) ? std::abs(value) - 2 * error : -INFINITY;
  };
  const Index d = z.size();
  const Vector start = z.normalized();
  const double farthest_cosine = std::cos(std::min(kFarthest * options.first_step, 3.0));
  Detected best;
  best.direction = start;
  best.threshold = s;
  for (double step = options.first_step; step >= options.last_step; step /= 2) {
    // At an angle a from a unit its jump is smeared over about a: slabs as wide as the step see it.
    const double width = std::max(options.width, kWidthOfStep * step);
    const Detection here =
        detect(samples, detector, best.direction, Vector::Constant(1, best.threshold), width, control);
    best.value = here.value(0);
    best.error = here.error(0);
    for (bool better = true; better && best.passes < options.max_passes;) {
      // A turn towards another unit moves the threshold as well, since rows where that unit is active lie at
      // one side of it: every turn is tried with three thresholds.
      const Matrix Q = complement(best.direction);
      const Index count = 6 * (d - 1) + 2;
      Matrix candidates(d, count);
      Vector places(count);
      for (Index i = 0; i < count - 2; ++i) {
        const double side = i % 2 == 0 ? 1 : -1, shift = static_cast<double>(i / 2 % 3 - 1);
        candidates.col(i) = (best.direction + side * std::tan(step) * Q.col(i / 6)).normalized();
        places(i) = best.threshold + shift * step;
      }
      candidates.rightCols(2).colwise() = best.direction;
      places.tail(2) << best.threshold + 0.5 * step, best.threshold - 0.5 * step;
      const Detection seen = detect(samples, detector, candidates, places, width, control);
      ++best.passes;
      // The sum of all improving moves is tried as well: d - 1 coordinates are usually wrong at once.
      const double now = worth(best.value, best.error);
      Vector joint = best.direction;
      Index at = -1;
      double most = now;
      for (Index i = 0; i < count; ++i) {
        const bool near = candidates.col(i).dot(start) > farthest_cosine &&
                          std::abs(places(i) - s) < kFarthest * options.first_step;
        if (!near) continue;
        const double there = worth(seen.value(i), seen.error(i));
        if (there > now && places(i) == best.threshold) joint += candidates.col(i) - best.direction;
        if (there > most) most = there, at = i;
      }
      better = at >= 0;
      if (!better) break;
      joint.normalize();
      const Detection together =
          detect(samples, detector, joint, Vector::Constant(1, best.threshold), width, control);
      if (worth(together.value(0), together.error(0)) > most) {
        best.direction = joint;
        best.value = together.value(0);
        best.error = together.error(0);
      } else {
        best.direction = candidates.col(at);
        best.threshold = places(at);
        best.value = seen.value(at);
        best.error = seen.error(at);
      }
    }
  }
  return best;
}

}  // namespace

Detected climb_detector(const SampleSource& samples, Detector detector, const Vector& z, double s,
                        const DetectorSearch& options, const Control& control) {
  const auto score = [](const Detected& found) { return std::abs(found.value) / found.error; };
  Detected best;
  int passes = 0;
  for (const double factor : {1.0, 2.0, 0.5}) {
    DetectorSearch search = options;
    search.first_step *= factor;
    const Detected found = climb_once(samples, detector, z, s, search, control);
    if (passes == 0 || score(found) > score(best)) best = found;
    passes += found.passes;
    if (score(best) > kScore) break;
  }
  best.passes = passes;
  return best;
}

}  // namespace exhume
