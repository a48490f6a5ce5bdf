#include "routes/expected_cost.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/blas.h"
#include "linalg/symmetric_matrix.h"
#include "routes/depth2.h"

namespace exhume {
namespace {

constexpr double kRounds = 2, kSteps = 15, kProducts = 120, kPasses = 8;
constexpr double kEquations = 5;          // for every unknown
constexpr double kShareOfProducts = 0.7;  // of a product's speed that passes reach
// Of a device: flops per second, seconds until it has started, bytes per second on the way there.
constexpr double kDeviceFlops = 3e13, kDeviceStart = 0.7, kDeviceBytes = 4e9;
constexpr double kMostActiveOnDevice = 256;
constexpr double kMostGram =
    1.5e13;  // multiplications up to which a device forms the normal matrix of a polish
constexpr double kKeptBytes = 160e6;

}  // namespace

ExpectedCost expected_cost(const ProblemSize& problem) {
  const auto n = static_cast<double>(problem.rows), d = std::max(static_cast<double>(problem.inputs), 1.0),
             m = std::max(static_cast<double>(problem.outputs), 1.0);
  const Depth2Options spectral;
  const double r =
      std::min(d, problem.device ? kMostActiveOnDevice : static_cast<double>(spectral.most_active));
  const double k = problem.hidden ? static_cast<double>(*problem.hidden) : r, p = r * (r + 1) / 2;
  const double outputs = problem.device ? m : std::clamp(spectral.stack_bytes / (8 * p * p), 1.0, m);
  const double moments = kRounds * n * outputs * (std::pow(r, 4) / 12 + 3.5 * std::pow(r, 3));
  const double rows = std::min(n, kEquations * (k * (d + m) + m * (d + 1)) / m);
  const double unknowns = k * (d + 1);
  const double step = std::min(rows * unknowns * unknowns, kProducts * 4 * rows * k * (d + m));
  const double here = problem.thread_flops * problem.threads * kShareOfProducts;
  const double bytes = 8 * n * (d + m);
  ExpectedCost cost;
  const double passes = kPasses * 2 * n * (d + m) * (d + m) / here;
  const double heavy = moments + kRounds * kSteps * step;
  if (problem.device) {
    cost.seconds = kDeviceStart + passes + bytes / kDeviceBytes + heavy / kDeviceFlops;
    cost.bytes = bytes;
    const bool formed = rows * unknowns * unknowns <= kMostGram;
    // Moments of one output at a time; of more where there is room.
    cost.device_bytes =
        bytes + 8 * p * p * (4 + 3) + (formed ? 16 * unknowns * unknowns : 16 * rows * (d + k));
  } else {
    cost.seconds = passes + heavy / here;
    cost.bytes =
        std::min(bytes, kKeptBytes) + 2 * 8 * outputs * p * p * problem.threads + 8 * rows * (2 * d + k);
  }
  return cost;
}

double measured_thread_flops() {
  using Clock = std::chrono::steady_clock;
  constexpr Index kSize = 512;
  const SingleThreadedBlas single;
  const Matrix a = Matrix::Constant(kSize, kSize, 0.5);
  Matrix c(kSize, kSize);
  c.noalias() = a * a;  // the first one finds its memory
  const Clock::time_point start = Clock::now();
  c.noalias() = a * a;
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return 2 * std::pow(static_cast<double>(kSize), 3) / std::max(seconds, 1e-6);
}

}  // namespace exhume
