// Sums that travel from site to site by hand: moments to start from, and a polish by rounds.
#include <gtest/gtest.h>

#include <limits>

#include <vector>

#include "base/random.h"
#include "data/views.h"
#include "exhume/error.h"
#include "exhume/network.h"
#include "exhume/recover.h"
#include "fit/partial_sums.h"
#include "moments/partial_moments.h"
#include "planted_data.h"
#include "refusal.h"
#include "routes/depth2.h"

namespace exhume::partial_test {
namespace {

struct Sites {
  Network network;
  SamplePtr all;
  std::vector<SamplePtr> parts;
};

Sites sites(Index d, Index k, Index m, const std::vector<Index>& rows) {
  Index total = 0;
  for (const Index n : rows) total += n;
  PlantedData data = planted_data(d, k, m, total, 5);
  // Away from the origin, and on other scales than one.
  for (Index a = 0; a < d; ++a) data.x.col(a) = (data.x.col(a) * (1.0 + a)).array() + 10.0 * a;
  data.network.W() = data.network.W() * Vector::LinSpaced(d, 1, d).cwiseInverse().asDiagonal();
  data.network.b() -= data.network.W() * (10 * Vector::LinSpaced(d, 0, d - 1));
  Sites out{data.network, memory_samples(data.x, data.y), {}};
  Index first = 0;
  for (const Index n : rows) {
    out.parts.push_back(row_range(out.all, first, n));
    first += n;
  }
  return out;
}

TEST(PartialMoments, MergedTheyAreThoseOfAllRows) {
  const Sites here = sites(4, 3, 2, {3'000, 1'001, 7'500});
  PartialMoments merged = partial_moments(here.parts[0], 4, nullptr, {});
  const PartialMoments frame = merged;
  for (std::size_t i = 1; i < here.parts.size(); ++i) {
    const std::string travelled = partial_moments(here.parts[i], 4, &frame, {}).serialise();
    merged.merge(PartialMoments::deserialise(travelled, "part"));
  }
  const PartialMoments whole = partial_moments(here.all, 4, &frame, {});
  EXPECT_EQ(merged.rows(), 11'501);
  for (int order = 2; order <= 4; ++order) {
    const Matrix gap = merged.hermite.estimate(order) - whole.hermite.estimate(order);
    EXPECT_LT(gap.norm(), 1e-3 * whole.hermite.estimate(order).norm()) << order;  // other rows are even
  }
  EXPECT_LT((merged.second.covariance_x() - whole.second.covariance_x()).norm(), 1e-9);
}

TEST(PartialMoments, OtherFramesOrdersAndChangedBytesAreRefused) {
  const Sites here = sites(3, 2, 2, {3'000, 3'000});
  PartialMoments first = partial_moments(here.parts[0], 3, nullptr, {});
  expect_refused<DataError>([&] { first.merge(partial_moments(here.parts[1], 3, nullptr, {})); }, {"frames"});
  expect_refused<DataError>([&] { first.merge(partial_moments(here.parts[1], 2, &first, {})); },
                            {"orders 3 and 2"});
  expect_refused<DataError>([&] { (void)partial_moments(row_range(here.all, 0, 20), 4, nullptr, {}); },
                            {"too few"});
  std::string bytes = first.serialise();
  bytes[bytes.size() / 2] ^= 1;
  expect_refused<DataError>([&] { (void)PartialMoments::deserialise(bytes, "part0"); }, {"part0", "changed"});
  expect_refused<DataError>([&] { (void)PartialMoments::deserialise("nothing", "part0"); }, {"no moments"});
}

TEST(PartialMoments, AStartFromAllSitesIsPolishedOnOne) {
  const Sites here = sites(8, 8, 1, {5'000, 100'000, 100'000});
  PartialMoments merged = partial_moments(here.parts[0], 4, nullptr, {});
  const PartialMoments frame = merged;
  for (std::size_t i = 1; i < here.parts.size(); ++i)
    merged.merge(partial_moments(here.parts[i], 4, &frame, {}));
  RecoverOptions options;
  options.route = "depth2";
  options.units = moments_start(merged, {}, {}).V;
  EXPECT_GE(options.units->rows(), 6);
  const Result result = recover(here.parts[0], options, {});
  EXPECT_EQ(result.certificate.status, Status::kCertified) << result.certificate.reason;
  EXPECT_LT(align(result.network, here.network).worst_error, 1e-9);
}

TEST(PartialSums, RoundsOfSumsPolishToRounding) {
  const Sites here = sites(5, 4, 2, {2'000, 3'333, 4'000});
  Network network = here.network;
  const Stream random(3, "a rough guess");
  network.W() +=
      0.02 * random.normal_matrix(network.W().rows(), network.W().cols()).cwiseProduct(network.W());
  network.A() += 0.02 * random.normal_matrix(network.A().rows(), network.A().cols());
  std::vector<double> left;
  for (int round = 0; round < 8; ++round) {
    PartialSums sums = partial_sums(network, here.parts[0], {});
    for (std::size_t i = 1; i < here.parts.size(); ++i) {
      const std::string travelled = partial_sums(network, here.parts[i], {}).serialise();
      sums.merge(PartialSums::deserialise(travelled, "part"));
    }
    left.push_back(sums.relative_mse());
    network = stepped(network, sums, 1e-6);
  }
  EXPECT_GT(left.front(), 1e-6);
  EXPECT_LT(left.back(), 1e-26);
  EXPECT_LT(align(network, here.network).worst_error, 1e-9);
}

TEST(PartialSums, OtherNetworksAndFewRowsAreRefused) {
  const Sites here = sites(3, 2, 1, {2'000, 2'000});
  PartialSums sums = partial_sums(here.network, here.parts[0], {});
  Network other = here.network;
  other.b()(0) += 1e-9;
  expect_refused<DataError>([&] { sums.merge(partial_sums(other, here.parts[1], {})); },
                            {"different networks"});
  expect_refused<DataError>([&] { (void)stepped(other, sums, 0); }, {"another network"});
  expect_refused<DataError>([&] { (void)partial_sums(other, row_range(here.all, 0, 10), {}); }, {"too few"});
}

// Whoever edits a file of sums renews its digest: shapes and numbers are looked at too.
TEST(PartialSums, ChangedAndSealedAgainTheyAreRefused) {
  const Sites here = sites(3, 2, 1, {2'000});
  const PartialSums sums = partial_sums(here.network, here.parts[0], {});
  const auto refused = [&](PartialSums other, const char* words) {
    expect_refused<DataError>([&] { (void)PartialSums::deserialise(other.serialise(), "part0"); },
                              {"part0", words});
  };
  PartialSums other = sums;
  other.FF(0, 0) = std::numeric_limits<double>::quiet_NaN();
  refused(other, "no rows have");
  other = sums;
  other.rows = 0;
  refused(other, "no rows have");
  other = sums;
  other.gradient.resize(sums.gradient.rows() + 1, sums.gradient.cols());
  refused(other, "shapes");
  // Sums of another shape that name this network.
  const Sites wide = sites(4, 3, 1, {2'000});
  other = partial_sums(wide.network, wide.parts[0], {});
  other.network = sums.network;
  expect_refused<DataError>([&] { (void)stepped(here.network, other, 0); }, {"other shapes"});
  PartialSums merged = sums;
  expect_refused<DataError>([&] { merged.merge(other); }, {"different shapes"});
}

}  // namespace
}  // namespace exhume::partial_test
