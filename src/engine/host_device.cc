#include <cblas.h>

#include <Eigen/Dense>
#include <cstdlib>
#include <cstring>
#include <new>

#include "exhume/base/types.h"
#include "exhume/engine/device.h"

namespace exhume {
namespace {

template <class T>
using Block = Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>, 0, Eigen::OuterStride<>>;

template <class T>
Block<T> map(const DeviceView<T>& view) {
  return {view.data, view.rows, view.cols, Eigen::OuterStride<>(view.stride)};
}

template <class T>
void multiply(T alpha, const DeviceView<T>& A, bool turn_a, const DeviceView<T>& B, bool turn_b, T beta,
              const DeviceView<T>& C) {
  auto c = map(C);
  if (beta == T(0)) {
    c.setZero();
  } else if (beta != T(1)) {
    c *= beta;
  }
  if ((turn_a ? A.rows : A.cols) == 0 || c.size() == 0) return;
  if (turn_a && turn_b) {
    c.noalias() += alpha * map(A).transpose() * map(B).transpose();
  } else if (turn_a) {
    c.noalias() += alpha * map(A).transpose() * map(B);
  } else if (turn_b) {
    c.noalias() += alpha * map(A) * map(B).transpose();
  } else {
    c.noalias() += alpha * map(A) * map(B);
  }
}

class HostDevice final : public Device {
 public:
  [[nodiscard]] std::string name() const override { return "this processor"; }
  [[nodiscard]] double bytes_free() const override { return 1e18; }
  [[nodiscard]] void* allocate(std::size_t bytes) override {
    return ::operator new(bytes, std::align_val_t(64));
  }
  void release(void* memory) noexcept override { ::operator delete(memory, std::align_val_t(64)); }
  void upload(void* to, std::size_t to_stride, const void* from, std::size_t from_stride, std::size_t bytes,
              Size columns) override {
    for (Size c = 0; c < columns; ++c) {
      const auto column = static_cast<std::size_t>(c);
      std::memcpy(static_cast<char*>(to) + column * to_stride,
                  static_cast<const char*>(from) + column * from_stride, bytes);
    }
  }
  void download(void* to, std::size_t to_stride, const void* from, std::size_t from_stride, std::size_t bytes,
                Size columns) override {
    upload(to, to_stride, from, from_stride, bytes, columns);
  }
  void synchronise() override {}

#define EXHUME_HOST_OPERATIONS(T)                                                                            \
  void product(T alpha, DeviceView<T> A, bool turn_a, DeviceView<T> B, bool turn_b, T beta, DeviceView<T> C) \
      override {                                                                                             \
    multiply<T>(alpha, A, turn_a, B, turn_b, beta, C);                                                       \
  }                                                                                                          \
  void copy(DeviceView<T> from, DeviceView<T> to) override { map(to) = map(from); }                          \
  void fill(DeviceView<T> A, T value) override { map(A).setConstant(value); }                                \
  void fill_rows(DeviceView<T> A, DeviceView<T> row) override { map(A).rowwise() = map(row).row(0); }        \
  void activate(Kind kind, DeviceView<T> Q, DeviceView<T> P) override {                                      \
    if (kind == Kind::kAbsolute) {                                                                           \
      map(P) = map(Q).cwiseAbs();                                                                            \
    } else {                                                                                                 \
      map(P) = map(Q).cwiseMax(T(0));                                                                        \
    }                                                                                                        \
  }                                                                                                          \
  void slope(Kind kind, DeviceView<T> Q, DeviceView<T> g, DeviceView<T> S) override {                        \
    if (kind == Kind::kAbsolute) {                                                                           \
      map(S) = (map(Q).array() < T(0)).select(-map(g), map(g));                                              \
    } else {                                                                                                 \
      map(S) = (map(Q).array() > T(0)).select(map(g), T(0));                                                 \
    }                                                                                                        \
  }                                                                                                          \
  void residual(DeviceView<T> E, DeviceView<T> Y, T scale, DeviceView<double> sum) override {                \
    auto e = map(E);                                                                                         \
    e -= map(Y);                                                                                             \
    *sum.data += static_cast<double>(e.squaredNorm());                                                       \
    e *= scale;                                                                                              \
  }

  EXHUME_HOST_OPERATIONS(float)
  EXHUME_HOST_OPERATIONS(double)
#undef EXHUME_HOST_OPERATIONS

  void adam(Size count, float* parameters, const float* gradient, float* mean, float* square,
            AdamStep step) override {
    Eigen::Map<Eigen::ArrayXf> p(parameters, count), m(mean, count), v(square, count);
    const Eigen::Map<const Eigen::ArrayXf> g(gradient, count);
    m += (1 - step.first) * (g - m);
    v += (1 - step.second) * (g * g - v);
    p -= step.rate * m / (step.root * v.sqrt() + step.epsilon);
  }
  void gram(double alpha, DeviceView<double> A, double beta, DeviceView<double> C) override {
    if (A.cols == 0) return;
    cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans, static_cast<int>(A.cols), static_cast<int>(A.rows),
                alpha, A.data, static_cast<int>(A.stride), beta, C.data, static_cast<int>(C.stride));
  }
  void row_products(DeviceView<double> S, DeviceView<double> P, DeviceView<double> J) override {
    for (Size j = 0; j < S.cols; ++j)
      map(J.columns(j * P.cols, P.cols)) = map(P).array().colwise() * map(S).col(j).array();
  }
  void add_diagonal(DeviceView<double> A, DeviceView<double> d) override {
    map(A).diagonal() += map(d).col(0);
  }
  [[nodiscard]] bool cholesky(DeviceView<double> A) override {
    Eigen::Ref<Matrix, 0, Eigen::OuterStride<>> a = map(A);
    const Eigen::LLT<Eigen::Ref<Matrix, 0, Eigen::OuterStride<>>, Eigen::Lower> factor(a);
    return factor.info() == Eigen::Success;
  }
  void solve_lower(DeviceView<double> L, DeviceView<double> B) override {
    auto b = map(B);
    map(L).triangularView<Eigen::Lower>().solveInPlace(b);
  }
  void solve_cholesky(DeviceView<double> L, DeviceView<double> B) override {
    auto b = map(B);
    map(L).triangularView<Eigen::Lower>().solveInPlace(b);
    map(L).triangularView<Eigen::Lower>().transpose().solveInPlace(b);
  }
};

}  // namespace

std::shared_ptr<Device> host_device() { return std::make_shared<HostDevice>(); }

}  // namespace exhume
