#include "certify/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

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
    throw std::invalid_argument(
        fmt::format("the network has {} inputs and {} outputs, but the samples have {} and {}", inputs,
                    outputs, samples.inputs(), samples.outputs()));
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

long double dot(const double* row, Index stride, const double* x, Index size) {
  long double sum = 0;
  for (Index a = 0; a < size; ++a) sum += static_cast<long double>(row[a * stride]) * x[a];
  return sum;
}

}  // namespace

namespace {

// One hidden layer with `activate(z)` on top of it.
template <class Activate>
Verification verify_layer(const Network& network, const Activate& activate, const SampleSource& samples,
                          const Control& control) {
  network.validate();
  const RowMatrix W = network.W, L = network.L;  // rows contiguous for the loops below
  return compare(network.inputs(), network.outputs(), samples, control, [&] {
    return
        [&, hidden = Reals(static_cast<std::size_t>(network.hidden()))](const double* x, Reals& f) mutable {
          for (Index i = 0; i < network.hidden(); ++i) {
            const long double z = network.b(i) + dot(W.data() + i * W.cols(), 1, x, network.inputs());
            hidden[static_cast<std::size_t>(i)] = z > 0 ? activate(z) : 0;
          }
          for (Index j = 0; j < network.outputs(); ++j) {
            long double sum = network.c(j);
            for (Index i = 0; i < network.hidden(); ++i)
              sum += static_cast<long double>(network.A(j, i)) * hidden[static_cast<std::size_t>(i)];
            if (network.has_linear_term()) sum += dot(L.data() + j * L.cols(), 1, x, network.inputs());
            f[static_cast<std::size_t>(j)] = sum;
          }
        };
  });
}

}  // namespace

Verification verify(const Network& network, const SampleSource& samples, const Control& control) {
  return verify_layer(
      network, [](long double z) { return z; }, samples, control);
}

Verification verify(const Network& network, const Rectifier& rectifier, const SampleSource& samples,
                    const Control& control) {
  return verify_layer(
      network, [&](long double z) -> long double { return rectifier.phi(static_cast<double>(z)); }, samples,
      control);
}

Verification verify(const QuadraticNetwork& network, const SampleSource& samples, const Control& control) {
  network.validate();
  return compare(network.inputs(), network.outputs(), samples, control, [&] {
    return [&, z = Reals(static_cast<std::size_t>(network.features()))](const double* x, Reals& f) mutable {
      for (Index c = 0; c < network.features(); ++c) {
        long double power = x[network.three_layers() ? 0 : c];
        if (network.three_layers()) {
          const long double base = dot(&network.R(c, 0), network.R.rows(), x, network.inputs());
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

Verification verify(const DeepNetwork& network, const SampleSource& samples, const Control& control) {
  network.validate();
  return compare(network.inputs(), network.outputs(), samples, control, [&] {
    return [&, h = std::vector<Reals>(network.layers.size())](const double* x, Reals& f) mutable {
      // h[0] is x, h[l] what hidden layer l hands on.
      h[0].assign(x, x + network.inputs());
      for (std::size_t l = 0; l < network.layers.size(); ++l) {
        const Layer& layer = network.layers[l];
        Reals z(static_cast<std::size_t>(layer.b.size()));
        for (Index i = 0; i < layer.b.size(); ++i) {
          long double sum = layer.b(i);
          for (Index j = 0; j < layer.W.cols(); ++j)
            sum += static_cast<long double>(layer.W(i, j)) * h[l][static_cast<std::size_t>(j)];
          Index column = 0;
          for (std::size_t low = 0; layer.L.size() != 0 && low < l; ++low) {
            for (const long double value : h[low])
              sum += static_cast<long double>(layer.L(i, column++)) * value;
          }
          z[static_cast<std::size_t>(i)] = sum;
        }
        if (l + 1 == network.layers.size()) {
          f = z;
        } else {
          for (long double& value : z) value = value > 0 ? value : 0;
          h[l + 1] = std::move(z);
        }
      }
    };
  });
}

}  // namespace exhume
