// The statistical limits of the project: how large a statistic may be by chance, and how sure a verdict is.
//
//   normal_limit        z with P(|Z| > z) = a / t                 Z standard normal
//   chi_squared_limit   q with P(chi^2_f > q) = a / t             f degrees of freedom
//
// so that the largest of t such statistics exceeds its limit with probability at most a, dependent or not
// (Bonferroni). The false-alarm probabilities a stand below, each with its reason. Quantiles by Boost.Math.
#pragma once

namespace exhume {

// How often a test may raise an alarm where nothing is wrong.
//
// Candidate units, signs by their margins, symmetry of inputs: a wrong alarm adds a unit that does not
// exist. The scores are chi-squared only for Gaussian noise and many rows, so the limit lies far in the
// tail. (Until version 0.1 it was Laurent and Massart's bound at 1e-4, which lies where the true quantile
// has 1e-7 to 4e-7.)
inline constexpr double kUnitFalseAlarm = 2e-7;
// The signed network beside the same units with a free linear term: a wrong alarm leaves the linear term in.
// Residuals need not be Gaussian here either. (The limit was f + 6 sqrt(2 f) + 20; within 7% of it.)
inline constexpr double kSignFalseAlarm = 2e-8;
// Tests of what a route assumes of the inputs (Gaussian, symmetric): a wrong alarm shuts a route that would
// have done, and thousands of data sets should pass without one.
inline constexpr double kInspectionFalseAlarm = 1e-6;
// Residuals sorted along every unit and input: a wrong alarm takes a certificate away, but one that is missed
// certifies a wrong network; so ten times as many as above.
inline constexpr double kResidualFalseAlarm = 1e-5;
// The same tests before intervals are stated: what is too weak to take a verdict away may still bend an
// interval by several of its standard errors. One sound fit in a hundred goes without intervals for it.
inline constexpr double kIntervalFalseAlarm = 1e-2;

// The confidence of every bound that a certificate states.
inline constexpr double kConfidence = 0.999;

// Twice the logarithm of the likelihood ratio from which one choice counts as better than another: odds of
// e^6, about 400 to 1; by chance in 1 of 1,900 (chi-squared, one degree of freedom).
inline constexpr double kDecisiveEvidence = 12;

// Mean squared error over the variance of the outputs up to which rows count as reproduced to rounding:
// doubles leave about 1e-31, a condition number of 1e5 on the way may cost ten digits of that.
inline constexpr double kReproduced = 1e-20;

// z above, for the largest absolute value of `tests` standard normals. 0 < false_alarm < 1, tests >= 1.
[[nodiscard]] double normal_limit(double false_alarm, double tests);

// q above, for the largest of `tests` statistics with `freedom` degrees of freedom; 0 where there are none.
[[nodiscard]] double chi_squared_limit(double freedom, double false_alarm, double tests);

// t with P(|T| > t) = a for Student's T of `freedom` degrees of freedom, at least one.
[[nodiscard]] double student_limit(double false_alarm, double freedom);

// Standard errors on either side of an estimate at kConfidence: normal_limit(1 - kConfidence, 1) = 3.29.
[[nodiscard]] double confidence_deviations();

// The largest share of the inputs on which something may happen that none of n rows showed, at kConfidence:
//
//     (1 - s)^n <= e^(-n s) = 1 - kConfidence     =>     s = log(1000) / n,      at most 1
[[nodiscard]] double unseen_share(double rows);

}  // namespace exhume
