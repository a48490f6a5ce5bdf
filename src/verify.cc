#include "exhume/verify.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "exhume/parallel.h"

namespace exhume {
namespace {

// Sums over rows. Outputs are measured from the first row's, so that a large common offset costs no digits.
struct Sums {
  long double squared_error = 0;
  std::vector<long double> shifted, shifted_squared;  // by output
  double worst = -1;
  Index rows = 0, worst_row = -1, worst_output = -1;

  void merge(const Sums& other) {
    squared_error += other.squared_error;
    for (std::size_t j = 0; j < shifted.size(); ++j) {
      shifted[j] += other.shifted[j];
      shifted_squared[j] += other.shifted_squared[j];
    }
    rows += other.rows;
    if (other.worst > worst) {
      worst = other.worst;
      worst_row = other.worst_row;
      worst_output = other.worst_output;
    }
  }
};

// f_j(x), as the definition says.
long double output(const Network& n, const std::vector<long double>& hidden, const double* x, Index j) {
  long double f = n.c(j);
  for (Index i = 0; i < n.hidden(); ++i)
    f += static_cast<long double>(n.A(j, i)) * hidden[static_cast<std::size_t>(i)];
  if (n.has_linear_term()) {
    for (Index a = 0; a < n.inputs(); ++a) f += static_cast<long double>(n.L(j, a)) * x[a];
  }
  return f;
}

}  // namespace

Verification verify(const Network& network, const SampleSource& samples, const Control& control) {
  network.validate();
  if (samples.inputs() != network.inputs() || samples.outputs() != network.outputs()) {
    throw std::invalid_argument(
        fmt::format("the network has {} inputs and {} outputs, but the samples have {} and {}",
                    network.inputs(), network.outputs(), samples.inputs(), samples.outputs()));
  }
  Verification result;
  if (samples.rows() == 0) return result;

  SampleBlock start;
  samples.read(0, 1, start);
  const Vector origin = start.y().row(0);
  const RowMatrix W = network.W;  // rows contiguous for the loops below
  Sums empty;
  empty.shifted.assign(static_cast<std::size_t>(network.outputs()), 0);
  empty.shifted_squared = empty.shifted;

  const Sums sums = reduce_blocks(samples, empty, control, "verify", [&](Sums& s, const SampleBlock& block) {
    std::vector<long double> hidden(static_cast<std::size_t>(network.hidden()));
    const auto xs = block.x(), ys = block.y();
    for (Index r = 0; r < block.rows(); ++r) {
      const double* x = xs.data() + r * xs.cols();
      for (Index i = 0; i < network.hidden(); ++i) {
        long double z = network.b(i);
        for (Index a = 0; a < network.inputs(); ++a) z += static_cast<long double>(W(i, a)) * x[a];
        hidden[static_cast<std::size_t>(i)] = z > 0 ? z : 0;
      }
      for (Index j = 0; j < network.outputs(); ++j) {
        const long double error = ys(r, j) - output(network, hidden, x, j);
        const long double shifted = static_cast<long double>(ys(r, j)) - origin(j);
        s.squared_error += error * error;
        s.shifted[static_cast<std::size_t>(j)] += shifted;
        s.shifted_squared[static_cast<std::size_t>(j)] += shifted * shifted;
        const double size = static_cast<double>(std::fabs(error));
        if (!(size <= s.worst)) {
          s.worst = size;
          s.worst_row = block.first_row() + r;
          s.worst_output = j;
        }
      }
    }
    s.rows += block.rows();
  });

  long double variance = 0;  // times the number of rows
  for (std::size_t j = 0; j < sums.shifted.size(); ++j) {
    variance +=
        sums.shifted_squared[j] - sums.shifted[j] * sums.shifted[j] / static_cast<long double>(sums.rows);
  }
  result.rows = sums.rows;
  if (sums.squared_error == 0) {
    result.relative_mse = 0;
  } else {
    result.relative_mse = variance > 0 ? static_cast<double>(sums.squared_error / variance)
                                       : std::numeric_limits<double>::infinity();
  }
  result.rms_error = static_cast<double>(
      std::sqrt(sums.squared_error / (static_cast<long double>(sums.rows) * network.outputs())));
  result.worst_error = sums.worst;
  result.worst_row = sums.worst_row;
  result.worst_output = sums.worst_output;
  return result;
}

}  // namespace exhume
