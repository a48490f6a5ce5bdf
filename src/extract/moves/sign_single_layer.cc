#include "extract/moves/sign_single_layer.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "fit/signs.h"

namespace exhume {
namespace {

// Chosen by experience on random and digit-trained networks; not derived.
struct SignSingleLayerLimits {
  // Smallest eigenvalue of the normal matrix with unit diagonal below which signs are open.
  double dependent = 1e-9;
  // Entries of all a_j w_j^T up to which dependent ones are looked into.
  Index enumerated = 2000000;
};
constexpr SignSingleLayerLimits kSignSingle;

// rho of L = rho M, M = C^T diag(xi) W, by least squares over all entries; 1 where it is no further from 1
// than what is left of L says of its error. The tolerance that signs need is far too coarse here: answers in
// single precision tell slopes of 0.01 below zero from none.
double told_ratio(const Matrix& L, const Matrix& M, double tolerance) {
  constexpr double kSure = 8;       // standard errors
  constexpr double kFinest = 1e-4;  // of the tolerance: nothing finer is told
  const double size = M.squaredNorm();
  if (!(size > 0)) return 1;
  const double rho = L.cwiseProduct(M).sum() / size;
  const auto entries = static_cast<double>(L.size());
  const double error =
      entries > 1 ? (L - rho * M).norm() / std::sqrt(size * (entries - 1)) : std::abs(rho - 1);
  return std::abs(rho - 1) > std::max(kSure * error, kFinest * tolerance) ? rho : 1;
}

}  // namespace

SignedNetwork resolve_network_signs(const SeparableModel& model, double tolerance) {
  const Index k = model.units(), d = model.inputs();
  const Matrix W = model.V.leftCols(d);
  const Matrix C = model.C.topRows(k);                    // k x m
  const Matrix L = model.C.middleRows(k, d).transpose();  // m x d
  SignedNetwork out;
  Network& network = out.network;
  network.W() = W;
  network.b() = model.V.col(d);
  network.A() = 2 * C.transpose();
  network.c() = model.C.bottomRows(1).transpose();
  Vector signs = Vector::Ones(k);
  if (k > 0) {
    Matrix G = (W * W.transpose()).cwiseProduct(C * C.transpose());
    Vector right = (W * L.transpose()).cwiseProduct(C).rowwise().sum();
    const Vector scale = G.diagonal().cwiseSqrt().cwiseMax(kTiny).cwiseInverse();
    G = scale.asDiagonal() * G * scale.asDiagonal();
    right = scale.asDiagonal() * right;
    const Eigen::SelfAdjointEigenSolver<Matrix> eigen(G);
    const Vector& values = eigen.eigenvalues();
    out.signs_identifiable = values(0) > kSignSingle.dependent;
    const Vector inverse =
        values.unaryExpr([](double value) { return value > kSignSingle.dependent ? 1 / value : 0; });
    const Vector r =
        scale.asDiagonal() *
        (eigen.eigenvectors() * (inverse.asDiagonal() * (eigen.eigenvectors().transpose() * right)));
    Vector sizes = r.cwiseAbs();
    std::sort(sizes.data(), sizes.data() + k);
    double rho = sizes(k / 2);
    out.mismatch = (r.cwiseAbs().array() - rho).abs().maxCoeff() / std::max(rho, 1.0);
    signs = r.unaryExpr([](double value) { return value < 0 ? -1.0 : 1.0; });
    if (!out.signs_identifiable && k * d * C.cols() <= kSignSingle.enumerated) {
      // Dependent a_j w_j^T: the sign vectors that fit are enumerated.
      SignOptions options;
      options.tolerance = tolerance;
      const SignDecision decision = decide_signs(model, options);
      if (decision.outcome != SignOutcome::kUndecided) {
        out.signs_identifiable = decision.outcome == SignOutcome::kUnique;
        signs = decision.signs;
        rho = 1;
        out.mismatch = decision.mismatch;
      }
    }
    const Matrix rest = L - rho * C.transpose() * signs.asDiagonal() * W;
    const double left = rest.norm() / std::max({L.norm(), (C.transpose() * W).norm(), kTiny});
    if (out.mismatch > tolerance || left > tolerance) {
      out.activation = "relu with a linear term";
      out.signs_identifiable = false;
    } else if (rho < tolerance) {
      out.activation = "absolute value";
      out.slope = -1;
    } else if (const double told = told_ratio(L, Matrix(C.transpose() * signs.asDiagonal() * W), tolerance);
               told != 1) {
      out.activation = "leaky relu";
      out.slope = (told - 1) / (told + 1);
    }
  }
  for (Index j = 0; j < k; ++j) {
    network.W().row(j) *= signs(j);
    network.b()(j) *= signs(j);
  }
  if (k > 0) network.c() -= C.transpose() * network.b();  // BLAS complains of products without rows
  if (k == 0 && !L.isZero(0)) network.L() = L;
  if (out.activation != "relu") network.L() = L - C.transpose() * network.W();
  return out;
}

}  // namespace exhume
