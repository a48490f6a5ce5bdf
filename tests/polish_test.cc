#include "fit/polish.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>

#include "base/random.h"
#include "data/planted.h"
#include "fit/conjugate_gradients.h"
#include "fit/errors.h"
#include "fit/form_sums.h"
#include "fit/signs.h"
#include "fit/sums.h"
#include "moments/moments.h"
#include "moments/standardise.h"
#include "refusal.h"

namespace exhume::polish_test {
namespace {

Form sign_free_start(const Network& network, double error, std::uint64_t seed) {
  Matrix V(network.hidden(), network.inputs() + 1);
  V << network.W(), network.b();
  V += error * Stream(seed, "start").normal_matrix(V.rows(), V.cols());
  for (Index j = 0; j < V.rows(); j += 2) V.row(j) *= -1;  // the sign must not matter
  return one_layer(V);
}

TEST(Polish, ReachesTheLastBitFromARoughStart) {
  for (const Index outputs : {Index{1}, Index{3}}) {
    const Network network =
        plant({.inputs = 6, .hidden = 5, .outputs = outputs, .amplitudes = Amplitudes::kSigns, .seed = 21});
    const SamplePtr samples = planted_samples(network, {.samples = 1500, .seed = 22});
    const Polished summary = polish(sign_free_start(network, 0.1, 23), *samples, {}, {});
    EXPECT_LT(summary.relative_mse, 1e-28) << outputs;
    const SignDecision signs = decide_signs(summary.form, {});
    EXPECT_EQ(signs.outcome, SignOutcome::kUnique) << outputs;
    const Network found = to_network(with_signs(summary.form, signs));
    EXPECT_LT(align(found, network).worst_error, 1e-12) << outputs;
  }
}

// The Gauss-Newton problem of a small model by plain loops and a dense QR: what the polish's sums, products
// and steps must agree with. Rows of J are (row i, output o) at i m + o; columns of V are (unit j, input a)
// at j (d+1) + a, those of C are (feature f, output o) at f m + o.
struct DenseProblem {
  Matrix F;         // n x q
  Matrix G;         // n x k(d+1)
  Matrix JV, JC;    // n m x k(d+1), n m x q m
  Vector residual;  // n m
  Matrix K;         // JV projected off the columns of JC: Kaufman's Jacobian
};

DenseProblem dense_problem(const Form& model, const RowMatrix& x, const RowMatrix& y) {
  const Index n = x.rows(), d = x.cols(), m = y.cols(), k = model.V[0].rows(), w = d + 1;
  const Index q = k + (model.plain ? 0 : d) + 1;
  DenseProblem out;
  out.F = Matrix::Zero(n, q);
  out.G = Matrix::Zero(n, k * w);
  out.JV = Matrix::Zero(n * m, k * w);
  out.JC = Matrix::Zero(n * m, q * m);
  out.residual = Vector::Zero(n * m);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < k; ++j) {
      double z = model.V[0](j, d);
      for (Index a = 0; a < d; ++a) z += model.V[0](j, a) * x(i, a);
      const bool relu = model.activation() == Activation::kRelu;
      const double slope = z > 0 ? 1 : relu ? 0 : -1;
      out.F(i, j) = slope * z;
      for (Index a = 0; a < w; ++a) {
        out.G(i, j * w + a) = slope * (a < d ? x(i, a) : 1);
        for (Index o = 0; o < m; ++o) out.JV(i * m + o, j * w + a) = out.G(i, j * w + a) * model.C(j, o);
      }
    }
    for (Index a = 0; !model.plain && a < d; ++a) out.F(i, k + a) = x(i, a);
    out.F(i, q - 1) = 1;
    for (Index o = 0; o < m; ++o) {
      out.residual(i * m + o) = y(i, o);
      for (Index f = 0; f < q; ++f) {
        out.JC(i * m + o, f * m + o) = out.F(i, f);
        out.residual(i * m + o) -= out.F(i, f) * model.C(f, o);
      }
    }
  }
  const Eigen::HouseholderQR<Matrix> qr(out.JC);
  const Matrix Q = qr.householderQ() * Matrix::Identity(n * m, q * m);
  out.K = out.JV - Q * (Q.transpose() * out.JV);
  return out;
}

// The linear part that fits best for model.V[0], by a dense QR.
void solve_linear_part_densely(Form& model, const RowMatrix& x, const RowMatrix& y) {
  model.C = Matrix::Zero(model.features(), y.cols());
  model.C = dense_problem(model, x, y).F.colPivHouseholderQr().solve(Matrix(y));
}

// The mean curvature of unit j along its own scale, put on the direction v_j: rows sqrt(mean) v_j^T.
Matrix scale_rows(const Form& model, const Vector& curvature) {
  const Index k = model.units(), w = model.V[0].cols();
  Matrix rows = Matrix::Zero(k, k * w);
  for (Index j = 0; j < k; ++j) {
    rows.block(j, j * w, 1, w) =
        std::sqrt(curvature.segment(j * w, w).mean()) * model.V[0].row(j).normalized();
  }
  return rows;
}

// The least-squares solution of A z = b by a dense QR: V's part of it, unit by unit.
Matrix dense_step(const Matrix& A, const Vector& b, Index units, Index width) {
  const Vector z = A.colPivHouseholderQr().solve(b);
  return Eigen::Map<const RowMatrix>(z.data(), units, width);
}

struct SmallProblem {
  Form model;
  RowMatrix x, y;
};

// A model a little off the network that made the noisy rows; C as good as V allows.
SmallProblem small_problem(Activation activation, Index d, Index k, Index m, Index n, std::uint64_t seed) {
  SmallProblem out;
  const Network network = plant({.inputs = d, .hidden = k, .outputs = m, .seed = seed});
  out.x = Stream(seed, "x").normal_matrix(n, d);
  out.y = evaluate(network, out.x) + 0.05 * Stream(seed, "noise").normal_matrix(n, m);
  out.model = to_signed_form(network);
  out.model.plain = activation == Activation::kRelu;
  out.model.V[0] += 0.05 * Stream(seed, "start").normal_matrix(k, d + 1);
  for (Index j = 0; j < k; ++j) out.model.V[0].row(j) /= out.model.V[0].row(j).head(d).norm();
  solve_linear_part_densely(out.model, out.x, out.y);
  return out;
}

struct Shape {
  Activation activation;
  Index d, k, m, n;
};
// One input, one unit, one output; odd sizes; more outputs than units; rows that do not fill the last block.
constexpr Shape kShapes[] = {{Activation::kAbsolute, 1, 1, 1, 40},
                             {Activation::kAbsolute, 3, 2, 1, 151},
                             {Activation::kRelu, 3, 2, 3, 129},
                             {Activation::kRelu, 5, 3, 2, 200},
                             {Activation::kAbsolute, 4, 3, 5, 100}};
constexpr Index kBlock = 64;  // several blocks, the last one short

double largest(const Matrix& M) { return M.size() == 0 ? 0 : M.cwiseAbs().maxCoeff(); }

TEST(Polish, SumsOverRowsAgreeWithDenseOnes) {
  constexpr double kRounding = 2.3e-16;
  for (const Shape& s : kShapes) {
    const SmallProblem p = small_problem(s.activation, s.d, s.k, s.m, s.n, 35);
    const SamplePtr samples = memory_samples(p.x, p.y);
    const DenseProblem dense = dense_problem(p.model, p.x, p.y);
    // Sums of n products, each with an error of a few roundings of the largest.
    const auto tolerance = [&](const Matrix& a, const Matrix& b) {
      return 8 * kRounding * static_cast<double>(s.n) * (largest(a) * largest(b) + 1);
    };
    const Matrix R = Eigen::Map<const RowMatrix>(dense.residual.data(), s.n, s.m);
    const LinearSums linear = linear_sums(p.model, *samples, kBlock, {});
    EXPECT_LE(largest(linear.FF - dense.F.transpose() * dense.F), tolerance(dense.F, dense.F));
    EXPECT_LE(largest(linear.FY - dense.F.transpose() * p.y), tolerance(dense.F, p.y));
    const ResidualSums residual = residual_sums(p.model, *samples, kBlock, {});
    EXPECT_LE(largest(residual.squares - R.colwise().squaredNorm().transpose()), tolerance(R, R));
    // R itself is a difference of terms as large as y.
    EXPECT_LE(largest(residual.FR - dense.F.transpose() * R), tolerance(dense.F, p.y));
    const NormalSums sums = normal_sums(p.model, *samples, kBlock, {});
    const Matrix GG = dense.G.transpose() * dense.G;
    EXPECT_LE(largest(Matrix((sums.GG - GG).triangularView<Eigen::Lower>())), tolerance(dense.G, dense.G));
    EXPECT_LE(largest(sums.GF - dense.G.transpose() * dense.F), tolerance(dense.G, dense.F));
    EXPECT_LE(largest(sums.FF - dense.F.transpose() * dense.F), tolerance(dense.F, dense.F));
    const Vector gradient = dense.JV.transpose() * dense.residual;
    EXPECT_LE(largest(sums.gradient.reshaped() - gradient),
              static_cast<double>(s.m) * tolerance(dense.JV, p.y));
  }
}

TEST(Polish, TheProjectedNormalMatrixIsThatOfKaufmansJacobian) {
  for (const Shape& s : kShapes) {
    const SmallProblem p = small_problem(s.activation, s.d, s.k, s.m, s.n, 36);
    const SamplePtr samples = memory_samples(p.x, p.y);
    const DenseProblem dense = dense_problem(p.model, p.x, p.y);
    Matrix expected = dense.K.transpose() * dense.K;
    const Matrix scale = scale_rows(p.model, expected.diagonal());
    expected += scale.transpose() * scale;
    const Matrix found = projected_normal_matrix(p.model, normal_sums(p.model, *samples, kBlock, {}));
    // The normal equations of the projection lose the square of F's condition number, against 1 / eps.
    const Eigen::JacobiSVD<Matrix> svd(dense.F);
    const double condition = svd.singularValues()(0) / svd.singularValues().tail(1)(0);
    EXPECT_LE((found - expected).norm(), 1e-14 * condition * condition * dense.JV.squaredNorm())
        << s.d << " inputs, " << s.k << " units, " << s.m << " outputs";
    EXPECT_EQ(found, Matrix(found.transpose()));
  }
}

TEST(Polish, ADenseStepIsTheDampedLeastSquaresStep) {
  constexpr double kLambda = 1e-2;
  for (const Shape& s : kShapes) {
    const SmallProblem p = small_problem(s.activation, s.d, s.k, s.m, s.n, 37);
    const DenseProblem dense = dense_problem(p.model, p.x, p.y);
    const Index w = s.d + 1, P = s.k * w, rows = s.n * s.m;
    const Vector curvature = dense.K.colwise().squaredNorm().transpose();
    const Matrix scale = scale_rows(p.model, curvature);
    const Vector diagonal = curvature + scale.colwise().squaredNorm().transpose();
    Matrix A = Matrix::Zero(rows + s.k + P, P);
    A << dense.K, scale, Matrix((kLambda * diagonal).cwiseSqrt().asDiagonal());
    Vector b = Vector::Zero(A.rows());
    b.head(rows) = dense.residual;
    Form expected = p.model;
    expected.V[0] += dense_step(A, b, s.k, w);
    for (Index j = 0; j < s.k; ++j) expected.V[0].row(j) /= expected.V[0].row(j).head(s.d).norm();
    solve_linear_part_densely(expected, p.x, p.y);
    const Vector after = dense_problem(expected, p.x, p.y).residual;
    ASSERT_LT(after.norm(), dense.residual.norm()) << "the reference step must be one that is taken";

    PolishOptions once;
    once.max_iterations = 1;
    once.damping = kLambda;
    const Polished summary = polish(p.model, *memory_samples(p.x, p.y), once, {});
    ASSERT_EQ(summary.iterations, 1);
    ASSERT_EQ(summary.descent.size(), 2U);
    // The damped equations have a condition number below 1 / kLambda times that of their diagonal, which is
    // scaled away; 1e-9 leaves a factor of 1e5 for it over 1e-14.
    EXPECT_LE(largest(summary.form.V[0] - expected.V[0]), 1e-9) << s.d << " inputs, " << s.k << " units";
    EXPECT_LE(largest(summary.form.C - expected.C), 1e-9 * (1 + largest(expected.C)));
    double variation = 0;
    for (Index o = 0; o < s.m; ++o) variation += (p.y.col(o).array() - p.y.col(o).mean()).square().sum();
    EXPECT_NEAR(summary.relative_mse, after.squaredNorm() / variation, 1e-9 * summary.relative_mse);
    EXPECT_NEAR(summary.descent[0], dense.residual.squaredNorm() / variation, 1e-9 * summary.descent[0]);
  }
}

// J of the joint, damped problem in (V, C) that ConjugateSystem solves: J^T J is its matrix.
Matrix joint_jacobian(const Form& model, const DenseProblem& dense, double lambda) {
  const Index k = model.units(), P = dense.JV.cols(), Q = dense.JC.cols(), rows = dense.JV.rows();
  const Vector curvature = dense.JV.colwise().squaredNorm().transpose();
  const Matrix scale = scale_rows(model, curvature);
  const Vector diagonal = curvature + scale.colwise().squaredNorm().transpose();
  Matrix J = Matrix::Zero(rows + k + P, P + Q);
  J.topLeftCorner(rows, P) = dense.JV;
  J.topRightCorner(rows, Q) = dense.JC;
  // conjugate_gradients.cc takes the mean curvature of the block that already holds the scale, (1 + 1 /
  // (d+1)) times the preconditioner's. Any positive curvature fixes the scale.
  J.block(rows, 0, k, P) = std::sqrt(1 + 1 / static_cast<double>(model.V[0].cols())) * scale;
  J.block(rows + k, 0, P, P) = Matrix((lambda * diagonal).cwiseSqrt().asDiagonal());
  return J;
}

// ConjugateSystem::apply is private; an explicit instantiation may name it all the same.
template <auto Member>
struct Opened {
  friend auto conjugate_apply() { return Member; }
};
auto conjugate_apply();
template struct Opened<&ConjugateSystem::apply>;

template <class Direction>
Direction product(Direction (ConjugateSystem::*apply)(const Direction&, double) const,
                  const ConjugateSystem& system, const Matrix& V, const Matrix& C, double lambda) {
  return (system.*apply)(Direction{V, C}, lambda);
}

TEST(Polish, MatrixFreeProductsAgreeWithDenseOnes) {
  // Relative to the product of sizes: rounding of sums of n terms, and the ridge of 1e-12 on damped
  // diagonals.
  for (const Shape& s : kShapes) {
    const double tolerance = 8 * 2.3e-16 * static_cast<double>(s.n) + 2e-12;
    for (const double lambda : {0.0, 1e-2, 10.0}) {
      SmallProblem p = small_problem(s.activation, s.d, s.k, s.m, s.n, 38);
      p.model.C += 0.1 * Stream(39, "C").normal_matrix(p.model.C.rows(), p.model.C.cols());
      const DenseProblem dense = dense_problem(p.model, p.x, p.y);
      const Matrix J = joint_jacobian(p.model, dense, lambda);
      const SamplePtr samples = memory_samples(p.x, p.y);
      const Control control;
      const ConjugateSystem step(p.model, *samples, kBlock, control);
      const Matrix V = Stream(40, "V").normal_matrix(s.d + 1, s.k);
      const RowMatrix C = Stream(40, "C").normal_matrix(p.model.C.rows(), s.m);
      Vector z(V.size() + C.size());
      z << V.reshaped(), Eigen::Map<const Vector>(C.data(), C.size());
      const Vector expected = J.transpose() * (J * z);
      const double size = largest(J.cwiseAbs().transpose() * (J.cwiseAbs() * z.cwiseAbs()));
      const auto found = product(conjugate_apply(), step, V, C, lambda);
      const RowMatrix found_C = found.C;
      EXPECT_LE(largest(found.V.reshaped() - expected.head(V.size())), tolerance * size)
          << s.d << " inputs, " << s.k << " units, lambda " << lambda;
      EXPECT_LE(largest(Eigen::Map<const Vector>(found_C.data(), C.size()) - expected.tail(C.size())),
                tolerance * size)
          << s.d << " inputs, " << s.k << " units, lambda " << lambda;
    }
  }
}

TEST(Polish, MatrixFreeStepsAgreeWithDenseOnes) {
  // Conjugate gradients on A stop at a residual r with r.M^-1 r <= kForcing^2 g.M^-1 g. Then the error e of
  // the step has e.A e = r.A^-1 r <= kForcing^2 g.M^-1 g / (least eigenvalue of M^-1 A), and its part in V is
  // no larger in the norm of the Schur complement of A on V.
  for (const Shape& s : kShapes) {
    for (const double lambda : {1e-6, 1e-2, 1.0}) {
      for (const bool best : {true, false}) {
        SmallProblem p = small_problem(s.activation, s.d, s.k, s.m, s.n, 38);
        if (!best) p.model.C += 0.1 * Stream(39, "C").normal_matrix(p.model.C.rows(), p.model.C.cols());
        const DenseProblem dense = dense_problem(p.model, p.x, p.y);
        const Index w = s.d + 1, P = s.k * w, Q = dense.JC.cols(), rows = s.n * s.m;
        const Matrix J = joint_jacobian(p.model, dense, lambda);
        Vector b = Vector::Zero(J.rows());
        b.head(rows) = dense.residual;
        const Matrix expected = dense_step(J, b, s.k, w);

        const Matrix A = J.transpose() * J;
        Matrix M =
            Matrix::Zero(P + Q, P + Q);  // the preconditioner: A without what couples units, or V and C
        for (Index j = 0; j < s.k; ++j) {
          const Matrix row = J.block(rows + j, j * w, 1, w);  // its scale there is w / (w + 1) of that in A
          M.block(j * w, j * w, w, w) =
              A.block(j * w, j * w, w, w) - row.transpose() * row / static_cast<double>(w + 1);
        }
        M.bottomRightCorner(Q, Q) = A.bottomRightCorner(Q, Q);
        const double least =
            Eigen::GeneralizedSelfAdjointEigenSolver<Matrix>(A, M, Eigen::EigenvaluesOnly).eigenvalues()(0);
        ASSERT_GT(least, 1e-9) << "the reference must be well posed";
        const Vector g = J.transpose() * b;
        const double bound = kForcing * kForcing * g.dot(M.ldlt().solve(g)) / least;
        const Matrix S =
            A.topLeftCorner(P, P) -
            A.topRightCorner(P, Q) * A.bottomRightCorner(Q, Q).ldlt().solve(A.bottomLeftCorner(Q, P));

        const SamplePtr samples = memory_samples(p.x, p.y);
        const Control control;
        const Vector flat = *ConjugateSystem(p.model, *samples, kBlock, control).step(lambda);
        const Matrix found = Eigen::Map<const RowMatrix>(flat.data(), s.k, w);
        const RowMatrix error = found - expected;
        const Eigen::Map<const Vector> e(error.data(), error.size());
        EXPECT_LE(e.dot(S * e), 1.01 * bound) << s.d << " inputs, " << s.k << " units, lambda " << lambda;
        // And the bound says something: the step itself is far larger.
        const RowMatrix whole = expected;
        const Eigen::Map<const Vector> v(whole.data(), whole.size());
        EXPECT_LE(bound, 0.05 * v.dot(S * v)) << s.d << " inputs, " << s.k << " units, lambda " << lambda;
      }
    }
  }
}

// The kernel for one hidden layer on samples and the one for any number of layers on rows in memory: the same
// sums.
TEST(Polish, BothKernelsGiveTheSameSumsOfOneLayer) {
  for (const Shape& s : kShapes) {
    SmallProblem p = small_problem(s.activation, s.d, s.k, s.m, s.n, 44);
    normalise(p.model);
    const SamplePtr samples = memory_samples(p.x, p.y);
    const DeepData data(p.x, p.y);
    const Control control;
    const auto one = host_sums(*samples, kBlock, 0, NormalMatrix::kFormed), any = host_sums(data);
    const LinearSums a = one->linear(p.model, control), b = any->linear(p.model, control);
    // Rounding of sums of n terms, and of a projection by the Cholesky factor of F^T F.
    const double tolerance = 8 * 2.3e-16 * static_cast<double>(s.n), projected = 1e-10;
    EXPECT_LE((a.FF - b.FF).norm(), tolerance * a.FF.norm());
    EXPECT_LE((a.FY - b.FY).norm(), tolerance * a.FY.norm());
    const Residual r = one->residual(p.model, control), q = any->residual(p.model, control);
    EXPECT_NEAR(r.squares, q.squares, tolerance * r.squares);
    const Matrix H = one->normal_system(p.model, a.FF, control)->matrix().triangularView<Eigen::Lower>(),
                 G = any->normal_system(p.model, a.FF, control)->matrix().triangularView<Eigen::Lower>();
    EXPECT_LE((H - G).norm(), projected * H.norm()) << s.d << " inputs, " << s.k << " units";
  }
}

TEST(Polish, AboveAndBelowTheDenseLimitIsTheSameAnswer) {
  for (const Shape& s : kShapes) {
    SmallProblem p = small_problem(s.activation, s.d, s.k, s.m, s.n, 34);
    const Network network = plant({.inputs = s.d, .hidden = s.k, .outputs = s.m, .seed = 34});
    p.y = evaluate(network, p.x);  // without noise: the minimum does not lie on a kink
    const SamplePtr samples = memory_samples(p.x, p.y);
    PolishOptions at, below;
    at.dense_limit = p.model.V[0].size();         // formed
    below.dense_limit = p.model.V[0].size() - 1;  // never formed
    const Polished dense = polish(p.model, *samples, at, {}), free = polish(p.model, *samples, below, {});
    ASSERT_LT(dense.relative_mse, 1e-26);
    ASSERT_LT(free.relative_mse, 1e-26);
    // Two fits with residuals r and r' differ by at most (|r| + |r'|) / (least singular value), to first
    // order.
    const DenseProblem problem = dense_problem(dense.form, p.x, p.y);
    const Matrix scale = scale_rows(dense.form, problem.K.colwise().squaredNorm().transpose());
    Matrix K(problem.K.rows() + scale.rows(), problem.K.cols());
    K << problem.K, scale;
    const double least = Eigen::JacobiSVD<Matrix>(K).singularValues().tail(1)(0);
    const double residuals = problem.residual.norm() + dense_problem(free.form, p.x, p.y).residual.norm();
    EXPECT_LE((dense.form.V[0] - free.form.V[0]).norm(), 2 * residuals / least + 1e-14) << s.d << " " << s.k;
    EXPECT_LE(largest(dense.form.V[0].leftCols(s.d) - free.form.V[0].leftCols(s.d)), 1e-10);
  }
}

TEST(Polish, ReachesRoundingWithoutTheNormalMatrix) {
  const Network network = plant({.inputs = 8, .hidden = 6, .outputs = 2, .seed = 31});
  const SamplePtr samples = planted_samples(network, {.samples = 1500, .seed = 32});
  PolishOptions free;
  free.dense_limit = 0;
  const Polished summary = polish(sign_free_start(network, 0.05, 33), *samples, free, {});
  EXPECT_LT(summary.relative_mse, 1e-26);
}

TEST(Polish, IsTheSameForAnyNumberOfThreads) {
  const Network network = plant({.inputs = 5, .hidden = 4, .outputs = 2, .seed = 41});
  const SamplePtr samples = planted_samples(network, {.samples = 2000, .noise = 0.1, .seed = 42});
  Control one, three;
  one.threads = 1;
  three.threads = 3;
  const Polished a = polish(sign_free_start(network, 0.1, 43), *samples, {}, one);
  const Polished b = polish(sign_free_start(network, 0.1, 43), *samples, {}, three);
  EXPECT_TRUE(a.form.V[0] == b.form.V[0]);
  EXPECT_TRUE(a.form.C == b.form.C);
}

TEST(Polish, LinearPartAgreesWithAQrOracle) {
  const RowMatrix x = Stream(51, "x").normal_matrix(200, 3), y = Stream(51, "y").normal_matrix(200, 2);
  Form model = one_layer(Stream(52, "V").normal_matrix(4, 4));
  model.V[0].col(3) *= 0.2;  // every unit must bend within the samples, or the features are dependent
  (void)fit_linear_part(model, *memory_samples(x, y), {}, {});
  Matrix F(200, 8);
  const Matrix Z = (x * model.V[0].leftCols(3).transpose()).rowwise() + model.V[0].col(3).transpose();
  F << Z.cwiseAbs(), x, Matrix::Ones(200, 1);
  const Matrix expected = F.colPivHouseholderQr().solve(Matrix(y));
  EXPECT_LT((model.C - expected).norm(), 1e-12);
}

TEST(Polish, AModelWithoutUnitsIsALinearFit) {
  const RowMatrix x = Stream(55, "x").normal_matrix(100, 2), y = (2 * x.col(0) - x.col(1)).array() + 3;
  const Form model = one_layer(Matrix(0, 3));
  const Polished summary = polish(model, *memory_samples(x, y), {}, {});
  EXPECT_LT(summary.relative_mse, 1e-28);
}

TEST(Polish, RefusesBadOptions) {
  const auto refuse = [](const PolishOptions& options, std::initializer_list<const char*> words) {
    const Form model = one_layer(Matrix::Ones(1, 2));
    const SamplePtr samples = memory_samples(RowMatrix::Ones(3, 1), RowMatrix::Ones(3, 1));
    expect_refused<std::invalid_argument>([&] { (void)polish(model, *samples, options, {}); }, words);
  };
  refuse({.max_iterations = -1}, {"max_iterations is -1", "at least 0"});
  refuse({.damping = 0}, {"damping is 0", "above 0"});
  refuse({.damping = std::nan("")}, {"damping is nan", "above 0"});
  refuse({.block_rows = -5}, {"block_rows is -5", "at least 0"});
}

TEST(Signs, AmbiguousWhereWeightsAreDependent) {
  // Claim 4.8: sum beta_i w_i = 0, a_i = beta_i, no biases: turning all units around gives the same function.
  Matrix W = Stream(61, "W").normal_matrix(4, 3);
  const Vector beta = Eigen::FullPivLU<Matrix>(W.transpose()).kernel().col(0);
  Form model = one_layer(Matrix::Zero(4, 4));
  model.V[0].leftCols(3) = W;
  model.C = Matrix::Zero(8, 1);
  model.C.topRows(4) = beta / 2;
  const Vector truth = (Vector(4) << 1, 1, 1, 1).finished();
  model.C.block(4, 0, 3, 1) = W.transpose() * (truth.cwiseProduct(beta) / 2);
  EXPECT_EQ(decide_signs(model, {}).outcome, SignOutcome::kAmbiguous);
}

TEST(Signs, FoundByEnumerationWhereUnitsOutnumberInputs) {
  const Network network =
      plant({.inputs = 4, .hidden = 11, .outputs = 1, .amplitudes = Amplitudes::kSigns, .seed = 71});
  Form model = one_layer(Matrix(11, 5));
  model.V[0] << network.W(), network.b();
  model.C = Matrix::Zero(11 + 5, 1);
  model.C.topRows(11) = network.A().transpose() / 2;
  model.C.block(11, 0, 4, 1) = network.W().transpose() * network.A().transpose() / 2;
  for (Index j = 0; j < 11; j += 3) model.V[0].row(j) *= -1;
  const SignDecision decision = decide_signs(model, {});
  ASSERT_EQ(decision.outcome, SignOutcome::kUnique);
  for (Index j = 0; j < 11; ++j) EXPECT_EQ(decision.signs(j), j % 3 == 0 ? -1 : 1) << j;
}

TEST(Signs, UndecidedWhereALinearTermIsLeftOver) {
  const Network network = plant({.inputs = 4, .hidden = 3, .outputs = 1, .seed = 72});
  Form model = one_layer(Matrix(3, 5));
  model.V[0] << network.W(), network.b();
  model.C = Stream(73, "C").normal_matrix(3 + 5, 1);
  const SignDecision decision = decide_signs(model, {});
  EXPECT_EQ(decision.outcome, SignOutcome::kUndecided);
  const RowMatrix x = Stream(74, "x").normal_matrix(30, 4);
  const Network kept = to_network(with_signs(model, decision));
  EXPECT_LT((evaluate(model, x) - evaluate(kept, x)).norm(), 1e-12);
}

TEST(StandardErrors, AgreeWithTheDenseCovariance) {
  // One unit, one output, standard coordinates: parameters (w on the circle, b, a, c), J by hand.
  const Network network = canonical(plant({.inputs = 2, .hidden = 1, .outputs = 1, .seed = 81}));
  const SamplePtr samples = planted_samples(network, {.samples = 4000, .seed = 82});
  Standardisation identity;
  identity.map = {Matrix::Identity(2, 2), Vector::Zero(2), Vector::Ones(1), Vector::Zero(1)};
  identity.back = Matrix::Identity(2, 2);
  const ErrorEstimate found =
      Curvature(to_signed_form(network), *samples, {}).errors(0.25, identity, Matrix::Ones(1, 1));
  SampleBlock block;
  samples->read(0, 4000, block);
  Matrix J(4000, 4);
  const Vector w = network.W().row(0).transpose(), tangent = (Vector(2) << -w(1), w(0)).finished();
  for (Index i = 0; i < 4000; ++i) {
    const double z = block.x().row(i).dot(w) + network.b()(0), active = z > 0 ? 1 : 0;
    J.row(i) << network.A()(0, 0) * active * block.x().row(i).dot(tangent), network.A()(0, 0) * active,
        z * active, 1;
  }
  const Matrix covariance = 0.25 * (J.transpose() * J).inverse();
  EXPECT_NEAR(found.errors.W()(0, 0), std::sqrt(covariance(0, 0)) * std::abs(tangent(0)), 1e-9);
  EXPECT_NEAR(found.errors.b()(0), std::sqrt(covariance(1, 1)), 1e-9);
  EXPECT_NEAR(found.errors.A()(0, 0), std::sqrt(covariance(2, 2)), 1e-9);
  EXPECT_NEAR(found.errors.c()(0), std::sqrt(covariance(3, 3)), 1e-9);
}

}  // namespace
}  // namespace exhume::polish_test
