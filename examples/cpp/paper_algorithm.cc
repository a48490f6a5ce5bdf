// paper_algorithm: Algorithm 1 of paper symmetric by itself. A single unit y = max(w.x, 0) on symmetric
// inputs is
//
//     w = 2 E[x x^T]^-1 E[y x],
//
// since the even part of the ReLU, |w.x| / 2, is uncorrelated with x. No search and no start: two moments.
#include <cstdio>
#include <random>

#include "exhume/papers/symmetric.h"

int main() {
  constexpr exhume::Index kRows = 100'000, kInputs = 4;
  const exhume::Vector w = (exhume::Vector(kInputs) << 1, -2, 0.5, 3).finished();

  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(-1, 1);
  exhume::RowMatrix x(kRows, kInputs);
  for (exhume::Index i = 0; i < x.size(); ++i) x.data()[i] = uniform(random);
  const exhume::RowMatrix y = (x * w).cwiseMax(0);

  const exhume::SamplePtr samples = exhume::memory_samples(x, y);
  const exhume::Matrix found = exhume::single_layer(*samples, /*leak=*/0, {});
  for (exhume::Index input = 0; input < kInputs; ++input)
    std::printf("w_%td = %+.3f, found %+.3f\n", input, w(input), found(0, input));
  // The moments of so many rows are known to about 1 / sqrt(rows).
  constexpr double kTolerance = 0.05;
  return (found.row(0).transpose() - w).norm() < kTolerance * w.norm() ? 0 : 3;
}
