#include <cstdio>

#include "exhume/network.h"
#include "exhume/version.h"

#if EIGEN_MAX_ALIGN_BYTES != 32
#error "the package must hand on the alignment that the library was built with"
#endif

int main() {
  // Two units, the second of which is scaled by 2 and back: the canonical network is the same function.
  exhume::Matrix W(2, 3), A(1, 2);
  W << 1, -2, 0.5, 4, 0, 2;
  A << 1, 0.5;
  const exhume::Network network(W, exhume::Vector::Ones(2), A, exhume::Vector::Zero(1));
  exhume::RowMatrix x(3, 3);
  x << 1, 2, 3, -1, 0.5, 2, 0.25, -3, 1;
  const double change =
      (exhume::evaluate(network, x) - exhume::evaluate(exhume::canonical(network), x)).cwiseAbs().maxCoeff();
  std::printf("exhume %s, change %g\n", exhume::kVersion, change);
  return change < 1e-13 ? 0 : 1;
}
