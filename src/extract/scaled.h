// Coordinates in which questions and answers are of size 1, and deep forms in them.
//
//     u' = (u - middle) / width,      y' = (y - mean) / spread, output by output
#pragma once

#include "model/form.h"
#include "fit/polish.h"

namespace exhume {

class Scaled {
 public:
  Scaled(const RowMatrix& u, const RowMatrix& y);

  [[nodiscard]] DeepData data(const RowMatrix& u, const RowMatrix& y) const;
  // Rows on (..., u, 1) as rows on (..., u', 1).
  [[nodiscard]] Matrix to_scaled(Matrix rows) const;
  // A form in u' and y' as one in u and y.
  [[nodiscard]] DeepForm from_scaled(DeepForm form) const;
  // A form in u and y as one in u' and y'.
  [[nodiscard]] DeepForm to_scaled(DeepForm form) const;

 private:
  [[nodiscard]] Matrix from_scaled(Matrix rows) const;
  Eigen::RowVectorXd middle_, mean_, spread_;
  double width_ = 1;
};

}  // namespace exhume
