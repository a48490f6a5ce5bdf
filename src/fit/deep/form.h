// Networks of several hidden layers in the two forms that are fitted.
//
//     P_0 = (x, 1),    Q_l = P_{l-1} V_l^T,    f(x) = C^T F,                          l = 1, ..., D
//
//     sign-free   P_l = (|Q_l|, P_{l-1})       F = P_D           every lower feature is passed on
//     plain       P_l = (max(Q_l, 0), 1)       F = P_D           a network as people write it
//
// V_l: k_l x columns of P_{l-1}; C: columns of F x m. max(z, 0) = (z + |z|)/2, so the sign-free form holds
// every ReLU network of D hidden layers, whatever the signs of its units: each row of V_l is up to scale and
// sign. Both are linear in C, which is always the least-squares solution for the V_l.
#pragma once

#include <vector>

#include "exhume/network.h"
#include "exhume/types.h"

namespace exhume {

struct DeepForm {
  bool plain = false;     // which of the two forms
  Index inputs = 0;       // d
  std::vector<Matrix> V;  // of every hidden layer
  Matrix C;               // may start empty
  std::size_t given = 0;  // lowest layers that are known: a polish leaves them as they are

  [[nodiscard]] std::size_t depth() const { return V.size(); }
  [[nodiscard]] std::vector<Index> widths() const;
  [[nodiscard]] Index unknowns() const;  // entries of the V_l that are not given
  [[nodiscard]] Index features() const;  // columns of F
  // Columns of P_l.
  [[nodiscard]] Index columns(std::size_t l) const;
};

// f at every row of x: rows x m.
[[nodiscard]] RowMatrix evaluate(const DeepForm& form, const Eigen::Ref<const RowMatrix>& x);

// Rows of all V_l of unit norm; the scale goes up, into V and C.
void normalise(DeepForm& form);

// The form with the units `kept` of layer l (from 0) alone, in that order; C keeps its rows.
[[nodiscard]] DeepForm with_units(const DeepForm& form, std::size_t l, const std::vector<Index>& kept);

// The sign-free form without unit j of layer l, whose q has the sign s wherever it matters: |q| = s v.P_{l-1}, a linear
// term of what stands on it.
[[nodiscard]] DeepForm folded(const DeepForm& form, std::size_t l, Index j, double s);

// The sign-free form as a network with skip terms, every unit turned as its row stands; a plain form without.
[[nodiscard]] Network to_network(const DeepForm& form);
// A network without skip terms in the plain form, or any in the sign-free form.
[[nodiscard]] DeepForm to_plain_form(const Network& network);
[[nodiscard]] DeepForm to_sign_free_form(const Network& network);

}  // namespace exhume
