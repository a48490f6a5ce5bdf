#include "compare/unit_function.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "model/activation_table.h"

namespace exhume {
namespace {

constexpr double kWider = 1e-14;  // of a value, and of 1: some fifty roundings
constexpr double kInfinite = std::numeric_limits<double>::infinity();

// Where the function changes its sign between a and b.
template <typename Function>
double zero_of(const Function& function, double a, double b) {
  const bool rising = function(b) > function(a);
  for (int k = 0; k < 200; ++k) {
    const double middle = a + (b - a) / 2;
    ((function(middle) > 0) == rising ? b : a) = middle;
  }
  return a + (b - a) / 2;
}

Range widened(Range range, double size) {
  const double more = kWider * (1 + size + std::max(std::abs(range.low), std::abs(range.high)));
  return {range.low - more, range.high + more};
}

}  // namespace

UnitFunction::UnitFunction(const Rectifier& sigma) : sigma_(sigma) {
  const std::string name = sigma.name.substr(0, sigma.name.find(':'));
  const ActivationRow* row = find_activation(sigma.name);
  const double p = activation_parameter(sigma.name);
  if (name == "tanh" || name == "sigmoid" || name == "erf") {
    places_ = {0};
  } else if (name == "gelu" || name == "gelu_tanh" || name == "silu") {
    // One inflection on either side, one lowest value below zero.
    const double z = zero_of([&](double v) { return row->second(v, p); }, 0.5, 4);
    places_ = {-z, z};
    turns_ = {zero_of([&](double v) { return row->slope(v, p); }, -2, 0)};
  } else if (name == "softplus") {
  } else if (name == "elu" || name == "selu") {
    at_kink_ = Range{row->slope(0, p), row->slope(std::numeric_limits<double>::min(), p)};
    if (at_kink_->low > at_kink_->high) std::swap(at_kink_->low, at_kink_->high);
    turns_ = {0};  // where p is below zero
  } else if (name == "sin") {
    periodic_ = true;
  } else if (name == "gaussian") {
    places_ = {-std::numbers::sqrt2 / 2, std::numbers::sqrt2 / 2};
    turns_ = {0};
  } else if (name == "square" || name == "cube" || name == "exp") {
    at_kink_ = Range{0, name == "exp" ? 1.0 : 0.0};
  } else {
    known_ = false;
  }
}

Range UnitFunction::slopes(double low, double high) const {
  if (!known_ || !std::isfinite(low) || !std::isfinite(high)) return {-kInfinite, kInfinite};
  if (periodic_) {
    // cos: all of [-1, 1] over half a turn or more, otherwise ends and multiples of pi.
    if (high - low >= std::numbers::pi) return {-1, 1};
    Range out{std::min(std::cos(low), std::cos(high)), std::max(std::cos(low), std::cos(high))};
    const double turn = std::floor(high / std::numbers::pi + 1e-9);
    if (turn * std::numbers::pi >= low - 1e-9 * (1 + std::abs(low)))
      (std::fmod(std::abs(turn), 2) == 0 ? out.high : out.low) = std::fmod(std::abs(turn), 2) == 0 ? 1 : -1;
    return widened(out, std::abs(low) + std::abs(high));
  }
  const auto slope = [&](double z) { return sigma_.everywhere || z > 0 ? sigma_.slope(z) : 0.0; };
  Range out{std::min(slope(low), slope(high)), std::max(slope(low), slope(high))};
  for (const double z : places_) {
    if (z < low || z > high) continue;
    out.low = std::min(out.low, slope(z));
    out.high = std::max(out.high, slope(z));
  }
  if (at_kink_ && low <= 0 && high >= 0) {
    out.low = std::min(out.low, at_kink_->low);
    out.high = std::max(out.high, at_kink_->high);
  }
  return widened(out, 0);
}

Range UnitFunction::values(double low, double high) const {
  if (!known_ || !std::isfinite(low) || !std::isfinite(high)) return {-kInfinite, kInfinite};
  if (periodic_) return {-1, 1};
  const double a = sigma_(low), b = sigma_(high);
  Range out{std::min(a, b), std::max(a, b)};
  for (const double z : turns_) {
    if (z < low || z > high) continue;
    out.low = std::min(out.low, sigma_(z));
    out.high = std::max(out.high, sigma_(z));
  }
  return widened(out, 0);
}

UnitFunction::Line UnitFunction::line(double low, double high) const {
  const Range slope = slopes(low, high);
  if (!std::isfinite(slope.low) || !std::isfinite(slope.high)) return {0, values(low, high)};
  // sigma - lambda z increases for the least slope and decreases for the largest: extremes at the ends.
  const double a = sigma_(low), b = sigma_(high), width = high - low;
  const bool least = (b - a) - slope.low * width <= slope.high * width - (b - a);
  const double lambda = least ? slope.low : slope.high;
  const double left = a - lambda * low, right = b - lambda * high;
  return {lambda, widened({std::min(left, right), std::max(left, right)},
                          std::abs(a) + std::abs(b) + std::abs(lambda) * (std::abs(low) + std::abs(high)))};
}

}  // namespace exhume
