// Queries at which rare weights act: every weight between two hidden layers acts where both its units are on.
//
// Places where a function of the layers below is most: by ascent from the best of random ones.
//
//     u* = argmax g(u)   over places no farther out than random ones
//
// A unit above known layers, z = w.h(u) + b, that acts at few random inputs acts where w.h is most. Its w is
// not known, but for random w in place of it the climbs reach the far ends of what h can be, that of the unit
// among them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "extract/evidence.h"
#include "extract/sign_free_layers.h"
#include "model/form.h"

namespace exhume {

// Of the candidates, rows x d, those that make up for pairs of units in neighbouring layers that are on
// together at fewer than `each` of the queries asked already, for units that are off at fewer, and for those
// that are on at fewer than two for every weight.
// `form` is plain, in the same coordinates. Their numbers, increasing.
[[nodiscard]] std::vector<Index> where_pairs_act(const DeepForm& form, const RowMatrix& candidates,
                                                 const RowMatrix& asked, double each);

// g and its slope at u.
using Climbed = std::function<SignFreeLayers::Value(const Vector& u)>;

// `farther`: times as far out, where there is no box.
[[nodiscard]] Vector place_of_most(const Space& space, const QueryEvidence& evidence, const Climbed& value,
                                   std::uint64_t seed, double farther = 1);

// The same for row.P of sign-free layers.
[[nodiscard]] Vector place_of_most(const Space& space, const QueryEvidence& evidence,
                                   const SignFreeLayers& below, const Vector& row, std::uint64_t seed,
                                   double farther = 1);

// Climbs of sums w.h_l of every hidden layer but the last of a plain form, layer by layer: `count` x s. In
// every other one w is random; in the others it is positive on few units and strongly negative on the rest,
// so that these few are on alone. There a unit above acts that has a positive weight on one of them, and one
// that is always on elsewhere, with a negative one, is off.
[[nodiscard]] RowMatrix climbs(const Space& space, const QueryEvidence& evidence, const DeepForm& form,
                               std::uint64_t seed, Index count);

// Places at which a weight of a plain form shows that does not at the rows of `asked`: a unit on, or off, and
// one below it on, at fewer than `each` of these. Two units that are always on can only be told apart where
// one is off. At most `most` x s.
[[nodiscard]] RowMatrix climbs_of_pairs(const Space& space, const QueryEvidence& evidence,
                                        const DeepForm& form, const RowMatrix& asked, double each,
                                        std::uint64_t seed, Index most);

// Where a plain form is most sensitive to a change of its last hidden layer's rows, `change` x t for small t:
// k x (columns of a row). Three places for each sign of it: where all of it shows, and where that of the unit
// shows which changes most, with the unit on and with it off.
[[nodiscard]] RowMatrix climbs_of_change(const Space& space, const QueryEvidence& evidence,
                                         const DeepForm& form, const Matrix& change, std::uint64_t seed);

}  // namespace exhume
