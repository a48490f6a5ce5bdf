// A wide student: the sign-free form with more units than needed, by Adam in single precision; any number of
// hidden layers, and units of any function of their preactivation.
//
//     minimise over V_1, ..., V_D, C     mean over rows | y - C^T F(x; V) |^2         (model/form.h)
//
// A student wider than the teacher (one hidden layer: a quarter more; several: two to four times) finds, on
// the way to a relative error of 1e-6 or so, a unit close to every unit of the teacher: a start for what
// merges, polishes and prunes. One of the teacher's own widths gets stuck.
//
// C enters linearly: every `solve_every` steps it is the least-squares solution for the V_l on some rows
// (variable projection), rows q^2 products. Features are nearly dependent, and Adam alone follows them
// slowly: of a trained 30-128-2, 8,000 steps leave 6e-7 of the variance without and 3e-10 with it.
//
// Rows that are fitted worst are shown more often in the second half, because a unit that bends within a few
// rows in a thousand is learnt from no others. Batches are windows of the rows in an order drawn once; the
// rate falls by a cosine. A step is done in chunks of rows whose gradients are added in a fixed order: the
// same seed gives the same bits on any number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/random.h"
#include "engine/device.h"
#include "exhume/control.h"
#include "exhume/samples.h"
#include "model/form.h"

namespace exhume {

// Samples as students see them: single precision, in an order drawn from the seed.
class StudentData {
 public:
  StudentData(const SampleSource& samples, std::uint64_t seed, const Control& control);
  [[nodiscard]] Index rows() const { return x.rows(); }
  // The same rows, and as many again from those of which most is left: squares, one per row.
  [[nodiscard]] StudentData with_hard_rows(const Eigen::VectorXf& left, double share,
                                           std::uint64_t seed) const;

  Eigen::MatrixXf x, y;  // n x d, n x m

 private:
  StudentData() = default;
  void shuffle(std::uint64_t seed);
};

// 0, ..., count - 1 in an order drawn from the stream, every one equally likely (Fisher and Yates).
[[nodiscard]] std::vector<Index> shuffled(Index count, const Stream& stream);

// What a unit makes of its preactivations q, entry by entry.
struct StudentUnit {
  using Values = Eigen::Ref<Eigen::MatrixXf>;
  using Given = Eigen::Ref<const Eigen::MatrixXf>;
  void (*values)(const Given& q, Values p) = nullptr;  // p = phi(q)
  void (*slopes)(const Given& q, Values g) = nullptr;  // g = g * phi'(q)
  std::optional<Device::Kind> on_device;               // empty: a device does not know it, trained here
};
[[nodiscard]] const StudentUnit& absolute_unit();  // |q|: the sign-free form of ReLUs

struct StudentOptions {
  Index steps = 20'000;
  Index batch = 512;
  double rate = 1e-2;       // of Adam, at first
  double memory = 0.99;     // of Adam's mean of squared gradients, per step
  Index solve_every = 200;  // steps between two solutions for C; 0: C is learnt by steps alone
  const StudentUnit* unit = &absolute_unit();
  bool hard_rows = true;    // show rows that are fitted worst more often: not where these are the noisiest
  std::vector<Index> held;  // of the lowest layers, first units that stay as they start: known ones
  std::uint64_t seed = 0;
};

struct Student {
  Form form;
  double relative_mse = 0;  // of outputs with variance 1, on the rows that C was solved on
  bool in_time = true;      // false: the deadline came first
};

// Entries uniform in +-1/sqrt(number of columns), as usual.
[[nodiscard]] Form random_student(Index inputs, Index outputs, const std::vector<Index>& widths,
                                  std::uint64_t seed);

// Trains `start`, V and C; on control's device where there is one, by the same steps in the same order.
[[nodiscard]] Student train(const Form& start, const StudentData& data, const StudentOptions& options,
                            const Control& control);
[[nodiscard]] Student train_on_device(const std::shared_ptr<Device>& device, const Form& start,
                                      const StudentData& data, const StudentOptions& options,
                                      const Control& control);

}  // namespace exhume
