#include "moments/polynomial_fit.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "base/blas.h"
#include "data/reduce.h"
#include "data/resident.h"
#include "linalg/symmetric_matrix.h"
#include "linalg/symmetric_runs.h"
#include "moments/device_moments.h"
#include "moments/moments.h"
#include "moments/whole_moments.h"

namespace exhume {
namespace {

constexpr Index kPolynomialTile = 256;

// Coefficients of one polynomial an output; the vector space of the iteration.
struct Coefficients {
  Matrix Q[4];  // 1 x m, d x m, p x m, p x dm

  [[nodiscard]] double dot(const Coefficients& other) const {
    double sum = 0;
    for (int p = 0; p < 4; ++p) sum += Q[p].cwiseProduct(other.Q[p]).sum();
    return sum;
  }
  void add(double factor, const Coefficients& other) {
    for (int p = 0; p < 4; ++p) Q[p] += factor * other.Q[p];
  }
};

Coefficients from_moments(const HermiteMoments& moments, int degree) {
  Coefficients out;
  for (int p = 0; p <= degree; ++p) out.Q[p] = moments.estimate(p);
  return out;
}

// Divides order p by p!, the squared norm of its features.
Coefficients precondition(Coefficients r, int degree) {
  static constexpr double kFactorial[] = {1, 1, 2, 6};
  for (int p = 2; p <= degree; ++p) r.Q[p] /= kFactorial[p];
  return r;
}

// What He_3 subtracts from K(x)^T Q x: a linear function, d x 1.
Vector third_order_correction(const Eigen::Ref<const Matrix>& Q) {
  const Index d = Q.cols();
  const double root = std::sqrt(2.0);
  Vector t = Vector::Zero(d);
  for (Index b = 0; b < d; ++b) {
    for (Index a = 0; a <= b; ++a) {
      const Index at = symmetric_position(a, b);
      if (a == b) {
        t += Q.row(at).transpose();
        t(a) += 2 * Q(at, a);
      } else {
        t(a) += root * Q(at, b);
        t(b) += root * Q(at, a);
      }
    }
  }
  return t;
}

// K(x)^T Q x for a symmetric Q, from the third of its entries with a <= b <= c: entry ((a, b), c) times the
// number of orders of a, b, c over that of a, b.
Matrix folded(const Eigen::Ref<const Matrix>& Q) {
  const Index d = Q.cols();
  Matrix out = Matrix::Zero(Q.rows(), d);
  for (Index b = 0; b < d; ++b) {
    for (Index a = 0; a <= b; ++a) {
      const Index at = symmetric_position(a, b);
      for (Index c = b; c < d; ++c) {
        const double orders = b < c ? 3 : (a < b ? 1.5 : 1);
        out(at, c) = orders * Q(at, c);
      }
    }
  }
  return out;
}

PolynomialFit to_fit(const Coefficients& q, int degree) {
  PolynomialFit fit;
  fit.degree = degree;
  fit.Q0 = q.Q[0].transpose();
  fit.Q1 = q.Q[1];
  fit.Q2 = q.Q[2];
  fit.Q3 = q.Q[3];
  return fit;
}

}  // namespace

double polynomial_features(Index inputs, int degree) {
  double count = 1;
  for (int p = 1; p <= degree; ++p) count *= static_cast<double>(inputs + p) / p;
  return std::round(count);
}

RowMatrix PolynomialFit::evaluate(const Eigen::Ref<const RowMatrix>& x) const {
  const Index d = x.cols(), m = Q0.size();
  RowMatrix out(x.rows(), m);
  out.rowwise() = Q0.transpose();
  if (degree >= 1) out.noalias() += x * Q1;
  if (degree < 2) return out;
  Vector trace = Vector::Zero(m);
  for (Index a = 0; a < d; ++a) trace += Q2.row(symmetric_position(a, a)).transpose();
  out.rowwise() -= trace.transpose();
  Matrix corrections(d, m);
  if (degree >= 3) {
    for (Index o = 0; o < m; ++o) corrections.col(o) = third_order_correction(Q3.middleCols(o * d, d));
    out.noalias() -= x * corrections;
  }
  std::vector<Matrix> cubics;
  for (Index o = 0; o < m && degree >= 3; ++o) cubics.push_back(folded(Q3.middleCols(o * d, d)));
  for (Index first = 0; first < x.rows(); first += kPolynomialTile) {
    const Index rows = std::min(kPolynomialTile, x.rows() - first);
    const Matrix tile = x.middleRows(first, rows);
    Matrix features(rows, Q2.rows());
    quadratic_features(tile, features);
    out.middleRows(first, rows).noalias() += features * Q2;
    for (Index o = 0; o < m && degree >= 3; ++o) {
      Matrix inner = Matrix::Zero(rows, d);
      for_symmetric_runs(d, [&](Index b, Index from, Index size) {
        inner.rightCols(d - b).noalias() +=
            features.middleCols(from, size) * cubics[static_cast<std::size_t>(o)].block(from, b, size, d - b);
      });
      out.col(o).segment(first, rows) += inner.cwiseProduct(tile).rowwise().sum();
    }
  }
  return out;
}

PolynomialFit fit_polynomial(const SampleSource& samples, int degree, const Control& control,
                             int max_iterations, double tolerance) {
  if (degree < 1 || degree > 3) throw std::invalid_argument("fit_polynomial: degree must be 1, 2 or 3");
  if (const DeviceRows* there = rows_on_device(samples)) {
    PolynomialCoefficients found =
        fit_polynomial_on_device(*there, degree, control, max_iterations, tolerance);
    PolynomialFit fit{degree,
                      found.Q[0].transpose(),
                      std::move(found.Q[1]),
                      std::move(found.Q[2]),
                      std::move(found.Q[3]),
                      found.iterations};
    return fit;
  }
  const SingleThreadedBlas single;
  // A x = moments of q_x, b = moments of y; both symmetric in the sense of dot().
  Coefficients r = from_moments(hermite_moments(samples, degree, control), degree);
  Coefficients x = r;
  for (Matrix& each : x.Q) each.setZero();
  Coefficients z = precondition(r, degree);
  Coefficients p = z;
  double rz = r.dot(z);
  const double enough = rz * tolerance * tolerance;
  int iteration = 0;
  for (; iteration < max_iterations && rz > enough && rz > 0; ++iteration) {
    const PolynomialFit direction = to_fit(p, degree);
    const HermiteMoments none(samples.inputs(), samples.outputs(), degree);
    const HermiteMoments image = reduce_blocks(
        samples, none, control, "polynomial fit", [&](HermiteMoments& sums, const SampleBlock& block) {
          sums.add(block.first_row(), block.x(), direction.evaluate(block.x()));
        });
    require_fit(image, none);
    const Coefficients Ap = from_moments(image, degree);
    const double alpha = rz / p.dot(Ap);
    if (!std::isfinite(alpha)) break;
    x.add(alpha, p);
    r.add(-alpha, Ap);
    z = precondition(r, degree);
    const double next = r.dot(z);
    for (int order = 0; order < 4; ++order) p.Q[order] = z.Q[order] + (next / rz) * p.Q[order];
    rz = next;
  }
  PolynomialFit fit = to_fit(x, degree);
  fit.iterations = iteration;
  return fit;
}

SamplePtr less_polynomial(const SamplePtr& samples, const std::shared_ptr<const PolynomialFit>& fit,
                          const Control& control) {
  SamplePtr here = with_outputs(
      samples, [fit](const Eigen::Ref<const RowMatrix>& x, RowMatrix& y) { y -= fit->evaluate(x); });
  const DeviceRows* there = rows_on_device(*samples);
  if (there == nullptr) return here;
  return on_device(std::move(here),
                   less_polynomial_on_device(*there, fit->degree,
                                             {fit->Q0.transpose(), fit->Q1, fit->Q2, fit->Q3}, control));
}

}  // namespace exhume
