// Rows in memory that a deep form is fitted to, in an order that is of use: the first ones are fitted first.
#pragma once

#include <vector>

#include "exhume/control.h"
#include "model/form.h"

namespace exhume {

// Outputs have mean about 0. Whoever needs only some rows takes the first ones.
struct DeepData {
  RowMatrix x, y;
  double variation = 1;  // sum of squares of y about its mean: what residuals are measured against

  DeepData(RowMatrix inputs, RowMatrix outputs);
  [[nodiscard]] Index rows() const { return x.rows(); }
  // The squared residual of every row, summed over outputs.
  [[nodiscard]] Vector squares(const DeepForm& form, const Control& control) const;
  // Exchanges the rows that the form fits worst, at most `most` of those with a squared residual above
  // `least`, for the first ones; returns how many.
  Index bring_forward(const DeepForm& form, Index most, double least, const Control& control);
  // Rows that are listed, in increasing order, taken out; the others keep their order.
  [[nodiscard]] DeepData take_out(const std::vector<Index>& listed);
  void append(const DeepData& other);
};

}  // namespace exhume
