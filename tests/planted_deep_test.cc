#include "data/planted_deep.h"

#include <gtest/gtest.h>

#include <cmath>

#include "certify/verify.h"
#include "data/planted.h"
#include "planted_data.h"
#include "random_deep.h"
#include "refusal.h"

namespace exhume::planted_deep_test {
namespace {

TEST(PlantedDeep, LayersAreDrawnAsStated) {
  const Network network = plant_deep({.inputs = 30, .widths = {80, 60}, .outputs = 3, .seed = 5});
  EXPECT_EQ(network.widths(), (std::vector<Index>{80, 60}));
  EXPECT_EQ(network.inputs(), 30);
  EXPECT_EQ(network.outputs(), 3);
  EXPECT_FALSE(network.has_skip_terms());
  for (Index i = 0; i < 80; ++i) EXPECT_NEAR(network.layers[0].W.row(i).norm(), 1, 1e-15);
  // Six standard deviations of the root mean square of N normal numbers, 1 / sqrt(2 N) each.
  const auto rms = [](const auto& m) { return m.norm() / std::sqrt(static_cast<double>(m.size())); };
  EXPECT_NEAR(rms(network.layers[1].W), std::sqrt(2.0 / 80), std::sqrt(2.0 / 80) * 6 / std::sqrt(2 * 4800.0));
  EXPECT_NEAR(rms(network.layers[0].b), 0.3, 0.3 * 6 / std::sqrt(160.0));
  EXPECT_NEAR(rms(network.layers[1].b), 0.3, 0.3 * 6 / std::sqrt(120.0));
  EXPECT_NEAR(rms(network.layers[2].W), 1, 6 / std::sqrt(360.0));
  EXPECT_EQ(network.layers[2].b.norm(), 0);
}

TEST(PlantedDeep, BiasesOfTheFirstLayerAreMeasuredAtTheCentre) {
  const PlantedDeepOptions at_zero{.inputs = 4, .widths = {6, 5}, .seed = 6};
  PlantedDeepOptions at_two = at_zero;
  at_two.centre = 2;
  const Network p = plant_deep(at_zero), q = plant_deep(at_two);
  EXPECT_LE((q.layers[0].W * Vector::Constant(4, 2) + q.layers[0].b - p.layers[0].b).cwiseAbs().maxCoeff(),
            1e-14);
  EXPECT_EQ(q.layers[1].b, p.layers[1].b);
}

TEST(PlantedDeep, Refusals) {
  const auto refuse = [](const PlantedDeepOptions& options, std::initializer_list<const char*> words) {
    expect_refused<std::invalid_argument>([&] { (void)plant_deep(options); }, words);
  };
  refuse({.inputs = 0}, {"inputs is 0"});
  refuse({.widths = {}}, {"widths is empty"});
  refuse({.widths = {3, 0}}, {"widths[1] is 0"});
  refuse({.outputs = 0}, {"outputs is 0"});
  refuse({.bias = -1}, {"bias is -1"});
  refuse({.centre = NAN}, {"centre is nan"});
}

TEST(PlantedDeep, SamplesAreTheNetworksAndDoNotDependOnTheBlock) {
  for (const bool skips : {false, true}) {
    const Network network = random_deep({4, 5, 3, 6, 2}, 7, skips);
    const SamplePtr samples =
        planted_samples(network, {.samples = 5000, .mean = 1, .condition = 4, .seed = 7});
    const SampleBlock whole = read(*samples, 0, 300);
    const RowMatrix y = evaluate(network, whole.x());
    EXPECT_LE((whole.y() - y).cwiseAbs().maxCoeff(), 1e-12 * y.cwiseAbs().maxCoeff());
    for (const Index first : {1, 17, 250}) {
      const SampleBlock part = read(*samples, first, 33);
      EXPECT_EQ(RowMatrix(part.y()), RowMatrix(whole.y().middleRows(first, 33)));
    }
    EXPECT_LE(verify(network, *samples).relative_mse, 1e-29);
  }
}

}  // namespace
}  // namespace exhume::planted_deep_test
