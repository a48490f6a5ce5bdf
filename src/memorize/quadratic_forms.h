// The two linear maps under everything that memorises, as matrix products over blocks of rows.
//
//   values    M  ->  (z_j^T M z_j)_j              n numbers      rowsum((Z M) o Z)
//   gram      v  ->  sum_j v_j z_j z_j^T          k x k          Z^T diag(v) Z
//
// They are each other's adjoint, and their composition is the kernel:  values(gram(v)) = K v with
// K_ij = (z_i . z_j)^2, at 4 n k^2 operations and without forming K. Z: n x k. Bits do not depend on threads.
#pragma once

#include <vector>

#include "exhume/control.h"
#include "exhume/types.h"

namespace exhume {

// One column a form: n x forms.size(). Each form: k x k (need not be symmetric).
[[nodiscard]] Matrix form_values(const Eigen::Ref<const RowMatrix>& z, const std::vector<Matrix>& forms,
                                 const Control& control = {});

// One matrix a column of `weights` (n x m): k x k, exactly symmetric.
[[nodiscard]] std::vector<Matrix> weighted_grams(const Eigen::Ref<const RowMatrix>& z,
                                                 const Eigen::Ref<const Matrix>& weights,
                                                 const Control& control = {});

}  // namespace exhume
