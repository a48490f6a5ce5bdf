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

}  // namespace exhume::lapack
