// Distributions from which planted inputs are drawn. All but the last are symmetric about zero.
//
//   gaussian         z                   standard normal, independent
//   mixture          z + s 1             s = +-1, probability 1/2 each (paper symmetric, Section 4.2)
//   random-mixture   z + s mu            mu standard normal, drawn once (Section 4.3)
//   cube             uniform             on [-sqrt 3, sqrt 3]^d
//   laplace          sqrt(e) z           e exponential, one per row: the multivariate Laplace distribution
//   t5               z_j sqrt(3 / c_j)   c_j chi-squared with 5 degrees, one an entry: Student's t5
//   rows             s r                 r a random row of a given table: any data set made symmetric
//   exponential      e_j - 1             not symmetric: for tests of the test
//
// All but the mixtures and the rows have variance 1. Where `perturb` = lambda > 0, a row is replaced with
// probability lambda by Q z, Q (d x d) standard normal, drawn once: the (Q, lambda)-perturbation of paper
// symmetric, Section C, under which the distinguishing matrix has full rank.
//
// A row depends on the seed and its number alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "exhume/types.h"

namespace exhume {

enum class Distribution {
  kGaussian,
  kMixture,
  kRandomMixture,
  kCube,
  kLaplace,
  kStudent5,
  kRows,
  kExponential,
};
[[nodiscard]] const char* to_string(Distribution distribution);
// A name of the list above; anything else throws std::invalid_argument.
[[nodiscard]] Distribution parse_distribution(std::string_view name);
[[nodiscard]] std::vector<std::string> distribution_names();

class InputDistribution {
 public:
  // `table`: the rows of kRows, N x d; throws std::invalid_argument where they are missing
  // or have another width.
  InputDistribution(Distribution distribution, Index inputs, double perturb,
                    std::shared_ptr<const RowMatrix> table, std::uint64_t seed, std::string_view purpose);
  // Rows first_row, first_row + 1, ... of the distribution.
  void fill(std::uint64_t first_row, Eigen::Ref<RowMatrix> out) const;

 private:
  Distribution distribution_;
  double perturb_;
  std::shared_ptr<const RowMatrix> table_;
  Stream z_, scale_, entry_, chosen_;
  Vector centre_;  // of kMixture and kRandomMixture
  Matrix Q_;       // of the perturbation
};

}  // namespace exhume
