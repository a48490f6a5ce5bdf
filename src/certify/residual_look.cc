#include "certify/residual_look.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "base/parallel.h"
#include "certify/binned_residuals.h"
#include "certify/jumps.h"
#include "certify/ordered_residuals.h"
#include "certify/polynomial_residuals.h"
#include "data/reduce.h"
#include "fit/residuals.h"
#include "fit/unit_search.h"

namespace exhume {
namespace {

constexpr Index kNeighbourRows = 4096;
constexpr double kPolynomialTerms = 2e9;  // entries of all polynomials together that are affordable
constexpr double kShareAlongOne =
    12;                        // one over the least share of a deviation's energy along a test function
constexpr double kTests = 8;   // that share the chance of a false alarm
constexpr double kDoubts = 5;  // and those that share that of intervals

// Residuals as uncorrelated outputs of variance 1, in as many of the m columns as there is noise; the others
// are zero. covariance: of the residuals, m x m.
Matrix decorrelation(const Matrix& covariance) {
  constexpr double kNoNoise = 1e-10;  // of the correlation's eigenvalues
  const Index m = covariance.rows();
  Vector scale(m);
  for (Index o = 0; o < m; ++o)
    scale(o) = covariance(o, o) > kReproduced ? 1 / std::sqrt(covariance(o, o)) : 0;
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(
      Matrix(scale.asDiagonal() * covariance * scale.asDiagonal()));
  Matrix T = Matrix::Zero(m, m);
  for (Index e = 0; e < m; ++e) {
    if (eigen.eigenvalues()(e) <= kNoNoise) continue;
    T.row(e) =
        (eigen.eigenvectors().col(e).transpose() * scale.asDiagonal()) / std::sqrt(eigen.eigenvalues()(e));
  }
  return T;
}

struct Powers {
  Vector second, fourth;
  void merge(const Powers& other) {
    second += other.second;
    fourth += other.fourth;
  }
};

// All of them where so many entries are affordable, else without x_a x_b x_c.
PolynomialLook polynomials_of(const SampleSource& residual, const Control& control) {
  const auto d = static_cast<double>(residual.inputs());
  const double cubics = d * (d + 1) * (d + 2) / 6;
  return look_at_polynomials(residual, cubics * static_cast<double>(residual.rows()) <= kPolynomialTerms,
                             control);
}

// Sorted along units and inputs, on some rows.
double sorted_along(const Form& model, const SampleSource& residual, const Matrix& columns,
                    double& directions) {
  const Index d = model.inputs, k = model.units();
  const SamplePtr some = spread_subset(residual, 10 * kNeighbourRows);
  SampleBlock block;
  some->read(0, some->rows(), block);
  Matrix along(block.rows(), k + d);
  along.rightCols(d) = columns.size() > 0 ? Matrix(block.x() * columns) : Matrix(block.x());
  if (k > 0) along.leftCols(k).noalias() = block.x() * model.V[0].leftCols(d).transpose();
  directions = static_cast<double>(along.cols() * block.y().cols());
  return sorted_statistic(along, block.y());
}

}  // namespace

ResidualLook look_at_residual(const Form& model, const SamplePtr& standard, const Control& control,
                              const Matrix& columns) {
  constexpr double kShare = kResidualFalseAlarm / kTests, kDoubt = kIntervalFalseAlarm / kDoubts;
  const Index m = standard->outputs();
  const double n = static_cast<double>(standard->rows());
  const Matrix T = decorrelation(residual_products(model, *standard, kBlockRows, control) / n);
  const Matrix right = T.transpose();
  const SamplePtr residual =
      with_outputs(standard, [&model, right](const Eigen::Ref<const RowMatrix>& x, RowMatrix& y) {
        y = ((y - evaluate(model, x)) * right).eval();
      });
  ResidualLook look;
  const auto doubt = [&look](double statistic, const char* words) {
    if (statistic <= look.doubt) return;
    look.doubt = statistic;
    look.doubtful = words;
  };
  const Powers powers =
      reduce_blocks(*residual, Powers{Vector::Zero(m), Vector::Zero(m)}, control, "",
                    [](Powers& to, const SampleBlock& block) {
                      to.second += block.y().array().square().colwise().sum().matrix().transpose();
                      to.fourth += block.y().array().pow(4).colwise().sum().matrix().transpose();
                    });
  look.kurtosis = (powers.fourth.array() * n / powers.second.array().square().max(kTiny)).maxCoeff();

  const auto [polynomials, terms] = polynomials_of(*residual, control);
  look.polynomials = polynomials;
  look.polynomials_limit = normal_limit(kShare, terms);
  doubt(polynomials / normal_limit(kDoubt, terms), "the residuals seem to depend on the inputs");
  look.missed = kShareAlongOne * std::pow(look.polynomials_limit + confidence_deviations(), 2);

  Form nothing = model;  // its features, and what they leave as outputs
  nothing.C = Matrix::Zero(model.features(), m);
  const Candidates left = candidate_units(nothing, *residual, 1, 29, control);
  // The scores are over a variance that counts the columns of zeros too.
  const Index noisy = (powers.second.array() > 0).count();
  if (left.scores.size() > 0 && noisy > 0) {
    const double share = static_cast<double>(noisy) / static_cast<double>(m);
    look.unit_level = chance_level(noisy, left.tested);
    look.units = left.scores(0) * share / look.unit_level;
    doubt(left.scores(0) * share /
              chi_squared_limit(static_cast<double>(noisy), kDoubt, static_cast<double>(left.tested)),
          "a further unit seems to be there, too weak to be told from noise");
  }

  const BinnedLook binned =
      look_in_bins(model, *standard, *residual, columns, look.kurtosis, kShare, control);
  look.bins = binned.means;
  look.spread = binned.variances;

  const SamplePtr some = spread_subset(*residual, kNeighbourRows);
  SampleBlock block;
  some->read(0, some->rows(), block);
  look.neighbours = neighbour_statistic(block.x(), block.y(), control);
  // One-sided, and the law of Z has a longer tail than the normal one at the small bandwidth.
  look.neighbours_limit = 1.05 * normal_limit(2 * kShare, 3);
  double directions = 1;
  look.sorted = sorted_along(model, *residual, columns, directions);
  look.sorted_limit = normal_limit(kShare, directions);

  const OrderedLook ordered = look_in_order(*residual, kShare, kDoubt, control);
  look.order = ordered.order;
  look.correlation = ordered.correlation;
  look.apart = ordered.apart;
  doubt(ordered.doubt, "the noise of consecutive rows seems to be related");
  const JumpLook jumps = look_for_jumps(model, *residual, columns, control);
  look.jumps = jumps.largest;
  look.jumps_limit = normal_limit(kShare, jumps.tests);
  doubt(jumps.largest / normal_limit(kDoubt, jumps.tests),
        "the residuals seem to jump along an input or a unit");
  return look;
}

double structure_left(const ResidualLook& look) {
  return std::max({look.kurtosis / kMostKurtosis, look.polynomials / look.polynomials_limit, look.units,
                   look.bins, look.spread, look.neighbours / look.neighbours_limit,
                   look.sorted / look.sorted_limit, look.order, look.jumps / look.jumps_limit});
}

bool looks_like_noise(const ResidualLook& look) { return structure_left(look) <= 1; }

double sorted_statistic(const Matrix& along, const Matrix& residuals) {
  constexpr Index kLags = 4;
  const Index n = along.rows();
  if (n < 50) return 0;
  const Matrix centred = residuals.rowwise() - residuals.colwise().mean();
  double largest = 0;
  std::vector<std::pair<double, Index>> order(static_cast<size_t>(n));
  Vector r(n);
  for (Index a = 0; a < along.cols(); ++a) {
    for (Index i = 0; i < n; ++i) order[static_cast<size_t>(i)] = {along(i, a), i};
    std::sort(order.begin(), order.end());
    for (Index o = 0; o < residuals.cols(); ++o) {
      for (Index i = 0; i < n; ++i) r(i) = centred(order[static_cast<size_t>(i)].second, o);
      double products = 0, spread = 0;
      for (Index lag = 1; lag <= kLags; ++lag) {
        const auto product = r.head(n - lag).array() * r.tail(n - lag).array();
        products += product.sum();
        spread += product.square().sum();
      }
      largest = std::max(largest, products / std::sqrt(std::max(spread, kTiny)));
    }
  }
  return largest;
}

double neighbour_statistic(const Matrix& x, const Matrix& residuals, const Control& control) {
  const Index n = x.rows(), m = residuals.cols();
  if (n < 20) return 0;
  Matrix r = residuals;
  for (Index o = 0; o < m; ++o) {
    r.col(o).array() -= r.col(o).mean();
    r.col(o) /= std::max(std::sqrt(r.col(o).squaredNorm() / static_cast<double>(n)), kTiny);
  }
  const Vector sizes = x.rowwise().squaredNorm();
  // Squared distances of these rows from those from `from` on.
  const auto distances = [&](Index first, Index rows, Index from) {
    Matrix out = -2 * x.middleRows(first, rows) * x.bottomRows(n - from).transpose();
    out.colwise() += sizes.segment(first, rows);
    out.rowwise() += sizes.tail(n - from).transpose();
    return out;
  };
  // Bandwidths: median distance to the 4th, 16th and 64th neighbour of some rows.
  const Index probes = std::min<Index>(n, 128);
  const Matrix probe = distances(0, probes, 0);
  constexpr Index kNeighbours[] = {4, 16, 64};
  double widths[3];
  for (int h = 0; h < 3; ++h) {
    std::vector<double> reach;
    for (Index i = 0; i < probes; ++i) {
      std::vector<double> row(static_cast<size_t>(n));
      for (Index j = 0; j < n; ++j) row[static_cast<size_t>(j)] = probe(i, j);
      const auto at = row.begin() + std::min<Index>(kNeighbours[h], n - 1);
      std::nth_element(row.begin(), at, row.end());
      reach.push_back(std::max(*at, kTiny));
    }
    std::nth_element(reach.begin(), reach.begin() + probes / 2, reach.end());
    widths[h] = reach[static_cast<size_t>(probes / 2)];
  }
  // A strip of rows with the columns from its own rows on: those beyond them stand for the pairs the other
  // way round too. Terms in single precision, which a statistic does not feel, a column at a time summed in
  // it. Distances are differences of large numbers and are not.
  using Singles = Eigen::Array<float, Eigen::Dynamic, Eigen::Dynamic>;
  constexpr Index kRowsAtOnce = 32;  // so that a strip stays in the cache
  constexpr double kFar =
      40;  // bandwidths: exp(-kFar) is nothing beside a neighbour's term, and its square a number
  const Index strips = (n + kRowsAtOnce - 1) / kRowsAtOnce;
  Matrix sums = Matrix::Zero(3, strips), squares = sums;
  parallel_for(strips, control, [&](Index strip) {
    const Index first = strip * kRowsAtOnce, rows = std::min(kRowsAtOnce, n - first),
                beyond = n - first - rows;
    const Matrix apart = distances(first, rows, first).cwiseMax(0);
    const Singles products =
        (r.middleRows(first, rows) * r.bottomRows(n - first).transpose()).cast<float>();  // over the outputs
    const auto both_ways = [&](const Eigen::ArrayXd& of_columns) {
      return of_columns.head(rows).sum() + 2 * of_columns.tail(beyond).sum();
    };
    for (int h = 0; h < 3; ++h) {
      const Singles reach = (apart.array() / widths[h]).min(kFar).cast<float>();
      Singles terms = (-reach).exp() * products;
      terms.matrix().diagonal().setZero();
      sums(h, strip) = both_ways(terms.colwise().sum().cast<double>().transpose());
      squares(h, strip) = both_ways(terms.square().colwise().sum().cast<double>().transpose());
    }
  });
  double largest = 0;
  for (int h = 0; h < 3; ++h)
    largest = std::max(largest, sums.row(h).sum() / std::sqrt(std::max(2 * squares.row(h).sum(), kTiny)));
  return largest;
}

}  // namespace exhume
