// How a search ends: by itself where it stalls, at the deadline where there is one.
#include "fit/unit_search.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

#include "base/random.h"
#include "exhume/network.h"

namespace exhume::unit_search_test {
namespace {

RowMatrix gaussian(Index rows, Index inputs, std::uint64_t seed) {
  RowMatrix x(rows, inputs);
  Stream(seed, "x").fill_normal(0, x);
  return x;
}

TEST(UnitSearch, StallsOnASmoothFunction) {
  const RowMatrix x = gaussian(600, 3, 1);
  const RowMatrix y = (x.cwiseAbs2().rowwise().sum().array() - 3).matrix() / std::sqrt(6.0);
  SearchOptions options;
  options.noise_is_final = false;
  options.most_restarts = 2;
  const SearchResult found = search_units(Matrix(0, 4), *memory_samples(x, y), options, {});
  EXPECT_NE(found.outcome, SearchOutcome::kExact);
  EXPECT_TRUE(found.stalled);
  EXPECT_FALSE(found.out_of_time);
  EXPECT_GT(found.last_improvement, 0);
  EXPECT_LE(found.last_improvement, 1);
}

TEST(UnitSearch, ANetworkNeitherStallsNorRunsOutOfTime) {
  Network network;
  network.W() = Stream(2, "W").normal_matrix(3, 3).rowwise().normalized();
  network.b() = Vector::Zero(3);
  network.A() = Matrix::Ones(1, 3);
  network.c() = Vector::Zero(1);
  const RowMatrix x = gaussian(1000, 3, 2);
  const SearchResult found =
      search_units(Matrix(0, 4), *memory_samples(x, evaluate(network, x)), SearchOptions(), {});
  EXPECT_EQ(found.outcome, SearchOutcome::kExact);
  EXPECT_FALSE(found.stalled);
  EXPECT_FALSE(found.out_of_time);
}

// One step of this polish takes longer than the time there is.
TEST(UnitSearch, TheDeadlineEndsAStep) {
  const RowMatrix x = gaussian(20000, 30, 3);
  const RowMatrix y = x.cwiseAbs2().rowwise().sum() / 60;
  const auto begin = std::chrono::steady_clock::now();
  const SearchResult found = search_units(Stream(3, "V").normal_matrix(60, 31), *memory_samples(x, y),
                                          SearchOptions(), Control().within(0.5));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_TRUE(found.out_of_time);
  EXPECT_FALSE(found.stalled);
  EXPECT_LT(seconds, 30);  // a minute and more without; generous, for busy machines
}

}  // namespace
}  // namespace exhume::unit_search_test
