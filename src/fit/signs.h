// The signs of the units, which the sign-free form leaves open.
//
//     f(x) = sum_j a_j |w_j.x + b_j| + L x + c0
//
// equals the ReLU network sum_j 2 a_j max(xi_j (w_j.x + b_j), 0) + c with signs xi_j = +-1 exactly where
//
//     L = sum_j xi_j a_j w_j^T      (m d equations; the constant c is free and takes the rest).
//
// Solved by least squares where the a_j w_j^T are independent. Where they are not (k > m d, or dependent
// weights) the choices of the dependent ones are enumerated, 2^(k - rank) of them, or, where these are many, the
// signs are the point of a lattice (fit/sign_lattice.h), which needs an exact fit: up to about 3 signs for every
// equation. If several sign vectors fit, the signs are not identifiable (paper depth2, Claim 4.8) and any of them
// is an equivalent network.
#pragma once

#include <vector>

#include "fit/polish.h"

namespace exhume {

enum class SignOutcome {
  kUnique,     // one sign vector fits, all others do not
  kAmbiguous,  // several fit equally: equivalent networks
  kUndecided,  // none fits, or too many to enumerate: the linear term has to stay
};

struct SignDecision {
  SignOutcome outcome = SignOutcome::kUndecided;
  Vector signs;          // +-1, k of them
  double mismatch = 0;   // |L - sum xi a w^T| / max(|L|, (sum |a w^T|^2)^(1/2))
  double runner_up = 0;  // the mismatch of the next best sign vector, or a lower bound of it
  // The next best sign vectors, best first, that miss by no more than `rival_mismatch`: at most `most_rivals`.
  std::vector<Vector> rivals;
};

struct SignOptions {
  double tolerance = 1e-6;  // mismatch up to which a sign vector fits; 1e-3 where there is noise
  // Share of the largest a_j w_j^T below which what is left of one, off the others, counts as nothing: the
  // size of the error of these matrices where there is noise. Their rank is judged with it.
  double dependent = 1e-9;
  int most_free = 20;  // enumerate up to 2^this
  int most_rivals = 0;
  double rival_mismatch = 1;
};

// `model` is in sign-free form.
[[nodiscard]] SignDecision decide_signs(const Form& model, const SignOptions& options);

// The network with these signs: signed form; keeps a linear term where the decision left one open.
[[nodiscard]] Form with_signs(const Form& model, const SignDecision& decision);

}  // namespace exhume
