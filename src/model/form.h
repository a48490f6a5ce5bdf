// The forms in which networks are fitted: D hidden layers, D >= 1, linear in the upper layer.
//
//     P_0 = (x, 1),    Q_l = P_{l-1} V_l^T,    f(x) = C^T F,    F = P_D,                 l = 1, ..., D
//
//     sign-free   P_l = (|Q_l|, P_{l-1})         every lower feature is passed on
//     turned      P_l = (max(Q_l, 0), P_{l-1})   the same with known signs: a network with skip terms
//     plain       P_l = (max(Q_l, 0), 1)         a network as people write it
//
// V_l: k_l x (columns of P_{l-1}), rows (w, b); C: (columns of F) x m. max(z, 0) = (z + |z|)/2, so the
// sign-free form contains every ReLU network of D hidden layers, whatever the signs of its units: each row of
// V_l is determined up to scale and sign. All three are linear in C, which is always the least-squares
// solution for the V_l (variable projection): they are separable models. D = 1 in sign-free form is f(x) =
// sum_j a_j |w_j.x + b_j| + L x + c.
#pragma once

#include <memory>
#include <tuple>
#include <vector>

#include "exhume/activation.h"
#include "exhume/network.h"
#include "exhume/types.h"
#include "model/activation.h"

namespace exhume {

struct Form {
  bool plain = false;     // max(q, 0), and of the lower features only the constant is passed on
  Index inputs = 0;       // d
  std::vector<Matrix> V;  // of every hidden layer
  Matrix C;               // may start empty
  std::size_t given = 0;  // lowest layers that are known: a polish leaves them as they are
  bool turned = false;    // max(q, 0) although all lower features are passed on
  std::shared_ptr<const Rectifier>
      rectifier;  // where set, units of a plain form have this one instead of max(q, 0)

  // All but the rectifier, which is made of functions: whoever sends a form knows it and puts it back.
  auto fields() { return std::tie(plain, inputs, V, C, given, turned); }
  [[nodiscard]] std::size_t depth() const { return V.size(); }
  [[nodiscard]] Index units(std::size_t l = 0) const { return l < V.size() ? V[l].rows() : 0; }
  [[nodiscard]] std::vector<Index> widths() const;
  [[nodiscard]] Index unknowns() const;  // entries of the V_l that are not given
  [[nodiscard]] Index features() const;  // columns of F
  // Columns of P_l.
  [[nodiscard]] Index columns(std::size_t l) const;
  [[nodiscard]] Activation activation() const {
    return plain || turned ? Activation::kRelu : Activation::kAbsolute;
  }
  // Whether the scale of a unit may be moved into what stands on it.
  [[nodiscard]] bool scale_is_free() const { return !rectifier || rectifier->multiplicative(); }
};
using DeepForm = Form;

// The sign-free form with one hidden layer of these units (k x (d+1)), C still empty.
[[nodiscard]] Form one_layer(Matrix V);

// f at every row of x: rows x m.
[[nodiscard]] RowMatrix evaluate(const Form& form, const Eigen::Ref<const RowMatrix>& x);

// Rows of all V_l of unit norm; the scale goes up, into V and C.
void normalise(Form& form);

// The form with the units `kept` of layer l (from 0) alone, in that order; C keeps its rows.
[[nodiscard]] Form with_units(const Form& form, std::size_t l, const std::vector<Index>& kept);

// The sign-free form without unit j of layer l, whose q has the sign s wherever it matters: |q| = s
// v.P_{l-1}, a linear term of what stands on it.
[[nodiscard]] Form folded(const Form& form, std::size_t l, Index j, double s);

// The sign-free form as a network with skip terms, every unit turned as its row stands; a plain form without.
[[nodiscard]] Network to_network(const Form& form);
// A network without skip terms in the plain form; any in the sign-free form; one hidden layer with its signs:
// plain, or turned where there is a linear term.
[[nodiscard]] Form to_plain_form(const Network& network);
[[nodiscard]] Form to_sign_free_form(const Network& network);
[[nodiscard]] Form to_signed_form(const Network& network);

// Where the columns of all P_l are in one matrix, upper layers left:
//
//     sign-free, turned   P = [ |Q_D|  ...  |Q_1|  x  1 ]     P_l = all columns from |Q_l| on
//     plain               P = [ h_D 1  ...  h_1 1  x  1 ]     P_l = the columns h_l 1
struct FormLayout {
  explicit FormLayout(const Form& form);

  struct Place {
    Index first = 0, count = 0;
  };
  Index columns = 0;          // of P
  std::vector<Place> hidden;  // of layer l: the columns |Q_l| or h_l
  std::vector<Place> below;   // of layer l: those it reads, P_{l-1}
  Place inputs;               // x
  Index features = 0;         // F: the first columns
  std::vector<Index> ones;
};
using DeepLayout = FormLayout;

// Rows seen through a form: features, preactivations, and the slopes that Gauss-Newton needs. Column-major.
class FormRows {
 public:
  // `form` outlives the rows. with_slopes: those of the first layer's units are kept too.
  FormRows(const Form& form, const Eigen::Ref<const RowMatrix>& x, bool with_slopes = false);

  [[nodiscard]] const Matrix& P() const { return P_; }
  [[nodiscard]] auto F() const { return P_.leftCols(layout_.features); }
  [[nodiscard]] auto X1() const { return P_.rightCols(form_.inputs + 1); }  // P_0 = (x, 1)
  [[nodiscard]] const FormLayout& layout() const { return layout_; }
  [[nodiscard]] const Matrix& Q(std::size_t l) const { return Q_[l]; }

  // d f_o / d Q_l for every layer, rows x k_l, where C's column o is `c`.
  [[nodiscard]] std::vector<Matrix> slopes(const Eigen::Ref<const Vector>& c) const;
  // d f_o / d V, rows x unknowns: layer by layer from the first that is not given, unit by unit, column by
  // column of P_{l-1}.
  [[nodiscard]] Matrix jacobian(const Eigen::Ref<const Vector>& c) const;

  // One hidden layer: derivatives of the units alone, from which those of all outputs follow. phi'(Q_1), rows
  // x k, and G = (phi'(q_j) * (x, 1))_j, rows x k(d+1), unit by unit.
  [[nodiscard]] const Matrix& unit_slopes() const { return unit_slopes_; }
  [[nodiscard]] Matrix gradients() const;

 private:
  const Form& form_;
  FormLayout layout_;
  Matrix P_, unit_slopes_;
  std::vector<Matrix> Q_;
};
using DeepRows = FormRows;

}  // namespace exhume
