// Do the stated confidences hold? Many noisy recoveries of planted networks, and what became of the claims.
//
//   exhume_coverage [runs] [first seed]
//
// In turn d, k, m, n and the noise vary. For every run that stands: is E|f - fhat|^2, measured on fresh
// inputs, within the stated bound (confidence 0.999)? Which share of the weights lies within 1.96 of their
// standard errors (0.95)?
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <string>

#include "../apps/fast_blas.h"
#include "data/planted.h"
#include "exhume/recover.h"

namespace exhume {
namespace {

struct Shape {
  Index d, k, m, n;
  double noise;
};
constexpr Shape kShapes[] = {
    {10, 10, 10, 10000, 0.1}, {8, 5, 1, 20000, 0.1}, {6, 4, 2, 8000, 0.05},
    {12, 6, 3, 10000, 0.2},   {5, 6, 2, 20000, 0.1},
};

// Weights of `found` within 1.96 standard errors of `truth`, both canonical and in one order of units.
void count_covered(const Result& result, const Network& truth, Index& inside, Index& all) {
  const Alignment order = align(result.network, truth);
  const auto count = [&](double difference, double error) {
    inside += std::abs(difference) <= 1.96 * error ? 1 : 0;
    ++all;
  };
  const Network& found = result.network;
  const Network& errors = result.errors.standard_errors;
  for (Index i = 0; i < found.hidden(); ++i) {
    const Index j = order.match[0][static_cast<size_t>(i)];
    for (Index a = 0; a < found.inputs(); ++a) count(found.W()(i, a) - truth.W()(j, a), errors.W()(i, a));
    count(found.b()(i) - truth.b()(j), errors.b()(i));
    for (Index o = 0; o < found.outputs(); ++o) count(found.A()(o, i) - truth.A()(o, j), errors.A()(o, i));
  }
  for (Index o = 0; o < found.outputs(); ++o) count(found.c()(o) - truth.c()(o), errors.c()(o));
}

int coverage(int runs, std::uint64_t first) {
  Index certified = 0, bounded = 0, inside = 0, all = 0;
  double largest = 0;
  for (int r = 0; r < runs; ++r) {
    const Shape& shape = kShapes[static_cast<size_t>(r) % std::size(kShapes)];
    const std::uint64_t seed = first + static_cast<std::uint64_t>(r);
    const Network truth = canonical(plant({.inputs = shape.d,
                                           .hidden = shape.k,
                                           .outputs = shape.m,
                                           .amplitudes = Amplitudes::kSigns,
                                           .seed = seed}));
    const SamplePtr samples =
        load(*planted_samples(truth, {.samples = shape.n, .noise_relative = shape.noise, .seed = seed}));
    RecoverOptions options;
    options.seed = seed;
    const Result result = recover(samples, options);
    if (!stands(result.certificate.status) || result.network.hidden() != truth.hidden()) {
      fmt::print("run {}: {}\n", r, result.certificate.reason);
      continue;
    }
    ++certified;
    const SamplePtr fresh = load(*planted_samples(truth, {.samples = 50000, .seed = seed + 1000000}));
    SampleBlock block;
    fresh->read(0, fresh->rows(), block);
    const double error =
        (evaluate(result.network, block.x()) - block.y()).squaredNorm() / static_cast<double>(block.rows());
    largest = std::max(largest, error / result.errors.functional_error_bound);
    if (error <= result.errors.functional_error_bound) ++bounded;
    count_covered(result, truth, inside, all);
  }
  fmt::print("{} of {} noisy recoveries stand\n", certified, runs);
  fmt::print("bound on E|f - fhat|^2 (0.999) held in {} of {}; largest error over bound {:.3f}\n", bounded,
             certified, largest);
  fmt::print("95% intervals covered {:.2f}% of {} weights\n",
             100.0 * static_cast<double>(inside) / static_cast<double>(std::max<Index>(all, 1)), all);
  return 0;
}

}  // namespace
}  // namespace exhume

int main(int argc, char** argv) {
  exhume::restart_with_fast_blas(argv);
  return exhume::coverage(argc > 1 ? std::atoi(argv[1]) : 200,
                          argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
}
