#include "papers/threshold/biased.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/reduce.h"
#include "decompose/subspace.h"
#include "exhume/error.h"
#include "linalg/symmetric_matrix.h"
#include "moments/polynomial_fit.h"

namespace exhume {
namespace {

// Weighted sums of 1, v and v v^T, v = (x, f) less a fixed shift.
struct WeightedSums {
  double weight = 0;
  Vector first;
  Matrix second;
  Index bad_row = -1;
  double bad = 0;
  void merge(const WeightedSums& other) {
    weight += other.weight;
    first += other.first;
    second += other.second;
    if (bad_row < 0 || (other.bad_row >= 0 && other.bad_row < bad_row)) {
      bad_row = other.bad_row;
      bad = other.bad;
    }
  }
};

}  // namespace

SecondMoments unbiased_second_moments(const SampleSource& kept, const Control& control) {
  const Index d = kept.inputs();
  const SecondMoments plain = second_moments(kept, control);  // a shift against cancellation
  const WeightedSums sums =
      reduce_blocks(kept, WeightedSums{0, Vector::Zero(d + 1), Matrix::Zero(d + 1, d + 1)}, control,
                    "weights", [&](WeightedSums& to, const SampleBlock& block) {
                      Matrix v(block.rows(), d + 1);
                      v << block.x(), block.y();
                      v.rowwise() -= plain.mean.transpose();
                      const Vector f = block.y().col(0);
                      for (Index r = 0; r < f.size(); ++r) {
                        if (f(r) > 0 || to.bad_row >= 0) continue;
                        to.bad_row = block.first_row() + r;
                        to.bad = f(r);
                      }
                      if (to.bad_row >= 0) return;
                      const Vector weight = f.cwiseInverse();
                      to.weight += weight.sum();
                      to.first.noalias() += v.transpose() * weight;
                      to.second.noalias() += v.transpose() * weight.asDiagonal() * v;
                    });
  if (sums.bad_row >= 0) {
    throw DataError(fmt::format(
        "row {} (counting from 0) has the output {}, but rows kept with a probability proportional to "
        "the output have positive ones; leave `biased` off for ordinary samples",
        sums.bad_row, sums.bad));
  }
  SecondMoments out(d, 1);
  const Vector mean = sums.first / sums.weight;
  out.count = kept.rows();
  out.mean = plain.mean + mean;
  out.centred = static_cast<double>(out.count) * (sums.second / sums.weight - mean * mean.transpose());
  return out;
}

BiasedDirections biased_directions(const SamplePtr& kept, std::optional<Index> hidden, std::uint64_t seed,
                                   const Control& control) {
  const Index d = kept->inputs(), p = symmetric_size(d);
  Matrix T(p, 1 + d + p), D(p, 1 + d + p);
  Index next = 0;
  for (int order = 2; order <= 4; ++order) {
    const PolynomialFit q = fit_polynomial(*kept, order - 1, control);
    const SamplePtr left = with_outputs(kept, [q](const Eigen::Ref<const RowMatrix>& x, RowMatrix& y) {
      y = 1 - q.evaluate(x).array() / y.array();
    });
    const HermiteMoments moments = hermite_moments(*left, order, control);
    const Matrix estimate = moments.estimate(order), noise = moments.noise(order);
    const double size = std::max(noise.norm() / std::sqrt(static_cast<double>(noise.size())), kTiny);
    T.middleCols(next, estimate.cols()) = estimate / size;
    D.middleCols(next, noise.cols()) = noise / size;
    next += estimate.cols();
  }
  const LeadingSubspace space = leading_subspace(T, D, hidden ? std::min(*hidden, p) : Index{-1});
  BiasedDirections out;
  out.singular_values = space.singular_values;
  out.noise_floor = space.noise_floor;
  const Index count = space.basis.cols();
  out.directions.resize(d, 0);
  if (count == 0) return out;
  out.directions =
      rank_one_by_restarts(space.basis, count,
                           estimated_span_options(space.singular_values(count - 1), space.noise_floor, seed))
          .directions;
  return out;
}

}  // namespace exhume
