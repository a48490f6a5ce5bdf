#include "exhume/certify/certify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "exhume/base/limits.h"
#include "exhume/data/reduce.h"
#include "exhume/linalg/symmetric_matrix.h"
#include "exhume/moments/moments.h"

namespace exhume {
namespace {

constexpr double kDetermined = 1e-6;  // least singular value, in units of the outputs' spread
constexpr double kMostKurtosis = 6;
constexpr double kGrossKurtosis = 50;  // of residuals that a few rows dominate
constexpr double kMostNeighbourZ = 4.5;
constexpr Index kNeighbourRows = 4096;
constexpr Index kPictureRows = 500;
const double kLogOdds = -std::log(1 - kConfidence);

}  // namespace

HeldOutCheck check_held_out(const Predict& predict, const SampleSource& rows, const Vector& output_mean) {
  HeldOutCheck check;
  const Index n = rows.rows(), m = rows.outputs();
  const Index shown = std::min(n, kPictureRows);
  check.predicted.resize(shown, m);
  check.observed.resize(shown, m);
  double squares = 0, fourth = 0, variation = 0;
  SampleBlock block;
  for (Index first = 0; first < n; first += kBlockRows) {
    const Index size = std::min(kBlockRows, n - first);
    rows.read(first, size, block);
    const RowMatrix predicted = predict(block.x());
    const Vector error = (predicted - block.y()).rowwise().squaredNorm();
    squares += error.sum();
    check.output_square += block.y().squaredNorm();
    fourth += error.squaredNorm();
    check.largest = std::max(check.largest, size > 0 ? error.maxCoeff() : 0.0);
    variation += (block.y().rowwise() - output_mean.transpose()).squaredNorm();
    for (Index i = 0; i < size && first + i < shown; ++i) {
      check.predicted.row(first + i) = predicted.row(i);
      check.observed.row(first + i) = block.y().row(i);
    }
  }
  const double count = static_cast<double>(std::max<Index>(n, 1));
  check.relative_mse = variation > 0 ? squares / variation : 0;
  check.mean_square = squares / count;
  check.output_square /= count;
  check.spread = std::sqrt(std::max(0.0, fourth / count - check.mean_square * check.mean_square) / count);
  return check;
}

double bound_mean_square(const HeldOutCheck& check, Index rows) {
  const double n = static_cast<double>(std::max<Index>(rows, 1));
  return check.mean_square + confidence_deviations() * check.spread + check.largest * unseen_share(n);
}

double bound_fitted_noise(double parameters, double variance, Index rows) {
  const double chi = parameters + 2 * std::sqrt(parameters * kLogOdds) + 2 * kLogOdds;
  return variance * chi / static_cast<double>(std::max<Index>(rows, 1));
}

ResidualLook look_at_residual(const SeparableModel& model, const SamplePtr& standard,
                              const Control& control) {
  const SamplePtr residual = with_outputs(
      standard, [&model](const Eigen::Ref<const RowMatrix>& x, RowMatrix& y) { y -= evaluate(model, x); });
  struct Powers {
    Vector second, fourth;
    void merge(const Powers& other) {
      second += other.second;
      fourth += other.fourth;
    }
  };
  const Index m = standard->outputs(), d = standard->inputs();
  const Powers powers =
      reduce_blocks(*residual, Powers{Vector::Zero(m), Vector::Zero(m)}, control, "",
                    [](Powers& to, const SampleBlock& block) {
                      to.second += block.y().array().square().colwise().sum().matrix().transpose();
                      to.fourth += block.y().array().pow(4).colwise().sum().matrix().transpose();
                    });
  const double n = static_cast<double>(standard->rows());
  ResidualLook look;
  look.kurtosis = (powers.fourth.array() * n / powers.second.array().square().max(kTiny)).maxCoeff();
  const HermiteMoments moments = hermite_moments(*residual, 2, control);
  look.polynomial = moments.estimate(2).squaredNorm() / std::max(moments.noise(2).squaredNorm(), kTiny);
  // A ratio of two chi-squared sums with `freedom` terms each, a little dependent: five deviations and a
  // margin.
  const double freedom = static_cast<double>(symmetric_size(d) * m);
  look.polynomial_limit = 1.1 * std::exp(5 * std::sqrt(4 / freedom));
  const SamplePtr some = spread_subset(*residual, kNeighbourRows);
  SampleBlock block;
  some->read(0, some->rows(), block);
  look.neighbours = neighbour_statistic(block.x(), block.y());
  const SamplePtr more = spread_subset(*residual, 10 * kNeighbourRows);
  more->read(0, more->rows(), block);
  Matrix along(block.rows(), model.units() + d);
  along.rightCols(d) = block.x();
  if (model.units() > 0)
    along.leftCols(model.units()).noalias() = block.x() * model.V.leftCols(d).transpose();
  look.sorted = sorted_statistic(along, block.y());
  look.sorted_limit = normal_limit(kResidualFalseAlarm, static_cast<double>(along.cols() * m));
  return look;
}

bool looks_like_noise(const ResidualLook& look) {
  return look.kurtosis <= kMostKurtosis && look.polynomial <= look.polynomial_limit &&
         look.neighbours <= kMostNeighbourZ && look.sorted <= look.sorted_limit;
}

double sorted_statistic(const Matrix& along, const Matrix& residuals) {
  constexpr Index kLags = 4;
  const Index n = along.rows();
  if (n < 50) return 0;
  double largest = 0;
  std::vector<Index> order(static_cast<size_t>(n));
  for (Index a = 0; a < along.cols(); ++a) {
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](Index i, Index j) { return along(i, a) < along(j, a); });
    for (Index o = 0; o < residuals.cols(); ++o) {
      const double mean = residuals.col(o).mean();
      double square = 0, products = 0, spread = 0;
      for (Index i = 0; i < n; ++i) {
        const double r = residuals(order[static_cast<size_t>(i)], o) - mean;
        square += r * r;
        for (Index lag = 1; lag <= kLags && i + lag < n; ++lag) {
          const double product = r * (residuals(order[static_cast<size_t>(i + lag)], o) - mean);
          products += product;
          spread += product * product;
        }
      }
      if (square > 0) largest = std::max(largest, products / std::sqrt(std::max(spread, kTiny)));
    }
  }
  return largest;
}

double neighbour_statistic(const Matrix& x, const Matrix& residuals) {
  const Index n = x.rows(), m = residuals.cols();
  if (n < 20) return 0;
  Matrix r = residuals;
  for (Index o = 0; o < m; ++o) {
    r.col(o).array() -= r.col(o).mean();
    r.col(o) /= std::max(std::sqrt(r.col(o).squaredNorm() / static_cast<double>(n)), kTiny);
  }
  const Vector sizes = x.rowwise().squaredNorm();
  const auto distances = [&](Index first, Index rows) {
    Matrix out = -2 * x.middleRows(first, rows) * x.transpose();
    out.colwise() += sizes.segment(first, rows);
    out.rowwise() += sizes.transpose();
    return out;
  };
  // Bandwidths: median distance to the 4th, 16th and 64th neighbour of some rows.
  const Index probes = std::min<Index>(n, 128);
  const Matrix probe = distances(0, probes);
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
  double largest = 0;
  double sums[3] = {0, 0, 0}, squares[3] = {0, 0, 0};
  constexpr Index kRowsAtOnce = 256;
  for (Index first = 0; first < n; first += kRowsAtOnce) {
    const Index rows = std::min(kRowsAtOnce, n - first);
    const Matrix apart = distances(first, rows);
    const Matrix products = r.middleRows(first, rows) * r.transpose();  // summed over the outputs
    for (int h = 0; h < 3; ++h) {
      Matrix kernel = (-apart.array() / widths[h]).exp().matrix();
      for (Index i = 0; i < rows; ++i) kernel(i, first + i) = 0;
      const auto terms = kernel.cwiseProduct(products);
      sums[h] += terms.sum();
      squares[h] += terms.squaredNorm();
    }
  }
  for (int h = 0; h < 3; ++h)
    largest = std::max(largest, sums[h] / std::sqrt(std::max(2 * squares[h], kTiny)));
  return largest;
}

std::string check_exact(const Evidence& evidence, Checks& checks) {
  const Fit& fit = evidence.fit;
  const HeldOutCheck& held_out = evidence.held_out;
  const auto& weights = evidence.weights;
  checks.require("training rows reproduced to rounding", fit.relative_mse, kReproduced,
                 fit.relative_mse <= kReproduced,
                 "the fit is exact on the rows that it saw but not on all training rows");
  checks.require(
      "rows held out", static_cast<double>(evidence.held_out_rows), 1, evidence.held_out_rows >= 1,
      fmt::format("{} hidden units reproduce all {} samples to rounding, but so few rows leave none to hold "
                  "out: another network may do so too",
                  fit.model.units(), evidence.training_rows));
  checks.require("held-out rows reproduced to rounding", held_out.relative_mse, kReproduced,
                 held_out.relative_mse <= kReproduced,
                 "the fit is exact on the training rows but not on the held-out ones: too few samples for so "
                 "many units");
  checks.require("no linear term needed", fit.model.linear_term ? 1 : 0, 0, !fit.model.linear_term,
                 "the function is reproduced to rounding, but part of it is linear on all samples: units "
                 "that never bend "
                 "within them (large bias) or a linear path; those weights, and the signs of the others, are "
                 "not identifiable");
  checks.require("signs of the units unique", fit.signs.outcome == SignOutcome::kUnique ? 0 : 1, 0,
                 fit.signs.outcome == SignOutcome::kUnique || fit.model.linear_term,
                 "the function is reproduced to rounding, but several choices of signs give the same "
                 "function: this network "
                 "is one of them");
  if (weights) {
    checks.require("weights determined by the function: smallest singular value", weights->smallest_singular,
                   kDetermined, weights->smallest_singular >= kDetermined,
                   "the function is reproduced to rounding, but other weights do so too: no sample lies "
                   "between the kinks of two nearly equal units, or a unit hardly bends within the samples");
  }
  return fmt::format("{} hidden units reproduce all {} samples to rounding, {} of them held out",
                     fit.model.units(), evidence.training_rows + evidence.held_out_rows,
                     evidence.held_out_rows);
}

std::string check_noisy(const Evidence& evidence, Checks& checks) {
  const Fit& fit = evidence.fit;
  const ResidualLook& look = evidence.look;
  const HeldOutCheck& held_out = evidence.held_out;
  const Index d = fit.model.inputs(), m = fit.model.C.cols(), k = fit.model.units();
  checks.require(
      "samples for every unknown", fit.rows_per_unknown, kReliable, fit.rows_per_unknown >= kReliable,
      fmt::format(
          "{:.1f} equations for every unknown are too few to tell noise from missing units: give more rows",
          fit.rows_per_unknown));
  checks.require("outputs are not whole numbers", evidence.data.integer_outputs ? 1 : 0, 0,
                 !evidence.data.integer_outputs,
                 "every output is a whole number: rounded values or class labels, not a network plus noise");
  checks.require(
      "residuals of similar rows unrelated", look.neighbours, kMostNeighbourZ,
      look.neighbours <= kMostNeighbourZ,
      look.kurtosis > kGrossKurtosis
          ? fmt::format("a few residuals are very large (kurtosis {:.3g}) and rows with similar inputs have "
                        "similar ones "
                        "(Z = {:.1f}): gross outliers in the outputs, or another kind of function",
                        look.kurtosis, look.neighbours)
          : fmt::format(
                "rows with similar inputs have similar residuals (Z = {:.1f}): what is left is not noise but "
                "another kind of function, or more units than were found",
                look.neighbours));
  checks.require("residuals unrelated along every unit", look.sorted, look.sorted_limit,
                 look.sorted <= look.sorted_limit,
                 fmt::format("sorted along a unit or an input, neighbouring residuals are related (Z = "
                             "{:.1f}): a smooth function, "
                             "not noise, is left",
                             look.sorted));
  checks.require("residual unrelated to quadratics of the inputs", look.polynomial, look.polynomial_limit,
                 look.polynomial <= look.polynomial_limit,
                 "the residual still bends with the inputs: another kind of function is behind the data");
  checks.require("residual without heavy tails: kurtosis", look.kurtosis, kMostKurtosis,
                 look.kurtosis <= kMostKurtosis,
                 fmt::format("the residual is heavy-tailed (kurtosis {:.3g}): outliers in the outputs, or a "
                             "unit that is seldom active",
                             look.kurtosis));
  checks.require("at least one hidden unit", static_cast<double>(k), 1, k >= 1,
                 "no hidden unit stands out: the outputs are linear in the inputs, or unrelated to them");
  checks.require(
      "no structure left in the residual", fit.structure, 1, fit.outcome == SearchOutcome::kNoise,
      fmt::format(
          "the best network found ({} units) leaves {:.2g} of the variance with structure in it: more "
          "units, more samples or budget, or another kind of function is behind the data",
          k, fit.relative_mse));
  // Mean squares, not relative to the outputs' variance: that of few rows is itself uncertain. The error of
  // mean |e|^2 with variances v_o of the outputs is sum v_o^2 (kurtosis - 1) / rows at most.
  const double expected = std::max(held_out.noise.sum(), kTiny);
  const double ratio = held_out.mean_square / expected;
  const double spread = 1 + 5 * held_out.noise.norm() / expected *
                                std::sqrt(std::max(look.kurtosis - 1, 2.0) /
                                          static_cast<double>(std::max<Index>(evidence.held_out_rows, 1)));
  const double unknowns = static_cast<double>(free_parameters(d, k, m));
  const double optimism = 1 + unknowns / static_cast<double>(evidence.training_rows * m);  // of new rows
  checks.require(
      "held-out error as large as the noise", ratio, spread * optimism, ratio <= spread * optimism,
      fmt::format(
          "the mean squared error on held-out rows is {:.2f} times that on the training rows: overfitted",
          ratio));
  checks.require("no linear term needed", fit.model.linear_term ? 1 : 0, 0, !fit.model.linear_term,
                 "a linear term is needed beside the units: units that never bend within the samples or a "
                 "linear path; the "
                 "signs of the units are not identifiable");
  checks.require("signs of the units significant", fit.signs.outcome == SignOutcome::kUnique ? 0 : 1, 0,
                 fit.signs.outcome == SignOutcome::kUnique || fit.model.linear_term,
                 "the noise does not let the sign of every unit be told");
  return fmt::format(
      "{} hidden units, and what they leave ({:.2g} of the variance) looks like noise on {} samples", k,
      fit.relative_mse, evidence.training_rows + evidence.held_out_rows);
}

}  // namespace exhume
