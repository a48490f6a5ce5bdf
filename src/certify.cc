#include "exhume/certify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "exhume/moments.h"
#include "exhume/parallel.h"

namespace exhume {
namespace {

constexpr double kRoundingMse = 1e-20;  // mean squared error / variance at which samples count as reproduced
constexpr double kMostKurtosis = 6;
constexpr Index kPictureRows = 500;

// Collects checks; the first that fails gives the reason.
class Checks {
 public:
  explicit Checks(Verdict& verdict) : verdict_(verdict) {}
  void require(const char* name, double value, double threshold, bool holds, const std::string& otherwise) {
    verdict_.checks.push_back({name, value, threshold, holds});
    if (!holds && verdict_.reason.empty()) verdict_.reason = otherwise;
  }
  void conclude(const std::string& praise) {
    verdict_.status = verdict_.reason.empty() ? Status::kCertified : Status::kUncertified;
    if (verdict_.reason.empty()) verdict_.reason = praise;
  }

 private:
  Verdict& verdict_;
};

void certify_exact(const Fit& fit, const HeldOutCheck& held_out, Index held_out_rows, Index rows, Checks& checks) {
  checks.require("training rows reproduced to rounding", fit.relative_mse, kRoundingMse, fit.relative_mse <= kRoundingMse,
                 "the fit is exact on the rows that it saw but not on all training rows");
  checks.require("held-out rows reproduced to rounding", held_out.relative_mse, kRoundingMse,
                 held_out.relative_mse <= kRoundingMse,
                 "the fit is exact on the training rows but not on the held-out ones: too few samples for so many units");
  checks.require("no linear term needed", fit.model.linear_term ? 1 : 0, 0, !fit.model.linear_term,
                 "the function is reproduced to rounding, but part of it is linear on all samples: units that never bend "
                 "within them (large bias) or a linear path; those weights, and the signs of the others, are not identifiable");
  checks.require("signs of the units unique", fit.signs.outcome == SignOutcome::kUnique ? 0 : 1, 0,
                 fit.signs.outcome == SignOutcome::kUnique || fit.model.linear_term,
                 "the function is reproduced to rounding, but several choices of signs give the same function: this network "
                 "is one of them");
  checks.conclude(fmt::format("{} hidden units reproduce all {} samples to rounding, {} of them held out", fit.model.units(),
                              rows + held_out_rows, held_out_rows));
}

void certify_noisy(const Fit& fit, const HeldOutCheck& held_out, Index held_out_rows, const Inspection& data,
                   const SamplePtr& standard, const Control& control, Checks& checks) {
  const Index m = standard->outputs(), k = fit.model.units();
  checks.require("at least one hidden unit", static_cast<double>(k), 1, k >= 1,
                 "no hidden unit stands out: the outputs are linear in the inputs, or unrelated to them");
  checks.require("no structure left in the residual", fit.structure, 1, fit.outcome == SearchOutcome::kNoise,
                 fmt::format("the best network found ({} units) leaves {:.2g} of the variance with structure in it: more "
                             "units, more samples or budget, or another kind of function is behind the data",
                             k, fit.relative_mse));
  checks.require("outputs are not whole numbers", data.integer_outputs ? 1 : 0, 0, !data.integer_outputs,
                 "every output is a whole number: rounded values or class labels, not a network plus noise");
  const ResidualLook look = look_at_residual(fit.model, standard, control);
  checks.require("residual without heavy tails: kurtosis", look.kurtosis, kMostKurtosis, look.kurtosis <= kMostKurtosis,
                 fmt::format("the residual is heavy-tailed (kurtosis {:.3g}): outliers in the outputs, or a unit that is seldom active",
                             look.kurtosis));
  checks.require("residual unrelated to quadratics of the inputs", look.polynomial, look.polynomial_limit,
                 look.polynomial <= look.polynomial_limit,
                 "the residual still bends with the inputs: another kind of function is behind the data");
  const double ratio = held_out.relative_mse / std::max(fit.relative_mse, 1e-300);
  const double spread = 1 + 5 * std::sqrt(std::max(look.kurtosis - 1, 1.0) / static_cast<double>(std::max<Index>(held_out_rows * m, 1)));
  const double unknowns = static_cast<double>(free_parameters(standard->inputs(), k, m));
  const double optimism = (1 + unknowns / static_cast<double>(standard->rows() * m)) / (1 - std::min(0.9, unknowns / static_cast<double>(standard->rows() * m)));
  checks.require("held-out error as large as the training error", ratio, spread * optimism, ratio <= spread * optimism,
                 fmt::format("the error on held-out rows is {:.2f} times that on the training rows: overfitted", ratio));
  checks.require("no linear term needed", fit.model.linear_term ? 1 : 0, 0, !fit.model.linear_term,
                 "a linear term is needed beside the units: units that never bend within the samples or a linear path; the "
                 "signs of the units are not identifiable");
  checks.require("signs of the units significant", fit.signs.outcome == SignOutcome::kUnique ? 0 : 1, 0,
                 fit.signs.outcome == SignOutcome::kUnique || fit.model.linear_term,
                 "the noise does not let the sign of every unit be told");
  checks.conclude(fmt::format("{} hidden units, and what they leave ({:.2g} of the variance) looks like noise on {} samples", k,
                              fit.relative_mse, standard->rows() + held_out_rows));
}

}  // namespace

HeldOutCheck check_held_out(const Network& network, const SampleSource& rows, const Vector& output_mean) {
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
    const RowMatrix predicted = evaluate(network, block.x());
    const Vector error = (predicted - block.y()).rowwise().squaredNorm();
    squares += error.sum();
    fourth += error.squaredNorm();
    variation += (block.y().rowwise() - output_mean.transpose()).squaredNorm();
    for (Index i = 0; i < size && first + i < shown; ++i) {
      check.predicted.row(first + i) = predicted.row(i);
      check.observed.row(first + i) = block.y().row(i);
    }
  }
  const double count = static_cast<double>(std::max<Index>(n, 1));
  check.relative_mse = variation > 0 ? squares / variation : 0;
  check.mean_square = squares / count;
  check.spread = std::sqrt(std::max(0.0, fourth / count - check.mean_square * check.mean_square) / count);
  return check;
}

ResidualLook look_at_residual(const SeparableModel& model, const SamplePtr& standard, const Control& control) {
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
  const Powers powers = reduce_blocks(*residual, Powers{Vector::Zero(m), Vector::Zero(m)}, control, "",
                                      [](Powers& to, const SampleBlock& block) {
                                        to.second += block.y().array().square().colwise().sum().matrix().transpose();
                                        to.fourth += block.y().array().pow(4).colwise().sum().matrix().transpose();
                                      });
  const double n = static_cast<double>(standard->rows());
  ResidualLook look;
  look.kurtosis = (powers.fourth.array() * n / powers.second.array().square().max(1e-300)).maxCoeff();
  const HermiteMoments moments = hermite_moments(*residual, 2, control);
  look.polynomial = moments.estimate(2).squaredNorm() / std::max(moments.noise(2).squaredNorm(), 1e-300);
  // A ratio of two chi-squared sums with `freedom` terms each, a little dependent: five deviations and a margin.
  const double freedom = static_cast<double>(d * (d + 1) / 2 * m);
  look.polynomial_limit = 1.1 * std::exp(5 * std::sqrt(4 / freedom));
  return look;
}

Verdict certify(const Fit& fit, const HeldOutCheck& held_out, Index held_out_rows, const Inspection& data,
                const SamplePtr& standard, const Control& control) {
  Verdict verdict;
  verdict.checks = data.tests;
  Checks checks(verdict);
  if (fit.outcome == SearchOutcome::kExact) {
    certify_exact(fit, held_out, held_out_rows, standard->rows(), checks);
  } else {
    certify_noisy(fit, held_out, held_out_rows, data, standard, control, checks);
  }
  return verdict;
}

}  // namespace exhume
