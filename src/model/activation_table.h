// The table of activations: everything that the program has to know of a unit's function sigma.
//
//     value, slope, second     sigma(z), sigma'(z), sigma''(z); a parameter p where it has one
//     symmetry                 what turning (w, b) around does
//
//         odd       sigma(-z) = 2 sigma(0) - sigma(z)    the output weight turns too; signs are a matter of
//                                                        taste: canonical is a largest output weight above 0
//         even      sigma(-z) = sigma(z)                 nothing; canonical: largest entry of w above 0
//         half      sigma(z) - sigma(-z) = z             a linear term takes it up: ReLU, GELU, SiLU,
//                                                        softplus
//         none                                           another function
//
//     degree                   of homogeneity: then the scale of a row of W is free. 0: it is part of the
//                              network, one more unknown per unit
//
// Two names may be one class of networks: tanh(z) = 2 sigmoid(2z) - 1 (in_tanh_units). A steeper softplus or
// swish is softplus or SiLU with another scale. At a kink slopes are the left ones.
//
// A new activation is a row here, and the test that compares slopes with differences sees it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exhume/activation.h"
#include "exhume/network.h"

namespace exhume {

enum class Symmetry { kNone, kOdd, kEven, kHalf };

struct ActivationRow {
  const char* name;
  double (*value)(double z, double p);
  double (*slope)(double z, double p);
  double (*second)(double z, double p);
  Symmetry symmetry;
  double degree;        // of homogeneity, 0 where there is none
  bool smooth;          // twice differentiable but at 0 at most, and not piecewise linear: told by a search
  double parameter;     // p where none is given; NaN where there is none
  const char* formula;  // for people
  // What other programs call it; empty where they have no such thing.
  const char *onnx, *torch, *keras, *sklearn;
};

[[nodiscard]] const std::vector<ActivationRow>& activation_table();
// The row of a name, "leaky_relu:0.1" being that of leaky_relu; null where there is none.
[[nodiscard]] const ActivationRow* find_activation(std::string_view name);
// The number behind the colon, or that of the row.
[[nodiscard]] double activation_parameter(std::string_view name);

// A unit's function and slope for a row, as everything that evaluates takes them.
[[nodiscard]] Rectifier rectifier_of(const ActivationRow& row, std::string_view name);

// The same function with units of hidden layer l turned around, where the symmetry is odd or even: what
// stands on an odd one turns too, and constants take up 2 sigma(0). Networks without skip terms.
[[nodiscard]] Network with_units_mirrored(const Network& network, std::size_t l,
                                          const std::vector<Index>& units);

// A network of sigmoids as one of tanh, a sigmoid(z) = a/2 tanh(z/2) + a/2; any other as it is.
[[nodiscard]] Network in_tanh_units(const Network& network);
// And back: tanh as sigmoids.
[[nodiscard]] Network in_sigmoid_units(const Network& network);

// Canonical form of a network of other units than ReLUs, without skip terms but at the outputs (exhume/
// network.h): scales only where they are free, signs by the symmetry, idle units dropped, the same order.
[[nodiscard]] Network canonical_units(const Network& network);

}  // namespace exhume
