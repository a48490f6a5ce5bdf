#include "extract/averaged.h"

#include <algorithm>
#include <cmath>

#include "extract/missed.h"

namespace exhume {
namespace {

constexpr const char* kStage = "average";
constexpr double kEquations = 1.5;  // for every unknown
constexpr Index kReserve = 2000;    // questions left for the last check
constexpr int kNewtonSteps = 3, kGradientSteps = 80;
constexpr double kSolved = 1e-5;   // of the gradient, over what it was
constexpr double kProgress = 0.9;  // of a step's residual over the last one's, beyond which it ends

// A change of all parameters.
struct Change {
  Matrix V;  // k x (d+1)
  Matrix C;  // (k+d+1) x m
  [[nodiscard]] double dot(const Change& other) const {
    return V.cwiseProduct(other.V).sum() + C.cwiseProduct(other.C).sum();
  }
};

// The model linearised at its questions, with parameters scaled so that each acts by about 1.
class Linear {
 public:
  Linear(const SeparableModel& model, const RowMatrix& x)
      : k_(model.units()), d_(x.cols()), C_(model.C.topRows(k_)), X_(x.rows(), d_ + 1) {
    X_ << x, Vector::Ones(x.rows());
    const Matrix z = X_ * model.V.transpose();
    size_ = z.cwiseAbs();
    side_ = z.unaryExpr([](double value) { return value < 0 ? -1.0 : 1.0; });
    unit_scale_ = C_.rowwise().norm().cwiseMax(kTiny).cwiseInverse();
    input_scale_ = X_.colwise().norm().cwiseMax(kTiny).cwiseInverse().transpose();
    size_scale_ = size_.colwise().norm().cwiseMax(kTiny).cwiseInverse().transpose();
  }

  [[nodiscard]] Change scaled(const Change& at) const {
    Change out{unit_scale_.asDiagonal() * at.V * input_scale_.asDiagonal(), at.C};
    out.C.topRows(k_) = size_scale_.asDiagonal() * at.C.topRows(k_);
    out.C.bottomRows(d_ + 1) = input_scale_.asDiagonal() * at.C.bottomRows(d_ + 1);
    return out;
  }
  // J at the scaled change: n x m.
  [[nodiscard]] Matrix times(const Change& change) const {
    const Change at = scaled(change);
    return (side_.cwiseProduct(X_ * at.V.transpose())) * C_ + size_ * at.C.topRows(k_) +
           X_ * at.C.bottomRows(d_ + 1);
  }
  [[nodiscard]] Change transposed(const Matrix& r) const {
    Change out{(r * C_.transpose()).cwiseProduct(side_).transpose() * X_, Matrix(k_ + d_ + 1, r.cols())};
    out.C.topRows(k_) = size_.transpose() * r;
    out.C.bottomRows(d_ + 1) = X_.transpose() * r;
    return scaled(out);
  }

 private:
  Index k_, d_;
  Matrix C_;
  Matrix X_, size_, side_;  // n x (d+1), n x k, n x k
  Vector unit_scale_, input_scale_, size_scale_;
};

// Least squares by conjugate gradients.
Change solved(const Linear& J, Matrix left, const Control& control) {
  Change g = J.transposed(left), p = g,
         x{Matrix::Zero(g.V.rows(), g.V.cols()), Matrix::Zero(g.C.rows(), g.C.cols())};
  double gg = g.dot(g);
  const double enough = kSolved * kSolved * gg;
  for (int step = 0; step < kGradientSteps && gg > enough; ++step) {
    control.check();
    const Matrix q = J.times(p);
    const double a = gg / std::max(q.squaredNorm(), kTiny);
    x.V += a * p.V;
    x.C += a * p.C;
    left -= a * q;
    g = J.transposed(left);
    const double next = g.dot(g), b = next / gg;
    p.V = g.V + b * p.V;
    p.C = g.C + b * p.C;
    gg = next;
  }
  return J.scaled(x);
}

}  // namespace

SeparableModel averaged(Meter& meter, const SeparableModel& model, const AveragedOptions& options) {
  const Index k = model.units(), d = model.inputs(), m = meter.outputs();
  const auto unknowns = static_cast<double>(k * (d + 1) + (k + d + 1) * m);
  const auto wanted = static_cast<Index>(std::ceil(kEquations * unknowns / static_cast<double>(m)));
  if (k == 0 || wanted > meter.left() - kReserve) return model;
  const RowMatrix x = domain_inputs(meter.frame(), options.spread, options.seed, options.first, wanted);
  const RowMatrix y = meter.ask(kStage, plain_rows(x));
  SeparableModel best = model;
  RowMatrix left = y - evaluate(best, x);
  for (int step = 0; step < kNewtonSteps; ++step) {
    const Change change = solved(Linear(best, x), left, meter.control());
    SeparableModel next = best;
    next.V += change.V;
    next.C += change.C;
    const RowMatrix now = y - evaluate(next, x);
    const double share = now.norm() / std::max(left.norm(), kTiny);
    if (!(share < 1)) break;
    best = std::move(next);
    left = now;
    if (share > kProgress) break;
  }
  for (Index j = 0; j < k; ++j) {
    const double norm = best.V.row(j).head(d).norm();
    best.V.row(j) /= norm;
    best.C.row(j) *= norm;
  }
  return best;
}

}  // namespace exhume
