// A wide student of one hidden layer with any unit of the table of activations, by Adam in single precision.
//
//     minimise over V, C, L     mean over rows | y - C^T sigma(V x~) - L^T x~ |^2          x~ = (x, 1)
//
// V: K x (d+1), C: K x m, L: (d+1) x m, K one and a half to two times the number of units looked for. It ends
// with a unit beside every unit of the network, a start for what polishes and prunes (fit/smooth_search.h).
// Batches are windows of the rows in an order drawn once; the rate falls by a cosine. One thread: the same
// seed gives the same bits, and several students train side by side. A step costs 6 B K (d + m) operations.
#pragma once

#include <cstdint>
#include <string>

#include "exhume/control.h"
#include "exhume/samples.h"
#include "exhume/types.h"

namespace exhume {

// Rows as students see them: one column per row, single precision, in an order drawn from the seed.
struct UnitStudentData {
  UnitStudentData(const SampleSource& samples, Index most_rows, std::uint64_t seed);
  Eigen::MatrixXf x;  // (d+1) x n, last row 1
  Eigen::MatrixXf y;  // m x n
};

struct UnitStudentOptions {
  Index width = 20;
  Index steps = 4000;
  Index batch = 512;
  double rate = 1e-2;  // of Adam, at first
  std::uint64_t seed = 0;
};

struct UnitStudent {
  Matrix V;                 // K x (d+1)
  double relative_mse = 1;  // over the last steps, of outputs with variance 1
};

// activation: a name of the table, or "abs" for the sign-free form of ReLUs.
[[nodiscard]] UnitStudent train_units(const std::string& activation, const UnitStudentData& data,
                                      const UnitStudentOptions& options, const Control& control);

// sigma and its slope over an array, in single precision, to a few units of its last place.
void unit_values(const std::string& activation, const float* z, float* value, float* slope, Index size);

}  // namespace exhume
