#include "generate_threshold.h"

#include <numbers>
#include <stdexcept>

#include "io/safetensors.h"

namespace exhume::cli {

void ThresholdGenerator::declare(CLI::App& app) {
  app.add_option("--model", model_,
                 "network, or threshold: a first layer with thresholds under something else [network]")
      ->check(CLI::IsMember({"network", "threshold"}).description(""));
  const char* group = "With --model threshold";
  app.add_option("--activation", activation_, "relu, sign, sigmoid, exponential, square or absolute [relu]")
      ->group(group);
  app.add_option("--threshold", threshold_, "Threshold t of the units [2]")->group(group);
  app.add_option("--threshold-spread", spread_, "Thresholds are uniform in [t - s, t + s] [0]")->group(group);
  app.add_option("--least-angle", least_angle_,
                 "Random directions at least this many degrees apart [orthonormal]")
      ->group(group);
  app.add_option("--upper", upper_, "linear, products, pairs, powers, union, intersection or deep [products]")
      ->group(group);
  app.add_option("--flips", flips_, "Probability that a label is turned around [0]")->group(group);
  app.add_flag("--biased", biased_, "Keep a row with a probability proportional to its output")->group(group);
}

ThresholdGenerator::Planted ThresholdGenerator::make(Index inputs, Index hidden, Index samples, double noise,
                                                     std::uint64_t seed, const Control& control) const {
  ThresholdPlan plan;
  plan.inputs = inputs;
  plan.hidden = hidden;
  plan.activation = parse_unit_activation(activation_);
  plan.threshold = threshold_;
  plan.threshold_spread = spread_;
  plan.least_angle = least_angle_ < 0 ? -1 : least_angle_ * std::numbers::pi / 180;
  plan.upper = parse_upper(upper_);
  plan.seed = seed;
  const ThresholdModel model = plant(plan);
  Tensors tensors;
  tensors.add("W", model.W);
  tensors.add("t", model.t);
  tensors.metadata = {{"activation", activation_}, {"upper", upper_}};
  if (biased_) {
    if (noise > 0 || flips_ > 0)
      throw std::invalid_argument("--biased keeps rows by their outputs, so --noise and --flips must be 0");
    return {biased_samples(model, samples, seed, 0, control), safetensors_bytes(tensors), inputs, hidden};
  }
  return {threshold_samples(model, {.samples = samples, .noise = noise, .flips = flips_, .seed = seed}),
          safetensors_bytes(tensors), inputs, hidden};
}

}  // namespace exhume::cli
