// A finite symmetric distribution: points x and -x with equal weight, so that sums over its rows are exact
// population moments. With noise, every point comes with every element of a finite noise distribution of mean
// zero.
#pragma once

#include <utility>

#include "base/random.h"
#include "exhume/network.h"
#include "exhume/samples.h"

namespace exhume::testing {

struct Population {
  Network network;
  SamplePtr samples;
};

// Points are correlated and far from Gaussian: cubes of normals, mixed.
inline RowMatrix symmetric_points(Index d, Index half, std::uint64_t seed) {
  const Matrix mix = Stream(seed, "mixing").normal_matrix(d, d) + 2 * Matrix::Identity(d, d);
  Matrix z = Stream(seed, "points").normal_matrix(half, d);
  z = (z.array() + 0.2 * z.array().cube()).matrix() * mix.transpose();
  RowMatrix x(2 * half, d);
  x << z, -z;
  return x;
}

inline Network bias_free(Index d, Index k, Index m, std::uint64_t seed) {
  Network network;
  network.W() = Stream(seed, "W").normal_matrix(k, d);
  network.W().rowwise().normalize();
  network.A() = Stream(seed, "A").normal_matrix(m, k);
  network.b() = Vector::Zero(k);
  network.c() = Vector::Zero(m);
  return network;
}

// y = A max(z, leak z) + noise; the noise takes the values +-size e_o, each with equal probability.
inline Population symmetric_population(Index d, Index k, Index m, Index half, double noise, double leak,
                                       std::uint64_t seed) {
  Population out;
  out.network = bias_free(d, k, m, seed);
  const RowMatrix points = symmetric_points(d, half, seed);
  const Matrix z = points * out.network.W().transpose();
  const RowMatrix clean = z.array().max(leak * z.array()).matrix() * out.network.A().transpose();
  if (noise == 0) {
    out.samples = memory_samples(points, clean);
    return out;
  }
  const Index n = points.rows();
  RowMatrix x(2 * m * n, d), y(2 * m * n, m);
  for (Index e = 0; e < 2 * m; ++e) {
    x.middleRows(e * n, n) = points;
    y.middleRows(e * n, n) = clean;
    y.col(e / 2).segment(e * n, n).array() += e % 2 == 0 ? noise : -noise;
  }
  out.samples = memory_samples(std::move(x), std::move(y));
  return out;
}

// The whole population twice: each half is the population, for algorithms that split the rows in the middle.
inline SamplePtr repeated(const SampleSource& source, Index times) {
  SampleBlock block;
  source.read(0, source.rows(), block);
  return memory_samples(block.x().replicate(times, 1), block.y().replicate(times, 1));
}

}  // namespace exhume::testing
