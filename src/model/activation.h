// Activations that a unit may have, with the slope that Gauss-Newton needs.
//
//   kRelu       max(z, 0)
//   kAbsolute   |z|: the sign-free form of a ReLU, since max(z, 0) = (z + |z|)/2; turning (w, b) around does
//               not change it, so the polish need not know the sign
//
// and the leaky ReLU max(z, a z) of slope a below zero, 0 <= a < 1, by a function of its own: since max(z, a
// z) = a z + (1 - a) max(z, 0), a leaky network is a ReLU network with a linear term, and only routes that
// start without one (the printed algorithms of paper symmetric) need it as it is.
#pragma once

#include "exhume/types.h"

namespace exhume {

enum class Activation { kRelu, kAbsolute };

// values = activation(Z), slopes = its derivative, entry by entry. At a kink the slope is the left one.
void activate(Activation activation, const Eigen::Ref<const Matrix>& Z, Eigen::Ref<Matrix> values);
void activate(Activation activation, const Eigen::Ref<const Matrix>& Z, Eigen::Ref<Matrix> values,
              Eigen::Ref<Matrix> slopes);

void activate_leaky(double slope, const Eigen::Ref<const Matrix>& Z, Eigen::Ref<Matrix> values);
void activate_leaky(double slope, const Eigen::Ref<const Matrix>& Z, Eigen::Ref<Matrix> values,
                    Eigen::Ref<Matrix> slopes);

}  // namespace exhume
