#include "exhume/recover.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <Eigen/Dense>

#include "base/random.h"
#include "data/planted.h"
#include "exhume/error.h"
#include "fit/unit_search.h"

namespace exhume::recover_test {
namespace {

Result recovered(const Network& network, const SamplingOptions& sampling, RecoverOptions options = {}) {
  Control control;
  control.threads = 2;
  options.seed = sampling.seed;
  return recover(planted_samples(network, sampling), options, control);
}

TEST(Recover, ManyOutputsExactly) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Network network = plant({.inputs = 12, .hidden = 12, .outputs = 12, .seed = seed});
    const Result result = recovered(network, {.samples = 3000, .seed = seed});
    EXPECT_EQ(result.certificate.status, Status::kCertified)
        << "seed " << seed << ": " << result.certificate.reason;
    EXPECT_EQ(result.network.hidden(), 12) << "seed " << seed;
    EXPECT_LT(align(result.network, network).worst_error, 1e-9) << "seed " << seed;
  }
}

TEST(Recover, InputsOfAnyMeanAndCovariance) {
  const Network network = plant({.inputs = 6, .hidden = 6, .outputs = 6, .centre = 2, .seed = 4});
  const Result result = recovered(network, {.samples = 5000, .mean = 2, .condition = 25, .seed = 4});
  EXPECT_EQ(result.certificate.status, Status::kCertified) << result.certificate.reason;
  EXPECT_LT(align(result.network, network).worst_error, 1e-9);
}

TEST(Recover, OneOutput) {
  for (std::uint64_t seed = 5; seed <= 7; ++seed) {
    const Network network = plant({.inputs = 6,
                                   .hidden = 9,
                                   .outputs = 1,
                                   .bias = 0.8,
                                   .amplitudes = Amplitudes::kSigns,
                                   .seed = seed});
    const Result result = recovered(network, {.samples = 6000, .seed = seed});
    EXPECT_EQ(result.certificate.status, Status::kCertified)
        << "seed " << seed << ": " << result.certificate.reason;
    EXPECT_LT(align(result.network, network).worst_error, 1e-9) << "seed " << seed;
  }
}

TEST(Recover, FewSamplesWithoutAnyAssumptionOnTheInputs) {
  for (std::uint64_t seed = 8; seed <= 10; ++seed) {
    const Network network = plant({.inputs = 8,
                                   .hidden = 6,
                                   .outputs = 1,
                                   .bias = 0.8,
                                   .amplitudes = Amplitudes::kSigns,
                                   .seed = seed});
    RecoverOptions options;
    options.route = "any_inputs";
    const Result result = recovered(network, {.samples = 600, .seed = seed}, options);
    EXPECT_EQ(result.certificate.status, Status::kCertified)
        << "seed " << seed << ": " << result.certificate.reason;
    EXPECT_LT(align(result.network, network).worst_error, 1e-9) << "seed " << seed;
  }
}

TEST(Recover, NoiseGivesStandardErrorsThatFitTheErrors) {
  const Network network = plant({.inputs = 5, .hidden = 4, .outputs = 3, .seed = 11});
  const Result result = recovered(network, {.samples = 10000, .noise_relative = 0.1, .seed = 11});
  EXPECT_EQ(result.certificate.status, Status::kEstimated) << result.certificate.reason;
  const Alignment alignment = align(result.network, network);
  ASSERT_TRUE(alignment.comparable);
  const Network truth = canonical(network);
  double squares = 0;
  Index count = 0;
  for (Index i = 0; i < 4; ++i) {
    const Index j = alignment.match[0][static_cast<size_t>(i)];
    squares += (result.network.W().row(i) - truth.W().row(j))
                   .cwiseQuotient(result.errors.standard_errors.W().row(i))
                   .squaredNorm();
    squares += (result.network.A().col(i) - truth.A().col(j))
                   .cwiseQuotient(result.errors.standard_errors.A().col(i))
                   .squaredNorm();
    count += 5 + 3;
  }
  // 32 correlated normal scores: their mean square stays in [0.3, 2.5] but for a chance below 1e-4.
  EXPECT_GT(squares / static_cast<double>(count), 0.3);
  EXPECT_LT(squares / static_cast<double>(count), 2.5);
}

TEST(Recover, TheSameBitsForAnyNumberOfThreads) {
  const Network network = plant({.inputs = 5, .hidden = 6, .outputs = 2, .seed = 12});
  Network first;
  for (const int threads : {1, 2, 3}) {
    Control control;
    control.threads = threads;
    const Network found =
        recover(planted_samples(network, {.samples = 9000, .noise = 0.05, .seed = 12}), {}, control).network;
    if (threads == 1) first = found;
    EXPECT_TRUE(found.W() == first.W() && found.b() == first.b() && found.A() == first.A() &&
                found.c() == first.c())
        << threads;
  }
}

TEST(Recover, LabelsUnrelatedToTheInputsAreNotCertified) {
  // No unit is left here, and BLAS would print its opinion of matrices without rows.
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  for (std::uint64_t seed = 700; seed < 704; ++seed) {
    const RowMatrix x = Stream(seed, "x").normal_matrix(3000, 4),
                    y = Stream(seed, "y").normal_matrix(3000, 1);
    EXPECT_EQ(recover(memory_samples(x, y), {}).certificate.status, Status::kUncertified) << "seed " << seed;
  }
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(Recover, ASmoothTeacherIsNotCertified) {
  const Network network =
      plant({.inputs = 5, .hidden = 3, .outputs = 1, .amplitudes = Amplitudes::kSigns, .seed = 31});
  const RowMatrix x = Stream(31, "x").normal_matrix(3000, 5);
  const RowMatrix z = (x * network.W().transpose()).rowwise() + network.b().transpose();
  // z tanh(log(1 + e^z)), which is no activation of the table.
  const RowMatrix y =
      z.unaryExpr([](double v) { return v * std::tanh(std::log1p(std::exp(v))); }) * network.A().transpose();
  // A search without time ends with its first fit, and says nothing about the data.
  Control control;
  control.deadline = Control::Clock::now();
  const Result hurried = recover(memory_samples(x, y), {}, control);
  EXPECT_EQ(hurried.certificate.status, Status::kUncertified);
  EXPECT_EQ(hurried.certificate.reason.find("stopped after"), 0U) << hurried.certificate.reason;
  // One that has time stalls, and says what speaks against a network.
  const Result result = recover(memory_samples(x, y), {});
  EXPECT_EQ(result.certificate.status, Status::kUncertified);
  EXPECT_EQ(result.certificate.reason.find("stopped after"), std::string::npos) << result.certificate.reason;
}

TEST(Recover, RepeatedRowsDoNotCountTwice) {
  const RowMatrix few = Stream(32, "x").normal_matrix(150, 8), labels = Stream(32, "y").normal_matrix(150, 1);
  RowMatrix x(3000, 8), y(3000, 1);
  for (Index i = 0; i < 3000; ++i) {
    x.row(i) = few.row(i % 150);
    y.row(i) = labels.row(i % 150);
  }
  const Result result = recover(memory_samples(x, y), {});
  EXPECT_EQ(result.certificate.status, Status::kUncertified);
  EXPECT_EQ(result.certificate.samples, 150);
}

TEST(Recover, AnAlwaysActiveUnitIsCarriedByALinearTermAndSaidSo) {
  Network network =
      plant({.inputs = 6, .hidden = 5, .outputs = 1, .amplitudes = Amplitudes::kSigns, .seed = 33});
  network.b()(2) = 8;
  const Result result = recovered(network, {.samples = 6000, .seed = 33});
  EXPECT_EQ(result.certificate.status, Status::kUncertified);
  EXPECT_NE(result.certificate.reason.find("the function is linear on all of them"), std::string::npos)
      << result.certificate.reason;
  EXPECT_TRUE(result.network.has_skip_terms());
  EXPECT_EQ(result.network.hidden(), 4);
  EXPECT_LT(result.errors.heldout_relative_mse, 1e-24);
}

TEST(Recover, ASeldomActiveUnitIsFound) {
  for (std::uint64_t seed = 34; seed < 38; ++seed) {
    Network network =
        plant({.inputs = 6, .hidden = 4, .outputs = 1, .amplitudes = Amplitudes::kSigns, .seed = seed});
    network.b()(2) = -2.6;
    const Result result = recovered(network, {.samples = 100000, .seed = seed});
    EXPECT_EQ(result.certificate.status, Status::kCertified)
        << "seed " << seed << ": " << result.certificate.reason;
    EXPECT_LT(align(result.network, network).worst_error, 1e-9) << "seed " << seed;
  }
}

TEST(Recover, SignsThatCannotBeToldAreNotClaimed) {
  // Claim 4.8 of the paper depth2: dependent weights, no biases.
  Network network = plant({.inputs = 5, .hidden = 6, .outputs = 1, .bias = 0, .seed = 35});
  network.A().row(0) = Eigen::FullPivLU<Matrix>(network.W().transpose()).kernel().col(0).transpose();
  const Result result = recovered(network, {.samples = 10000, .seed = 35});
  EXPECT_FALSE(result.signs_identifiable);
  EXPECT_EQ(result.certificate.status, Status::kUncertified);
  EXPECT_LT(result.errors.heldout_relative_mse, 1e-24);
}

TEST(Recover, TooFewRowsAreRefusedWithTheNumberNeeded) {
  const Network network = plant({.inputs = 10, .hidden = 5, .outputs = 1, .seed = 13});
  try {
    (void)recovered(network, {.samples = 15, .seed = 13});
    FAIL() << "accepted 15 rows";
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("at least"), std::string::npos) << error.what();
  }
  RecoverOptions options;
  options.widths = {500};
  EXPECT_THROW((void)recovered(network, {.samples = 1000, .seed = 13}, options), DataError);
}

TEST(Recover, RefusesBadOptions) {
  RecoverOptions options;
  options.widths = {0};
  EXPECT_THROW(options.validate(), std::invalid_argument);
  options = {};
  options.route = "nowhere";
  EXPECT_THROW(options.validate(), std::invalid_argument);
}

TEST(UnitSearch, ExactFitsShedUnitsThatAreNotNeeded) {
  const Network network =
      plant({.inputs = 5, .hidden = 4, .outputs = 1, .amplitudes = Amplitudes::kSigns, .seed = 14});
  const SamplePtr samples = planted_samples(network, {.samples = 1500, .seed = 14});
  Matrix V(6, 6);
  V.topRows(4) << network.W(), network.b();
  V.row(4) = V.row(1);
  V.row(5) = Stream(15, "extra").normal_matrix(1, 6);
  const SearchResult found = search_units(V, *samples, {}, {});
  EXPECT_EQ(found.outcome, SearchOutcome::kExact);
  EXPECT_EQ(found.model.units(), 4);
}

TEST(UnitSearch, PureNoiseIsLeftAlone) {
  const RowMatrix x = Stream(16, "x").normal_matrix(3000, 4), y = Stream(16, "y").normal_matrix(3000, 1);
  SearchOptions options;
  options.seed = 16;
  const SearchResult found = search_units(Matrix(0, 5), *memory_samples(x, y), options, {});
  EXPECT_EQ(found.outcome, SearchOutcome::kNoise);
  EXPECT_LT(found.structure, 1);
  EXPECT_LE(found.model.units(), 1);
}

// Where rows are plenty the search sees some of them, and the verdict looks at all.
SamplePtr plenty(const Network& network, double noise, std::uint64_t seed) {
  return load(*planted_samples(network, {.samples = 600'000, .noise_relative = noise, .seed = seed}));
}

TEST(Recover, PlentyOfRowsAreSearchedInPartAndJudgedWhole) {
  const Network network = plant({.inputs = 3, .hidden = 3, .outputs = 1, .seed = 41});
  const SamplePtr samples = plenty(network, 0, 41);
  Control one, two;
  two.threads = 2;
  const Result found = recover(samples, {.seed = 41}, one);
  EXPECT_EQ(found.certificate.status, Status::kCertified) << found.certificate.reason;
  EXPECT_EQ(found.certificate.searched, 65'536);
  EXPECT_LT(align(found.network, network).worst_error, 1e-9);
  const Result again = recover(samples, {.seed = 41}, two);
  EXPECT_EQ(found.network.W(), again.network.W());
}

TEST(Recover, WhatOnlySomeRowsShowIsNotPassedOver) {
  const Network network = plant({.inputs = 3, .hidden = 3, .outputs = 1, .seed = 42});
  const SamplePtr right = plenty(network, 0, 42);
  SampleBlock block;
  right->read(0, 600'000, block);
  RowMatrix x = block.x(), y = block.y();
  y(300'001, 0) += 1;  // most likely not among those that are searched
  const Result found = recover(memory_samples(x, y), {.seed = 42}, Control());
  EXPECT_NE(found.certificate.status, Status::kCertified);
  EXPECT_EQ(found.certificate.searched, 0);
  EXPECT_TRUE(
      std::any_of(found.certificate.tried.begin(), found.certificate.tried.end(), [](const Attempt& a) {
        return a.outcome.find("among 65536 of the rows: exact") != std::string::npos;
      }));
}

TEST(Recover, NoiseIsFittedToAllOfPlentyOfRows) {
  const Network network = plant({.inputs = 3, .hidden = 2, .outputs = 2, .seed = 43});
  Control control;
  control.threads = 2;
  const Result found = recover(plenty(network, 0.05, 43), {.seed = 43}, control);
  EXPECT_EQ(found.certificate.status, Status::kEstimated) << found.certificate.reason;
  EXPECT_EQ(found.certificate.searched, 0);
  // The errors of a fit to all rows: weights of size 1, noise of 5%, 588,000 rows.
  EXPECT_LT(found.errors.max_standard_error, 1e-3);
}

}  // namespace
}  // namespace exhume::recover_test
