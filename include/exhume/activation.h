// Rectified activations (paper rectified, Section 9.1).
//
//     f(z) = 0 for z <= 0,   phi(z) for z > 0,      phi increasing from phi(0) = 0, phi^-1 its inverse
//
// `degree` is p where phi(s z) = s^p phi(z) for all s > 0: then the scale of a row of W may be moved into A,
// and rows of unit norm lose nothing. It is 0 where phi has no such property (e^z - 1): then the scale of a
// row is part of the network, and recovering a unit from its output takes a search for one scale.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "exhume/types.h"

#pragma GCC visibility push(default)
namespace exhume {

struct Rectifier {
  std::string name;
  std::function<double(double)> phi, inverse, slope;  // for arguments above 0
  double degree = 1;                                  // 0: not multiplicative

  [[nodiscard]] bool multiplicative() const { return degree > 0; }
  [[nodiscard]] double operator()(double z) const { return z > 0 ? phi(z) : 0.0; }
};

[[nodiscard]] Rectifier rectified_power(int power);  // z^power, power >= 1
[[nodiscard]] Rectifier rectified_exponential();     // e^z - 1

// A user's own pair. The slope is taken by differences where none is given. Throws
// std::invalid_argument with the argument at which the pair fails to be inverse to each other or phi
// fails to increase; finds the degree.
[[nodiscard]] Rectifier make_rectifier(std::string name, std::function<double(double)> phi,
                                       std::function<double(double)> inverse,
                                       std::function<double(double)> slope = {});

// "relu", "square", "cube" or "exp"; anything else throws std::invalid_argument.
[[nodiscard]] Rectifier parse_rectifier(std::string_view name);

// values = f(Z) and slopes = f'(Z), entry by entry; the slope at 0 is 0.
void activate(const Rectifier& rectifier, const Eigen::Ref<const Matrix>& Z, Eigen::Ref<Matrix> values);
void activate(const Rectifier& rectifier, const Eigen::Ref<const Matrix>& Z, Eigen::Ref<Matrix> values,
              Eigen::Ref<Matrix> slopes);

}  // namespace exhume
#pragma GCC visibility pop
