// Oracles, their meter and their log: counts, limits, answers that are none, logs that were cut or changed.
#include <gtest/gtest.h>

#include "base/random.h"
#include "exhume/error.h"
#include "oracle/command_oracle.h"
#include "oracle/logged_samples.h"
#include "oracle/meter.h"
#include "refusal.h"
#include "temp_dir.h"

namespace exhume::oracle_test {
namespace {

OraclePtr sums(Index inputs) {
  return function_oracle([](const Eigen::Ref<const RowMatrix>& x) { return RowMatrix(x.rowwise().sum()); },
                         inputs, "sums", 7);
}

TEST(Frame, DirectionsAreOrthonormal) {
  constexpr double kRounding = 1e-13;
  for (const Index d : {1, 2, 7, 64}) {
    const Frame frame(d, std::min<Index>(3, d), 5, {});
    const Matrix B = frame.directions(0, d);
    EXPECT_LT((B * B.transpose() - Matrix::Identity(d, d)).cwiseAbs().maxCoeff(), kRounding) << d;
  }
}

TEST(Frame, AnInputIsTheSameInEveryBatch) {
  for (const Index d : {14, 37, 200}) {
    const Frame frame(d, 10, 5, {});
    const RowMatrix u = 100 * Stream(1, "u").normal_matrix(33, 10);
    const RowMatrix together = frame.points_within(u);
    for (Index i = 0; i < u.rows(); ++i) {
      EXPECT_EQ(frame.points_within(u.row(i)), together.row(i)) << d << " " << i;
      EXPECT_EQ(frame.points_within(u.bottomRows(33 - i)).row(0), together.row(i)) << d << " " << i;
    }
  }
}

TEST(Frame, ReachEndsAtTheBox) {
  const Frame frame(50, 4, 3, {0, 1});
  const Vector u = Vector::Zero(4), v = Vector::Unit(4, 1);
  const double t = frame.reach_within(u, v);
  RowMatrix at = (t * v).transpose();
  const RowMatrix x = frame.points(in_subspace(at));
  EXPECT_GE(x.minCoeff(), 0);
  EXPECT_LE(x.maxCoeff(), 1);
  EXPECT_TRUE(x.minCoeff() < 1e-12 || x.maxCoeff() > 1 - 1e-12);
  expect_refused<std::invalid_argument>([] { Box{1, 0}.validate(); }, {"no box"});
  expect_refused<std::invalid_argument>(
      [] {
        Box{0, std::numeric_limits<double>::infinity()}.validate();
      },
      {"no box"});
}

RowMatrix different(Index rows, std::uint64_t seed) { return Stream(seed, "rows").normal_matrix(rows, 2); }

TEST(Meter, QuestionsThatWereAnsweredAreNotSentAgain) {
  const Frame frame(5, 2, 1, {});
  QueryLog log("{}");
  Control control;
  Meter meter(sums(5), frame, 0, log, {}, control);
  const RowMatrix u = different(6, 1), answers = meter.ask(QueryStage::kKinks, in_subspace(u));
  RowMatrix some(4, 2);
  some << u.row(3), different(1, 2), u.row(0), u.row(3);
  const RowMatrix again = meter.ask(QueryStage::kPlanes, in_subspace(some));
  EXPECT_EQ(again.row(0), answers.row(3));
  EXPECT_EQ(again.row(2), answers.row(0));
  EXPECT_EQ(again.row(3), answers.row(3));
  EXPECT_EQ(meter.asked(), 7);
  // A query twice in one batch is one; in another turn of the frame it is another.
  RowMatrix twice(2, 2);
  twice << Eigen::RowVector2d(7, 7), Eigen::RowVector2d(7, 7);
  const RowMatrix both = meter.ask(QueryStage::kColumns, in_subspace(twice));
  EXPECT_EQ(both.row(0), both.row(1));
  EXPECT_EQ(meter.asked(), 8);
  const Frame turned = frame.turned(1);
  (void)meter.ask(QueryStage::kFresh, in_subspace(u, turned.turn()));
  EXPECT_EQ(meter.asked(), 14);
  // Unless it is to see whether the oracle answers alike.
  (void)meter.ask_again(QueryStage::kSearch, in_subspace(u));
  EXPECT_EQ(meter.asked(), 20);
}

TEST(QueryStage, IsKnownByItsName) {
  for (int i = 0; i <= static_cast<int>(QueryStage::kAgain); ++i) {
    const auto stage = static_cast<QueryStage>(i);
    EXPECT_EQ(query_stage(to_string(stage)), stage);
  }
  EXPECT_FALSE(query_stage("no stage").has_value());
}

TEST(Meter, CountsByStageAndStopsAtTheLimit) {
  const Frame frame(5, 2, 1, {});
  QueryLog log("{}");
  Control control;
  Meter meter(sums(5), frame, 20, log, {}, control);
  EXPECT_EQ(meter.ask(QueryStage::kKinks, in_subspace(different(12, 1))).rows(), 12);
  EXPECT_EQ(meter.asked(), 12);
  EXPECT_THROW((void)meter.ask(QueryStage::kPlanes, in_subspace(different(9, 2))), OutOfQueries);
  EXPECT_EQ(meter.asked(), 12);
  EXPECT_EQ(meter.ask(QueryStage::kPlanes, in_subspace(different(8, 3))).cols(), 1);
  EXPECT_EQ(meter.left(), 0);
  ASSERT_EQ(meter.stages().size(), 2u);
  EXPECT_EQ(meter.stages()[1].queries, 8);
}

TEST(Meter, AnswersThatAreNoneAreNamed) {
  const Frame frame(3, 2, 1, {});
  Control control;
  const auto ask = [&](const AnswerFunction& function) {
    QueryLog log("{}");
    Meter meter(function_oracle(function, 3, "it"), frame, 0, log, {}, control);
    (void)meter.ask(QueryStage::kProbe, in_subspace(different(4, 1)));
  };
  expect_refused<DataError>([&] { ask([](const auto&) { return RowMatrix::Zero(3, 1); }); },
                            {"it gave 3 rows", "4 queries"});
  expect_refused<DataError>(
      [&] { ask([](const auto& x) { return RowMatrix::Constant(x.rows(), 2, std::nan("")); }); },
      {"query 1", "nan"});
}

TEST(Meter, FaultsAreAskedAgainAndCounted) {
  const Frame frame(3, 2, 1, {});
  Control control;
  QueryLog log("{}");
  int calls = 0;
  Meter meter(function_oracle(
                  [&](const Eigen::Ref<const RowMatrix>& x) {
                    if (++calls == 1) throw OracleFault("busy");
                    return RowMatrix(x.leftCols(1));
                  },
                  3),
              frame, 0, log, {}, control);
  EXPECT_EQ(meter.ask(QueryStage::kProbe, in_subspace(different(4, 1))).rows(), 4);
  EXPECT_EQ(meter.asked(), 8);
  EXPECT_EQ(parse_query_log(log.bytes(), "log").lost, 4);
}

TEST(QueryLog, ComesBackBitForBitAndIsGoneOnFrom) {
  const TempDir folder;
  const auto path = folder / "q.log";
  const Frame frame(5, 2, 1, {});
  Control control;
  RowMatrix first(6, 2), second(3, 2);
  Stream(1, "u").fill_normal(0, first);
  Stream(2, "u").fill_normal(0, second);
  RowMatrix answers;
  {
    QueryLog log(R"({"seed": 1})", path);
    Meter meter(sums(5), frame, 0, log, {}, control);
    answers = meter.ask(QueryStage::kKinks, in_subspace(first));
  }
  LogContents contents = read_query_log(path);
  ASSERT_EQ(contents.blocks.size(), 1u);
  EXPECT_EQ(contents.blocks[0].answers, answers);
  EXPECT_EQ(contents.header, R"({"seed": 1})");
  {
    QueryLog log(path, contents);
    Meter meter(sums(5), frame, 10, log, contents, control);
    EXPECT_EQ(meter.ask(QueryStage::kKinks, in_subspace(first)), answers);
    EXPECT_EQ(meter.sent(), 0);
    (void)meter.ask(QueryStage::kPlanes, in_subspace(second));
    EXPECT_EQ(meter.sent(), 3);
    EXPECT_EQ(meter.asked(), 9);
    EXPECT_THROW((void)meter.ask(QueryStage::kColumns, in_subspace(different(2, 3))), OutOfQueries);
  }
  contents = read_query_log(path);
  EXPECT_EQ(contents.blocks.size(), 2u);
  // Other queries than the logged ones are refused.
  QueryLog log(path, contents);
  Meter meter(sums(5), frame, 0, log, contents, control);
  expect_refused<DataError>([&] { (void)meter.ask(QueryStage::kKinks, in_subspace(second)); },
                            {"other queries"});
}

TEST(QueryLog, AnEndThatWasCutIsDroppedAndAChangeIsRefused) {
  const Frame frame(5, 2, 1, {});
  Control control;
  QueryLog log("{}");
  Meter meter(sums(5), frame, 0, log, {}, control);
  (void)meter.ask(QueryStage::kKinks, in_subspace(different(6, 1)));
  const std::size_t whole = log.bytes().size();
  (void)meter.ask(QueryStage::kPlanes, in_subspace(different(2, 2)));
  const std::string& bytes = log.bytes();
  for (std::size_t cut = whole; cut < bytes.size(); ++cut) {
    const LogContents contents = parse_query_log(bytes.substr(0, cut), "log");
    EXPECT_EQ(contents.blocks.size(), 1u) << cut;
    EXPECT_EQ(contents.kept + contents.dropped, cut);
  }
  EXPECT_EQ(parse_query_log(bytes, "log").digest, log.digest());
  for (const std::size_t at : {std::size_t{30}, whole - 40, bytes.size() - 50}) {
    std::string changed = bytes;
    changed[at] ^= 1;
    EXPECT_THROW((void)parse_query_log(changed, "log"), DataError) << at;
  }
  expect_refused<DataError>([] { (void)parse_query_log("nothing", "log"); }, {"log is not a log"});
}

TEST(QueryLog, DifferencesOfOptionsAreNamed) {
  EXPECT_EQ(header_difference(R"({"seed":1})", R"({"seed":1})", "the log"), "");
  EXPECT_NE(header_difference(R"({"seed":1})", R"({"seed":2})", "the log").find("seed 1, now it is 2"),
            std::string::npos);
}

TEST(LoggedSamples, AreTheQuestionsAsInputs) {
  auto frame = std::make_shared<const Frame>(5, 2, 1, Box());
  Control control;
  QueryLog log("{}");
  Meter meter(sums(5), *frame, 0, log, {}, control);
  (void)meter.ask(QueryStage::kKinks, in_subspace(different(6, 1)));
  RowMatrix constants(3, 5);  // different ones: what was asked before is not asked again
  constants << RowMatrix::Constant(1, 5, 1), RowMatrix::Constant(1, 5, 2), RowMatrix::Constant(1, 5, 3);
  (void)meter.ask(QueryStage::kPlanes, plain_rows(constants));
  const SamplePtr samples = logged_samples(frame, meter.history());
  ASSERT_EQ(samples->rows(), 9);
  SampleBlock block;
  samples->read(4, 4, block);
  for (Index i = 0; i < 4; ++i) EXPECT_NEAR(block.x().row(i).sum(), block.y()(i, 0), 1e-14);
  EXPECT_EQ(block.y()(3, 0), 10);
}

TEST(CommandOracle, TextThereAndBack) {
  CommandOptions options;
  options.inputs = 3;
  options.text = true;
  const OraclePtr oracle = command_oracle("cat", options);
  RowMatrix x(2, 3);
  x << 0.1, -2, 3e-300, 4, 5, 1.0 / 3;
  EXPECT_EQ(oracle->answer(x, {}), x);
  EXPECT_EQ(oracle->answer(x.topRows(1), {}), x.topRows(1));
}

TEST(CommandOracle, FailuresAreOneSentence) {
  CommandOptions options;
  options.inputs = 3;
  options.timeout_seconds = 0.5;
  const RowMatrix x = RowMatrix::Ones(2, 3);
  const auto ask = [&](const char* command, bool text) {
    options.text = text;
    (void)command_oracle(command, options)->answer(x, {});
  };
  expect_refused<DataError>([&] { ask("exit 3", false); }, {"status 3"});
  expect_refused<DataError>([&] { ask("kill -9 $$", false); }, {"signal 9"});
  expect_refused<DataError>([&] { ask("sleep 5", false); }, {"within 0.5 seconds"});
  expect_refused<DataError>([&] { ask("no-such-program-here 2>/dev/null", false); }, {"status 127"});
  expect_refused<DataError>([&] { ask("echo hello; sleep 5", false); }, {"'hello'"});
  expect_refused<DataError>([&] { ask(R"(echo '{"rows": 1, "outputs": 1}'; sleep 5)", false); },
                            {"1 rows to 2"});
  expect_refused<DataError>([&] { ask("echo 1,2; echo 3; sleep 5", true); }, {"line 2"});
  expect_refused<DataError>([&] { ask("echo 1,x; echo 1,2; sleep 5", true); }, {"no row of numbers"});
  expect_refused<std::invalid_argument>([&] { ask("", false); }, {"empty"});
}

}  // namespace
}  // namespace exhume::oracle_test
