#include "exhume/activation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <stdexcept>

#include "model/activation_table.h"

namespace exhume {
namespace {

// Arguments at which a user's pair is tried.
constexpr double kProbes[] = {0.01, 0.1, 0.3, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0};

// p with phi(z) = phi(1) z^p at every probe, or 0.
double multiplicative_degree(const std::function<double(double)>& phi) {
  const double one = phi(1.0), degree = std::log2(phi(2.0) / one);
  for (const double z : kProbes) {
    if (std::abs(phi(z) / (one * std::pow(z, degree)) - 1) > 1e-9) return 0;
  }
  return degree;
}

}  // namespace

Rectifier rectified_power(int power) {
  if (power < 1)
    throw std::invalid_argument(fmt::format("rectified power is {}, expected at least 1", power));
  Rectifier out;
  out.degree = power;
  switch (power) {
    case 1:
      out.name = "relu";
      out.phi = out.inverse = [](double z) { return z; };
      out.slope = [](double) { return 1.0; };
      return out;
    case 2:
      out.name = "square";
      out.phi = [](double z) { return z * z; };
      out.inverse = [](double h) { return std::sqrt(h); };
      out.slope = [](double z) { return 2 * z; };
      return out;
    case 3:
      out.name = "cube";
      out.phi = [](double z) { return z * z * z; };
      out.inverse = [](double h) { return std::cbrt(h); };
      out.slope = [](double z) { return 3 * z * z; };
      return out;
    default:
      out.name = fmt::format("power {}", power);
      out.phi = [power](double z) { return std::pow(z, power); };
      out.inverse = [power](double h) { return std::pow(h, 1.0 / power); };
      out.slope = [power](double z) { return power * std::pow(z, power - 1); };
      return out;
  }
}

Rectifier rectified_exponential() {
  Rectifier out;
  out.name = "exp";
  out.degree = 0;
  out.phi = [](double z) { return std::expm1(z); };
  out.inverse = [](double h) { return std::log1p(h); };
  out.slope = [](double z) { return std::exp(z); };
  return out;
}

Rectifier make_rectifier(std::string name, std::function<double(double)> phi,
                         std::function<double(double)> inverse, std::function<double(double)> slope) {
  if (!phi || !inverse)
    throw std::invalid_argument(fmt::format("rectifier '{}': give both phi and its inverse", name));
  double before = 0;
  for (const double z : kProbes) {
    const double value = phi(z), back = inverse(value);
    if (!(value > before)) {
      throw std::invalid_argument(
          fmt::format("rectifier '{}': phi({}) = {} does not increase from {}", name, z, value, before));
    }
    if (!(std::abs(back - z) <= 1e-8 * z)) {
      throw std::invalid_argument(
          fmt::format("rectifier '{}': inverse(phi({})) = {}, expected {}", name, z, back, z));
    }
    before = value;
  }
  Rectifier out;
  out.name = std::move(name);
  out.degree = multiplicative_degree(phi);
  out.slope = slope ? std::move(slope) : [phi](double z) {
    const double step = 1e-6 * z;  // stays above 0
    return (phi(z + step) - phi(z - step)) / (2 * step);
  };
  out.phi = std::move(phi);
  out.inverse = std::move(inverse);
  return out;
}

Rectifier parse_rectifier(std::string_view name) {
  if (name == "relu") return rectified_power(1);
  if (name == "square") return rectified_power(2);
  if (name == "cube") return rectified_power(3);
  if (name == "exp") return rectified_exponential();
  if (const ActivationRow* row = find_activation(name)) return rectifier_of(*row, name);
  throw std::invalid_argument(
      fmt::format("activation is '{}', expected {}", name, fmt::join(activation_names(), ", ")));
}

std::vector<std::string> activation_names() {
  std::vector<std::string> names;
  for (const ActivationRow& row : activation_table()) names.emplace_back(row.name);
  names.insert(names.end(), {"square", "cube", "exp"});
  return names;
}

void activate(const Rectifier& rectifier, const Eigen::Ref<const Matrix>& Z, Eigen::Ref<Matrix> values) {
  for (Index j = 0; j < Z.cols(); ++j) {
    for (Index i = 0; i < Z.rows(); ++i) values(i, j) = rectifier(Z(i, j));
  }
}

void activate(const Rectifier& rectifier, const Eigen::Ref<const Matrix>& Z, Eigen::Ref<Matrix> values,
              Eigen::Ref<Matrix> slopes) {
  for (Index j = 0; j < Z.cols(); ++j) {
    for (Index i = 0; i < Z.rows(); ++i) {
      const double z = Z(i, j);
      values(i, j) = rectifier(z);
      slopes(i, j) = rectifier.everywhere || z > 0 ? rectifier.slope(z) : 0.0;
    }
  }
}

}  // namespace exhume
