// Questions at which rare weights act: every weight between two hidden layers acts where both its units are on.
#pragma once

#include <vector>

#include "model/form.h"

namespace exhume {

// Of the candidates, rows x d, those that make up for pairs of units in neighbouring layers that are on together at
// fewer than `each` of the questions asked already, for units that are off at fewer, and for those that are on at fewer than
// two for every weight.
// `form` is plain, in the same coordinates. Their numbers, increasing.
[[nodiscard]] std::vector<Index> where_pairs_act(const DeepForm& form, const RowMatrix& candidates,
                                                 const RowMatrix& asked, double each);

}  // namespace exhume
