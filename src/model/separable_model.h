// One hidden layer of a form (model/form.h), by fields of its own: what extraction from one layer works on.
#pragma once

#include "model/form.h"

namespace exhume {

struct SeparableModel {
  Activation activation = Activation::kAbsolute;
  bool linear_term = true;  // is x itself a feature
  Matrix V;                 // k x (d+1)
  Matrix C;                 // q x m: units, then inputs where linear_term, then the constant; may start empty

  SeparableModel() = default;
  SeparableModel(const Form& form)  // NOLINT: the same thing
      : activation(form.activation()), linear_term(!form.plain), V(form.V.at(0)), C(form.C) {}
  operator Form() const {  // NOLINT: the same thing
    Form form = one_layer(V);
    form.C = C;
    form.turned = linear_term && activation == Activation::kRelu;
    form.plain = !linear_term;
    return form;
  }
  [[nodiscard]] Index units() const { return V.rows(); }
  [[nodiscard]] Index inputs() const { return V.cols() - 1; }
  [[nodiscard]] Index features() const { return V.rows() + (linear_term ? V.cols() : 1); }
};

[[nodiscard]] inline RowMatrix evaluate(const SeparableModel& model, const Eigen::Ref<const RowMatrix>& x) {
  return evaluate(static_cast<Form>(model), x);
}

}  // namespace exhume
