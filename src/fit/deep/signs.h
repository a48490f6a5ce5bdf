// The signs of all units, and with them the plain network behind a sign-free deep form.
//
// Write V_{l+1} (C^T at the top) as [U, R]: U on |Q_l|, R on P_{l-1}. In a plain network every unit is
// h = max(s q, 0) = (s q + |q|)/2 with a sign s, and what stands above sees h alone:
//
//     R = U diag(s_l) V_l      apart from the column of the constant 1
//
// one linear system for the signs s_l of each layer. Then W_1 = diag(s_1) V_1, W_{l+1} = 2 diag(s_{l+1}) U,
// and the biases follow from the constants. Only the least network passes: with one unit too many the function
// is exact and the solutions are not +-1. Where a system is singular the signs are not determined, and where
// its solution is not +-1 the function is no plain network of these widths: then the form with its skip terms
// is the answer.
#pragma once

#include <vector>

#include "model/form.h"

namespace exhume {

struct LayerSigns {
  Vector s;                      // the solution of the system; near +-1 for a plain network
  double off = 0;                // largest | |s| - 1 |
  double residual = 0;           // |R - U diag(sign s) V| / |R|, constants left out
  double smallest_singular = 0;  // of the system, columns of unit norm: 0 where a sign is open
};

// The system of one layer, V: k x c its rows, U: r x k and R: r x c what stands on it; the last columns, of the constant,
// are left out. By least squares, and so that rows of [U, R] which do not obey do not count.
[[nodiscard]] LayerSigns least_squares_signs(const Matrix& V, const Matrix& U, const Matrix& R);
[[nodiscard]] LayerSigns robust_signs(const Matrix& V, const Matrix& U, const Matrix& R);

struct DeepSigns {
  std::vector<LayerSigns> layers;
  bool plain = false;       // all systems regular, all signs near +-1
  bool determined = false;  // all systems regular
  Form form;            // where plain: the plain form, ready for its own polish
};

// `tolerance`: how far from +-1 a sign may be.
[[nodiscard]] DeepSigns find_signs(const Form& sign_free, double tolerance = 1e-2);

}  // namespace exhume
