#include <cstdio>

#include "base/blas.h"
#include "base/random.h"
#include "exhume/network.h"
#include "exhume/version.h"

#if EIGEN_MAX_ALIGN_BYTES != 32
#error "the package must hand on the alignment that the library was built with"
#endif

int main() {
  exhume::Network network;
  network.W() = exhume::Stream(1, "W").normal_matrix(4, 3);
  network.b() = exhume::Vector::Zero(4);
  network.A() = exhume::Matrix::Ones(1, 4);
  network.c() = exhume::Vector::Zero(1);
  const exhume::RowMatrix x = exhume::Stream(1, "x").normal_matrix(10, 3);
  const double change =
      (exhume::evaluate(network, x) - exhume::evaluate(exhume::canonical(network), x)).cwiseAbs().maxCoeff();
  std::printf("exhume %s, BLAS kernels %s, change %g\n", exhume::kVersion, exhume::blas_kernels().c_str(),
              change);
  return change < 1e-13 ? 0 : 1;
}
