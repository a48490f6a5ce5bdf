#include "papers/threshold/even_fit.h"

#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "data/reduce.h"
#include "linalg/orthonormal.h"

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

// The orthonormal columns closest to those of M.
Matrix orthonormalised(const Matrix& M) {
  const Eigen::JacobiSVD<Matrix> svd(M, Eigen::ComputeThinU | Eigen::ComputeThinV);
  return svd.matrixU() * svd.matrixV().transpose();
}

// The functions that f is regressed on, at fixed directions V with complement U. Columns, in order:
//
//     singles    1, then kBasis functions of every z_i
//     products   g_i g_j for i < j, then He_2(z_i) He_2(z_j) for i < j
//     turns      df/dA_ij for i < j, then df/dB_il
class EvenFeatures {
 public:
  EvenFeatures(Matrix V, Matrix U)
      : V_(std::move(V)), U_(std::move(U)), k_(V_.cols()), pairs_(k_ * (k_ - 1) / 2), means_(basis_means()) {}

  [[nodiscard]] Index singles() const { return 1 + kBasis * k_; }
  [[nodiscard]] Index functions() const { return singles() + 2 * pairs_; }
  [[nodiscard]] Index turns() const { return pairs_ + k_ * U_.cols(); }

  // Coefficients of g_i: those of the singles of a fit. Without their mean: then q_i keeps a multiple of u,
  // whatever the products are.
  void set_units(const Vector& gamma) { gamma_ = gamma; }

  [[nodiscard]] Matrix single_values(const Eigen::Ref<const RowMatrix>& x) const {
    const Matrix Z = x * V_;
    Matrix F(x.rows(), singles()), value, slope;
    F.col(0).setOnes();
    for (Index i = 0; i < k_; ++i) {
      basis(Z.col(i), value, slope);
      F.middleCols(1 + kBasis * i, kBasis) = value;
    }
    return F;
  }

  // Singles and products; with the coefficients of a fit by them, the turns as well.
  [[nodiscard]] Matrix values(const Eigen::Ref<const RowMatrix>& x, const Vector* beta) const {
    const Matrix Z = x * V_;
    Matrix F(x.rows(), functions() + (beta ? turns() : 0)), value, slope;
    Matrix g(x.rows(), k_), dg(x.rows(), k_), df = Matrix::Zero(x.rows(), k_);
    F.col(0).setOnes();
    for (Index i = 0; i < k_; ++i) {
      basis(Z.col(i), value, slope);
      const Index at = 1 + kBasis * i;
      F.middleCols(at, kBasis) = value;
      g.col(i) = value * gamma_.segment(at, kBasis);
      g.col(i).array() -= means_.dot(gamma_.segment(at, kBasis));
      dg.col(i) = slope * gamma_.segment(at, kBasis);
      if (beta) df.col(i) = slope * beta->segment(at, kBasis);
    }
    add_products(Z, g, dg, beta, F, df);
    if (beta) add_turns(Z, x * U_, df, F);
    return F;
  }

  // V + V A + U B for a step (A, B) in the order of the turns: z_i moves by A_ij z_j, so the column of unit i
  // gets A_ij v_j and B_il u_l.
  [[nodiscard]] Matrix turned(const Vector& step) const {
    Matrix next = V_;
    Index at = 0;
    for (Index j = 0; j < k_; ++j) {
      for (Index i = 0; i < j; ++i, ++at) {
        next.col(i) += step(at) * V_.col(j);
        next.col(j) -= step(at) * V_.col(i);
      }
    }
    for (Index i = 0; i < k_; ++i) {
      for (Index l = 0; l < U_.cols(); ++l, ++at) next.col(i) += step(at) * U_.col(l);
    }
    return next;
  }

 private:
  // Fills the products and adds their part of df/dz_i.
  void add_products(const Matrix& Z, const Matrix& g, const Matrix& dg, const Vector* beta, Matrix& F,
                    Matrix& df) const {
    Index at = singles();
    for (Index j = 0; j < k_; ++j) {
      for (Index i = 0; i < j; ++i, ++at) {
        F.col(at) = g.col(i).cwiseProduct(g.col(j));
        if (!beta) continue;
        df.col(i) += (*beta)(at)*dg.col(i).cwiseProduct(g.col(j));
        df.col(j) += (*beta)(at)*dg.col(j).cwiseProduct(g.col(i));
      }
    }
    for (Index j = 0; j < k_; ++j) {
      for (Index i = 0; i < j; ++i, ++at) {
        F.col(at) = F.col(1 + kBasis * i).cwiseProduct(F.col(1 + kBasis * j));
        if (!beta) continue;
        df.col(i).array() += 2 * (*beta)(at)*Z.col(i).array() * F.col(1 + kBasis * j).array();
        df.col(j).array() += 2 * (*beta)(at)*Z.col(j).array() * F.col(1 + kBasis * i).array();
      }
    }
  }

  void add_turns(const Matrix& Z, const Matrix& outside, const Matrix& df, Matrix& F) const {
    Index at = functions();
    for (Index j = 0; j < k_; ++j) {
      for (Index i = 0; i < j; ++i, ++at) {
        F.col(at) = df.col(i).cwiseProduct(Z.col(j)) - df.col(j).cwiseProduct(Z.col(i));
      }
    }
    for (Index i = 0; i < k_; ++i) {
      for (Index l = 0; l < U_.cols(); ++l, ++at) F.col(at) = df.col(i).cwiseProduct(outside.col(l));
    }
  }

  Matrix V_, U_;
  Index k_, pairs_;
  Vector means_, gamma_;
};

}  // namespace

EvenFit even_fit_step(const SampleSource& samples, const EvenFit& from, const Control& control) {
  const Index d = from.V.rows(), k = from.V.cols();
  const Matrix V = orthonormalised(from.V);
  const Matrix Q = orthonormal_basis(V);
  EvenFeatures features(V, Q.rightCols(d - k));
  Vector gamma(features.singles());
  if (from.units.size() > 0) {
    gamma << 0, Eigen::Map<const Vector>(from.units.data(), from.units.size());
  } else {
    const Normal first = normal_equations(samples, features.singles(), control,
                                          [&](const auto& x) { return features.single_values(x); });
    gamma = solve(first.gram, first.right);
  }
  features.set_units(gamma);
  const Normal second = normal_equations(samples, features.functions(), control,
                                         [&](const auto& x) { return features.values(x, nullptr); });
  const Vector beta = solve(second.gram, second.right);
  const Normal third = normal_equations(samples, features.functions() + features.turns(), control,
                                        [&](const auto& x) { return features.values(x, &beta); });
  const Vector all = solve(third.gram, third.right);
  const Vector step = all.tail(features.turns());

  EvenFit out;
  out.units = Eigen::Map<const Matrix>(all.data() + 1, kBasis, k);
  const auto n = static_cast<double>(samples.rows());
  const double variance = second.squares - second.sum * second.sum / n;
  out.misfit = std::max(0.0, second.squares - beta.dot(second.right)) / std::max(variance, kTiny);
  out.moved = step.size() > 0 ? step.cwiseAbs().maxCoeff() : 0;
  out.V = orthonormalised(features.turned(step));
  return out;
}

}  // namespace exhume
