#include "linalg/eigen_products.h"

#include <cblas.h>
#include <algorithm>

namespace exhume::products {
namespace {

using Eigen::Index;

constexpr Index kSmall = 20;  // rows + columns + inner size from which dgemm is worth its call, as in Eigen

double at(Operand a, Index i, Index j) {
  return a.turned ? a.data[i * a.stride + j] : a.data[i + j * a.stride];
}

// Column by column, in the order of the inner index.
void small(Index m, Index n, Index k, double alpha, Operand a, Operand b, bool fresh, double* c,
           Index c_stride, bool c_turned) {
  double column[kSmall];
  for (Index j = 0; j < n; ++j) {
    std::fill_n(column, m, 0.0);
    for (Index l = 0; l < k; ++l) {
      const double factor = at(b, l, j);
      if (a.turned) {
        for (Index i = 0; i < m; ++i) column[i] += a.data[i * a.stride + l] * factor;
      } else {
        const double* from = a.data + l * a.stride;
        for (Index i = 0; i < m; ++i) column[i] += from[i] * factor;
      }
    }
    for (Index i = 0; i < m; ++i) {
      double& to = c_turned ? c[i * c_stride + j] : c[i + j * c_stride];
      to = (fresh ? 0.0 : to) + alpha * column[i];
    }
  }
}

blasint narrow(Index value) { return static_cast<blasint>(value); }

}  // namespace

void multiply(Index m, Index n, Index k, double alpha, Operand a, Operand b, bool fresh, double* c,
              Index c_stride, bool c_turned) {
  if (m == 0 || n == 0) return;
  if (m + n + k < kSmall && k > 0) return small(m, n, k, alpha, a, b, fresh, c, c_stride, c_turned);
  if (fresh) {
    const Index lines = c_turned ? m : n, length = c_turned ? n : m;
    for (Index line = 0; line < lines; ++line) std::fill_n(c + line * c_stride, length, 0.0);
  }
  if (k == 0) return;
  if (n == 1) {  // A times a vector
    cblas_dgemv(CblasColMajor, a.turned ? CblasTrans : CblasNoTrans, narrow(a.turned ? k : m),
                narrow(a.turned ? m : k), alpha, a.data, narrow(a.stride), b.data,
                narrow(b.turned ? b.stride : 1), 1.0, c, narrow(c_turned ? c_stride : 1));
  } else if (m == 1) {  // a vector times B
    cblas_dgemv(CblasColMajor, b.turned ? CblasNoTrans : CblasTrans, narrow(b.turned ? n : k),
                narrow(b.turned ? k : n), alpha, b.data, narrow(b.stride), a.data,
                narrow(a.turned ? 1 : a.stride), 1.0, c, narrow(c_turned ? 1 : c_stride));
  } else if (c_turned) {  // C^T += B^T A^T
    cblas_dgemm(CblasColMajor, b.turned ? CblasNoTrans : CblasTrans, a.turned ? CblasNoTrans : CblasTrans,
                narrow(n), narrow(m), narrow(k), alpha, b.data, narrow(b.stride), a.data, narrow(a.stride),
                1.0, c, narrow(c_stride));
  } else {
    cblas_dgemm(CblasColMajor, a.turned ? CblasTrans : CblasNoTrans, b.turned ? CblasTrans : CblasNoTrans,
                narrow(m), narrow(n), narrow(k), alpha, a.data, narrow(a.stride), b.data, narrow(b.stride),
                1.0, c, narrow(c_stride));
  }
}

}  // namespace exhume::products
