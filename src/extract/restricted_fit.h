// The units that lines showed (extract/restricted.h), fitted to random questions of the subspace.
//
//     minimise  sum_i | y_i - sum_j c_j |w_j.u_i + b_j| - L u_i - e |^2,     twice as many equations as unknowns
//
// Where units are missing the start's errors are large: then nothing is polished, and the question at which most is left is where
// the next line leads. Where answers are so noisy that lines do not show all kinks, a search that needs none takes over
// (extract/searched.h), and units that noise made up are left out.
#pragma once

#include <cstdint>
#include <utility>

#include "extract/space.h"
#include "model/separable_model.h"

namespace exhume {

class RestrictedFit {
 public:
  // share: equations for every unknown.
  RestrictedFit(const Space& space, std::uint64_t seed, double share);

  // True where the model, polished then, is right to the noise; otherwise it stays as the lines gave it. `scale`: distance within
  // which the planes lie, as the model has it. `whatever`: polish, whatever the start's errors.
  bool fit(SeparableModel& model, double& scale, bool whatever);

  // Lines do not show all kinks.
  [[nodiscard]] bool noisy() const;
  [[nodiscard]] bool searched() const { return searched_; }
  // How far the start's values are off, as a share of its terms.
  [[nodiscard]] double start_error() const { return start_error_; }
  // Largest |f - model| over the noise at the questions, after the last polish.
  [[nodiscard]] double worst() const { return error_; }
  // The question at which most is left; empty where nothing is.
  [[nodiscard]] const Vector& worst_place() const { return worst_; }

 private:
  bool polished(bool whatever);
  // Random questions: directions at random, distances from well within the planes to beyond most of them.
  void more_questions(double share);
  void add(const RowMatrix& u);
  // A plane that has nearly all points on one side is met by more: some of them, moved across it.
  void meet_all_planes();
  // The start's errors as shares of its terms: what one in fifty does not exceed, which no missing unit spoilt, and the largest.
  [[nodiscard]] std::pair<double, double> start_errors();
  // Largest |f - model| over the noise at the questions.
  [[nodiscard]] double worst_of(const SeparableModel& model) const;
  // The model without unit j, its amplitudes fitted again.
  [[nodiscard]] SeparableModel without(Index j) const;
  // Noise on a line may pass for a kink, and two of its places for two units: those without which the others answer as well.
  void leave_needless();
  // More random questions, and the search that needs no kinks.
  bool search();

  const Space& space_;
  std::uint64_t seed_;
  Index s_;
  SeparableModel model_;
  double scale_ = 1;
  RowMatrix u_, y_;  // questions and answers
  Vector worst_;
  double start_error_, share_, error_ = 0;
  bool searched_ = false;
  int searches_ = 0;
};

}  // namespace exhume
