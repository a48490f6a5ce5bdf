// Signs out of one or two equations, by trying all.
//
//     M s = v,  s in {-1, +1}^k        M: r x k, real
//
// A lattice needs some digits for every sign from every equation (fit/sign_lattice.h); where there is one equation, doubles do not have
// them. But 2^k sign vectors are few beside 10^9 values of a number of nine digits, while k is small. With the signs in two
// halves, M_1 s_1 = v - M_2 s_2: the 2^(k/2) values of either side, one of them sorted, so that all equal pairs are found.
#pragma once

#include <optional>

#include "exhume/types.h"

namespace exhume {

// The only sign vector with |M s - v| <= error; nothing where there are two, none, or too many signs to try.
[[nodiscard]] std::optional<Vector> signs_by_halves(const Matrix& M, const Vector& v, double error);

}  // namespace exhume
