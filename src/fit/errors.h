// How well the weights of a fit are determined: standard errors from its curvature, and how far weights may
// move without the outputs moving.
//
// One hidden layer. With independent noise of variance sigma^2 on every output, the least-squares fit has
// covariance sigma^2 (J^T J)^-1, J the Jacobian of the signed network: the Cramer-Rao limit. It is computed
// in the standardised coordinates of the fit and carried by the delta method to the user's coordinates and
// unit rows of W. Noise that is shared between outputs is made independent first, by mixing them: y' = Q y.
// The same matrix says how far the fitted outputs are off: at x, var f_o(x) = sigma^2 g^T (J^T J)^-1 g with g
// the gradient of f_o at x (the leverage of that entry).
//
// The same without assuming that the noise is of one size (FitCovariance): with all parameters theta =
// (V, C), g_io the derivatives of output o at row i and r_io the residuals, outputs mixed as above,
//
//     covariance = A^-1 B A^-1      A = sum_io g_io g_io^T      B = sum_i u_i u_i^T,  u_i = sum_o r'_io g_io
//     r'_io = r_io / (1 - h_io)     h_io = g_io^T A^-1 g_io     (MacKinnon and White's HC3: few rows)
//
// A linear term is part of C, so there may be one, and no units at all: linear regression then.
//
// Several hidden layers. Nothing is assumed of the noise but that rows are independent (it may be shared
// between outputs or grow with the signal):
//
//     covariance = N A^-1 B A^-1,     A = sum_i sum_o w_o g_io g_io^T + sum_u c_u c_u^T
//                                     B = sum_i (sum_o w_o r_io g_io) (sum_o w_o r_io g_io)^T
//
// i: rows, o: outputs, r: residuals, g_io: derivatives of output o at row i by all P entries of the W_l and
// b_l. The fit minimised sum w_o r_io^2. c_u, the row w of hidden unit u in the places of that row, keeps it
// at unit norm: scaling a unit changes nothing. N = n m / (n m - P), for the residuals that P weights have
// taken.
#pragma once

#include <vector>

#include "exhume/control.h"
#include "exhume/network.h"
#include "fit/data.h"
#include "fit/polish.h"
#include "moments/standardise.h"

namespace exhume {

struct ErrorEstimate {
  Network errors;  // same shapes as the network, an entry is a standard error
  double largest = 0;
  // Of J / sqrt(rows) with units of unit norm: how well the weights are determined.
  double smallest_singular = 0;
};

// One hidden layer. Dense: needs k (d+1) unknowns at most PolishOptions::dense_limit.
class Curvature {
 public:
  // `form` with known signs, at the optimum on `samples`.
  Curvature(const Form& form, const SampleSource& samples, const Control& control);

  // The samples being standardised by `coordinates` and leaving residuals of variance `variance` in every
  // output, the errors of the network in the user's coordinates with unit rows of W, in the same order of
  // units. `unmix` (m x m) takes the form's outputs to the user's, up to a constant: y = unmix y'.
  [[nodiscard]] ErrorEstimate errors(double variance, const Standardisation& coordinates,
                                     const Matrix& unmix) const;

  // The variance of the fitted outputs at every row of x, for noise of variance 1: rows x m.
  [[nodiscard]] Matrix of_values(const Eigen::Ref<const RowMatrix>& x) const;

  // A^-1 of all parameters: V unit by unit, (d+1) each, then C output by output, q each.
  [[nodiscard]] Matrix of_parameters() const;

 private:
  // How C's entry (feature, o) follows V, times dV.
  [[nodiscard]] Vector response_to_V(Index feature, Index o) const;

  Form form_;
  Index rows_;
  Matrix covariance_V_;  // of vec(V), P x P with P = k (d+1), for noise of variance 1
  Matrix FF_inverse_;    // q x q
  Matrix response_;      // q x P: how C follows V, before the factor C_j
};

// The covariance of all parameters of a fit of at most one hidden layer, whatever the size of the noise is.
class FitCovariance {
 public:
  // Above so many parameters k (d+1) + q m none is computed.
  static constexpr Index kMostParameters = 1500;
  [[nodiscard]] static bool affordable(const Form& form);

  // `form` with known signs or with a linear term, at the optimum on `samples`, whose outputs are mixed so
  // that their noise is unrelated. B is taken from as many rows as 2e10 products go, A from all.
  FitCovariance(const Form& form, const SamplePtr& samples, const Control& control);

  [[nodiscard]] const Form& form() const { return form_; }
  [[nodiscard]] const Matrix& matrix() const { return matrix_; }
  // Places of V(unit, entry) and C(feature, output) in it.
  [[nodiscard]] Index of_V(Index unit, Index entry) const { return unit * (form_.inputs + 1) + entry; }
  [[nodiscard]] Index of_C(Index feature, Index output) const {
    return form_.units() * (form_.inputs + 1) + output * form_.features() + feature;
  }
  // Standard errors of the network in the user's coordinates, as Curvature::errors has them, with those of a
  // linear term.
  [[nodiscard]] Network errors(const Standardisation& coordinates, const Matrix& unmix) const;

 private:
  Form form_;
  Matrix matrix_;
};

// Several hidden layers. Entries are standard errors, in the shapes of the network: canonical, without skip
// terms. rows: some of those that it was fitted to, in its own coordinates, of `fitted` in all; weights: w,
// of size m. Empty where A is singular.
[[nodiscard]] Network weight_errors(const Network& network, const DeepData& rows, Index fitted,
                                    const Vector& weights, const Control& control);

// How far the rows determine the weights, layer by layer, to first order. H = J^T P J / n, J the Jacobian by
// the entries of all V_l (rows of unit norm), P the projection off what C may take up: the curvature of the
// fit (fit/polish.h). A change t of the weights changes the outputs by (t^T H t)^(1/2), root mean square, so
// with B_l the block of H^-1 that belongs to layer l
//
//     smallest_l = lambda_max(B_l)^(-1/2),       |t_p| <= epsilon (H^-1)_pp^(1/2)    for every weight p
//
// where the outputs differ by epsilon at most. 0 where H is singular: then other weights give the same
// outputs.
struct Determined {
  std::vector<double> smallest;  // of every hidden layer
  double largest_error = 0;      // the largest (H^-1)_pp^(1/2)
  Matrix inverse;                // H^-1; empty where H is singular

  [[nodiscard]] double least() const;
};

// Rows on a unit's kink, |v.P_{l-1}| <= at_kink |P_{l-1}|, are left out. A weight that acts on no row may be
// moved until the unit would switch on at one, and there a polish that came from the far side ends, on the
// kink of that row: its slope says that the weight acts, and its output is the same without it. By chance one
// row and unit in a thousand million are as near, or in a hundred thousand.
inline constexpr double kAtKink = 1e-9, kAtKinkOfSingles = 1e-5;

[[nodiscard]] Determined how_determined(const Form& plain, const DeepData& data, const Control& control,
                                        double at_kink = kAtKink);
// The smallest_l alone, which takes no inverse: a third of the operations.
[[nodiscard]] std::vector<double> smallest_singular_values(const Form& plain, const DeepData& data,
                                                           const Control& control, double at_kink = kAtKink);

}  // namespace exhume
