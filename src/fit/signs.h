// The signs of the units, which the sign-free form (model/form.h) leaves open: one linear system per layer.
//
// Write V_{l+1} (C^T at the top) as [U, R]: U on |Q_l|, R on P_{l-1}. In a plain network every unit is
// h = max(s q, 0) = (s q + |q|)/2 with a sign s, and what stands above sees h alone:
//
//     R = U diag(s_l) V_l      apart from the column of the constant 1
//
// Then W_1 = diag(s_1) V_1, W_{l+1} = 2 diag(s_{l+1}) U, and the biases follow from the constants. With one
// hidden layer, f(x) = sum_j a_j |w_j.x + b_j| + L x + c0, the system is L = sum_j s_j a_j w_j^T (m d
// equations).
//
// M s = v with s in {-1, +1}^k is solved
//   - by least squares, where the columns of M are independent;
//   - where they are not (k > m d, or dependent weights): by enumeration, 2^(k - rank) choices;
//   - where these are many: as the point of a lattice, or by two halves of the signs. Both need an exact fit.
// If several sign vectors fit, the signs are not identifiable (paper depth2, Claim 4.8) and any of them is an
// equivalent network. Only the least network passes: with one unit too many the function is exact and the
// solutions are not +-1. Then, and where a system is singular, the form with its skip terms is the answer.
#pragma once

#include <optional>
#include <vector>

#include "model/form.h"

namespace exhume {

// Signs out of fewer equations than there are signs: M: r x k, r < k, real.
//
// 2^k sign vectors meet r real equations of many digits each, so as a rule one of them fits and no other
// does, although linear algebra leaves k - r dimensions open. With s = 1 - 2 z, z in {0, 1}^k, the equations
// are M z = h, h = (M 1 - v) / 2: a point of the lattice of all
//
//     (z, C M z)  in R^(k + r),  z integer
//
// lies at distance k^(1/2) / 2 of (1/2, C h), for any weight C. The larger C, the longer the vectors of the
// reduced lattice: where none is shorter than k^(1/2), rounding leads to that point and no other is as near,
// which proves that there is no second sign vector (linalg/lattice.h). C grows fourfold from 1, each time
// from the reduced lattice before, as long as M s = v holds to the digits that it asks for. About k
// log2(1.02^k k^(1/2)) / r binary digits of the equations are needed: 15 for k = 2 r = 128.
struct SignPoint {
  Vector signs;          // the only ones that may fit
  double miss = 0;       // |M s - v|
  double runner_up = 0;  // every other sign vector misses by more than this
};
// The only sign vector with |M s - v| <= error; none where `error` leaves too few digits to tell, or none
// fits.
[[nodiscard]] std::optional<SignPoint> only_signs(const Matrix& M, const Vector& v, double error);

// The same by trying all, for one or two equations: doubles do not have the digits that the lattice would
// need. But 2^k sign vectors are few beside 10^9 values of a number of nine digits, while k is small. With
// the signs in two halves, M_1 s_1 = v - M_2 s_2: the 2^(k/2) values of either side, one of them sorted, so
// that all equal pairs are found. Nothing where two fit, none does, or there are too many signs to try.
[[nodiscard]] std::optional<Vector> signs_by_halves(const Matrix& M, const Vector& v, double error);

// By whichever of these can tell: the signs of the solution where the equations are as many as signs;
// otherwise the only signs that meet them to `error` of their norm, nothing where there is no one such.
[[nodiscard]] std::optional<Vector> signs_that_solve(const Matrix& M, const Vector& right, double error);

enum class SignOutcome {
  kUnique,     // one sign vector fits, all others do not
  kAmbiguous,  // several fit equally: equivalent networks
  kUndecided,  // none fits, or too many to enumerate: the linear term has to stay
};

struct SignDecision {
  SignOutcome outcome = SignOutcome::kUndecided;
  Vector signs;          // +-1, k of them
  double mismatch = 0;   // |L - sum s a w^T| / max(|L|, (sum |a w^T|^2)^(1/2))
  double runner_up = 0;  // the mismatch of the next best sign vector, or a lower bound of it
  // The next best sign vectors, best first, that miss by no more than `rival_mismatch`: at most
  // `most_rivals`.
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

// One hidden layer in sign-free form: all sign vectors that fit, not only the best. And the network with
// these signs: plain; it keeps a linear term where the decision left one open.
[[nodiscard]] SignDecision decide_signs(const Form& form, const SignOptions& options);
[[nodiscard]] Form with_signs(const Form& form, const SignDecision& decision);

struct LayerSigns {
  Vector s;                      // the solution of the system; near +-1 for a plain network
  double off = 0;                // largest | |s| - 1 |
  double residual = 0;           // |R - U diag(sign s) V| / |R|, constants left out
  double smallest_singular = 0;  // of the system, columns of unit norm: 0 where a sign is open
};

// The system of one layer of several, V: k x c its rows, U: r x k and R: r x c what stands on it; the last
// columns, of the constant, are left out. By least squares, and so that rows of [U, R] which do not obey do
// not count.
[[nodiscard]] LayerSigns least_squares_signs(const Matrix& V, const Matrix& U, const Matrix& R);
[[nodiscard]] LayerSigns robust_signs(const Matrix& V, const Matrix& U, const Matrix& R);

struct DeepSigns {
  std::vector<LayerSigns> layers;
  bool plain = false;       // all systems regular, all signs near +-1
  bool determined = false;  // all systems regular
  Form form;                // where plain: the plain form, ready for its own polish
};

// All layers. `tolerance`: how far from +-1 a sign may be.
[[nodiscard]] DeepSigns find_signs(const Form& sign_free, double tolerance = 1e-2);

// -1 where s < 0, otherwise 1.
[[nodiscard]] Vector as_signs(const Vector& s);

}  // namespace exhume
