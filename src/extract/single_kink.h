// Single kinks: those of a short segment, and the first one between a place where a model is right and one where it is
// wrong. Each comes with the jump of the Jacobian there, as kinks of long lines do (extract/planes.h).
//
//     segment    all kinks of f between two places: about 8 questions each, and 2 (s + 2) for its Jacobians
//     first      r = f - model is 0 at `right` and not at `wrong`: bisection to where it begins, about 20 questions
//                and 2 (s + 2), whatever the number of kinks in between that the model knows
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "extract/planes.h"

namespace exhume {

[[nodiscard]] std::vector<UpperKink> kinks_of_segment(const Space& space, const Vector& from,
                                                      const Vector& to, std::uint64_t seed);

// The model's answers at the rows of u, and how far they may be off.
using Model = std::function<NoisyAnswers(const RowMatrix& u)>;

// `scale`: distance of planes from the middle.
[[nodiscard]] std::optional<UpperKink> first_kink(const Space& space, const Model& model, const Vector& right,
                                                  const Vector& wrong, double scale, std::uint64_t seed);

}  // namespace exhume
