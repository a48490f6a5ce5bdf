// Random numbers that depend on what they are for, not on when they are drawn.
//
// Philox-4x32-10 (Random123) is a function from (key, counter) to 128 random bits:
//
//     key       64 bits    the user's seed
//     counter  128 bits    64 of a row number, 32 of a pair of columns, 32 of a purpose: FNV-1a of its name
//
// So any thread can draw row 1,000,000 without drawing the rows before it, and two purposes share no numbers
// unless the hashes of their names are equal.
//
// Normals come from Box-Muller on 53-bit uniforms, written here because std::normal_distribution differs
// between standard libraries.
#pragma once

#include <cstdint>
#include <string_view>

#include "exhume/types.h"

namespace exhume {

// A stream of numbers for one purpose: Stream(seed, "weights"). Random access by (row, column pair).
class Stream {
 public:
  Stream(std::uint64_t seed, std::string_view purpose);

  // Two independent numbers at position (row, pair).
  struct Pair {
    double first, second;
  };
  [[nodiscard]] Pair uniforms(std::uint64_t row, std::uint32_t pair) const;  // in (0, 1)
  [[nodiscard]] Pair normals(std::uint64_t row, std::uint32_t pair) const;   // standard normal
  [[nodiscard]] std::uint64_t bits(std::uint64_t row, std::uint32_t pair) const;

  // Whole rows: out(i, j) for row first_row + i. Rows of standard normals, or of uniforms in (0, 1).
  void fill_normal(std::uint64_t first_row, Eigen::Ref<RowMatrix> out) const;
  void fill_uniform(std::uint64_t first_row, Eigen::Ref<RowMatrix> out) const;
  [[nodiscard]] Matrix normal_matrix(Index rows, Index cols) const;
  [[nodiscard]] Vector uniform_vector(Index size, double low, double high) const;
  // A whole number in [0, bound), bound >= 1.
  [[nodiscard]] std::uint64_t below(std::uint64_t bound, std::uint64_t row) const;

 private:
  std::uint32_t key_[2];
  std::uint32_t purpose_;
};

}  // namespace exhume
