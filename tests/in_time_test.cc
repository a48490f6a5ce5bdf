// Long work that the deadline may end in the middle.
#include "base/in_time.h"

#include <gtest/gtest.h>

#include "base/parallel.h"

namespace exhume::in_time_test {
namespace {

TEST(InTime, WithoutADeadlineEverythingIsInTime) {
  int done = 0;
  EXPECT_TRUE(finished_in_time(
      Control(), [&](const Control& control) { parallel_for(10, control, [&](Index) { ++done; }); }));
  EXPECT_EQ(done, 10);
}

TEST(InTime, TheDeadlineEndsAPass) {
  int done = 0;
  const Control late = Control().within(-1);
  EXPECT_FALSE(finished_in_time(
      late, [&](const Control& control) { parallel_for(10, control, [&](Index) { ++done; }); }));
  EXPECT_EQ(done, 0);
  // The deadline alone interrupts nothing: searches return their best.
  parallel_for(10, late, [&](Index) { ++done; });
  EXPECT_EQ(done, 10);
}

TEST(InTime, TheCallersInterruptionIsThrown) {
  Control control = Control().within(-1);
  control.should_stop = [] { return true; };
  const auto run = [&] { return finished_in_time(control, [](const Control& strict) { strict.check(); }); };
  EXPECT_THROW((void)run(), Interrupted);
}

}  // namespace
}  // namespace exhume::in_time_test
