// How a caller watches and steers long work. Nothing here waits for a clock.
#include "exhume/control.h"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <thread>
#include <vector>

#include "base/parallel.h"
#include "data/reduce.h"
#include "exhume/error.h"

namespace exhume::control_test {
namespace {

using Clock = Control::Clock;

TEST(Control, WorkersAreTheThreadsOrTheCores) {
  Control control;
  EXPECT_EQ(control.workers(), 1);
  control.threads = 3;
  EXPECT_EQ(control.workers(), 3);
  control.threads = 0;
  const int cores = static_cast<int>(std::thread::hardware_concurrency());  // 0 where it is not known
  EXPECT_EQ(control.workers(), std::max(1, cores));
}

TEST(Control, WithoutCallbacksNothingHappens) {
  const Control control;
  EXPECT_NO_THROW(control.check());
  EXPECT_NO_THROW(control.report("stage", 0.5));
  EXPECT_FALSE(control.out_of_time());
  EXPECT_EQ(control.seconds_left(), std::numeric_limits<double>::infinity());
}

TEST(Control, WorkThatIsSpentEndsASearchWhateverTheClockSays) {
  const Control control;
  const Control limited = control.within_work(100), narrower = limited.within_work(1000);
  control.spend(99);
  EXPECT_FALSE(narrower.out_of_time());
  narrower.spend(1);
  EXPECT_EQ(limited.spent(), 100);
  EXPECT_TRUE(limited.out_of_time());
  EXPECT_TRUE(narrower.out_of_time());  // a limit within a limit is the lesser of the two
  EXPECT_FALSE(control.out_of_time());
}

TEST(Control, CheckThrowsInterruptedOnceShouldStopSaysSo) {
  Control control;
  int asked = 0;
  control.should_stop = [&] { return ++asked > 2; };
  EXPECT_NO_THROW(control.check());
  EXPECT_NO_THROW(control.check());
  EXPECT_THROW(control.check(), Interrupted);
  EXPECT_EQ(asked, 3);
}

TEST(Control, ReportsWhatItIsGiven) {
  Control control;
  std::vector<std::pair<std::string, double>> seen;
  control.on_progress = [&](const Progress& progress) {
    seen.emplace_back(progress.stage, progress.fraction);
  };
  control.report("moments", 0.25);
  control.report("polish", 1);
  EXPECT_EQ(seen, (std::vector<std::pair<std::string, double>>{{"moments", 0.25}, {"polish", 1}}));
}

TEST(Control, TellsTheBestNetworkSoFar) {
  Control control;
  std::vector<std::pair<double, std::ptrdiff_t>> seen;
  control.on_progress = [&](const Progress& progress) { seen.emplace_back(progress.error, progress.units); };
  control.report("search", 0);
  control.best(0.5, 3);
  control.report("search", 0);
  control.within(10).best(0.25, 4);  // a copy speaks of the same work
  control.best(0.4, 9);
  control.report("search", 0);
  EXPECT_EQ(seen, (std::vector<std::pair<double, std::ptrdiff_t>>{{1, 0}, {0.5, 3}, {0.25, 4}}));
}

TEST(Control, TellsTheTimeThatIsLeft) {
  Control control;
  double left = 0;
  control.on_progress = [&](const Progress& progress) { left = progress.seconds_left; };
  control.report("search", 0);
  EXPECT_EQ(left, std::numeric_limits<double>::infinity());
  control.within(1000).report("search", 0);
  EXPECT_LE(left, 1000);
  EXPECT_GT(left, 0);
}

TEST(Control, ADeadlineThatHasPassedIsOutOfTime) {
  Control control;
  control.deadline = Clock::time_point::min() + std::chrono::hours(1);
  EXPECT_TRUE(control.out_of_time());
  control.deadline = Clock::now();
  EXPECT_TRUE(control.out_of_time()) << "the deadline itself is too late";
  EXPECT_LE(control.seconds_left(), 0);
  control.deadline = Clock::now() + std::chrono::hours(1000);
  EXPECT_FALSE(control.out_of_time());
  EXPECT_GT(control.seconds_left(), 0);
}

TEST(Control, WithinSetsADeadlineFromNow) {
  for (const double seconds : {100.0, 0.5, 0.0, -3.0}) {
    const Clock::time_point before = Clock::now();
    const Control limited = Control().within(seconds);
    const Clock::time_point after = Clock::now();
    const auto span = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    EXPECT_GE(limited.deadline, before + span) << seconds;
    EXPECT_LE(limited.deadline, after + span) << seconds;
    EXPECT_LE(limited.seconds_left(), seconds) << seconds;
  }
  EXPECT_TRUE(Control().within(0).out_of_time());
  EXPECT_TRUE(Control().within(-1).out_of_time());
}

TEST(Control, WithinNeverMovesADeadlineBack) {
  Control control;
  control.deadline = Clock::now() - std::chrono::seconds(1);
  for (const double seconds : {0.0, 100.0, 1e8, 1e9, std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(control.within(seconds).deadline, control.deadline) << seconds;
  }
  const Control endless;
  EXPECT_EQ(endless.within(std::numeric_limits<double>::infinity()).deadline, Clock::time_point::max());
  EXPECT_EQ(endless.within(1e300).deadline, Clock::time_point::max());
}

TEST(Control, WithinKeepsEverythingElse) {
  Control control;
  control.threads = 7;
  int reports = 0, asked = 0;
  control.on_progress = [&](const Progress&) { ++reports; };
  control.should_stop = [&] { return ++asked > 0; };
  const Control limited = control.within(5);
  EXPECT_EQ(limited.threads, 7);
  limited.report("stage", 0);
  EXPECT_EQ(reports, 1);
  EXPECT_THROW(limited.check(), Interrupted);
  EXPECT_EQ(asked, 1);
}

TEST(Control, AnotherThreadInterruptsTheWork) {
  for (const int threads : {1, 4}) {
    Control control;
    control.threads = threads;
    std::atomic<bool> stop{false}, begun{false};
    control.should_stop = [&] { return stop.load(); };
    std::thread other([&] {
      while (!begun) std::this_thread::yield();
      stop = true;
    });
    // Endless but for the interruption: every task waits until it has been asked for.
    std::atomic<Index> done{0};
    EXPECT_THROW(parallel_for(std::numeric_limits<Index>::max() / 2, control,
                              [&](Index) {
                                begun = true;
                                while (!stop) std::this_thread::yield();
                                ++done;
                              }),
                 Interrupted);
    EXPECT_LE(done, threads) << "a worker ends at its next check";
    other.join();
  }
}

TEST(Control, CallbacksComeOneAtATime) {
  Control control;
  control.threads = 6;
  std::atomic<int> inside{0};
  std::atomic<bool> overlapped{false};
  const auto enter = [&] {
    if (++inside > 1) overlapped = true;
    std::this_thread::yield();
    --inside;
  };
  control.on_progress = [&](const Progress&) { enter(); };
  control.should_stop = [&] {
    enter();
    return false;
  };
  const Control copy = control;  // copies share the lock: both may be in use at once
  parallel_for(2000, control, [&](Index i) { (i % 2 == 0 ? control : copy).report("stage", 0); });
  EXPECT_FALSE(overlapped);
}

SamplePtr some_rows(Index blocks) {
  return memory_samples(RowMatrix::Ones(blocks * 8, 1), RowMatrix::Ones(blocks * 8, 1));
}

struct Count {
  Index rows = 0;
  void merge(const Count& other) { rows += other.rows; }
};

// The fractions of a pass over 500 blocks.
std::vector<double> fractions(int threads) {
  Control control;
  control.threads = threads;
  std::vector<double> seen;
  control.on_progress = [&](const Progress& progress) {
    EXPECT_EQ(progress.stage, "counting");
    seen.push_back(progress.fraction);
    std::this_thread::yield();
  };
  const Count count = reduce_blocks(
      *some_rows(500), Count(), control, "counting",
      [](Count& to, const SampleBlock& block) { to.rows += block.rows(); }, 8);
  EXPECT_EQ(count.rows, 4000);
  return seen;
}

TEST(Control, ProgressOfOneThreadRisesToOne) {
  const std::vector<double> seen = fractions(1);
  ASSERT_EQ(seen.size(), 500U);
  for (size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], static_cast<double>(i + 1) / 500);
}

TEST(Control, ProgressOfManyThreadsNamesEveryBlockOnce) {
  std::vector<double> seen = fractions(6);
  std::sort(seen.begin(), seen.end());
  ASSERT_EQ(seen.size(), 500U);
  for (size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], static_cast<double>(i + 1) / 500);
}

// It was once so: reduce_blocks counts before it has the lock of report(), so a later count may
// overtake.
TEST(Control, ProgressOfManyThreadsNeverFalls) {
  for (int run = 0; run < 20; ++run) {
    const std::vector<double> seen = fractions(6);
    EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end())) << "run " << run;
  }
}

}  // namespace
}  // namespace exhume::control_test
