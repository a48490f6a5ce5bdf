#include "routes/expected_cost.h"

#include <gtest/gtest.h>

namespace exhume::expected_cost_test {
namespace {

// Two threads of a processor on which the figures of docs/scaling.md were measured.
ProblemSize on_two_cores(Index rows, Index inputs, Index outputs) {
  return {.rows = rows,
          .inputs = inputs,
          .outputs = outputs,
          .hidden = std::nullopt,
          .threads = 2,
          .thread_flops = 8e10};
}

TEST(ExpectedCost, IsWithinAFactorOfThreeOfWhatWasMeasured) {
  struct Measured {
    ProblemSize problem;
    double seconds;
  };
  ProblemSize device = on_two_cores(1'000'000, 128, 10);
  device.threads = 16;
  device.device = true;
  for (const Measured& measured : {Measured{on_two_cores(100'000, 30, 1), 2.2},
                                   Measured{on_two_cores(300'000, 64, 1), 26.0}, Measured{device, 11.0}}) {
    const double expected = expected_cost(measured.problem).seconds;
    EXPECT_LT(expected, 3 * measured.seconds);
    EXPECT_GT(expected, measured.seconds / 3);
  }
}

// 784 inputs, 10 outputs and a million rows were recovered there; the normal matrix of as many units as
// directions is never formed.
TEST(ExpectedCost, LargeNormalMatricesAreNotCounted) {
  ProblemSize digits = on_two_cores(1'000'000, 784, 10);
  digits.device = true;
  EXPECT_LT(expected_cost(digits).device_bytes, 139e9);
}

TEST(ExpectedCost, GrowsWithEverything) {
  const ProblemSize small = on_two_cores(100'000, 30, 1);
  const double least = expected_cost(small).seconds;
  for (const ProblemSize& larger :
       {on_two_cores(200'000, 30, 1), on_two_cores(100'000, 40, 1), on_two_cores(100'000, 30, 3)}) {
    EXPECT_GT(expected_cost(larger).seconds, least);
    EXPECT_GE(expected_cost(larger).bytes, 0);
  }
  ProblemSize empty;
  EXPECT_GE(expected_cost(empty).seconds, 0);
  EXPECT_GT(measured_thread_flops(), 1e8);
}

}  // namespace
}  // namespace exhume::expected_cost_test
