#include "certify/symmetry_test.h"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "base/blas.h"
#include "base/limits.h"
#include "base/random.h"
#include "data/reduce.h"

namespace exhume {
namespace {

constexpr Index kMostAxes = 64, kRandom = 32;

struct InputSums {
  Vector sum, squares;
  void merge(const InputSums& other) {
    sum += other.sum;
    squares += other.squares;
  }
};

struct SineSums {
  Vector mean;  // D
  Matrix gram;  // D x D
  void merge(const SineSums& other) {
    mean += other.mean;
    gram += other.gram;
  }
};

double statistic(const SampleSource& samples, const Matrix& U, const Vector& centre, const Control& control) {
  const Index D = U.cols();
  const double n = static_cast<double>(samples.rows());
  SineSums sums = reduce_blocks(samples, SineSums{Vector::Zero(D), Matrix::Zero(D, D)}, control, "symmetry",
                                [&](SineSums& to, const SampleBlock& block) {
                                  const Matrix g =
                                      ((block.x().rowwise() - centre.transpose()) * U).array().sin().matrix();
                                  to.mean += g.colwise().sum().transpose();
                                  to.gram.noalias() += g.transpose() * g;
                                });
  Matrix C = sums.gram / n;
  const Vector gbar = sums.mean / n;
  C.diagonal().array() += 1e-10 * std::max(C.diagonal().maxCoeff(), kTiny);
  return n * gbar.dot(C.ldlt().solve(gbar));
}

}  // namespace

SymmetryTest test_symmetry(const SampleSource& samples, std::uint64_t seed, const Control& control) {
  const SingleThreadedBlas single;
  const Index d = samples.inputs();
  const double n = static_cast<double>(samples.rows());
  const InputSums sums = reduce_blocks(samples, InputSums{Vector::Zero(d), Vector::Zero(d)}, control, "",
                                       [](InputSums& to, const SampleBlock& block) {
                                         to.sum += block.x().colwise().sum().transpose();
                                         to.squares += block.x().colwise().squaredNorm().transpose();
                                       });
  const Vector scale = (sums.squares / n).cwiseMax(kTiny).cwiseSqrt().cwiseInverse();
  SymmetryTest out;
  const Index room = std::max<Index>(1, samples.rows() / 20);
  const Index axes = std::min({d, kMostAxes, room});
  const Index random = std::min(d > 1 ? kRandom : Index{1}, room - axes);
  out.degrees = axes + random;
  Matrix U = Matrix::Zero(d, out.degrees);
  for (Index r = 0; r < axes; ++r) U(r * d / axes, r) = 1;
  if (random > 0) {
    Matrix rest = Stream(seed, "symmetry directions").normal_matrix(d, random);
    // Lengths from 0.5 to 2, so that slow and fast waves are looked at; the axes have length 1.
    for (Index r = 0; r < random; ++r) {
      const double length = std::pow(4.0, static_cast<double>(r) / static_cast<double>(random)) / 2;
      rest.col(r) *= length / std::max(rest.col(r).norm(), kTiny);
    }
    U.rightCols(random) = rest;
  }
  U = scale.asDiagonal() * U;
  out.statistic = statistic(samples, U, Vector::Zero(d), control);
  out.about_mean = statistic(samples, U, sums.sum / n, control);
  out.threshold = chi_squared_limit(static_cast<double>(out.degrees), kUnitFalseAlarm, 1);
  return out;
}

std::string SymmetryTest::words() const {
  if (holds()) {
    return fmt::format(
        "x and -x look equally likely: statistic {:.1f} on {} degrees of freedom, not above {:.1f}",
        statistic, degrees, threshold);
  }
  const char* remedy =
      holds_about_mean()
          ? "the inputs look symmetric about their mean instead, so subtract it before they are labelled, or "
            "label -x too and give those labels as the mirrored outputs"
          : "label -x too and give those labels as the mirrored outputs, or take a route that does not need "
            "symmetry";
  return fmt::format(
      "the inputs are not symmetric: statistic {:.1f} on {} degrees of freedom, above {:.1f}; {}", statistic,
      degrees, threshold, remedy);
}

}  // namespace exhume
