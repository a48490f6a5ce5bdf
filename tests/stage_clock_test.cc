// Seconds by stage, held between readings of the same clock taken before and after.
#include "base/stage_clock.h"

#include <gtest/gtest.h>

namespace exhume::stage_clock_test {
namespace {

using Clock = std::chrono::steady_clock;

double between(Clock::time_point a, Clock::time_point b) {
  return std::chrono::duration<double>(b - a).count();
}

TEST(StageClock, HasNoLapsAtFirst) {
  const StageClock clock;
  EXPECT_TRUE(clock.laps().empty());
  EXPECT_GE(clock.seconds(), 0);
}

TEST(StageClock, ALapIsTheTimeSinceTheOneBefore) {
  const Clock::time_point before = Clock::now();
  StageClock clock;
  const Clock::time_point made = Clock::now();
  while (between(made, Clock::now()) < 1e-4) continue;  // so that a lap has a length to be wrong about
  const Clock::time_point first_from = Clock::now();
  clock.lap("first");
  const Clock::time_point first_to = Clock::now();
  while (between(first_to, Clock::now()) < 3e-4) continue;
  const Clock::time_point second_from = Clock::now();
  clock.lap("second");
  const Clock::time_point second_to = Clock::now();
  ASSERT_EQ(clock.laps().size(), 2U);
  EXPECT_EQ(clock.laps()[0].stage, "first");
  EXPECT_GE(clock.laps()[0].seconds, between(made, first_from));
  EXPECT_LE(clock.laps()[0].seconds, between(before, first_to));
  EXPECT_EQ(clock.laps()[1].stage, "second");
  EXPECT_GE(clock.laps()[1].seconds, between(first_to, second_from));
  EXPECT_LE(clock.laps()[1].seconds, between(first_from, second_to));
  EXPECT_GE(clock.seconds(), between(made, second_to));
}

TEST(StageClock, AStageThatComesAgainAddsToItsEntry) {
  const Clock::time_point before = Clock::now();
  StageClock clock;
  const Clock::time_point made = Clock::now();
  clock.lap("moments");
  clock.lap("polish");
  const double once = clock.laps()[0].seconds;
  const Clock::time_point again_from = Clock::now();
  while (between(again_from, Clock::now()) < 1e-4) continue;
  clock.lap("moments");
  clock.lap("");
  const Clock::time_point end = Clock::now();
  ASSERT_EQ(clock.laps().size(), 3U);
  EXPECT_EQ(clock.laps()[0].stage, "moments");  // in order of first appearance
  EXPECT_EQ(clock.laps()[1].stage, "polish");
  EXPECT_EQ(clock.laps()[2].stage, "");
  EXPECT_GE(clock.laps()[0].seconds, once + 1e-4);
  double sum = 0;
  for (const StageTime& lap : clock.laps()) sum += lap.seconds;
  constexpr double kRounding = 1e-12;  // of four conversions to seconds and their sum, far below a tick
  EXPECT_GE(sum, 1e-4);
  EXPECT_LE(sum, between(before, end) + kRounding);
  EXPECT_LE(sum, clock.seconds() + kRounding);
  EXPECT_LE(made, end);
}

}  // namespace
}  // namespace exhume::stage_clock_test
