#include "papers/rectified/starts.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/blas.h"
#include "decompose/subspace.h"
#include "exhume/papers/rectified.h"
#include "fit/unit_search.h"
#include "moments/moments.h"
#include "moments/standardise.h"
#include "papers/rectified/user_units.h"
#include "routes/depth2.h"
#include "routes/symmetric.h"

namespace exhume {
namespace {

SpectralStart spectral(const SamplePtr& standard, std::optional<Index> hidden, std::uint64_t seed,
                       const Control& control) {
  Depth2Options options;
  options.hidden = hidden;
  options.seed = seed;
  return order2_start(standard, options, control);
}

}  // namespace

Matrix tensor_start(const SamplePtr& samples, std::optional<Index> hidden, std::uint64_t seed,
                    const Control& control) {
  const Standardisation coordinates = standardise(second_moments(*samples, control));
  return user_units(spectral(affine(samples, coordinates.map), hidden, seed, control).V, coordinates);
}

Matrix noisy_start(const SamplePtr& samples, std::optional<Index> hidden, std::uint64_t seed,
                   const Control& control) {
  const Standardisation coordinates = standardise(second_moments(*samples, control));
  const SamplePtr standard = affine(samples, coordinates.map);
  const SpectralStart start = spectral(standard, hidden, seed, control);
  if (!hidden || start.V.rows() >= *hidden) return user_units(start.V, coordinates);
  // Noise hides the weakest unit from order 2; the residual of the others shows it.
  constexpr Index kSearchRows = 20000;
  SearchOptions search;
  search.hidden = hidden;
  search.seed = seed;
  search.most_restarts = 3;
  const SearchResult found = search_units(start.V, *spread_subset(*standard, kSearchRows), search, control);
  return user_units(found.model.V[0], coordinates);
}

Matrix ica_start(const Eigen::Ref<const RowMatrix>& x, const Eigen::Ref<const RowMatrix>& y, Index hidden,
                 const Rectifier& rectifier, const IcaOptions& options, const Control& control) {
  const SingleThreadedBlas single;
  const Index n = x.rows(), d = x.cols();
  const OutputSpace space = output_space(y);
  const Index rank = std::min(space.rank, hidden);
  const Matrix B = (y.rowwise() - space.mean.transpose()) * space.P.leftCols(rank);
  const Ica ica = fast_ica(B, options, control);
  const Matrix S = B * ica.Q;
  Matrix V(rank, d + 1);
  for (Index i = 0; i < rank; ++i) {
    Vector s = S.col(i);
    if (s.array().cube().sum() < 0) s = -s;  // a rectified normal is skewed to the right
    // Half of the rows are inactive and share the least value; what is well above it is active.
    std::vector<double> sorted(s.data(), s.data() + n);
    std::nth_element(sorted.begin(), sorted.begin() + n / 4, sorted.end());
    const double inactive = sorted[static_cast<size_t>(n / 4)];
    std::vector<Index> rows;
    for (Index r = 0; r < n; ++r) {
      if (s(r) > inactive + 0.5) rows.push_back(r);
    }
    if (static_cast<Index>(rows.size()) < 2 * (d + 1)) {
      V.row(i).setZero();
      continue;
    }
    const Vector h = s(rows).array() - inactive;
    V.row(i) = unit_from_output(x(rows, Eigen::all), h, rectifier, true);
  }
  return V;
}

Matrix symmetric_units(const SamplePtr& samples, std::optional<Index> hidden, std::uint64_t seed,
                       const Control& control) {
  SymmetricOptions options;
  options.hidden = hidden;
  options.seed = seed;
  const Network network = symmetric_network(samples, options, control).network;
  Matrix V = Matrix::Zero(network.hidden(), samples->inputs() + 1);
  if (V.rows() > 0) V.leftCols(samples->inputs()) = network.W();
  return V;
}

}  // namespace exhume
