// What a student is given, and what becomes of it.
#pragma once

#include <cstdint>
#include <vector>

#include "exhume/control.h"
#include "exhume/samples.h"
#include "model/form.h"

namespace exhume {

// Samples as students see them: single precision, in an order drawn from the seed.
class StudentData {
 public:
  StudentData(const SampleSource& samples, std::uint64_t seed, const Control& control);
  [[nodiscard]] Index rows() const { return x.rows(); }
  // The same rows, and as many again from those that the form fits worst: a unit that bends within few rows is
  // learnt from those.
  [[nodiscard]] StudentData with_hard_rows(const Form& form, double share, std::uint64_t seed,
                                           const Control& control) const;

  Eigen::MatrixXf x, y;  // n x d, n x m

 private:
  StudentData() = default;
  void shuffle(std::uint64_t seed);
};

struct StudentOptions {
  Index steps = 20'000;
  Index batch = 512;
  double rate = 1e-2;       // of Adam, at first
  bool hard_rows = true;    // show rows that are fitted worst more often: not where these are the noisiest
  std::vector<Index> held;  // of the lowest layers, first units that stay as they start: known ones
  std::uint64_t seed = 0;
};

struct Student {
  Form form;
  double relative_mse = 0;  // over the last steps, of outputs with variance 1
  bool in_time = true;      // false: the deadline came first
};

}  // namespace exhume
