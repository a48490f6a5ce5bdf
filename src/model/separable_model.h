// A model that is linear in its upper layer: what the polish works on.
//
//     f(x) = C^T F(x; V),    F(x; V) = ( phi(v_1 . x~), ..., phi(v_k . x~), [x], 1 ),    x~ = (x, 1)
//
// V: k x (d+1), rows (w_j, b_j); C: q x m; x itself is a feature where `linear_term`. Sign-free form:
// phi = |.|, with the linear feature. Signed form: phi = max(., 0), or a rectifier; without linear
// feature it is a network.
#pragma once

#include <memory>
#include <tuple>

#include "exhume/activation.h"
#include "exhume/network.h"
#include "exhume/types.h"
#include "model/activation.h"

namespace exhume {

struct SeparableModel {
  Activation activation = Activation::kAbsolute;
  bool linear_term = true;  // is x itself a feature
  Matrix V;                 // k x (d+1)
  Matrix C;                 // q x m: units, then inputs where linear_term, then the constant; may start empty
  std::shared_ptr<const Rectifier> rectifier;  // where set, the units have this one instead of `activation`

  // All but the rectifier, which nobody sends.
  auto fields() { return std::tie(activation, linear_term, V, C); }
  [[nodiscard]] Index units() const { return V.rows(); }
  [[nodiscard]] Index inputs() const { return V.cols() - 1; }
  // Whether the scale of a unit may be moved into C.
  [[nodiscard]] bool scale_is_free() const { return !rectifier || rectifier->multiplicative(); }
  [[nodiscard]] Index features() const { return V.rows() + (linear_term ? V.cols() : 1); }
};

// f(x) at every row of x. Any activation.
[[nodiscard]] RowMatrix evaluate(const SeparableModel& model, const Eigen::Ref<const RowMatrix>& x);

// A signed model as a network, and the other way round.
[[nodiscard]] Network to_network(const SeparableModel& signed_model);
[[nodiscard]] SeparableModel to_signed_model(const Network& network);

// Rows seen through the model: all matrices rows x something, column-major.
struct ModelRows {
  Matrix X1;      // x~ = (x, 1)
  Matrix F;       // features
  Matrix slopes;  // phi'(v_j . x~), rows x k; empty unless asked for

  ModelRows(const SeparableModel& model, const Eigen::Ref<const RowMatrix>& x, bool with_slopes);
  // G = (slopes_j * x~)_j, rows x k(d+1), unit by unit.
  [[nodiscard]] Matrix gradients() const;
};

}  // namespace exhume
