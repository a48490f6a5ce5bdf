#include "exhume/papers/memorize.h"

#include <cmath>
#include <stdexcept>

#include <fmt/format.h>
#include <Eigen/Eigenvalues>

#include "base/blas.h"

namespace exhume {

void QuadraticNetwork::validate() const {
  if (power < 1) {
    throw std::invalid_argument(
        fmt::format("the power of the first layer is {}; it must be at least 1", power));
  }
  if (!three_layers() && power != 1) {
    throw std::invalid_argument(fmt::format("power {} without a first layer R; it must be 1", power));
  }
  if (three_layers() && R.rows() != W.cols()) {
    throw std::invalid_argument(
        fmt::format("R is {} x {} but W is {} x {}: rows of R must equal columns of W", R.rows(), R.cols(),
                    W.rows(), W.cols()));
  }
  if (A.cols() != W.rows()) {
    throw std::invalid_argument(
        fmt::format("A is {} x {} but W is {} x {}: columns of A must equal rows of W", A.rows(), A.cols(),
                    W.rows(), W.cols()));
  }
  if (!R.allFinite() || !W.allFinite() || !A.allFinite())
    throw std::invalid_argument("a weight is NaN or infinite");
}

RowMatrix first_layer(const QuadraticNetwork& network, const Eigen::Ref<const RowMatrix>& x) {
  if (x.cols() != network.inputs()) {
    throw std::invalid_argument(
        fmt::format("the network takes {} inputs but the rows have {}", network.inputs(), x.cols()));
  }
  if (!network.three_layers()) return x;
  const SingleThreadedBlas single;
  RowMatrix z = x * network.R.transpose();
  const RowMatrix base = z;
  for (int p = 1; p < network.power; ++p) z.array() *= base.array();
  return z;
}

RowMatrix evaluate(const QuadraticNetwork& network, const Eigen::Ref<const RowMatrix>& x) {
  const SingleThreadedBlas single;
  const RowMatrix h = first_layer(network, x) * network.W.transpose();
  return h.array().square().matrix() * network.A.transpose();
}

void set_quadratic_forms(QuadraticNetwork& network, const std::vector<Matrix>& forms, double drop) {
  struct Unit {
    Vector w;
    Index output;
    double sign;
  };
  std::vector<Unit> units;
  Index width = network.three_layers() ? network.R.rows() : 0;
  for (std::size_t o = 0; o < forms.size(); ++o) {
    width = forms[o].rows();
    const Eigen::SelfAdjointEigenSolver<Matrix> eigen(forms[o]);
    const Vector& value = eigen.eigenvalues();
    const double smallest = drop * value.cwiseAbs().maxCoeff();
    // The paper's order: units with a = +1 first. Largest first within a sign.
    for (Index i = width - 1; i >= 0 && value(i) > 0; --i) {
      if (value(i) > smallest)
        units.push_back({std::sqrt(value(i)) * eigen.eigenvectors().col(i), static_cast<Index>(o), 1});
    }
    for (Index i = 0; i < width && value(i) < 0; ++i) {
      if (-value(i) > smallest)
        units.push_back({std::sqrt(-value(i)) * eigen.eigenvectors().col(i), static_cast<Index>(o), -1});
    }
  }
  network.W.resize(static_cast<Index>(units.size()), width);
  network.A.setZero(static_cast<Index>(forms.size()), static_cast<Index>(units.size()));
  for (Index i = 0; i < network.W.rows(); ++i) {
    const Unit& unit = units[static_cast<std::size_t>(i)];
    network.W.row(i) = unit.w.transpose();
    network.A(unit.output, i) = unit.sign;
  }
}

Matrix quadratic_form(const QuadraticNetwork& network, Index output) {
  return network.W.transpose() * network.A.row(output).transpose().asDiagonal() * network.W;
}

}  // namespace exhume
