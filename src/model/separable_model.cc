#include "model/separable_model.h"

#include <stdexcept>

namespace exhume {

ModelRows::ModelRows(const SeparableModel& model, const Eigen::Ref<const RowMatrix>& x, bool with_slopes) {
  const Index rows = x.rows(), d = model.inputs(), k = model.units();
  X1.resize(rows, d + 1);
  X1.leftCols(d) = x;
  X1.col(d).setOnes();
  F.resize(rows, model.features());
  Matrix Z(rows, k);
  if (k > 0) Z.noalias() = X1 * model.V.transpose();  // BLAS complains of empty products
  if (with_slopes) {
    slopes.resize(rows, k);
    if (model.rectifier) {
      activate(*model.rectifier, Z, F.leftCols(k), slopes);
    } else {
      activate(model.activation, Z, F.leftCols(k), slopes);
    }
  } else if (model.rectifier) {
    activate(*model.rectifier, Z, F.leftCols(k));
  } else {
    activate(model.activation, Z, F.leftCols(k));
  }
  if (model.linear_term) {
    F.rightCols(d + 1) = X1;
  } else {
    F.col(k).setOnes();
  }
}

Matrix ModelRows::gradients() const {
  const Index k = slopes.cols(), width = X1.cols();
  Matrix G(X1.rows(), k * width);
  for (Index j = 0; j < k; ++j) {
    G.middleCols(j * width, width) = X1.array().colwise() * slopes.col(j).array();
  }
  return G;
}

RowMatrix evaluate(const SeparableModel& model, const Eigen::Ref<const RowMatrix>& x) {
  return ModelRows(model, x, false).F * model.C;
}

Network to_network(const SeparableModel& model) {
  if (model.activation != Activation::kRelu)
    throw std::invalid_argument("to_network: the model is not in signed form");
  const Index d = model.inputs(), k = model.units();
  Network network;
  network.W() = model.V.leftCols(d);
  network.b() = model.V.col(d);
  network.A() = model.C.topRows(k).transpose();
  network.c() = model.C.bottomRows(1).transpose();
  if (model.linear_term) network.L() = model.C.middleRows(k, d).transpose();
  return network;
}

SeparableModel to_signed_model(const Network& network) {
  const Index d = network.inputs(), k = network.hidden();
  SeparableModel model;
  model.activation = Activation::kRelu;
  model.linear_term = network.has_skip_terms();
  model.V.resize(k, d + 1);
  model.V << network.W(), network.b();
  model.C.resize(model.features(), network.outputs());
  model.C.topRows(k) = network.A().transpose();
  model.C.bottomRows(1) = network.c().transpose();
  if (model.linear_term) model.C.middleRows(k, d) = network.L().transpose();
  return model;
}

}  // namespace exhume
