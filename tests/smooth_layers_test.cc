// Several hidden layers of smooth units: derivatives of the plain form, the search, and leaky units in single
// precision.
#include "fit/deep/smooth_layers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "base/random.h"
#include "extract/moves/sign_single_layer.h"
#include "fit/polish.h"
#include "model/form.h"

namespace exhume::smooth_layers_test {
namespace {

Form random_plain(const char* unit, std::uint64_t seed) {
  Form form;
  form.plain = true;
  form.inputs = 3;
  form.rectifier = std::make_shared<const Rectifier>(parse_rectifier(unit));
  form.V = {Stream(seed, "first").normal_matrix(4, 4), Stream(seed, "second").normal_matrix(2, 5)};
  form.C = Stream(seed, "third").normal_matrix(3, 2);
  return form;
}

TEST(SmoothLayers, DerivativesOfAPlainFormAreItsDifferences) {
  constexpr double kStep = 1e-6, kClose = 1e-7;
  for (const char* unit : {"tanh", "gelu", "softplus"}) {
    const Form form = random_plain(unit, 3);
    const RowMatrix x = Stream(4, "rows").normal_matrix(7, 3);
    const Matrix J = FormRows(form, x).jacobian(form.C.col(1));
    Index at = 0;
    for (std::size_t l = 0; l < form.depth(); ++l) {
      for (Index i = 0; i < form.V[l].rows(); ++i) {
        for (Index j = 0; j < form.V[l].cols(); ++j, ++at) {
          Form up = form, down = form;
          up.V[l](i, j) += kStep;
          down.V[l](i, j) -= kStep;
          const Vector slope = (evaluate(up, x) - evaluate(down, x)).col(1) / (2 * kStep);
          EXPECT_LT((slope - J.col(at)).cwiseAbs().maxCoeff(), kClose) << unit << " layer " << l;
        }
      }
    }
  }
}

TEST(SmoothLayers, ScalesOfSmoothUnitsStay) {
  Form form = random_plain("tanh", 5);
  const Form before = form;
  normalise(form);
  EXPECT_EQ(form.V[0], before.V[0]);
}

TEST(SmoothLayers, TwoLayersOfTanhAreFound) {
  const Form truth = [] {
    Form form = random_plain("tanh", 11);
    form.V[0] = Stream(11, "first").normal_matrix(3, 4);
    form.V[1] = Stream(11, "second").normal_matrix(3, 4);
    form.C = Stream(11, "third").normal_matrix(4, 1);
    return form;
  }();
  const RowMatrix x = Stream(12, "rows").normal_matrix(1500, 3);
  RowMatrix y = evaluate(truth, x);
  y.array() -= y.mean();
  y /= std::sqrt(y.squaredNorm() / static_cast<double>(y.size()));
  DeepSearchOptions options;
  options.depth = 2;
  options.widths = std::vector<Index>{3, 3};
  const DeepFound found = search_smooth_layers(*memory_samples(x, y), "tanh", options, Control());
  ASSERT_TRUE(found.exact);
  EXPECT_TRUE(found.minimal);
  EXPECT_EQ(found.form.widths(), (std::vector<Index>{3, 3}));
  EXPECT_LT((evaluate(found.form, x) - y).cwiseAbs().maxCoeff(), 1e-9);
}

// Answers in single precision leave weights known to 1e-6 or so, and slopes of 0.01 were taken for 0.
TEST(SmoothLayers, SlopesOfLeakyUnitsAreToldUnderCoarseWeights) {
  constexpr Index kInputs = 5, kUnits = 4, kOutputs = 2;
  constexpr double kCoarse = 1e-6, kSignTolerance = 0.05;
  for (const double slope : {0.0, 0.01, 0.2}) {
    const Matrix V = Stream(21, "units").normal_matrix(kUnits, kInputs + 1);
    const Matrix A = Stream(22, "outputs").normal_matrix(kUnits, kOutputs);
    SeparableModel model = one_layer(V);
    model.C = Matrix::Zero(kUnits + kInputs + 1, kOutputs);
    model.C.topRows(kUnits) = (1 - slope) / 2 * A;
    model.C.bottomRows(kInputs + 1) = (1 + slope) / 2 * V.transpose() * A;
    model.C += kCoarse * Stream(23, "errors").normal_matrix(model.C.rows(), kOutputs);
    const SignedNetwork found = resolve_network_signs(model, kSignTolerance);
    EXPECT_EQ(found.activation, slope == 0 ? "relu" : "leaky relu") << slope;
    EXPECT_NEAR(found.slope, slope, 1e-4);
  }
}

}  // namespace
}  // namespace exhume::smooth_layers_test
