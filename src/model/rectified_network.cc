#include "model/rectified_network.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "base/parallel.h"

namespace exhume {
namespace {

// Rows from which regressions are solved; more would not add digits.
constexpr Index kMostRows = 20000;

Matrix with_ones(const Matrix& x, bool ones) {
  Matrix out(x.rows(), x.cols() + (ones ? 1 : 0));
  out.leftCols(x.cols()) = x;
  if (ones) out.rightCols(1).setOnes();
  return out;
}

// phi^-1(c h) against linear functions of x, for a trial scale c.
class ScaleSearch {
 public:
  ScaleSearch(const Matrix& X1, const Vector& h, const Rectifier& rectifier)
      : X1_(X1), h_(h), rectifier_(rectifier), qr_(X1) {}

  // Residual of the linear fit over the variation of phi^-1(c h).
  [[nodiscard]] double misfit(double log_scale) const {
    const Vector t = inverse(std::exp(log_scale));
    const double variation = (t.array() - t.mean()).matrix().norm();
    return variation > 0 ? (t - X1_ * Vector(qr_.solve(t))).norm() / variation : 1.0;
  }

  // The best scale between two bounds of its logarithm.
  [[nodiscard]] double search(double low, double high) const {
    constexpr int kGrid = 60;
    double best = low, least = misfit(low);
    for (int i = 1; i <= kGrid; ++i) {
      const double at = low + (high - low) * i / kGrid;
      const double value = misfit(at);
      if (value < least) {
        least = value;
        best = at;
      }
    }
    const double golden = (std::sqrt(5.0) - 1) / 2, width = (high - low) / kGrid;
    double a = best - width, b = best + width;
    for (int i = 0; i < 40; ++i) {
      const double p = b - golden * (b - a), q = a + golden * (b - a);
      (misfit(p) < misfit(q) ? b : a) = misfit(p) < misfit(q) ? q : p;
    }
    return refine((a + b) / 2);
  }

  [[nodiscard]] Vector solve(double log_scale) const { return qr_.solve(inverse(std::exp(log_scale))); }

 private:
  [[nodiscard]] Vector inverse(double c) const {
    return h_.unaryExpr([&](double value) { return rectifier_.inverse(c * value); });
  }

  // Gauss-Newton on (w, b, log c): d phi^-1(c h) / d log c = c h / phi'(t).
  [[nodiscard]] double refine(double log_scale) const {
    for (int i = 0; i < 6; ++i) {
      const double c = std::exp(log_scale);
      const Vector t = inverse(c);
      Matrix J(X1_.rows(), X1_.cols() + 1);
      J.leftCols(X1_.cols()) = X1_;
      for (Index r = 0; r < t.size(); ++r) J(r, X1_.cols()) = -c * h_(r) / rectifier_.slope(t(r));
      const Vector step = J.householderQr().solve(t);
      const double next = log_scale + step(X1_.cols());
      if (!std::isfinite(next) || misfit(next) >= misfit(log_scale)) break;
      log_scale = next;
    }
    return log_scale;
  }

  const Matrix& X1_;
  const Vector& h_;
  const Rectifier& rectifier_;
  Eigen::HouseholderQR<Matrix> qr_;
};

}  // namespace

Matrix hidden_outputs(const Matrix& W, const Vector& b, const Rectifier& rectifier,
                      const Eigen::Ref<const RowMatrix>& x) {
  Matrix Z = (x * W.transpose()).rowwise() + b.transpose();
  Matrix out(Z.rows(), Z.cols());
  activate(rectifier, Z, out);
  return out;
}

RowMatrix evaluate(const Network& network, const Rectifier& rectifier, const Eigen::Ref<const RowMatrix>& x) {
  RowMatrix out = hidden_outputs(network.W(), network.b(), rectifier, x) * network.A().transpose();
  out.rowwise() += network.c().transpose();
  return out;
}

double relative_error(const Network& network, const Rectifier& rectifier,
                      const Eigen::Ref<const RowMatrix>& x, const Eigen::Ref<const RowMatrix>& y) {
  double squares = 0, variation = 0;
  const Vector mean = y.colwise().mean();
  for (Index first = 0; first < x.rows(); first += kBlockRows) {
    const Index size = std::min(kBlockRows, x.rows() - first);
    squares +=
        (evaluate(network, rectifier, x.middleRows(first, size)) - y.middleRows(first, size)).squaredNorm();
    variation += (y.middleRows(first, size).rowwise() - mean.transpose()).squaredNorm();
  }
  return squares / std::max(variation, kTiny);
}

void regress_outputs(Network& network, const Rectifier& rectifier, const Eigen::Ref<const RowMatrix>& x,
                     const Eigen::Ref<const RowMatrix>& y, bool constant) {
  // Evenly spread rows, all of them where they are few.
  const Index n = x.rows(), k = network.hidden(), rows = std::min(n, kMostRows);
  Matrix X(rows, x.cols()), Y(rows, y.cols());
  for (Index i = 0; i < rows; ++i) {
    const Index from =
        static_cast<Index>(static_cast<double>(i) * static_cast<double>(n) / static_cast<double>(rows));
    X.row(i) = x.row(from);
    Y.row(i) = y.row(from);
  }
  const Matrix F = with_ones(hidden_outputs(network.W(), network.b(), rectifier, RowMatrix(X)), constant);
  const Eigen::ColPivHouseholderQR<Matrix> qr(F);
  Matrix C = qr.solve(Y);
  C += qr.solve(Y - F * C);
  network.A() = C.topRows(k).transpose();
  network.c() = constant ? Vector(C.row(k).transpose()) : Vector::Zero(y.cols());
}

Vector unit_from_output(const Matrix& x, const Vector& h, const Rectifier& rectifier, bool bias) {
  const Matrix X1 = with_ones(x, bias);
  Vector unit = Vector::Zero(x.cols() + 1);
  if (rectifier.multiplicative()) {
    const Vector t = h.unaryExpr([&](double value) { return rectifier.inverse(value); });
    const Eigen::HouseholderQR<Matrix> qr(X1);
    Vector solution = qr.solve(t);
    solution += qr.solve(t - X1 * solution);
    unit.head(solution.size()) = solution;
    unit /= std::max(unit.head(x.cols()).norm(), kTiny);
  } else {
    const ScaleSearch search(X1, h, rectifier);
    const double middle = -std::log(std::max(h.norm() / std::sqrt(static_cast<double>(h.size())), kTiny));
    const Vector solution = search.solve(search.search(middle - 6, middle + 6));
    unit.head(solution.size()) = solution;
  }
  return unit;
}

}  // namespace exhume
