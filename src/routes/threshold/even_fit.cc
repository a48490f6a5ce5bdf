#include "routes/threshold/even_fit.h"

#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "exhume/data/reduce.h"

namespace exhume {
namespace {

constexpr double kHinges[] = {0, 0.5, 1, 1.5, 2, 2.5};
constexpr Index kBasis = 2 + static_cast<Index>(std::size(kHinges));  // functions of one variable

// Values (rows x kBasis) and slopes of the basis at every z.
void basis(const Eigen::Ref<const Vector>& z, Matrix& value, Matrix& slope) {
  const auto a = z.array();
  value.resize(z.size(), kBasis);
  slope.resize(z.size(), kBasis);
  value.col(0) = a.square() - 1;
  slope.col(0) = 2 * a;
  value.col(1) = a.square().square() - 6 * a.square() + 3;
  slope.col(1) = 4 * a.cube() - 12 * a;
  Index c = 2;
  for (const double s : kHinges) {
    value.col(c) = (a.abs() - s).max(0);
    slope.col(c) = (a.abs() > s).select(a.sign(), 0.0);
    ++c;
  }
}

// E of the basis under a standard Gaussian.
Vector basis_means() {
  Vector out = Vector::Zero(kBasis);
  Index c = 2;
  for (const double s : kHinges) {
    const double density = std::exp(-0.5 * s * s) / std::sqrt(2 * std::numbers::pi);
    out(c++) = 2 * density - s * std::erfc(s / std::numbers::sqrt2);
  }
  return out;
}

struct Normal {
  Matrix gram;
  Vector right;
  double sum = 0, squares = 0;
  void merge(const Normal& other) {
    gram += other.gram;
    right += other.right;
    sum += other.sum;
    squares += other.squares;
  }
};

// Least squares of the output on features(x), rows x q.
template <class Features>
Normal normal_equations(const SampleSource& samples, Index q, const Control& control,
                        const Features& features) {
  return reduce_blocks(samples, Normal{Matrix::Zero(q, q), Vector::Zero(q)}, control, "even functions",
                       [&](Normal& to, const SampleBlock& b) {
                         const Matrix F = features(b.x());
                         const Vector y = b.y().col(0);
                         to.gram.noalias() += F.transpose() * F;
                         to.right.noalias() += F.transpose() * y;
                         to.sum += y.sum();
                         to.squares += y.squaredNorm();
                       });
}

// Functions may coincide (g_i g_j where g is He_2): the smallest solution, columns scaled to norm 1.
Vector solve(const Matrix& gram, const Vector& right) {
  const Vector scale = gram.diagonal().cwiseMax(kTiny).cwiseSqrt().cwiseInverse();
  Matrix scaled = scale.asDiagonal() * gram * scale.asDiagonal();
  scaled.diagonal().array() += 1e-13;
  const Eigen::LDLT<Matrix> ldlt(scaled);
  const Vector b = scale.cwiseProduct(right);
  Vector x = ldlt.solve(b);
  scaled.diagonal().array() -= 1e-13;
  for (int round = 0; round < 3; ++round) x += ldlt.solve(b - scaled * x);
  return scale.cwiseProduct(x);
}

}  // namespace

EvenFit even_fit_step(const SampleSource& samples, const EvenFit& from, const Control& control) {
  const Matrix& directions = from.V;
  const Index d = directions.rows(), k = directions.cols(), pairs = k * (k - 1) / 2;
  const Eigen::JacobiSVD<Matrix> svd(directions, Eigen::ComputeThinU | Eigen::ComputeThinV);
  const Matrix V = svd.matrixU() * svd.matrixV().transpose();
  const Matrix Q = Eigen::HouseholderQR<Matrix>(V).householderQ();
  const Matrix U = Q.rightCols(d - k);

  const Index singles = 1 + kBasis * k;
  const auto single_features = [&](const Eigen::Ref<const RowMatrix>& x) {
    const Matrix Z = x * V;
    Matrix F(x.rows(), singles), value, slope;
    F.col(0).setOnes();
    for (Index i = 0; i < k; ++i) {
      basis(Z.col(i), value, slope);
      F.middleCols(1 + kBasis * i, kBasis) = value;
    }
    return F;
  };
  Vector gamma(singles);
  if (from.units.size() > 0) {
    gamma << 0, Eigen::Map<const Vector>(from.units.data(), from.units.size());
  } else {
    const Normal first = normal_equations(samples, singles, control, single_features);
    gamma = solve(first.gram, first.right);
  }

  // g_i has mean 0: then q_i keeps a multiple of u, whatever the products are.
  const Vector means = basis_means();

  // Units g_i and, with the coefficients of a fit, the slope of f along every z_i.
  const Index functions = singles + 2 * pairs, turns = pairs + k * (d - k);
  const auto features = [&](const Eigen::Ref<const RowMatrix>& x, const Vector* beta) {
    const Matrix Z = x * V;
    Matrix F(x.rows(), functions + (beta ? turns : 0)), value, slope;
    Matrix g(x.rows(), k), dg(x.rows(), k), df = Matrix::Zero(x.rows(), k);
    F.col(0).setOnes();
    for (Index i = 0; i < k; ++i) {
      basis(Z.col(i), value, slope);
      const Index at = 1 + kBasis * i;
      F.middleCols(at, kBasis) = value;
      g.col(i) = value * gamma.segment(at, kBasis);
      g.col(i).array() -= means.dot(gamma.segment(at, kBasis));
      dg.col(i) = slope * gamma.segment(at, kBasis);
      if (beta) df.col(i) = slope * beta->segment(at, kBasis);
    }
    Index at = singles;
    for (Index j = 0; j < k; ++j) {
      for (Index i = 0; i < j; ++i, ++at) {
        F.col(at) = g.col(i).cwiseProduct(g.col(j));
        if (!beta) continue;
        df.col(i) += (*beta)(at)*dg.col(i).cwiseProduct(g.col(j));
        df.col(j) += (*beta)(at)*dg.col(j).cwiseProduct(g.col(i));
      }
    }
    for (Index j = 0; j < k; ++j) {
      for (Index i = 0; i < j; ++i, ++at) {
        F.col(at) = F.col(1 + kBasis * i).cwiseProduct(F.col(1 + kBasis * j));
        if (!beta) continue;
        df.col(i).array() += 2 * (*beta)(at)*Z.col(i).array() * F.col(1 + kBasis * j).array();
        df.col(j).array() += 2 * (*beta)(at)*Z.col(j).array() * F.col(1 + kBasis * i).array();
      }
    }
    if (!beta) return F;
    for (Index j = 0; j < k; ++j) {
      for (Index i = 0; i < j; ++i, ++at) {
        F.col(at) = df.col(i).cwiseProduct(Z.col(j)) - df.col(j).cwiseProduct(Z.col(i));
      }
    }
    const Matrix outside = x * U;
    for (Index i = 0; i < k; ++i) {
      for (Index l = 0; l < d - k; ++l, ++at) F.col(at) = df.col(i).cwiseProduct(outside.col(l));
    }
    return F;
  };
  const Normal second =
      normal_equations(samples, functions, control, [&](const auto& x) { return features(x, nullptr); });
  const Vector beta = solve(second.gram, second.right);
  const Normal third = normal_equations(samples, functions + turns, control,
                                        [&](const auto& x) { return features(x, &beta); });
  const Vector all = solve(third.gram, third.right);
  const Vector step = all.tail(turns);

  EvenFit out;
  out.units = Eigen::Map<const Matrix>(all.data() + 1, kBasis, k);
  const auto n = static_cast<double>(samples.rows());
  const double variance = second.squares - second.sum * second.sum / n;
  out.misfit = std::max(0.0, second.squares - beta.dot(second.right)) / std::max(variance, kTiny);
  out.moved = step.size() > 0 ? step.cwiseAbs().maxCoeff() : 0;
  // z_i moves by A_ij z_j: the column of unit i gets A_ij v_j and B_il u_l.
  Matrix next = V;
  Index at = 0;
  for (Index j = 0; j < k; ++j) {
    for (Index i = 0; i < j; ++i, ++at) {
      next.col(i) += step(at) * V.col(j);
      next.col(j) -= step(at) * V.col(i);
    }
  }
  for (Index i = 0; i < k; ++i) {
    for (Index l = 0; l < d - k; ++l, ++at) next.col(i) += step(at) * U.col(l);
  }
  const Eigen::JacobiSVD<Matrix> polar(next, Eigen::ComputeThinU | Eigen::ComputeThinV);
  out.V = polar.matrixU() * polar.matrixV().transpose();
  return out;
}

}  // namespace exhume
