// Move: units that a network does not need are left out, units on one plane become one, and skip terms that a
// layer's own units can carry become units, before the network is judged.
//
//   needs     a network that answers all queries so far
//   asks      nothing
//   time      one evaluation of the network per layer; where there are skip terms, 2^k small singular value
//             decompositions per layer of k <= 12 units
//   changes   nothing: the network is returned
//
// A search of planes takes surfaces of upper layers for planes at times; its fit then gives such a unit no
// weight. At the queries x, with h the values of a layer and z = U h + r those above it,
//
//     needless   |U_ij| max_x h_j(x) <= 1e-11 max_x |z_i(x)|                       for every i above
//     one unit   v_i = t v_j, t > 0:
//                U_i max(v_i.p, 0) + U_j max(v_j.p, 0) = (U_i + U_j / t) max(v_i.p, 0)
//
// Skip terms. In the sign-free form a row above reads U |q| + R p, where p lies below the layer and
// q = V p. For every choice of signs s the rest R - U diag(s) V is what no unit of the layer carries: it is
// zero in a plain network with these signs. It has rank one, b v^T, where one more unit carries it:
//
//     v a row of V     b v.p = b max(v.p, 0) - b max(-v.p, 0)    a unit on the same plane, turned away
//     any other v      b v.p = b max(v.p + t, 0) - b t           a unit that is on at all queries
#pragma once

#include <optional>

#include "model/form.h"

namespace exhume {

// Of a plain form: without needless units, and with one unit where several lie on one plane the same way.
// x: queries.
[[nodiscard]] DeepForm without_needless_units(const DeepForm& plain, const RowMatrix& x);

// A sign-free form as a plain one with as few further units as can be, at most one per layer and sign vector;
// none where skip terms need more. x: queries, at all of which a unit that is always on has to be so.
[[nodiscard]] std::optional<DeepForm> without_skip_terms(const DeepForm& sign_free, const RowMatrix& x);

}  // namespace exhume
