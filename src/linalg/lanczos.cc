#include "linalg/lanczos.h"

#include <cmath>
#include <stdexcept>

#include <Eigen/Eigenvalues>

#include "base/blas.h"

namespace exhume {

LanczosResult lanczos(const std::function<void(const Vector&, Vector&)>& product, const Vector& start,
                      const LanczosOptions& options) {
  const SingleThreadedBlas single;
  const Index n = start.size();
  const Index most = std::min<Index>(options.max_steps, n);
  if (!(start.norm() > 0)) throw std::invalid_argument("Lanczos needs a start other than zero");
  const bool largest = options.end == LanczosOptions::End::kLargest;
  Matrix q(n, most);
  Vector diagonal(most), below(most), w(n);
  q.col(0) = start / start.norm();
  LanczosResult result;
  double previous = 0;
  int quiet = 0;
  for (Index s = 0; s < most; ++s) {
    product(q.col(s), w);
    diagonal(s) = q.col(s).dot(w);
    // Twice is enough: the second pass removes what rounding left of the first.
    for (int pass = 0; pass < 2; ++pass) w -= q.leftCols(s + 1) * (q.leftCols(s + 1).transpose() * w);
    below(s) = w.norm();
    Eigen::SelfAdjointEigenSolver<Matrix> small;
    small.computeFromTridiagonal(diagonal.head(s + 1), below.head(s), Eigen::ComputeEigenvectors);
    result.smallest = small.eigenvalues()(0);
    result.largest = small.eigenvalues()(s);
    const Index wanted = largest ? s : 0;
    const double value = small.eigenvalues()(wanted);
    const double scale = std::max(std::abs(result.smallest), std::abs(result.largest));
    result.steps = static_cast<int>(s) + 1;
    result.residual = below(s) * std::abs(small.eigenvectors()(s, wanted));
    quiet = s > 0 && std::abs(value - previous) <= options.tolerance * std::abs(value) ? quiet + 1 : 0;
    previous = value;
    const bool invariant = below(s) <= 1e-14 * scale;  // the Krylov space is complete
    result.converged = quiet >= 3 || invariant || s + 1 == n;
    if (result.converged || s + 1 == most) {
      result.vector = q.leftCols(s + 1) * small.eigenvectors().col(wanted);
      break;
    }
    q.col(s + 1) = w / below(s);
  }
  return result;
}

}  // namespace exhume
