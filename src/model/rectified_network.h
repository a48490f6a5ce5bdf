// Two-layer networks with a rectified activation, and what all routes of paper rectified share.
//
//     y = A f(Wx + b) + c        f of rectifier.h; W: k x d, unit rows where f is multiplicative; A: m x k
//
// The papers' letters: X = inputs as columns, A (theirs) = outputs, U = A, V = W. The paper has no b and no
// c; where a route can find them at no cost, it does.
#pragma once

#include "exhume/activation.h"
#include "exhume/network.h"

namespace exhume {

// f at every row of x: rows x m. Network::L must be empty.
[[nodiscard]] RowMatrix evaluate(const Network& network, const Rectifier& rectifier,
                                 const Eigen::Ref<const RowMatrix>& x);

// f(Wx + b) at every row of x: rows x k.
[[nodiscard]] Matrix hidden_outputs(const Matrix& W, const Vector& b, const Rectifier& rectifier,
                                    const Eigen::Ref<const RowMatrix>& x);

// Mean squared error over the variance of y, over rows and outputs.
[[nodiscard]] double relative_error(const Network& network, const Rectifier& rectifier,
                                    const Eigen::Ref<const RowMatrix>& x,
                                    const Eigen::Ref<const RowMatrix>& y);

// A and c by least squares (QR, one step of refinement) for given W and b; c stays 0 without `constant`.
void regress_outputs(Network& network, const Rectifier& rectifier, const Eigen::Ref<const RowMatrix>& x,
                     const Eigen::Ref<const RowMatrix>& y, bool constant);

// A unit from its own output: given h = s f(w.x + b) with an unknown s > 0 at rows where it is positive,
// finds (w, b) from phi^-1(h / s) = w.x + b by least squares: w of unit norm where f is multiplicative,
// otherwise with the scale s that makes phi^-1(h / s) linear in x (one-dimensional search, then
// Gauss-Newton). Returns (w, b), d + 1.
[[nodiscard]] Vector unit_from_output(const Matrix& x, const Vector& h, const Rectifier& rectifier,
                                      bool bias);

}  // namespace exhume
