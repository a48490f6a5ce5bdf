#include "certify/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "base/counted.h"
#include "data/reduce.h"

namespace exhume {
namespace {

// HeldOutSums over rows. Outputs are measured from the first row's, so that a large common offset costs no
// digits.
struct HeldOutSums {
  long double squared_error = 0;
  std::vector<long double> shifted, shifted_squared;  // by output
  double worst = -1;
  Index rows = 0, worst_row = -1, worst_output = -1;

  void merge(const HeldOutSums& other) {
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

using Reals = std::vector<long double>;

// HeldOutSums over all rows; predict(x, f) writes the m outputs at one row, one object a block of rows.
template <class MakePredict>
Verification compare(Index inputs, Index outputs, const SampleSource& samples, const Control& control,
                     const MakePredict& make_predict) {
  if (samples.inputs() != inputs || samples.outputs() != outputs) {
    throw std::invalid_argument(fmt::format("the network has {} and {}, but the samples have {} and {}",
                                            counted(inputs, "input"), counted(outputs, "output"),
                                            samples.inputs(), samples.outputs()));
  }
  Verification result;
  if (samples.rows() == 0) return result;

  SampleBlock start;
  const RowRun one{0, 1};
  samples.announce({&one, 1});
  samples.read(0, 1, start);
  const Vector origin = start.y().row(0);
  HeldOutSums empty;
  empty.shifted.assign(static_cast<std::size_t>(outputs), 0);
  empty.shifted_squared = empty.shifted;

  const HeldOutSums sums =
      reduce_blocks(samples, empty, control, "verify", [&](HeldOutSums& s, const SampleBlock& block) {
        auto predict = make_predict();
        Reals f(static_cast<std::size_t>(outputs));
        const auto xs = block.x(), ys = block.y();
        for (Index r = 0; r < block.rows(); ++r) {
          predict(xs.data() + r * xs.cols(), f);
          for (Index j = 0; j < outputs; ++j) {
            const long double error = ys(r, j) - f[static_cast<std::size_t>(j)];
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
  result.rms_error =
      static_cast<double>(std::sqrt(sums.squared_error / (static_cast<long double>(sums.rows) * outputs)));
  result.worst_error = sums.worst;
  result.worst_row = sums.worst_row;
  result.worst_output = sums.worst_output;
  return result;
}

template <class Number>
long double dot(const double* row, const Number* x, Index size, Index stride = 1) {
  long double sum = 0;
  for (Index a = 0; a < size; ++a) sum += static_cast<long double>(row[a * stride]) * x[a];
  return sum;
}

// Any depth, with `activate(z)` where a hidden unit is on.
template <class Activate>
Verification verify_layers(const Network& network, const Activate& activate, const SampleSource& samples,
                           const Control& control) {
  network.validate();
  std::vector<RowMatrix> W, L;  // rows contiguous for the loops below
  for (const Layer& layer : network.layers) {
    W.emplace_back(layer.W);
    L.emplace_back(layer.L);
  }
  return compare(network.inputs(), network.outputs(), samples, control, [&] {
    return [&, h = std::vector<Reals>(network.layers.size())](const double* x, Reals& f) mutable {
      // h[0] is x, h[l] what hidden layer l hands on.
      h[0].assign(x, x + network.inputs());
      for (std::size_t l = 0; l < network.layers.size(); ++l) {
        const Vector& b = network.layers[l].b;
        const bool last = l + 1 == network.layers.size();
        Reals& out = last ? f : h[l + 1];
        out.resize(static_cast<std::size_t>(b.size()));
        for (Index i = 0; i < b.size(); ++i) {
          long double z = b(i) + dot(W[l].data() + i * W[l].cols(), h[l].data(), W[l].cols());
          const double* skip = L[l].data() + i * L[l].cols();
          for (std::size_t low = 0; L[l].size() != 0 && low < l; ++low) {
            z += dot(skip, h[low].data(), static_cast<Index>(h[low].size()));
            skip += h[low].size();
          }
          if (!last) z = activate(z);
          out[static_cast<std::size_t>(i)] = z;
        }
      }
    };
  });
}

}  // namespace

Verification verify(const Network& network, const SampleSource& samples, const Control& control) {
  if (network.activation != "relu")
    return verify(network, parse_rectifier(network.activation), samples, control);
  return verify_layers(
      network, [](long double z) { return z > 0 ? z : 0; }, samples, control);
}

Verification verify(const Network& network, const Rectifier& rectifier, const SampleSource& samples,
                    const Control& control) {
  return verify_layers(
      network, [&](long double z) -> long double { return rectifier(static_cast<double>(z)); }, samples,
      control);
}

Verification verify(const QuadraticNetwork& network, const SampleSource& samples, const Control& control) {
  network.validate();
  return compare(network.inputs(), network.outputs(), samples, control, [&] {
    return [&, z = Reals(static_cast<std::size_t>(network.features()))](const double* x, Reals& f) mutable {
      for (Index c = 0; c < network.features(); ++c) {
        long double power = x[network.three_layers() ? 0 : c];
        if (network.three_layers()) {
          const long double base = dot(&network.R(c, 0), x, network.inputs(), network.R.rows());
          power = base;
          for (int p = 1; p < network.power; ++p) power *= base;
        }
        z[static_cast<std::size_t>(c)] = power;
      }
      std::fill(f.begin(), f.end(), 0);
      for (Index i = 0; i < network.hidden(); ++i) {
        long double h = 0;
        for (Index c = 0; c < network.features(); ++c)
          h += static_cast<long double>(network.W(i, c)) * z[static_cast<std::size_t>(c)];
        for (Index j = 0; j < network.outputs(); ++j)
          f[static_cast<std::size_t>(j)] += static_cast<long double>(network.A(j, i)) * h * h;
      }
    };
  });
}

}  // namespace exhume
