// Rows seen through a deep form: features, preactivations, and the slopes that Gauss-Newton needs.
//
// All P_l stand in one column-major matrix, upper layers left:
//
//     sign-free   P = [ |Q_D|  ...  |Q_1|  x  1 ]                 P_l = all columns from |Q_l| on
//     plain       P = [ h_D 1  ...  h_1 1  x  1 ]                 P_l = the columns h_l 1
#pragma once

#include <vector>

#include "fit/deep/form.h"

namespace exhume {

// Where the columns of P are.
struct DeepLayout {
  explicit DeepLayout(const DeepForm& form);

  struct Place {
    Index first = 0, count = 0;
  };
  Index columns = 0;          // of P
  std::vector<Place> hidden;  // of layer l: the columns |Q_l| or h_l
  std::vector<Place> below;   // of layer l: those it reads, P_{l-1}
  Place inputs;               // x
  Index features = 0;         // F: the first columns
  std::vector<Index> ones;
};

class DeepRows {
 public:
  DeepRows(const DeepForm& form, const Eigen::Ref<const RowMatrix>& x);

  [[nodiscard]] const Matrix& P() const { return P_; }
  [[nodiscard]] auto F() const { return P_.leftCols(layout_.features); }
  [[nodiscard]] const DeepLayout& layout() const { return layout_; }
  [[nodiscard]] const Matrix& Q(std::size_t l) const { return Q_[l]; }

  // d f_o / d Q_l for every layer, rows x k_l, where C's column o is `c`.
  [[nodiscard]] std::vector<Matrix> slopes(const Eigen::Ref<const Vector>& c) const;
  // d f_o / d V, rows x unknowns: layer by layer from the first that is not given, unit by unit, column by column of P_{l-1}.
  [[nodiscard]] Matrix jacobian(const Eigen::Ref<const Vector>& c) const;

 private:
  const DeepForm& form_;
  DeepLayout layout_;
  Matrix P_;
  std::vector<Matrix> Q_;
};

}  // namespace exhume
