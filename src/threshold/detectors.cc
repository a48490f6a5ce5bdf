#include "exhume/threshold/detectors.h"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "exhume/parallel.h"
#include "exhume/threshold/unit_fit.h"

namespace exhume {
namespace {

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

Detected climb_detector(const SampleSource& samples, Detector detector, const Vector& z, double s,
                        const DetectorSearch& options, const Control& control) {
  const Index d = z.size();
  Detected best;
  best.direction = z.normalized();
  best.threshold = s;
  {
    const Detection here =
        detect(samples, detector, best.direction, Vector::Constant(1, s), options.width, control);
    best.value = here.value(0);
    best.error = here.error(0);
  }
  double step = options.first_step;
  while (step >= options.last_step && best.passes < options.max_passes) {
    const Matrix Q = complement(best.direction);
    Matrix candidates(d, 2 * d);
    Vector places = Vector::Constant(2 * d, best.threshold);
    for (Index i = 0; i + 1 < d; ++i) {
      candidates.col(2 * i) = (best.direction + std::tan(step) * Q.col(i)).normalized();
      candidates.col(2 * i + 1) = (best.direction - std::tan(step) * Q.col(i)).normalized();
    }
    candidates.col(2 * d - 2) = candidates.col(2 * d - 1) = best.direction;
    places(2 * d - 2) += 0.5 * step;
    places(2 * d - 1) -= 0.5 * step;
    const Detection seen = detect(samples, detector, candidates, places, options.width, control);
    ++best.passes;
    Index at = -1;
    double most = std::abs(best.value);
    // The sum of all improving moves is tried as well: d - 1 coordinates are usually wrong at once.
    Vector joint = best.direction;
    for (Index i = 0; i < 2 * d; ++i) {
      if (!std::isfinite(seen.error(i))) continue;
      const double gain = std::abs(seen.value(i)) - std::abs(best.value);
      if (gain > 0 && i < 2 * d - 2) joint += candidates.col(i) - best.direction;
      if (std::abs(seen.value(i)) > most) most = std::abs(seen.value(i)), at = i;
    }
    if (at >= 0) {
      const Vector place = Vector::Constant(1, best.threshold);
      const Detection together = detect(samples, detector, joint.normalized(), place, options.width, control);
      if (std::abs(together.value(0)) > most) {
        best.direction = joint.normalized();
        best.value = together.value(0);
        best.error = together.error(0);
      } else {
        best.direction = candidates.col(at);
        best.threshold = places(at);
        best.value = seen.value(at);
        best.error = seen.error(at);
      }
    } else {
      step /= 2;
    }
  }
  return best;
}

}  // namespace exhume
