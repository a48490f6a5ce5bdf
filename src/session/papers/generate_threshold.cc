#include <numbers>
#include <stdexcept>

#include "papers/threshold/models.h"
#include "session/generate.h"

namespace exhume {

Generated plant_threshold_layer(const GenerateOptions& options, const Control& control) {
  const ThresholdLayerOptions& layer = *options.threshold;
  ThresholdPlan plan;
  plan.inputs = options.inputs.value_or(10);
  plan.hidden = options.hidden.value_or(10);
  plan.activation = parse_unit_activation(layer.activation);
  plan.threshold = layer.threshold;
  plan.threshold_spread = layer.threshold_spread;
  plan.least_angle = layer.least_angle < 0 ? -1 : layer.least_angle * std::numbers::pi / 180;
  plan.upper = parse_upper(layer.upper);
  plan.seed = options.seed;
  const ThresholdModel model = plant(plan);
  Generated made;
  made.units.emplace();
  made.units->add("W", model.W);
  made.units->add("t", model.t);
  made.units->metadata = {{"activation", layer.activation}, {"upper", layer.upper}};
  if (layer.biased && (options.noise > 0 || layer.flips > 0))
    throw std::invalid_argument("biased keeps rows by their outputs, so noise and flips must be 0");
  made.samples = layer.biased ? biased_samples(model, options.samples, options.seed, 0, control)
                              : threshold_samples(model, {.samples = options.samples,
                                                          .noise = options.noise,
                                                          .flips = layer.flips,
                                                          .seed = options.seed});
  return made;
}

}  // namespace exhume
