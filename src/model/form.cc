#include "model/form.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "model/activation_table.h"

namespace exhume {

std::vector<Index> Form::widths() const {
  std::vector<Index> out;
  out.reserve(V.size());
  for (const Matrix& v : V) out.push_back(v.rows());
  return out;
}

Index Form::unknowns() const {
  Index count = 0;
  for (std::size_t l = given; l < depth(); ++l) count += V[l].size();
  return count;
}

Index Form::columns(std::size_t l) const {
  if (l == 0) return inputs + 1;
  if (plain) return V[l - 1].rows() + 1;
  Index count = inputs + 1;
  for (std::size_t i = 0; i < l; ++i) count += V[i].rows();
  return count;
}

Index Form::features() const { return columns(depth()); }

Form one_layer(Matrix V) {
  Form form;
  form.inputs = V.cols() - 1;
  form.V.push_back(std::move(V));
  return form;
}

RowMatrix evaluate(const Form& form, const Eigen::Ref<const RowMatrix>& x) {
  if (form.depth() == 1) return FormRows(form, x).F() * form.C;
  RowMatrix P(x.rows(), x.cols() + 1);
  P << x, Vector::Ones(x.rows());
  for (const Matrix& V : form.V) {
    if (V.rows() == 0 && !form.plain) continue;  // BLAS complains of empty products
    RowMatrix Q = RowMatrix::Zero(x.rows(), V.rows());
    if (V.rows() > 0) Q = P * V.transpose();
    RowMatrix next(x.rows(), V.rows() + (form.plain ? 1 : P.cols()));
    if (form.rectifier) {
      Matrix features(Q.rows(), Q.cols());
      activate(*form.rectifier, Matrix(Q), features);
      Q = features;
    }
    if (form.rectifier && form.plain) {
      next << Q, Vector::Ones(x.rows());
    } else if (form.rectifier) {
      next << Q, P;
    } else if (form.plain) {
      next << Q.cwiseMax(0.0), Vector::Ones(x.rows());
    } else if (form.turned) {
      next << Q.cwiseMax(0.0), P;
    } else {
      next << Q.cwiseAbs(), P;
    }
    P = std::move(next);
  }
  return P * form.C;
}

void normalise(Form& form) {
  if (!form.scale_is_free()) return;
  for (std::size_t l = 0; l < form.depth(); ++l) {
    for (Index j = 0; j < form.V[l].rows(); ++j) {
      const double size = form.V[l].row(j).norm();
      if (!(size > 1e-150)) continue;
      form.V[l].row(j) /= size;
      Index column = j;  // of |Q_l| in P_u
      for (std::size_t u = l + 1; u <= form.depth(); ++u) {
        if (u < form.depth()) {
          form.V[u].col(column) *= size;
        } else if (form.C.size() != 0) {
          form.C.row(column) *= size;
        }
        if (form.plain || u == form.depth()) break;
        column += form.V[u].rows();
      }
    }
  }
}

Form with_units(const Form& form, std::size_t l, const std::vector<Index>& kept) {
  Form out = form;
  out.V[l] = form.V[l](kept, Eigen::all);
  Index first = 0;  // of |Q_l| in P_u
  std::vector<Index> columns;
  for (std::size_t u = l + 1; u <= form.depth(); ++u) {
    const Index all = form.columns(u);
    columns.clear();
    for (Index i = 0; i < first; ++i) columns.push_back(i);
    for (Index i : kept) columns.push_back(first + i);
    for (Index i = first + form.V[l].rows(); i < all; ++i) columns.push_back(i);
    if (u < form.depth()) {
      out.V[u] = form.V[u](Eigen::all, columns);
      first += form.V[u].rows();
    } else if (form.C.size() != 0) {
      out.C = form.C(columns, Eigen::all);
    }
    if (form.plain) break;
  }
  return out;
}

Form folded(const Form& form, std::size_t l, Index j, double s) {
  Form out = form;
  const Eigen::RowVectorXd linear = s * form.V[l].row(j);
  Index at = j;  // of |q_j|, in what stands on it
  for (std::size_t u = l + 1; u < out.depth(); ++u) {
    out.V[u].rightCols(linear.size()) += out.V[u].col(at) * linear;
    at += out.V[u].rows();
  }
  out.C.bottomRows(linear.size()) += linear.transpose() * out.C.row(at);
  std::vector<Index> others;
  for (Index i = 0; i < form.V[l].rows(); ++i)
    if (i != j) others.push_back(i);
  return with_units(out, l, others);
}

Network to_network(const Form& form) {
  Network network;
  // Rectified powers and their like are named beside the network (RectifiedNetwork), not in it.
  if (form.rectifier && find_activation(form.rectifier->name) != nullptr)
    network.activation = form.rectifier->name;
  const std::size_t depth = form.depth();
  const auto rows_of = [&](std::size_t l) { return l < depth ? form.V[l] : Matrix(form.C.transpose()); };
  if (form.plain) {
    for (std::size_t l = 0; l <= depth; ++l) {
      const Matrix row = rows_of(l);
      network.layers.push_back({row.leftCols(row.cols() - 1), row.rightCols(1), Matrix()});
    }
    return network;
  }
  // |q| = 2 max(q, 0) - q. With P_l = M_l (h_l, ..., h_1, x, 1) every row r of V_{l+1} becomes r M_l; where
  // units are turned already, M_l is the identity.
  Matrix M = Matrix::Identity(form.inputs + 1, form.inputs + 1);
  for (std::size_t l = 0; l <= depth; ++l) {
    const Matrix row = form.turned ? rows_of(l) : Matrix(rows_of(l) * M);  // on (h_l, ..., h_1, x, 1)
    Layer layer;
    const Index below = l == 0 ? form.inputs : form.V[l - 1].rows();
    layer.W = row.leftCols(below);
    layer.b = row.rightCols(1);
    if (l > 0) {  // from (h_{l-1}, ..., h_1, x) to (x, h_1, ..., h_{l-1})
      layer.L.resize(row.rows(), row.cols() - 1 - below);
      Index from = below, to = layer.L.cols();
      for (std::size_t i = l - 1; i-- > 0;) {
        const Index k = form.V[i].rows();
        to -= k;
        layer.L.middleCols(to, k) = row.middleCols(from, k);
        from += k;
      }
      layer.L.leftCols(form.inputs) = row.middleCols(from, form.inputs);
    }
    network.layers.push_back(std::move(layer));
    if (l == depth || form.turned) continue;
    const Index k = row.rows(), old = M.rows();
    Matrix next = Matrix::Zero(k + old, k + old);
    next.topLeftCorner(k, k) = 2 * Matrix::Identity(k, k);
    next.topRightCorner(k, old) = -row;
    next.bottomRightCorner(old, old) = M;
    M = std::move(next);
  }
  return network;
}

Form to_plain_form(const Network& network) {
  if (network.has_skip_terms()) throw std::invalid_argument("plain form: the network has skip terms");
  Form form;
  form.plain = true;
  if (network.activation != "relu")
    form.rectifier = std::make_shared<const Rectifier>(parse_rectifier(network.activation));
  form.inputs = network.inputs();
  for (const Layer& layer : network.layers) {
    Matrix row(layer.W.rows(), layer.W.cols() + 1);
    row.leftCols(layer.W.cols()) = layer.W;  // which may have no columns
    row.rightCols(1) = layer.b;
    form.V.push_back(std::move(row));
  }
  form.C = form.V.back().transpose();
  form.V.pop_back();
  return form;
}

Form to_sign_free_form(const Network& network) {
  Form form;
  form.inputs = network.inputs();
  const Index d = form.inputs;
  // (h_l, ..., h_1, x, 1) = M P_l with h = (q + |q|) / 2.
  Matrix M = Matrix::Identity(d + 1, d + 1);
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    const Layer& layer = network.layers[l];
    const Index below = layer.W.cols();
    Matrix row = Matrix::Zero(layer.W.rows(), M.rows());  // on (h_{l-1}, ..., h_1, x, 1)
    row.leftCols(below) = layer.W;
    row.rightCols(1) = layer.b;
    if (layer.L.size() != 0) {
      Index to = below, from = layer.L.cols();
      for (std::size_t i = l - 1; i-- > 0;) {
        const Index k = network.layers[i].W.rows();
        from -= k;
        row.middleCols(to, k) = layer.L.middleCols(from, k);
        to += k;
      }
      row.middleCols(to, d) = layer.L.leftCols(d);
    }
    const Matrix v = row * M;
    if (l + 1 == network.layers.size()) {
      form.C = v.transpose();
      break;
    }
    const Index k = v.rows(), old = M.rows();
    Matrix next = Matrix::Zero(k + old, k + old);
    next.topLeftCorner(k, k) = 0.5 * Matrix::Identity(k, k);
    next.topRightCorner(k, old) = 0.5 * v;
    next.bottomRightCorner(old, old) = M;
    M = std::move(next);
    form.V.push_back(v);
  }
  return form;
}

Form to_signed_form(const Network& network) {
  if (!network.has_skip_terms()) return to_plain_form(network);
  const Index d = network.inputs(), k = network.hidden();
  Form form = one_layer(Matrix(k, d + 1));
  form.V[0] << network.W(), network.b();
  form.turned = true;
  if (network.activation != "relu")
    form.rectifier = std::make_shared<const Rectifier>(parse_rectifier(network.activation));
  form.C.resize(form.features(), network.outputs());
  form.C.topRows(k) = network.A().transpose();
  form.C.middleRows(k, d) = network.L().transpose();
  form.C.bottomRows(1) = network.c().transpose();
  return form;
}

FormLayout::FormLayout(const Form& form) {
  const std::size_t depth = form.depth();
  hidden.resize(depth);
  below.resize(depth);
  for (std::size_t l = depth; l-- > 0;) {
    hidden[l] = {columns, form.V[l].rows()};
    columns += form.V[l].rows();
    if (form.plain) ones.push_back(columns++);
    below[l] = {columns, form.V[l].cols()};
  }
  inputs = {columns, form.inputs};
  columns += form.inputs;
  ones.push_back(columns++);
  features = form.features();
}

FormRows::FormRows(const Form& form, const Eigen::Ref<const RowMatrix>& x, bool with_slopes)
    : form_(form), layout_(form) {
  P_.resize(x.rows(), layout_.columns);
  Q_.resize(form.depth());
  if (with_slopes) unit_slopes_.resize(x.rows(), form.units());
  P_.middleCols(layout_.inputs.first, layout_.inputs.count) = x;
  for (Index column : layout_.ones) P_.col(column).setOnes();
  for (std::size_t l = 0; l < form.depth(); ++l) {
    const auto [from, count] = layout_.below[l];
    const auto [to, units] = layout_.hidden[l];
    if (units == 0) {
      Q_[l].resize(x.rows(), 0);
      continue;
    }
    Q_[l].noalias() = P_.middleCols(from, count) * form.V[l].transpose();
    const auto features = P_.middleCols(to, units);
    if (with_slopes && l == 0) {
      form.rectifier ? activate(*form.rectifier, Q_[l], features, unit_slopes_)
                     : activate(form.activation(), Q_[l], features, unit_slopes_);
    } else {
      form.rectifier ? activate(*form.rectifier, Q_[l], features)
                     : activate(form.activation(), Q_[l], features);
    }
  }
}

std::vector<Matrix> FormRows::slopes(const Eigen::Ref<const Vector>& c) const {
  std::vector<Matrix> out(form_.depth());
  Matrix g = Matrix::Zero(P_.rows(), layout_.columns);
  g.leftCols(layout_.features).rowwise() = c.transpose();
  for (std::size_t l = form_.depth(); l-- > 0;) {
    const auto [to, units] = layout_.hidden[l];
    const auto [from, count] = layout_.below[l];
    if (form_.rectifier) {
      Matrix values(Q_[l].rows(), units);
      out[l].resize(Q_[l].rows(), units);
      activate(*form_.rectifier, Q_[l], values, out[l]);
      out[l].array() *= g.middleCols(to, units).array();
    } else if (form_.activation() == Activation::kRelu) {
      out[l] = (Q_[l].array() > 0).select(g.middleCols(to, units), 0.0);
    } else {
      out[l] = (Q_[l].array() < 0).select(-g.middleCols(to, units), g.middleCols(to, units));
    }
    if (l > 0 && units > 0) g.middleCols(from, count).noalias() += out[l] * form_.V[l];
  }
  return out;
}

Matrix FormRows::jacobian(const Eigen::Ref<const Vector>& c) const {
  const std::vector<Matrix> slope = slopes(c);
  Matrix J(P_.rows(), form_.unknowns());
  Index at = 0;
  for (std::size_t l = form_.given; l < form_.depth(); ++l) {
    const auto [from, count] = layout_.below[l];
    for (Index j = 0; j < slope[l].cols(); ++j) {
      J.middleCols(at, count) = P_.middleCols(from, count).array().colwise() * slope[l].col(j).array();
      at += count;
    }
  }
  return J;
}

Matrix FormRows::gradients() const {
  const Index k = unit_slopes_.cols(), width = form_.inputs + 1;
  Matrix G(P_.rows(), k * width);
  for (Index j = 0; j < k; ++j)
    G.middleCols(j * width, width) = X1().array().colwise() * unit_slopes_.col(j).array();
  return G;
}

}  // namespace exhume
