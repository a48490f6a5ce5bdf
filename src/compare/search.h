// Where two networks differ most over a box: a search that proves nothing.
//
//     D(x) = max_o |g_o(x) - f_o(x)|
//
// Random inputs and corners, rows of data and their neighbourhood, both sides of the kinks of every unit, and
// ascent of D along its gradient from the best of them. Units that only one network has are climbed by
// themselves: z of such a unit is piecewise linear in x; steps along its gradient, and where they end a
// linear program over the inputs of the box with the same units on, go on until it is on.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "compare/blocks.h"
#include "exhume/compare.h"
#include "exhume/control.h"

namespace exhume {

// A unit, and the unit that a weight of it reads: layers from 0, units of the pair; -1: none.
struct WatchedUnit {
  std::size_t layer = 0;  // the number of hidden layers: the outputs
  Index unit = -1;
  std::size_t from_layer = 0;
  Index from = -1;
};

struct DifferenceOptions {
  std::vector<WatchedUnit> watched{};  // changed ones: inputs are looked for where both are on
  RowMatrix rows{};                    // of data; may be empty
  std::uint64_t seed = 0;
  Index random = 4096;  // uniform inputs, and half as many corners
  double work = 4e9;    // floating-point operations, about
};

// Input that sets off a unit that only one network has.
struct Trigger {
  std::size_t layer = 0;
  Index unit = 0;  // of the pair
  bool of_second = false;
  bool found = false;  // z > 0 somewhere
  Vector input;        // where z is largest, of what was seen
  double z = 0;
  double share = 0;  // of the random inputs that set it off
};

struct DifferenceResult {
  double worst = 0;
  Vector input;
  std::vector<Trigger> triggers;
  Vector random_differences;  // D at the random inputs, for the histogram
  Vector row_differences;     // D at the rows of data
  Index inputs = 0;           // looked at
};

// Aligned networks (match.h).
[[nodiscard]] DifferenceResult find_difference(const BlockNetwork& f, const BlockNetwork& g,
                                               const Vector& low, const Vector& high,
                                               const DifferenceOptions& options, const Control& control);

// Uniform inputs of a box; corners of it.
[[nodiscard]] RowMatrix uniform_inputs(const Vector& low, const Vector& high, Index rows, std::uint64_t seed,
                                       const char* purpose);
[[nodiscard]] RowMatrix corner_inputs(const Vector& low, const Vector& high, Index rows, std::uint64_t seed,
                                      const char* purpose);
// Inputs on both sides of kinks of the units of f, in turn: from each row of `from` along the gradient of a
// unit to its kink, a little before and a little behind. Those within the box only.
[[nodiscard]] RowMatrix kink_inputs(const BlockNetwork& f, const RowMatrix& from, const Vector& low,
                                    const Vector& high, Index units_per_row);

// Inputs where random combinations of the features of a layer are largest, in turn over the layers: units
// that are rarely on are on at such places. Nothing is queried.
[[nodiscard]] RowMatrix extreme_inputs(const BlockNetwork& f, const Vector& low, const Vector& high,
                                       Index rows, std::uint64_t seed);

// Inputs where weights of f act that act at hardly any of the rows `seen`: a unit and the unit that its
// weight reads are both on. At most `most`; none of a network without kinks.
[[nodiscard]] RowMatrix acting_inputs(const BlockNetwork& f, const RowMatrix& seen, const Vector& low,
                                      const Vector& high, Index most);

// D rounded towards zero by all that the evaluation in double precision may be off: never above the truth.
[[nodiscard]] Vector sure_difference(const Network& f, const Network& g, const RowMatrix& x);
// sum of the absolute values of all products and sums on the way to each output: its rounding error in an
// arithmetic of unit roundoff u is at most (longest sum + 2 per layer) u times this, to first order.
[[nodiscard]] RowMatrix rounding_size(const Network& network, const RowMatrix& x);

// x with as few entries away from `base` as leave `difference` at `least` or more.
[[nodiscard]] Vector simplest_input(const Vector& x, const Vector& base,
                                    const std::function<Vector(const RowMatrix&)>& difference, double least);
// Sets the simple input of a difference: from the first row of data, or from the middle of the domain.
void add_simple_input(const RowMatrix& rows, const std::function<Vector(const RowMatrix&)>& difference,
                      CompareResult& out);

}  // namespace exhume
