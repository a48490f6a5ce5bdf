// Networks that can be asked: extracted from few queries, exactly, or refused with the reason.
#include "exhume/extract.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "base/random.h"
#include "exhume/error.h"
#include "extract/line.h"
#include "refusal.h"
#include "report/extract/extraction_check.h"
#include "report/report.h"
#include "temp_dir.h"

namespace exhume::extract_test {
namespace {

Network planted(Index d, Index k, Index m, std::uint64_t seed) {
  Network network;
  network.W() = Stream(seed, "W").normal_matrix(k, d);
  network.W().rowwise().normalize();
  network.b() = 0.3 * Stream(seed, "b").normal_matrix(k, 1);
  network.A() = Stream(seed, "A").normal_matrix(m, k);
  network.c() = Stream(seed, "c").normal_matrix(m, 1);
  return network;
}

// A max(z, slope z) + c.
OraclePtr leaky(const Network& n, double slope) {
  return function_oracle(
      [n, slope](const Eigen::Ref<const RowMatrix>& x) {
        Matrix z = x * n.W().transpose();
        z.rowwise() += n.b().transpose();
        RowMatrix y = z.cwiseMax(slope * z) * n.A().transpose();
        y.rowwise() += n.c().transpose();
        return y;
      },
      n.inputs(), "leaky");
}

TEST(KinksOnLine, FindsThemAllEvenCloseOnes) {
  const std::vector<double> at = {-30, -1, 0.5, 0.5001, 2, 700};
  const Matrix c = Stream(3, "c").normal_matrix(static_cast<Index>(at.size()), 1);
  Index asked = 0;
  LineOptions options;
  const LineKinks found = kinks_on_line(
      [&](const std::vector<double>& t) {
        NoisyAnswers out{RowMatrix::Zero(static_cast<Index>(t.size()), 1), Vector(t.size())};
        asked += static_cast<Index>(t.size());
        for (std::size_t i = 0; i < t.size(); ++i) {
          for (std::size_t j = 0; j < at.size(); ++j)
            out.values(static_cast<Index>(i), 0) += c(static_cast<Index>(j)) * std::max(t[i] - at[j], 0.0);
          out.noise(static_cast<Index>(i)) = 4e-16 * (std::abs(out.values(static_cast<Index>(i), 0)) + 1);
        }
        return out;
      },
      options);
  ASSERT_EQ(found.at.size(), at.size());
  for (std::size_t i = 0; i < at.size(); ++i) EXPECT_NEAR(found.at[i], at[i], 1e-9 * (1 + std::abs(at[i])));
  EXPECT_EQ(found.given_up, 0);
  EXPECT_LT(asked, 260);
}

TEST(Extract, OneHiddenLayerExactly) {
  struct Case {
    Index d, k, m;
  };
  for (const auto [d, k, m] :
       {Case{1, 3, 1}, Case{3, 5, 2}, Case{10, 12, 1}, Case{60, 20, 1}, Case{60, 40, 5}}) {
    for (const std::uint64_t seed : {1, 2}) {
      const Network network = planted(d, k, m, seed);
      ExtractOptions options;
      options.seed = seed;
      const ExtractResult result = extract(network_oracle(network), options);
      EXPECT_EQ(result.certificate.status, Status::kCertified)
          << d << "-" << k << "-" << m << " " << seed << result.certificate.reason;
      const Alignment apart = align(network, result.network, {.free_signs = !result.signs_identifiable});
      EXPECT_LT(apart.worst_error, 1e-9) << d << "-" << k << "-" << m << " seed " << seed;
      EXPECT_EQ(result.activation, "relu");
      EXPECT_LE(result.queries, estimate_queries(d, k, m) + 500);
    }
  }
}

TEST(Extract, ADeadlineEndsItAndIsNamed) {
  Control control;
  control.deadline = Control::Clock::now();
  const ExtractResult result = extract(network_oracle(planted(30, 8, 1, 1)), {}, control);
  EXPECT_EQ(result.certificate.status, Status::kRefused);
  EXPECT_NE(result.certificate.reason.find("the time was over"), std::string::npos)
      << result.certificate.reason;
}

// On one side steps, on the other a network: most places do not jump, but one jump is no network of ReLUs.
TEST(Extract, OneJumpIsRefusedHoweverManyBendsThereAre) {
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    const OraclePtr oracle = function_oracle(
        [](const Eigen::Ref<const RowMatrix>& x) -> RowMatrix {
          RowMatrix y(x.rows(), 1);
          for (Index i = 0; i < x.rows(); ++i) {
            y(i) =
                x(i, 0) < 0 ? std::floor(5 * x(i, 0)) + std::floor(3 * x(i, 1)) : std::abs(x(i, 1)) + x(i, 0);
          }
          return y;
        },
        2);
    ExtractOptions options;
    options.seed = seed;
    const ExtractResult result = extract(oracle, options);
    EXPECT_EQ(result.certificate.status, Status::kRefused) << seed;
    EXPECT_NE(result.certificate.reason.find("jump"), std::string::npos) << result.certificate.reason;
    EXPECT_LT(result.queries, 1000) << seed;
  }
}

TEST(Extract, SaysWhichMovesItMadeAndWhy) {
  const ExtractResult result = extract(network_oracle(planted(30, 8, 1, 1)), {});
  ASSERT_GE(result.moves.size(), 4u);
  EXPECT_EQ(result.moves.front().move, "probe the oracle");
  EXPECT_EQ(result.moves.back().move, "confirm");
  Index before = 0;
  for (const ExtractMove& each : result.moves) {
    EXPECT_FALSE(each.why.empty()) << each.move;
    EXPECT_GE(each.queries, before);
    before = each.queries;
  }
  EXPECT_LT(before, result.queries);
}

TEST(Extract, FewQuestionsForManyInputs) {
  const Network network = planted(784, 32, 1, 4);
  const ExtractResult result = extract(network_oracle(network), {});
  EXPECT_EQ(result.certificate.status, Status::kCertified) << result.certificate.reason;
  EXPECT_LT(result.queries, 40342);  // 2^15.3
  EXPECT_LT(align(network, result.network).worst_error, 1e-10);
}

TEST(Extract, AUnitThatHardlyActsHasAsManyDigits) {
  Network network = planted(200, 50, 1, 9);
  network.A()(0, 17) = 2e-5;
  const ExtractResult result = extract(network_oracle(network), {});
  EXPECT_EQ(result.certificate.status, Status::kCertified) << result.certificate.reason;
  EXPECT_LT(align(network, result.network).worst_error, 1e-10);
  const auto asked = std::find_if(result.stages.begin(), result.stages.end(),
                                  [](const StageQueries& each) { return each.stage == "weak units"; });
  ASSERT_NE(asked, result.stages.end());
  EXPECT_EQ(asked->queries, 2 * (200 - 10));
  EXPECT_LE(result.queries, estimate_queries(200, 50, 1));
}

TEST(Extract, LeakyUnitsAndAbsoluteValues) {
  const Network network = planted(30, 8, 2, 5);
  const ExtractResult with_leak = extract(leaky(network, 0.1), {});
  EXPECT_EQ(with_leak.certificate.status, Status::kCertified) << with_leak.certificate.reason;
  EXPECT_EQ(with_leak.activation, "leaky relu");
  EXPECT_NEAR(with_leak.slope, 0.1, 1e-9);
  const ExtractResult absolute = extract(leaky(network, -1), {});
  EXPECT_EQ(absolute.certificate.status, Status::kCertified) << absolute.certificate.reason;
  EXPECT_EQ(absolute.activation, "absolute value");
}

TEST(Extract, EveryQuestionLiesInTheBox) {
  Network network = planted(64, 16, 3, 6);
  network.b() -= 0.5 * network.W().rowwise().sum();
  double low = 1, high = 0;
  const OraclePtr oracle = function_oracle(
      [&](const Eigen::Ref<const RowMatrix>& x) {
        low = std::min(low, x.minCoeff());
        high = std::max(high, x.maxCoeff());
        return evaluate(network, x);
      },
      64);
  ExtractOptions options;
  options.box = {0, 1};
  const ExtractResult result = extract(oracle, options);
  EXPECT_EQ(result.certificate.status, Status::kCertified) << result.certificate.reason;
  EXPECT_GE(low, 0);
  EXPECT_LE(high, 1);
}

TEST(Extract, ProbabilitiesAreReadAsLogits) {
  const Network network = planted(20, 8, 3, 7);
  for (const bool logarithms : {false, true}) {
    const OraclePtr oracle = function_oracle(
        [&](const Eigen::Ref<const RowMatrix>& x) {
          RowMatrix y = evaluate(network, x);
          y.colwise() -= Vector(y.rowwise().maxCoeff());
          y.colwise() -= Vector(y.array().exp().rowwise().sum().log());
          return logarithms ? y : RowMatrix(y.array().exp());
        },
        20);
    const ExtractResult result = extract(oracle, {});
    EXPECT_EQ(result.certificate.status, Status::kCertified) << result.certificate.reason;
    EXPECT_EQ(result.reading, "logits");
    EXPECT_EQ(result.network.hidden(), 8);
  }
}

TEST(Extract, ProbabilitiesThatVanishInACornerOfTheBoxAreRefusedAtOnce) {
  Network network = planted(20, 8, 3, 7);
  network.A() *= 60;
  const OraclePtr oracle = function_oracle(
      [&](const Eigen::Ref<const RowMatrix>& x) {
        RowMatrix y = evaluate(network, x);
        y.colwise() -= Vector(y.rowwise().maxCoeff());
        const RowMatrix p = y.array().exp();
        return RowMatrix(Vector(p.rowwise().sum()).cwiseInverse().asDiagonal() * p);
      },
      20);
  ExtractOptions options;
  options.box = {-4, 4};
  const ExtractResult sure = extract(oracle, options);
  EXPECT_EQ(sure.certificate.status, Status::kRefused);
  EXPECT_NE(sure.certificate.reason.find("such as [-4, 0]"), std::string::npos) << sure.certificate.reason;
  EXPECT_LT(sure.queries, 1000);
  options.box = {-1, 1};
  const ExtractResult less = extract(oracle, options);
  EXPECT_EQ(less.certificate.status, Status::kCertified) << less.certificate.reason;
}

TEST(Extract, SinglePrecisionIsCertifiedToThatPrecision) {
  const Network n = planted(60, 10, 1, 11);
  const OraclePtr oracle = function_oracle(
      [&](const Eigen::Ref<const RowMatrix>& x) {
        Eigen::MatrixXf z = x.cast<float>() * n.W().transpose().cast<float>();
        z.rowwise() += n.b().transpose().cast<float>();
        Eigen::MatrixXf y = z.cwiseMax(0.0F) * n.A().transpose().cast<float>();
        y.rowwise() += n.c().transpose().cast<float>();
        return RowMatrix(y.cast<double>());
      },
      60);
  const ExtractResult result = extract(oracle, {});
  EXPECT_EQ(result.certificate.status, Status::kCertified) << result.certificate.reason;
  EXPECT_EQ(result.precision, "single precision");
  EXPECT_EQ(result.network.hidden(), 10);
  EXPECT_LT(align(n, result.network).worst_error, 1e-3);
}

// A network of two hidden layers computed in single precision: weights, sums and inputs.
RowMatrix in_single_precision(const std::vector<std::pair<Matrix, Vector>>& layers,
                              const Eigen::Ref<const RowMatrix>& x,
                              const std::function<Eigen::MatrixXf(const Eigen::MatrixXf&)>& unit) {
  Eigen::MatrixXf h = x.cast<float>();
  for (std::size_t l = 0; l < layers.size(); ++l) {
    Eigen::MatrixXf z = h * layers[l].first.transpose().cast<float>();
    z.rowwise() += layers[l].second.transpose().cast<float>();
    h = l + 1 < layers.size() ? unit(z) : z;
  }
  return h.cast<double>();
}
std::vector<std::pair<Matrix, Vector>> random_layers(const std::vector<Index>& widths, std::uint64_t seed) {
  std::vector<std::pair<Matrix, Vector>> out;
  for (std::size_t l = 0; l + 1 < widths.size(); ++l) {
    const Stream random(seed + l, "layers of a test");
    out.emplace_back(
        random.normal_matrix(widths[l + 1], widths[l]) / std::sqrt(static_cast<double>(widths[l])),
        0.3 * random.normal_matrix(widths[l + 1], 1).col(0));
  }
  return out;
}

TEST(Extract, TwoHiddenLayersOfSinglePrecision) {
  auto layers = random_layers({5, 8, 6, 2}, 4);
  // Every unit of the second layer is on at some inputs and off at others.
  RowMatrix inputs(1000, 5);
  Stream(4, "inputs of a test").fill_normal(0, inputs);
  const Matrix sums = (inputs * layers[0].first.transpose()).rowwise() + layers[0].second.transpose();
  layers[1].second = -(layers[1].first * sums.cwiseMax(0.0).colwise().mean().transpose());
  const OraclePtr oracle = function_oracle(
      [&](const Eigen::Ref<const RowMatrix>& x) {
        return in_single_precision(
            layers, x, [](const Eigen::MatrixXf& z) { return Eigen::MatrixXf(z.cwiseMax(0.0F)); });
      },
      5);
  const ExtractResult result = extract(oracle, {});
  EXPECT_EQ(result.certificate.status, Status::kCertified) << result.certificate.reason;
  EXPECT_EQ(result.precision, "single precision");
  ASSERT_EQ(result.network.depth(), 2U);
  EXPECT_EQ(result.network.layers[0].W.rows(), 8);
  EXPECT_EQ(result.network.layers[1].W.rows(), 6);
}

TEST(Extract, OthersAreToldInSinglePrecisionToo) {
  const auto layers = random_layers({6, 8, 8, 2}, 5);
  const auto refused = [&](const AnswerFunction& function) {
    const ExtractResult result = extract(function_oracle(function, 6), {});
    EXPECT_EQ(result.certificate.status, Status::kRefused);
    EXPECT_LE(result.queries, 1500);
    return result.certificate.reason;
  };
  EXPECT_NE(refused([&](const auto& x) {
              return in_single_precision(
                  layers, x, [](const Eigen::MatrixXf& z) { return Eigen::MatrixXf(z.array().tanh()); });
            }).find("curve"),
            std::string::npos);
  // Every number of four digits: half precision, about.
  EXPECT_NE(refused([&](const auto& x) {
              RowMatrix y = in_single_precision(
                  layers, x, [](const Eigen::MatrixXf& z) { return Eigen::MatrixXf(z.cwiseMax(0.0F)); });
              return RowMatrix((y.array() * 1000).round() / 1000);
            }).find("rounded"),
            std::string::npos);
}

TEST(Extract, OthersAreRefusedAfterAHundredQuestions) {
  const Network n = planted(20, 8, 3, 8);
  const auto refused = [&](const AnswerFunction& function) {
    const ExtractResult result = extract(function_oracle(function, 20), {});
    EXPECT_EQ(result.certificate.status, Status::kRefused);
    EXPECT_LE(result.queries, 150);
    return result.certificate.reason;
  };
  EXPECT_NE(refused([&](const auto& x) {
              return RowMatrix((x * n.W().transpose()).array().sign());
            }).find("labels"),
            std::string::npos);
  int call = 0;
  EXPECT_NE(refused([&](const auto& x) {
              return RowMatrix((evaluate(n, x).array() + 0.1 * ++call));
            }).find("same query"),
            std::string::npos);
  // Squares of such answers are no numbers.
  for (const double size : {1e300, 1e-310}) {
    EXPECT_NE(refused([&](const auto& x) {
                return RowMatrix((size * evaluate(n, x).array()));
              }).find(size > 1 ? "divide its outputs" : "multiply its outputs"),
              std::string::npos);
  }
}

TEST(Extract, TheLimitIsNeverPassed) {
  const Network network = planted(50, 10, 1, 9);
  for (const Index limit : {1, 100, 300, 700}) {
    Index asked = 0;
    const OraclePtr oracle = function_oracle(
        [&](const Eigen::Ref<const RowMatrix>& x) {
          asked += x.rows();
          return evaluate(network, x);
        },
        50);
    ExtractOptions options;
    options.queries = limit;
    const ExtractResult result = extract(oracle, options);
    EXPECT_EQ(result.certificate.status, Status::kRefused);
    EXPECT_LE(asked, limit);
    EXPECT_NE(result.certificate.reason.find("limit"), std::string::npos);
  }
}

TEST(Extract, GoesOnFromItsLogWithoutAskingAgain) {
  const TempDir folder;
  const Network network = planted(40, 10, 2, 10);
  ExtractOptions options;
  const ExtractResult whole = extract(network_oracle(network), options);
  for (const Index until : {50, 130, 400, 900}) {
    const auto path = folder / ("log" + std::to_string(until));
    options.log = path;
    options.resume = false;
    Index asked = 0, lost = 0;
    const auto counted = [&](Index most) {
      return function_oracle(
          [&asked, &lost, &network, most](const Eigen::Ref<const RowMatrix>& x) {
            if (asked + x.rows() > most) {
              lost += x.rows();
              throw Interrupted();
            }
            asked += x.rows();
            return evaluate(network, x);
          },
          40);
    };
    EXPECT_THROW((void)extract(counted(until), options), Interrupted);
    expect_refused<DataError>([&] { (void)extract(counted(1 << 20), options); }, {"exists"});
    options.resume = true;
    const ExtractResult result = extract(counted(1 << 20), options);
    EXPECT_EQ(result.certificate.status, Status::kCertified) << result.certificate.reason;
    EXPECT_EQ(asked, whole.queries + 8);      // some are asked again: is it the same oracle?
    EXPECT_EQ(result.queries, asked + lost);  // those count that were sent and not answered
    EXPECT_EQ(result.network.W(), whole.network.W());
    EXPECT_EQ(result.network.A(), whole.network.A());
    ExtractOptions other = options;
    other.seed = 1;
    expect_refused<DataError>([&] { (void)extract(counted(1 << 20), other); }, {"seed 0, now it is 1"});
  }
}

TEST(Extract, IsMadeAgainFromItsLogAndVerified) {
  const Network network = planted(30, 6, 2, 11);
  ExtractResult result = extract(network_oracle(network), {});
  const ExtractResult again = replay_extraction(result.log);
  EXPECT_EQ(again.network.W(), result.network.W());
  const Document document = make_document(result);
  for (const Finding& finding : check_extraction(document, result.network, result.log, {}).findings)
    EXPECT_EQ(finding.outcome, Outcome::kGood) << finding.part << ": " << finding.words;
  Network wrong = result.network;
  wrong.W()(0, 0) += 1e-5;
  bool caught = false;
  for (const Finding& finding : check_extraction(document, wrong, result.log, {}).findings)
    caught = caught || finding.bad();
  EXPECT_TRUE(caught);
}

TEST(Extract, WholeNumbersAreNotEnough) {
  const Matrix W = Stream(5, "W").normal_matrix(6, 4);
  const auto network = [&](const RowMatrix& x) {
    return RowMatrix((x * W.transpose()).cwiseMax(0.0).rowwise().sum());
  };
  const OraclePtr rounds = function_oracle(
      [&](const Eigen::Ref<const RowMatrix>& x) { return network(x.array().round().matrix()); }, 4);
  const OraclePtr fails = function_oracle(
      [&](const Eigen::Ref<const RowMatrix>& x) {
        if (x != RowMatrix(x.array().round().matrix())) throw DataError("pixels are whole numbers");
        return network(x);
      },
      4);
  for (const OraclePtr& oracle : {rounds, fails}) {
    const ExtractResult result = extract(oracle, {});
    EXPECT_EQ(result.certificate.status, Status::kRefused);
    EXPECT_NE(result.certificate.reason.find("whole numbers"), std::string::npos)
        << result.certificate.reason;
    EXPECT_LE(result.queries, 130);
  }
}

}  // namespace
}  // namespace exhume::extract_test
