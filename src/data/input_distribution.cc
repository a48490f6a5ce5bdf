#include "data/input_distribution.h"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>
#include <utility>

namespace exhume {
namespace {

constexpr std::pair<Distribution, const char*> kNames[] = {{Distribution::kGaussian, "gaussian"},
                                                           {Distribution::kMixture, "mixture"},
                                                           {Distribution::kRandomMixture, "random-mixture"},
                                                           {Distribution::kCube, "cube"},
                                                           {Distribution::kLaplace, "laplace"},
                                                           {Distribution::kStudent5, "t5"},
                                                           {Distribution::kRows, "rows"},
                                                           {Distribution::kExponential, "exponential"}};

}  // namespace

const char* to_string(Distribution distribution) {
  for (const auto& [value, name] : kNames) {
    if (value == distribution) return name;
  }
  return "";
}

std::vector<std::string> distribution_names() {
  std::vector<std::string> names;
  for (const auto& [value, name] : kNames) names.emplace_back(name);
  return names;
}

Distribution parse_distribution(std::string_view name) {
  std::string known;
  for (const auto& [value, text] : kNames) {
    if (name == text) return value;
    known += known.empty() ? text : fmt::format(", {}", text);
  }
  throw std::invalid_argument(fmt::format("distribution is '{}', but must be one of {}", name, known));
}

InputDistribution::InputDistribution(Distribution distribution, Index inputs, double perturb,
                                     std::shared_ptr<const RowMatrix> table, std::uint64_t seed,
                                     std::string_view purpose)
    : distribution_(distribution),
      perturb_(perturb),
      table_(std::move(table)),
      z_(seed, std::string(purpose) + " inputs"),
      scale_(seed, std::string(purpose) + " row scales"),
      entry_(seed, std::string(purpose) + " entry scales"),
      chosen_(seed, std::string(purpose) + " rows of the table") {
  if (!(perturb >= 0 && perturb <= 1)) {
    throw std::invalid_argument(fmt::format("perturb_inputs is {}, but must be between 0 and 1", perturb));
  }
  if (distribution == Distribution::kRows) {
    if (!table_ || table_->rows() == 0) {
      throw std::invalid_argument("distribution is rows, but no table of rows is given");
    }
    if (table_->cols() != inputs) {
      throw std::invalid_argument(fmt::format(
          "the table of rows has {} columns, but the network has {} inputs", table_->cols(), inputs));
    }
  }
  if (distribution == Distribution::kMixture) centre_ = Vector::Ones(inputs);
  // What is drawn once belongs to the seed, not to the purpose: probes must see the same distribution.
  if (distribution == Distribution::kRandomMixture)
    centre_ = Stream(seed, "mixture centre").normal_matrix(inputs, 1);
  if (perturb > 0) Q_ = Stream(seed, "perturbation Q").normal_matrix(inputs, inputs);
}

void InputDistribution::fill(std::uint64_t first_row, Eigen::Ref<RowMatrix> out) const {
  const Index d = out.cols();
  z_.fill_normal(first_row, out);
  if (distribution_ == Distribution::kGaussian && perturb_ == 0) return;
  Vector mixed(d);
  for (Index i = 0; i < out.rows(); ++i) {
    const std::uint64_t row = first_row + static_cast<std::uint64_t>(i);
    const Stream::Pair u = scale_.uniforms(row, 0);
    if (perturb_ > 0 && u.second < perturb_) {
      mixed.setZero();
      for (Index j = 0; j < d; ++j) mixed += out(i, j) * Q_.col(j);
      out.row(i) = mixed;
      continue;
    }
    const double sign = u.first < 0.5 ? -1 : 1;
    const auto pair = [&](Index j) { return entry_.uniforms(row, static_cast<std::uint32_t>(j)); };
    switch (distribution_) {
      case Distribution::kGaussian:
        break;
      case Distribution::kMixture:
      case Distribution::kRandomMixture:
        out.row(i) += sign * centre_.transpose();
        break;
      case Distribution::kCube:
        for (Index j = 0; j < d; ++j) out(i, j) = std::sqrt(3.0) * (2 * pair(j).first - 1);
        break;
      case Distribution::kLaplace:
        out.row(i) *= std::sqrt(-std::log(u.first));
        break;
      case Distribution::kStudent5:
        // Chi-squared with 4 degrees is -2 log of a product of two uniforms; one normal makes it 5.
        for (Index j = 0; j < d; ++j) {
          const Stream::Pair v = pair(j);
          const double g = entry_.normals(row, static_cast<std::uint32_t>(d + j)).first;
          out(i, j) *= std::sqrt(3 / (-2 * std::log(v.first * v.second) + g * g));
        }
        break;
      case Distribution::kRows:
        out.row(i) =
            sign *
            table_->row(static_cast<Index>(chosen_.below(static_cast<std::uint64_t>(table_->rows()), row)));
        break;
      case Distribution::kExponential:
        for (Index j = 0; j < d; ++j) out(i, j) = -std::log(pair(j).first) - 1;
        break;
    }
  }
}

}  // namespace exhume
