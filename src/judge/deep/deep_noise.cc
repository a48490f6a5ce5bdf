#include "judge/deep/deep_noise.h"

#include <algorithm>

#include "fit/errors.h"
#include "fit/polish.h"

namespace exhume {
namespace {

constexpr double kErrorFlops = 4e11;  // that the products of all slopes may cost

}  // namespace

ResidualLook look_at_deep_residual(const DeepForm& form, const SamplePtr& standard, const Control& control) {
  const SamplePtr residual = with_outputs(
      standard,
      [form](const Eigen::Ref<const RowMatrix>& x, RowMatrix& y) { y = (y - evaluate(form, x)).eval(); });
  Form units = one_layer(form.V.front());
  // The fit saw other rows too: on these, what is left is not yet free of the features of its units.
  fit_linear_part(units, *residual, {}, control);
  return look_at_residual(units, residual, control);
}

Network errors_in_noise(const Network& network, Prepared& data, const Control& control) {
  const SamplePtr& training = data.training();
  const auto p = static_cast<double>(network.parameters());
  const double rows = kErrorFlops / (p * p * static_cast<double>(network.outputs()));
  const Index count =
      std::min(training->rows(), std::max<Index>(static_cast<Index>(rows), 20 * network.parameters()));
  const SamplePtr some = count < training->rows() ? spread_subset(*training, count) : load(*training);
  SampleBlock block;
  some->read(0, some->rows(), block);
  const Vector weights = data.coordinates().map.D.cwiseAbs2();
  return weight_errors(network, {block.x(), block.y()}, training->rows(), weights, control);
}

}  // namespace exhume
