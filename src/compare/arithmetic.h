// What rounding does: a network evaluated in another arithmetic, and whether rounding explains a difference.
//
//     float32             weights, inputs and sums in single precision
//     float16, bfloat16   weights and features rounded to that format, sums in single precision
//     int8                weights on 255 levels per row, features on 256 levels between their extremes
//     ... weights         only the weights are rounded; the rest is in single precision, and in double
//                         precision for float32 weights
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compare/blocks.h"
#include "compare/match.h"
#include "exhume/network.h"

namespace exhume {

inline constexpr double kSingleRoundoff = 5.9604644775390625e-08;  // 2^-24, the unit roundoff of float32

enum class Arithmetic {
  kFloat32,
  kFloat16,
  kBfloat16,
  kInt8,
  kFloat32Weights,  // evaluated in double precision
  kFloat16Weights,
  kBfloat16Weights,
  kInt8Weights,        // per row
  kInt8TensorWeights,  // per matrix
};
[[nodiscard]] const char* to_string(Arithmetic arithmetic);

// biases: they are rounded like weights; otherwise kept in single precision.
[[nodiscard]] RowMatrix evaluate_in(Arithmetic arithmetic, const Network& network, const RowMatrix& x,
                                    bool biases = false);

// Two networks with units in the same order: are the weights of one those of the other, rounded? The name of
// the storage, or empty.
[[nodiscard]] std::string storage_that_explains(const BlockNetwork& f, const BlockNetwork& g);

// The same for two matched networks: first as the files have them (rounding may have made units idle), then
// as they were matched.
[[nodiscard]] std::string storage_of_pair(const Network& f, const Network& g, const Matching& pair);

// A black box: y are its answers at x, f the network in the file. `reference` is the
// arithmetic whose answers come closest to y; what is left of y is at most `share` times rounding_size
// (search.h) in every entry.
struct Explained {
  std::string arithmetic{};               // empty: nothing explains y; "double": no rounding at all
  std::optional<Arithmetic> reference{};  // y is this arithmetic's answer but for single precision
  bool biases = false;                    // of the reference
  double share = 0;
};
// rough: whether y - f is rough on a small scale, as rounding is and a changed weight is not.
[[nodiscard]] Explained arithmetic_that_explains(const Network& f, const RowMatrix& x, const RowMatrix& y,
                                                 bool rough);

}  // namespace exhume
