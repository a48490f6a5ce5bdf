// Activations of hidden units. Rectified ones (paper rectified, Section 9.1),
//
//     f(z) = 0 for z <= 0,   phi(z) for z > 0,      phi increasing from phi(0) = 0, phi^-1 its inverse
//
// and those that act everywhere, f(z) = phi(z) for all z, by name: the table of activations has tanh,
// sigmoid, gelu, silu, softplus, elu, selu, erf, sin, gaussian, leaky_relu and others, without an inverse.
//
// `degree` is p where phi(s z) = s^p phi(z) for all s > 0: then the scale of a row of W may be moved into A,
// and rows of unit norm lose nothing. It is 0 where phi has no such property (e^z - 1): then the scale of a
// row is part of the network, and recovering a unit from its output takes a search for one scale.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "exhume/types.h"

#pragma GCC visibility push(default)
namespace exhume {

struct Rectifier {
  std::string name;
  std::function<double(double)> phi, inverse, slope;  // for arguments above 0
  double degree = 1;                                  // 0: not multiplicative
  bool everywhere = false;                            // phi and slope hold for all arguments

  [[nodiscard]] bool multiplicative() const { return degree > 0; }
  [[nodiscard]] double operator()(double z) const { return everywhere || z > 0 ? phi(z) : 0.0; }
};

[[nodiscard]] Rectifier rectified_power(int power);  // z^power, power >= 1
[[nodiscard]] Rectifier rectified_exponential();     // e^z - 1

// A user's own pair. The slope is taken by differences where none is given. Throws
// std::invalid_argument with the argument at which the pair fails to be inverse to each other or phi
// fails to increase; finds the degree.
[[nodiscard]] Rectifier make_rectifier(std::string name, std::function<double(double)> phi,
                                       std::function<double(double)> inverse,
                                       std::function<double(double)> slope = {});

// "relu", "square", "cube", "exp" (rectified), or a name of the table of activations, a number behind a colon
// where it has one ("leaky_relu:0.1"); anything else throws std::invalid_argument.
[[nodiscard]] Rectifier parse_rectifier(std::string_view name);
// All names, those of the table of activations first.
[[nodiscard]] std::vector<std::string> activation_names();

// values = f(Z) and slopes = f'(Z), entry by entry; the slope at 0 is 0.
void activate(const Rectifier& rectifier, const Eigen::Ref<const Matrix>& Z, Eigen::Ref<Matrix> values);
void activate(const Rectifier& rectifier, const Eigen::Ref<const Matrix>& Z, Eigen::Ref<Matrix> values,
              Eigen::Ref<Matrix> slopes);

}  // namespace exhume
#pragma GCC visibility pop
