#include "linalg/lapack.h"

#include <lapacke.h>

#include <algorithm>

namespace exhume::lapack {
namespace {

int size(Index value) { return static_cast<int>(value); }

}  // namespace

int potrf(Eigen::Ref<Matrix> a) {
  const int n = size(a.rows()), stride = size(a.outerStride());
  int info = 0;
  LAPACK_dpotrf("L", &n, a.data(), &stride, &info);
  return info;
}

int potri(Eigen::Ref<Matrix> factor) {
  const int n = size(factor.rows()), stride = size(factor.outerStride());
  int info = 0;
  LAPACK_dpotri("L", &n, factor.data(), &stride, &info);
  return info;
}

int potrs(const Eigen::Ref<const Matrix>& factor, Eigen::Ref<Matrix> b) {
  const int n = size(factor.rows()), columns = size(b.cols());
  const int stride = size(factor.outerStride()), b_stride = size(b.outerStride());
  int info = 0;
  LAPACK_dpotrs("L", &n, &columns, factor.data(), &stride, b.data(), &b_stride, &info);
  return info;
}

int pstrf(Eigen::Ref<Matrix> a, double tolerance, std::vector<int>& pivots, int& rank) {
  const int n = size(a.rows()), stride = size(a.outerStride());
  pivots.resize(static_cast<std::size_t>(n));
  Vector work(2 * n);
  int info = 0;
  LAPACK_dpstrf("L", &n, a.data(), &stride, pivots.data(), &rank, &tolerance, work.data(), &info);
  return info;
}

int geqp3(Eigen::Ref<Matrix> a, std::vector<int>& pivots, Vector& tau) {
  const int rows = size(a.rows()), columns = size(a.cols()), stride = size(a.outerStride()), query = -1;
  pivots.assign(static_cast<std::size_t>(columns), 0);  // 0: no column is fixed
  tau.resize(std::min(rows, columns));
  int info = 0;
  double wanted = 0;
  LAPACK_dgeqp3(&rows, &columns, a.data(), &stride, pivots.data(), tau.data(), &wanted, &query, &info);
  const int length = static_cast<int>(wanted);
  Vector work(length);
  LAPACK_dgeqp3(&rows, &columns, a.data(), &stride, pivots.data(), tau.data(), work.data(), &length, &info);
  return info;
}

int ormqr(const Eigen::Ref<const Matrix>& a, const Vector& tau, Eigen::Ref<Matrix> c) {
  const int rows = size(c.rows()), columns = size(c.cols()), reflectors = size(tau.size());
  const int stride = size(a.outerStride()), c_stride = size(c.outerStride()), query = -1;
  int info = 0;
  double wanted = 0;
  LAPACK_dormqr("L", "N", &rows, &columns, &reflectors, a.data(), &stride, tau.data(), c.data(), &c_stride,
                &wanted, &query, &info);
  const int length = static_cast<int>(wanted);
  Vector work(length);
  LAPACK_dormqr("L", "N", &rows, &columns, &reflectors, a.data(), &stride, tau.data(), c.data(), &c_stride,
                work.data(), &length, &info);
  return info;
}

int gesdd(Matrix& a, bool whole, Vector& values, Matrix& U, Matrix& VT) {
  const int rows = size(a.rows()), columns = size(a.cols()), least = std::min(rows, columns), query = -1;
  if (!a.allFinite()) return -1;
  values.resize(least);
  U.resize(rows, whole ? rows : least);
  VT.resize(whole ? columns : least, columns);
  std::vector<int> integers(static_cast<std::size_t>(8 * least));
  int info = 0;
  double wanted = 0;
  const auto call = [&](double* work, const int* length) {
    const int u_stride = rows, v_stride = size(VT.rows());
    LAPACK_dgesdd(whole ? "A" : "S", &rows, &columns, a.data(), &rows, values.data(), U.data(), &u_stride,
                  VT.data(), &v_stride, work, length, integers.data(), &info);
  };
  call(&wanted, &query);
  const int length = static_cast<int>(wanted);
  Vector work(length);
  call(work.data(), &length);
  return info;
}

int ggev(Matrix a, Matrix b, Pencil& pencil) {
  const int n = size(a.rows()), one = 1, query = -1;
  Vector none(1);
  for (Vector* part : {&pencil.alpha, &pencil.alpha_imaginary, &pencil.beta}) part->resize(n);
  pencil.Z.resize(n, n);
  int info = 0;
  double wanted = 0;
  const auto call = [&](double* work, const int* length) {
    LAPACK_dggev("N", "V", &n, a.data(), &n, b.data(), &n, pencil.alpha.data(), pencil.alpha_imaginary.data(),
                 pencil.beta.data(), none.data(), &one, pencil.Z.data(), &n, work, length, &info);
  };
  call(&wanted, &query);
  const int length = static_cast<int>(wanted);
  Vector work(length);
  call(work.data(), &length);
  pencil.Z_imaginary.setZero(n, n);
  if (info != 0) return info;
  for (int i = 0; i + 1 < n; ++i) {  // of a pair the first column holds real parts, the second imaginary ones
    if (!(pencil.alpha_imaginary(i) > 0)) continue;
    pencil.Z_imaginary.col(i) = pencil.Z.col(i + 1);
    pencil.Z_imaginary.col(i + 1) = -pencil.Z.col(i + 1);
    pencil.Z.col(i + 1) = pencil.Z.col(i);
  }
  return info;
}

}  // namespace exhume::lapack
