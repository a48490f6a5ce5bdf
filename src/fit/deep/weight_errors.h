// Standard errors of all weights of a deep network that was fitted to noisy rows.
//
//     covariance = N A^-1 B A^-1,     A = sum_i sum_o w_o g_io g_io^T + sum_u c_u c_u^T
//                                     B = sum_i (sum_o w_o r_io g_io) (sum_o w_o r_io g_io)^T
//
// i: rows, o: outputs, r: residuals, g_io: derivatives of output o at row i by all P entries of the W_l and b_l. The
// fit minimised sum w_o r_io^2. c_u, the row w of hidden unit u in the places of that row, keeps it at unit norm: scaling
// a unit changes nothing. N = n m / (n m - P), for the residuals that P weights have taken.
//
// Nothing is assumed of the noise but that rows are independent: it may be shared between outputs or grow with the
// signal.
#pragma once

#include "exhume/control.h"
#include "fit/data.h"
#include "model/deep_network.h"

namespace exhume {

// Entries are standard errors, in the shapes of the network: canonical, without skip terms. rows: some of those that it
// was fitted to, in its own coordinates, of `fitted` in all; weights: w, of size m. Empty where A is singular.
[[nodiscard]] DeepNetwork weight_errors(const DeepNetwork& network, const DeepData& rows, Index fitted,
                                        const Vector& weights, const Control& control);

}  // namespace exhume
