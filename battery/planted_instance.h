// Networks, inputs and noise of which the kinds are made.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/random.h"
#include "kind.h"

namespace exhume {

constexpr Index kFreshRows = 20000;

// n rows of a distribution, from a stream of normals.
using Inputs = std::function<RowMatrix(Index n, const Stream& stream)>;
[[nodiscard]] Inputs gaussian(Index d);
[[nodiscard]] Inputs mapped(Index d, double (*map)(double));  // entrywise, of normals
[[nodiscard]] Inputs uniform(Index d);                        // on [0, 1]
[[nodiscard]] Inputs exponential(Index d);
// The inputs of an instance: Stream(seed, "x") for its samples, Stream(seed, "fresh") for its fresh rows.
struct Drawn {
  RowMatrix x, fresh;
};
[[nodiscard]] Drawn draw(const Inputs& inputs, Index n, std::uint64_t seed);

// Rows of W of unit norm, |b| <= bias, 0.5 <= |A| <= 1.5 with random signs, c normal.
[[nodiscard]] Network random_network(Index d, Index k, Index m, double bias, std::uint64_t seed);
// The same network with biases measured where the inputs are: at their mean, in units of the spread of w.x.
[[nodiscard]] Network with_biases_at(Network network, const RowMatrix& x);

// Samples of a network, or of any function of rows, without noise.
[[nodiscard]] Instance samples_of(const Network& network, Drawn inputs);
[[nodiscard]] Instance samples_of(const std::function<RowMatrix(const RowMatrix&)>& f, Drawn inputs);
// The usual case: inputs drawn, biases moved there.
[[nodiscard]] Instance planted(Index d, Index k, Index m, double bias, const Inputs& inputs, Index n,
                               std::uint64_t seed);
// One output of a row.
[[nodiscard]] std::function<RowMatrix(const RowMatrix&)> rowwise(
    std::function<double(const Eigen::RowVectorXd&)> f);

// Standard deviations of the columns.
[[nodiscard]] Eigen::RowVectorXd spreads(const RowMatrix& y);
// Standard normals in the shape of y.
[[nodiscard]] RowMatrix normals_like(const RowMatrix& y, std::uint64_t seed, std::string_view purpose);
// Normal noise, `level` times the spread of every output.
[[nodiscard]] Instance with_noise(Instance instance, double level, std::uint64_t seed);

}  // namespace exhume
