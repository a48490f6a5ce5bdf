// Fits of deep forms on questions: on given ones, on all that were asked, and what they answer wrongly.
#pragma once

#include <optional>
#include <string>

#include "extract/space.h"
#include "model/form.h"

namespace exhume {

struct DeepFit {
  DeepForm form;
  double relative_mse = 1;
};

// The polish of all layers (fit/deep/polish.h) on rows u, y, in coordinates of size 1; empty where it does not end at
// rounding, or at the relative mean square `enough`. hope: steps after which it must be on its way.
inline constexpr double kOnItsWay = 1e-19;
[[nodiscard]] std::optional<DeepFit> polished_on(const DeepForm& start, const RowMatrix& u,
                                                 const RowMatrix& y, int hope, const Control& control,
                                                 double enough = kOnItsWay);

// The same on u, y and what else was asked in the space, as many as can be afforded, but for the stage of u and y.
// Kinks and places on surfaces are questions too: the last digits of units that act rarely.
[[nodiscard]] std::optional<DeepFit> polished_on_all(const Space& space, const DeepForm& start,
                                                     const RowMatrix& u, const RowMatrix& y, double scale,
                                                     const std::string& stage, const Control& control);

struct WrongAnswers {
  RowMatrix u, y;
};
// Questions asked in the space that the form answers wrongly, the nearest to the middle, at most so many. spread: of the outputs; scale: distance of
// planes from the middle.
[[nodiscard]] WrongAnswers wrong_answers(const Space& space, const DeepForm& form, double spread,
                                         double scale, Index most);

// h at the rows of u: the values, after max(., 0), of the layer below the last hidden one of a plain form; u itself where there is
// none.
[[nodiscard]] RowMatrix features_below(const DeepForm& plain, const RowMatrix& u);

// Root mean square of outputs about their mean.
[[nodiscard]] double spread_of(const RowMatrix& y);

}  // namespace exhume
