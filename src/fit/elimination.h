// Which groups of columns of a least-squares problem the others replace: backward elimination.
//
//     min_C | Y - F C |^2,   N = (F^T F)^-1        worth of the columns S:   tr C_S^T (N_SS)^-1 C_S
//
// is what the sum of squares rises by if the columns S go and all others follow. Then
//
//     N <- N - N_.S (N_SS)^-1 N_S.,      C <- C - N_.S (N_SS)^-1 C_S
//
// are those of the columns that stay, so that worths after a removal count what went before it: of two equal
// columns each is worth nothing, but not both. One removal costs |F|^2 |S| operations, no pass over rows.
#pragma once

#include <vector>

#include "exhume/control.h"
#include "exhume/samples.h"
#include "model/form.h"

namespace exhume {

class Elimination {
 public:
  // gram: F^T F, both triangles; C: the least-squares solution. Columns of no group stay.
  Elimination(const Matrix& gram, Matrix C, std::vector<std::vector<Index>> groups);

  // Of every group, 0 where it cannot be told from none; infinite where it went, or cannot be computed any
  // more after others went.
  [[nodiscard]] Vector worth() const;
  void remove(Index group);
  // The cheapest goes while the worths of all that went add up to `allowed` at most and `least` groups stay;
  // those that went, in that order.
  [[nodiscard]] std::vector<Index> remove_spare(double allowed, Index least);

 private:
  [[nodiscard]] Matrix block(Index group) const;
  [[nodiscard]] Matrix rows_of_C(Index group) const;

  Matrix inverse_, C_;
  std::vector<std::vector<Index>> groups_;
  std::vector<bool> gone_;
};

// Units of one hidden layer as groups of one column each: what the layer above, solved for anew, does
// without. Worths are sums of squares over the rows.
[[nodiscard]] Elimination features_of_units(const Form& form, const SampleSource& rows,
                                            const Control& control);

// Units as groups of their features and all their derivatives, F = (features, d/dV): all other units and
// output weights follow to first order. C of the form is solved.
[[nodiscard]] Elimination linearised_units(const Form& form, const SampleSource& rows,
                                           const Control& control);

}  // namespace exhume
