// Fits of deep forms on queries: on a sample, on all that were asked, and what they answer wrongly.
//
// Fits run in coordinates in which queries and answers are of size 1:
//
//     u' = (u - middle) / width,      y' = (y - mean) / spread, output by output
//
// A polish (fit/deep/polish.h) is limited in operations, never by the clock.
#pragma once

#include <optional>

#include "extract/evidence.h"
#include "fit/polish.h"
#include "model/form.h"

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

struct FormFit {
  DeepForm form;
  double relative_mse = 1;
};

struct FormFitOptions {
  int hope = 10;          // steps after which it must be on its way; 0: any number
  double enough = 1e-19;  // relative mean square that counts as on its way to rounding
};
// The polish of all layers that are not given, on rows u, y; empty where it does not end at `enough`.
[[nodiscard]] std::optional<FormFit> fit_form(const DeepForm& start, const RowMatrix& u, const RowMatrix& y,
                                              const FormFitOptions& options, const Control& control);

// The same on the sample and on what else was asked in the space, as many as can be afforded. Kinks and
// places on surfaces are queries too: the last digits of units that act rarely.
[[nodiscard]] std::optional<FormFit> fit_form_to_all(const Space& space, const QueryEvidence& evidence,
                                                     const DeepForm& start);

// Only the outputs on the features of given layers: the share of the variance that is left. Sets form.C.
[[nodiscard]] double fit_outputs(DeepForm& form, const RowMatrix& u, const RowMatrix& y,
                                 const Control& control);

struct WrongAnswers {
  RowMatrix u, y;
};
// Queries asked in the space that the form answers wrongly, the nearest to the middle, at most so many.
// spread: of the outputs; scale: distance of planes from the middle.
[[nodiscard]] WrongAnswers wrong_answers(const Space& space, const DeepForm& form, double spread,
                                         double scale, Index most);

// z at the rows of h: those of a layer on what lies below it, V (h, 1).
[[nodiscard]] RowMatrix layer_values(const Matrix& V, const RowMatrix& h);
// h at the rows of u: the values, after max(., 0), of the layer below the last hidden one of a plain form; u
// itself where there is none.
[[nodiscard]] RowMatrix features_below(const DeepForm& plain, const RowMatrix& u);

// B with F B near y by least squares, columns of F scaled to unit norm.
[[nodiscard]] Matrix solve_by_columns(const Matrix& F, const Matrix& y);

// Root mean square of outputs about their mean.
[[nodiscard]] double spread_of(const RowMatrix& y);

// A polish takes at most so many steps of p^2 n m operations each, and never more than its own limit.
[[nodiscard]] int affordable_steps(const DeepForm& form, const DeepData& data, int most);

}  // namespace exhume
