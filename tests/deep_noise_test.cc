#include <gtest/gtest.h>

#include "fit/deep/finish.h"
#include "fit/errors.h"
#include "planted_deep_rows.h"

namespace exhume::deep_noise_test {
namespace {

constexpr double kNoiseShare = 0.05;  // standard deviation of the noise, outputs of variance 1

RowMatrix noisy(const Planted& planted, std::uint64_t seed) {
  return planted.y +
         kNoiseShare * RowMatrix(Stream(seed, "noise").normal_matrix(planted.y.rows(), planted.y.cols()));
}

Network fitted(const Planted& planted, const RowMatrix& y) {
  const Form start = to_plain_form(planted.network);
  return canonical(to_network(polish(start, DeepData(planted.x, y), noisy_polish(), {}).form));
}

// Standard errors are the spread of the weights over draws of the noise.
TEST(DeepNoise, StandardErrorsAreTheSpreadOfTheFits) {
  constexpr int kDraws = 60;
  const Planted planted = lively({4, 4, 3, 2}, 3000, 81);
  const Network truth = canonical(planted.network);
  const Vector weights = Vector::Ones(2);
  Vector squares, stated;
  const auto entries = [](const Network& network) {
    Vector all(network.parameters());
    Index at = 0;
    for (const Layer& layer : network.layers) {
      all.segment(at, layer.W.size()) = layer.W.reshaped();
      all.segment(at + layer.W.size(), layer.b.size()) = layer.b;
      at += layer.W.size() + layer.b.size();
    }
    return all;
  };
  int used = 0;
  for (int i = 0; i < kDraws; ++i) {
    const RowMatrix y = noisy(planted, 100 + static_cast<std::uint64_t>(i));
    const Network now = fitted(planted, y);
    const Alignment pairs = align(now, truth);
    // Only fits whose units stand in the truth's order are compared entry by entry.
    bool same = pairs.comparable;
    for (const std::vector<Index>& layer : pairs.match)
      for (std::size_t j = 0; j < layer.size(); ++j) same = same && layer[j] == static_cast<Index>(j);
    if (!same) continue;
    const Network errors = weight_errors(now, DeepData(planted.x, y), planted.x.rows(), weights, {});
    ASSERT_FALSE(errors.layers.empty());
    const Vector off = (entries(now) - entries(truth)).cwiseAbs2();
    const Vector expected = entries(errors).cwiseAbs2();
    squares = used == 0 ? off : Vector(squares + off);
    stated = used == 0 ? expected : Vector(stated + expected);
    ++used;
  }
  ASSERT_GE(used, kDraws / 2);
  // Over all weights, and for most of them singly: a variance of 60 draws is known to 20%.
  const Vector ratio = squares.cwiseQuotient(stated);
  EXPECT_NEAR(squares.sum() / stated.sum(), 1, 0.25);
  EXPECT_GT((ratio.array() > 0.5 && ratio.array() < 1.8).cast<double>().mean(), 0.9);
}

TEST(DeepNoise, UnitsThatChanceExplainsGo) {
  const Planted planted = lively({4, 4, 3, 2}, 6000, 83);
  Form wide = to_sign_free_form(planted.network);
  normalise(wide);
  // Two units too many in the first layer.
  wide.V[0].conservativeResize(6, Eigen::NoChange);
  wide.V[0].bottomRows(2) = Stream(84, "idle").normal_matrix(2, 5);
  Matrix second(3, wide.V[1].cols() + 2);
  second << wide.V[1].leftCols(4), 0.01 * Stream(85, "idle").normal_matrix(3, 2), wide.V[1].rightCols(5);
  wide.V[1] = second;
  wide.C.resize(0, 0);
  DeepData data(planted.x, noisy(planted, 86));
  const auto none = [](const Form&) { return 0.0; };
  const std::optional<DeepFound> found = finish_in_noise(wide, data, none, {});
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->noise && found->plain && found->minimal);
  EXPECT_EQ(found->form.widths(), (std::vector<Index>{4, 3}));
  EXPECT_LT(align(canonical(to_network(found->form)), canonical(planted.network)).worst_error, 0.1);
  // Where structure is left nothing is returned.
  EXPECT_FALSE(finish_in_noise(wide, data, [](const Form&) { return 10.0; }, {}));
}

}  // namespace
}  // namespace exhume::deep_noise_test
