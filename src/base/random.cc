#include "base/random.h"

#include <Random123/philox.h>

#include <cmath>
#include <numbers>

namespace exhume {
namespace {

using Philox = r123::Philox4x32;

// FNV-1a: a purpose's name becomes 32 bits of the counter.
std::uint32_t hash(std::string_view text) {
  std::uint32_t value = 2166136261u;
  for (const char letter : text) value = (value ^ static_cast<unsigned char>(letter)) * 16777619u;
  return value;
}

// The top 53 bits as a number in (0, 1): the half keeps it off both ends.
double to_unit(std::uint32_t high, std::uint32_t low) {
  const std::uint64_t bits = (static_cast<std::uint64_t>(high) << 32 | low) >> 11;
  return (static_cast<double>(bits) + 0.5) * 0x1p-53;
}

}  // namespace

Stream::Stream(std::uint64_t seed, std::string_view purpose)
    : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
      purpose_(hash(purpose)) {}

Stream::Pair Stream::uniforms(std::uint64_t row, std::uint32_t pair) const {
  const Philox::ctr_type counter = {
      {static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(row >> 32), pair, purpose_}};
  const Philox::key_type key = {{key_[0], key_[1]}};
  const Philox::ctr_type random = Philox()(counter, key);
  return {to_unit(random[0], random[1]), to_unit(random[2], random[3])};
}

Stream::Pair Stream::normals(std::uint64_t row, std::uint32_t pair) const {
  const auto [u, v] = uniforms(row, pair);
  const double radius = std::sqrt(-2 * std::log(u));
  const double angle = 2 * std::numbers::pi * v;
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

std::uint64_t Stream::bits(std::uint64_t row, std::uint32_t pair) const {
  const Philox::ctr_type counter = {
      {static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(row >> 32), pair, purpose_}};
  const Philox::key_type key = {{key_[0], key_[1]}};
  const Philox::ctr_type random = Philox()(counter, key);
  return static_cast<std::uint64_t>(random[0]) << 32 | random[1];
}

void Stream::fill_normal(std::uint64_t first_row, Eigen::Ref<RowMatrix> out) const {
  for (Index i = 0; i < out.rows(); ++i) {
    for (Index j = 0; j < out.cols(); j += 2) {
      const auto [a, b] =
          normals(first_row + static_cast<std::uint64_t>(i), static_cast<std::uint32_t>(j / 2));
      out(i, j) = a;
      if (j + 1 < out.cols()) out(i, j + 1) = b;
    }
  }
}

void Stream::fill_uniform(std::uint64_t first_row, Eigen::Ref<RowMatrix> out) const {
  for (Index i = 0; i < out.rows(); ++i) {
    for (Index j = 0; j < out.cols(); j += 2) {
      const auto [a, b] =
          uniforms(first_row + static_cast<std::uint64_t>(i), static_cast<std::uint32_t>(j / 2));
      out(i, j) = a;
      if (j + 1 < out.cols()) out(i, j + 1) = b;
    }
  }
}

Matrix Stream::normal_matrix(Index rows, Index cols) const {
  RowMatrix out(rows, cols);
  fill_normal(0, out);
  return out;
}

Vector Stream::uniform_vector(Index size, double low, double high) const {
  RowMatrix out(size, 1);
  fill_uniform(0, out);
  return (low + (high - low) * out.col(0).array()).matrix();
}

std::uint64_t Stream::below(std::uint64_t bound, std::uint64_t row) const {
  return static_cast<std::uint64_t>(uniforms(row, 0).first * static_cast<double>(bound));
}

}  // namespace exhume
