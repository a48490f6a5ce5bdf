// Jennrich's algorithm, Hermite tensors, and the algorithms of paper depth2.
#include <gtest/gtest.h>

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.h"
#include "data/planted.h"
#include "data/smoothed.h"
#include "exhume/recover.h"
#include "linalg/symmetric_matrix.h"
#include "linalg/symmetric_tensor.h"
#include "moments/hermite_tensors.h"
#include "papers/depth2/cp_als.h"
#include "papers/depth2/depth2_jennrich.h"
#include "papers/depth2/jennrich.h"

namespace exhume::jennrich_test {
namespace {

constexpr double kExact = 1e-8;

Network one_output(Index d, Index k, double bias, std::uint64_t seed) {
  return plant(
      {.inputs = d, .hidden = k, .outputs = 1, .bias = bias, .amplitudes = Amplitudes::kSigns, .seed = seed});
}

// Worst difference of (w, b, a) over the true units, each up to the sign of (w, b); infinite if the number
// differs.
double unsigned_error(const UnsignedUnits& found, const Network& truth) {
  if (found.W.rows() != truth.hidden()) return std::numeric_limits<double>::infinity();
  double worst = 0;
  for (Index i = 0; i < truth.hidden(); ++i) {
    double best = std::numeric_limits<double>::infinity();
    for (Index j = 0; j < found.W.rows(); ++j) {
      for (const double sign : {1.0, -1.0}) {
        best = std::min(best, std::max({(sign * found.W.row(j) - truth.W().row(i)).cwiseAbs().maxCoeff(),
                                        std::abs(sign * found.b(j) - truth.b()(i)),
                                        (found.A.col(j) - truth.A().col(i)).cwiseAbs().maxCoeff()}));
      }
    }
    worst = std::max(worst, best);
  }
  return worst;
}

double worst_error(const Network& found, const Network& truth) {
  const Alignment alignment = align(found, truth);
  return alignment.comparable ? alignment.worst_error : std::numeric_limits<double>::infinity();
}

TEST(SymmetricTensor, PositionsCountUpAndAgreeWithMatrices) {
  for (const int order : {0, 1, 2, 3, 5}) {
    const auto indices = symmetric_indices(4, order);
    ASSERT_EQ(static_cast<Index>(indices.size()), symmetric_tensor_size(4, order));
    for (std::size_t i = 0; i < indices.size(); ++i) {
      EXPECT_EQ(symmetric_tensor_position(indices[i]), static_cast<Index>(i)) << order;
    }
  }
  for (Index b = 0; b < 5; ++b) {
    for (Index a = 0; a <= b; ++a) EXPECT_EQ(symmetric_tensor_position({b, a}), symmetric_position(a, b));
  }
}

TEST(SymmetricTensor, FlatteningsAreIsometricToTheFullArray) {
  // Whole numbers: T = 2 u^4 - 3 v^4 and the sum of its 3^4 squared entries by plain loops.
  Matrix W(2, 3);
  W << 1, -2, 1, 2, 0, -1;
  const Matrix powers = rank_one_tensors(W, 4);
  const Vector weights = symmetric_weights(3, 4);
  SymmetricTensor T{3, 4, Matrix(weights.size(), 1)};
  T.entries = weights.cwiseInverse().asDiagonal() * powers * Eigen::Vector2d(2, -3);
  double squares = 0;
  for (int a = 0; a < 81; ++a) {
    const Index i[4] = {a % 3, a / 3 % 3, a / 9 % 3, a / 27};
    double u = 2, v = -3;
    for (const Index at : i) {
      u *= W(0, at);
      v *= W(1, at);
    }
    EXPECT_NEAR(T.entries(symmetric_tensor_position({i[0], i[1], i[2], i[3]}), 0), u + v, 1e-12);
    squares += (u + v) * (u + v);
  }
  EXPECT_NEAR(flatten(T, 2, 0).squaredNorm(), squares, 1e-9);
  EXPECT_NEAR(flatten(T, 1, 0).squaredNorm(), squares, 1e-9);
  double sliced = 0;
  for (const Matrix& slice : flatten_to_slices(T, 1)) sliced += slice.squaredNorm();
  EXPECT_NEAR(sliced, squares, 1e-9);
  EXPECT_THROW((void)flatten_to_slices(T, 2), std::invalid_argument);
}

TEST(SymmetricTensor, RootsOfPowers) {
  const Vector w = Stream(1, "w").normal_matrix(4, 1).col(0).normalized();
  for (const int order : {1, 2}) {
    const Vector root = rank_one_root(-rank_one_tensors(w.transpose(), order).col(0), 4, order);
    EXPECT_NEAR(std::abs(root.dot(w)), 1, 1e-14);
  }
}

std::vector<Matrix> array_of(const Matrix& U, const Matrix& V, const Matrix& W) {
  std::vector<Matrix> slices;
  for (Index k = 0; k < W.rows(); ++k) slices.emplace_back(U * W.row(k).asDiagonal() * V.transpose());
  return slices;
}

TEST(Jennrich, FindsTheTermsOfExactArrays) {
  const struct { Index n1, n2, n3, r; } cases[] = {{1, 1, 1, 1}, {3, 2, 2, 2}, {6, 7, 2, 5}, {9, 8, 12, 8}};
  for (const auto& c : cases) {
    const Stream random(7, "factors");
    const Matrix U = random.normal_matrix(c.n1, c.r), V = Stream(8, "factors").normal_matrix(c.n2, c.r),
                 W = Stream(9, "factors").normal_matrix(c.n3, c.r);
    const RankOneTerms terms = jennrich(array_of(U, V, W), c.r);
    EXPECT_LT(terms.relative_residual, 1e-9) << c.r;
    for (Index i = 0; i < c.r; ++i) {
      Index at = 0;
      EXPECT_NEAR((U.col(i).normalized().transpose() * terms.U).cwiseAbs().maxCoeff(&at), 1, 1e-9);
      EXPECT_NEAR(std::abs(V.col(i).normalized().dot(terms.V.col(at))), 1, 1e-9);
      EXPECT_NEAR(std::abs(W.col(i).normalized().dot(terms.W.col(at))), 1, 1e-9);
      EXPECT_NEAR(terms.weights(at), U.col(i).norm() * V.col(i).norm() * W.col(i).norm(), 1e-7);
    }
  }
}

TEST(Jennrich, AlternatingLeastSquaresNeverLeavesMore) {
  const Matrix U = Stream(1, "U").normal_matrix(6, 4), V = Stream(2, "U").normal_matrix(6, 4),
               W = Stream(3, "U").normal_matrix(6, 4);
  std::vector<Matrix> slices = array_of(U, V, W);
  for (std::size_t k = 0; k < slices.size(); ++k) slices[k] += 0.1 * Stream(10 + k, "E").normal_matrix(6, 6);
  const RankOneTerms plain = jennrich(slices, 4);
  JennrichOptions options;
  options.als = true;
  const RankOneTerms refined = jennrich(slices, 4, options);
  EXPECT_LT(refined.relative_residual, plain.relative_residual);
  EXPECT_NEAR(relative_residual(slices, refined), refined.relative_residual, 1e-14);
}

TEST(Jennrich, RefusesWhatMakesNoSense) {
  EXPECT_THROW((void)jennrich({}, 1), std::invalid_argument);
  EXPECT_THROW((void)jennrich({Matrix::Zero(2, 3), Matrix::Zero(3, 2)}, 1), std::invalid_argument);
  EXPECT_THROW((void)jennrich({Matrix::Ones(2, 3)}, 3), std::invalid_argument);
  EXPECT_THROW((void)jennrich({Matrix::Constant(2, 2, std::nan(""))}, 1), std::invalid_argument);
  EXPECT_EQ(jennrich({Matrix::Ones(2, 3)}, 0).weights.size(), 0);
}

TEST(HermiteTensors, EstimatesMatchProductsOfScalarPolynomialsRowByRow) {
  // Few rows, plain loops: E[y He_alpha] over the rows and half the difference of even and odd ones.
  const Index n = 301, d = 3;
  const RowMatrix x = Stream(1, "x").normal_matrix(n, d), y = Stream(2, "y").normal_matrix(n, 2);
  const HermiteTensors T = estimate_hermite_tensors(memory_samples(x, y), {.order = 6}, {});
  for (int p = 0; p <= 6; ++p) {
    const auto indices = symmetric_indices(d, p);
    for (std::size_t at = 0; at < indices.size(); ++at) {
      for (Index o = 0; o < 2; ++o) {
        double half[2] = {0, 0};
        for (Index r = 0; r < n; ++r) {
          double product = y(r, o);
          for (Index j = 0; j < d; ++j) {
            product *=
                hermite(static_cast<int>(std::count(indices[at].begin(), indices[at].end(), j)), x(r, j));
          }
          half[r % 2] += product / static_cast<double>(r % 2 ? n / 2 : (n + 1) / 2);
        }
        const auto order = static_cast<std::size_t>(p);
        const auto entry = static_cast<Index>(at);
        EXPECT_NEAR(T.estimate[order].entries(entry, o), (half[0] + half[1]) / 2, 1e-11) << p;
        EXPECT_NEAR(T.noise[order].entries(entry, o), (half[0] - half[1]) / 2, 1e-11) << p;
      }
    }
  }
}

TEST(HermiteTensors, EstimatesApproachLemma35) {
  // An entry is a mean of n independent terms y He_alpha(x), whose own size gives its standard error; what a
  // polynomial leaves of y is smaller. Six of them are exceeded with probability 2e-9 each, by one of the 672
  // errors and noises with less than 2e-6.
  constexpr double kTail = 6;
  constexpr Index kRows = 50000;
  Network network = plant({.inputs = 3, .hidden = 4, .outputs = 2, .bias = 1, .seed = 3});
  network.c() << 0.5, -1;
  const HermiteTensors truth = population_hermite_tensors(network, 6);
  const SamplePtr samples = planted_samples(network, {.samples = kRows, .seed = 3});
  SampleBlock block;
  samples->read(0, kRows, block);
  for (const bool residualise : {false, true}) {
    const HermiteTensors found =
        estimate_hermite_tensors(samples, {.order = 6, .residualise = residualise}, {});
    for (int p = 0; p <= 6; ++p) {
      const auto order = static_cast<std::size_t>(p);
      const auto indices = symmetric_indices(3, p);
      for (std::size_t at = 0; at < indices.size(); ++at) {
        for (Index o = 0; o < 2; ++o) {
          double squares = 0;
          for (Index r = 0; r < kRows; ++r) {
            double product = block.y()(r, o);
            for (Index j = 0; j < 3; ++j) {
              product *= hermite(static_cast<int>(std::count(indices[at].begin(), indices[at].end(), j)),
                                 block.x()(r, j));
            }
            squares += product * product;
          }
          const double error = std::sqrt(squares) / kRows;
          const auto entry = static_cast<Index>(at);
          EXPECT_NEAR(found.estimate[order].entries(entry, o), truth.estimate[order].entries(entry, o),
                      kTail * error)
              << "order " << p << (residualise ? ", residualised" : "");
          EXPECT_LE(std::abs(found.noise[order].entries(entry, o)), kTail * error) << "order " << p;
        }
      }
    }
  }
}

TEST(HermiteTensors, RefusesOrdersAndSizesThatAreNotFormed) {
  const SamplePtr samples = planted_samples(one_output(9, 2, 0, 1), {.samples = 10});
  EXPECT_THROW((void)estimate_hermite_tensors(samples, {.order = 6}, {}), std::invalid_argument);
  EXPECT_THROW((void)estimate_hermite_tensors(samples, {.order = 3}, {}), std::invalid_argument);
}

TEST(Depth2, Algorithms1And2OfOrder1OnExactTensors) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const Network network = one_output(6, 6, 1.5, seed);
    const UnsignedUnits units = exact_units(population_hermite_tensors(network, 4));
    EXPECT_LT(unsigned_error(units, network), kExact) << "seed " << seed;
  }
}

TEST(Depth2, UnitsThatOneOrderMissesAreFoundThroughTheOther) {
  Network network = one_output(6, 6, 0, 4);
  network.b() << 0, 1, -1, 0, 1, -1;  // He_1 vanishes at 0 (order 3), He_2 at +-1 (order 4)
  const UnsignedUnits units = exact_units(population_hermite_tensors(network, 4));
  EXPECT_EQ(units.rank_odd, 4);
  EXPECT_EQ(units.rank_even, 2);
  EXPECT_LT(unsigned_error(units, network), kExact);
}

TEST(Depth2, Algorithms1And2OfOrder2OnExactTensors) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const Network network = one_output(4, 7, 1.2, seed);
    Depth2JennrichOptions options;
    options.ell = 2;
    const UnsignedUnits units = exact_units(population_hermite_tensors(network, 6), options);
    EXPECT_LT(unsigned_error(units, network), kExact) << "seed " << seed;
  }
}

TEST(Depth2, Algorithm2AloneFromTrueDirectionsWithWrongSigns) {
  const Network network = one_output(4, 7, 2, 11);
  const HermiteTensors tensors = population_hermite_tensors(network, 6);
  const Scalars scalars = recover_scalars(2, -network.W(), tensors);
  EXPECT_LT((scalars.b + network.b()).cwiseAbs().maxCoeff(), kExact);
  EXPECT_LT((scalars.A - network.A()).cwiseAbs().maxCoeff(), kExact);
}

TEST(Depth2, Algorithm3TurnsUnitsTheRightWay) {
  const Network network = one_output(7, 7, 1, 12);
  Vector turn(7);
  turn << 1, -1, -1, 1, -1, 1, 1;
  const FixedSigns signs = fix_signs(turn.asDiagonal() * network.W(), turn.cwiseProduct(network.b()),
                                     network.A(), population_hermite_tensors(network, 1));
  EXPECT_TRUE(signs.identifiable);
  EXPECT_EQ(signs.signs, turn);
  EXPECT_LT(signs.doubt, kExact);
}

TEST(Depth2, Algorithm6OnExactTensors) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    Network network =
        plant({.inputs = 5, .hidden = 5, .outputs = seed % 2 ? 1 : 3, .bias = 1.2, .seed = seed});
    network.c().setConstant(0.25);
    const FullRankResult result = full_rank_network(population_hermite_tensors(network, 4));
    EXPECT_EQ(result.outcome, FullRankOutcome::kRecovered) << "seed " << seed << " misfit " << result.misfit;
    EXPECT_LT(worst_error(result.network, network), kExact) << "seed " << seed;
  }
}

TEST(Depth2, SignsOfDependentWeightsAreNotClaimed) {
  // Claim 4.8: a_i = beta_i with sum beta_i w_i = 0 and no biases; turning all units around changes nothing.
  Network network;
  network.W() = Stream(5, "W").normal_matrix(4, 3);
  network.W().rowwise().normalize();
  const Vector beta = network.W().topRows(3).transpose().inverse() * network.W().row(3).transpose();
  network.A().resize(1, 4);
  network.A() << beta.transpose(), -1;
  network.b() = Vector::Zero(4);
  network.c() = Vector::Zero(1);
  const FixedSigns signs =
      fix_signs(network.W(), network.b(), network.A(), population_hermite_tensors(network, 1));
  EXPECT_FALSE(signs.identifiable);
  EXPECT_TRUE(std::isinf(signs.condition));
  Depth2JennrichOptions options;
  options.ell = 2;
  const FullRankResult second = full_rank_network(population_hermite_tensors(network, 6), options);
  EXPECT_EQ(second.outcome, FullRankOutcome::kSignsOpen);
  EXPECT_LT(unsigned_error(second.units, network), kExact);
  // With l = 1 the weights themselves cannot be had: three of four directions fit in R^3.
  EXPECT_EQ(full_rank_network(population_hermite_tensors(network, 4)).outcome, FullRankOutcome::kMisfit);
}

TEST(Depth2, Algorithm6FromSamplesImprovesLikeTheRootOfTheSamples) {
  // Median over 7 networks; 16 times the samples should divide the error by 4.
  double medians[2];
  for (const int step : {0, 1}) {
    std::vector<double> errors;
    for (std::uint64_t seed = 1; seed <= 7; ++seed) {
      const Network network = one_output(5, 3, 0.8, seed);
      const SamplePtr samples = planted_samples(network, {.samples = step ? 160000 : 10000, .seed = seed});
      Depth2JennrichOptions options;
      options.hidden = 3;
      options.jennrich.als = true;
      Control control;
      control.threads = 2;
      const HermiteTensors tensors = estimate_hermite_tensors(samples, {.residualise = true}, control);
      errors.push_back(worst_error(full_rank_network(tensors, options).network, network));
    }
    std::sort(errors.begin(), errors.end());
    medians[step] = errors[3];
  }
  EXPECT_LT(medians[0], 0.5);
  EXPECT_GT(medians[0] / medians[1], 2);
  EXPECT_LT(medians[0] / medians[1], 8);
}

TEST(Depth2, Algorithm5FoldsToTwoMoreUnits) {
  const Index k = 3, d = 4;
  const Matrix W = Stream(1, "W").normal_matrix(k, d);
  const Vector b = Stream(2, "b").uniform_vector(k, -1, 1), alpha = Stream(3, "a").uniform_vector(k, -1, 1),
               turned = Stream(4, "a").uniform_vector(k, -1, 1),
               linear = Stream(5, "v").uniform_vector(d, -1, 1);
  const Network folded = fold_features(W, b, alpha, turned, linear, 0.3);
  EXPECT_EQ(folded.hidden(), k + 2);
  EXPECT_FALSE(folded.has_skip_terms());
  EXPECT_EQ(folded.c()(0), 0);
  const RowMatrix x = Stream(6, "x").normal_matrix(50, d);
  const RowMatrix y = evaluate(folded, x);
  for (Index r = 0; r < x.rows(); ++r) {
    double expected = linear.dot(x.row(r)) + 0.3;
    for (Index i = 0; i < k; ++i) {
      const double z = W.row(i).dot(x.row(r)) + b(i);
      expected += alpha(i) * std::max(z, 0.0) + turned(i) * std::max(-z, 0.0);
    }
    EXPECT_NEAR(y(r, 0), expected, 1e-13);
  }
  EXPECT_EQ(fold_features(W, b, alpha, Vector::Zero(k), Vector::Zero(d), 0.3).hidden(), k);
}

TEST(Depth2, Algorithm5FitsAFunctionWithLargeBiases) {
  // Two units are on nearly everywhere (|b| = 6): nothing but the linear part can carry them (Lemma D.13).
  Network network = one_output(5, 4, 0.5, 21);
  network.b()(0) = 6;
  network.b()(1) = -6;
  RegressionOptions options;
  options.residualise = true;
  const RegressionResult result =
      regression_network(planted_samples(network, {.samples = 100000, .seed = 21}), options, {});
  EXPECT_EQ(result.units.W.rows(), 2);
  EXPECT_LE(result.network.hidden(), 4);
  EXPECT_FALSE(result.network.has_skip_terms());
  EXPECT_FALSE(result.on_the_boundary);
  EXPECT_LT(result.relative_mse, 1e-3);
  const SamplePtr two = planted_samples(plant({.inputs = 5, .hidden = 2, .outputs = 2}), {.samples = 100});
  EXPECT_THROW((void)regression_network(two, {}, {}), std::invalid_argument);
}

TEST(Depth2, RecoverTakesTheRouteByName) {
  for (std::uint64_t seed = 31; seed <= 32; ++seed) {
    const Network network = one_output(5, 5, 0.8, seed);
    RecoverOptions options;
    options.route = std::string("depth2-jennrich");  // g++ 12 warns of a literal here
    options.seed = seed;
    const Result result = recover(planted_samples(network, {.samples = 20000, .seed = seed}), options);
    EXPECT_EQ(result.certificate.route, "depth2-jennrich");
    EXPECT_EQ(result.certificate.status, Status::kCertified)
        << "seed " << seed << ": " << result.certificate.reason;
    EXPECT_LT(worst_error(result.network, network), 1e-9) << "seed " << seed;
  }
}

TEST(Depth2, RefusesBadOptions) {
  Depth2JennrichOptions options;
  options.ell = 3;
  EXPECT_THROW(options.validate(), std::invalid_argument);
  options = {};
  options.eta2 = -1;
  EXPECT_THROW(options.validate(), std::invalid_argument);
  options = {};
  options.ell = 2;
  EXPECT_THROW((void)exact_units(population_hermite_tensors(one_output(3, 2, 0, 1), 4), options),
               std::invalid_argument);
}

TEST(Smoothed, PerturbedNetworksKeepUnitRowsAndMoveByTau) {
  const Network network = one_output(400, 50, 0.5, 41);
  const Network moved = perturbed(network, 0.3, 41);
  double squares = 0;
  for (Index i = 0; i < 50; ++i) {
    EXPECT_NEAR(moved.W().row(i).norm(), 1, 1e-14);
    const double scale = moved.A()(0, i) / network.A()(0, i);
    EXPECT_NEAR(moved.b()(i) * scale, network.b()(i), 1e-14);
    squares += (scale * moved.W().row(i) - network.W().row(i)).squaredNorm() / 50;
  }
  // 20,000 squared normals: the mean is within 5 percent of tau^2 (five standard deviations).
  EXPECT_NEAR(squares, 0.09, 0.0045);
  EXPECT_EQ(perturbed(network, 0, 41).W(), network.W());
  EXPECT_THROW((void)perturbed(network, -1, 0), std::invalid_argument);
}

TEST(Smoothed, KhatriRaoPowersOfDependentRowsBecomeIndependent) {
  Matrix W(3, 4);  // three rows in a plane: dependent, but their squares are not
  W << 1, 0, 0, 0, 0, 1, 0, 0, 1, 1, 0, 0;
  EXPECT_LT(khatri_rao_singular_values(W, 1)(2), 1e-15);
  EXPECT_GT(khatri_rao_singular_values(W, 2)(2), 0.1);
  EXPECT_EQ(khatri_rao_singular_values(Matrix::Identity(5, 2), 1).size(), 5);
}

}  // namespace
}  // namespace exhume::jennrich_test
