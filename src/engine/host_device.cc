#include <cblas.h>

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <new>
#include <numbers>

#include "engine/device.h"
#include "engine/hermite4_entry.h"
#include "exhume/types.h"
#include "linalg/symmetric_matrix.h"

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

  [[nodiscard]] int start_products(const std::vector<DeviceProduct>& all, Size /*queues*/) override {
    const auto multiply_rows = [](const DeviceProduct& one) {
      multiply<double>(1, one.A, true, one.B, false, 1, one.C);
    };
    for (const DeviceProduct& each : all) {
      const Size share = each.share(), in_shares = share * each.parts;
      for (Size i = 0; i < each.parts; ++i) multiply_rows(each.rows(i * share, share, i));
      multiply_rows(each.rows(in_shares, each.A.rows - in_shares, 0));
    }
    return 0;
  }
  void finish_products(int /*batch*/) override {}
  void mirror(DeviceView<double> A) override {
    auto a = map(A);
    a.triangularView<Eigen::StrictlyUpper>() = a.transpose();
  }
  void add(double alpha, DeviceView<double> A, DeviceView<double> B) override { map(B) += alpha * map(A); }
  void scale(double alpha, DeviceView<double> A) override { map(A) *= alpha; }
  void sum_and_difference(DeviceView<double> A, DeviceView<double> B) override {
    const Matrix difference = map(A) - map(B);
    map(A) += map(B);
    map(B) = difference;
  }
  [[nodiscard]] double dot(DeviceView<double> A, DeviceView<double> B) override {
    return map(A).cwiseProduct(map(B)).sum();
  }
  void add_products(DeviceView<double> A, DeviceView<double> B, DeviceView<double> C) override {
    map(C) += map(A).cwiseProduct(map(B));
  }
  void product_each(DeviceView<double> A, DeviceView<double> X, DeviceView<double> Y) override {
    for (Size i = 0; i < X.rows; ++i)
      map(Y).row(i) = (map(A.columns(i * X.cols, X.cols)) * map(X).row(i).transpose()).transpose();
  }
  void scale_blocks(DeviceView<double> F, Size width, DeviceView<double> H) override {
    for (Size l = 0; l < F.cols; ++l) {
      for (Size j = 0; j < F.rows; ++j) map(H.block(j * width, l * width, width, width)) *= map(F)(j, l);
    }
  }
  [[nodiscard]] bool eigen(DeviceView<double> A, bool vectors, DeviceView<double> values) override {
    const Eigen::SelfAdjointEigenSolver<Matrix> solver(
        Matrix(map(A)), vectors ? Eigen::ComputeEigenvectors : Eigen::EigenvaluesOnly);
    if (solver.info() != Eigen::Success) return false;
    map(values).col(0) = solver.eigenvalues();
    if (vectors) map(A) = solver.eigenvectors();
    return true;
  }

  void pairs(DeviceView<double> X, DeviceView<double> weights, bool reversed, DeviceView<double> Q) override {
    const auto x = map(X);
    Size at = 0;
    for (Size b = 0; b < X.cols; ++b) {
      for (Size a = 0; a <= b; ++a, ++at) {
        const auto first = x.col(reversed ? X.cols - 1 - a : a),
                   second = x.col(reversed ? X.cols - 1 - b : b);
        map(Q).col(at) = (a == b ? 1.0 : std::numbers::sqrt2) * first.cwiseProduct(second);
        if (weights.data != nullptr) map(Q).col(at).array() *= map(weights).col(0).array();
      }
    }
  }
  void row_dots(DeviceView<double> S, DeviceView<double> X, DeviceView<double> out) override {
    for (Size o = 0; o < out.cols; ++o)
      map(out).col(o) += map(S.columns(o * X.cols, X.cols)).cwiseProduct(map(X)).rowwise().sum();
  }
  void hermite(int order, DeviceView<double> Z, DeviceView<double> H) override {
    const auto z = map(Z).array();
    if (order == 2) {
      map(H) = (z.square() - 1).matrix();
    } else {
      map(H) = (z.cube() - 3 * z).matrix();
    }
  }
  void hermite3(double factor, DeviceView<double> first, DeviceView<double> T) override {
    for (Size o = 0; o < first.cols; ++o) {
      auto t = map(T.columns(o * first.rows, first.rows));
      const auto v = map(first).col(o);
      for (Size b = 0; b < first.rows; ++b) {
        for (Size a = 0; a <= b; ++a) {
          const Size at = symmetric_position(a, b);
          if (a == b) {
            t.row(at) -= v.transpose();
            t(at, a) -= 2 * v(a);
          } else {
            t(at, b) -= std::numbers::sqrt2 * v(a);
            t(at, a) -= std::numbers::sqrt2 * v(b);
          }
        }
      }
      t *= factor;
    }
  }
  void hermite4(double factor, DeviceView<double> sums, DeviceView<double> second, DeviceView<double> zeroth,
                DeviceView<double> T) override {
    const Size d = second.rows;
    for (Size l = 0; l < d; ++l) {
      for (Size k = 0; k <= l; ++k) {
        for (Size j = 0; j < d; ++j) {
          for (Size i = 0; i <= j; ++i) {
            std::array<Size, 4> s{i, j, k, l};
            std::sort(s.begin(), s.end());
            const double sum =
                map(sums)(symmetric_position(s[0], s[1]), symmetric_position(d - 1 - s[3], d - 1 - s[2]));
            map(T)(symmetric_position(i, j), symmetric_position(k, l)) =
                factor * hermite4_entry(sum, second.data, *zeroth.data, second.stride, i, j, k, l,
                                        s[0] == s[1], s[2] == s[3]);
          }
        }
      }
    }
  }
  void climb(DeviceView<double> P, double shift, double tolerance, DeviceView<double> X,
             DeviceView<double> active) override {
    for (Size i = 0; i < X.rows; ++i) {
      if (active.data[i] == 0) continue;
      const Vector x = map(X).row(i).transpose();
      Vector next = from_coordinates(Vector(map(P).row(i).transpose())) * x + shift * x;
      next.normalize();
      active.data[i] = (next - x).norm() > tolerance ? 1 : 0;
      map(X).row(i) = next.transpose();
    }
  }
};

}  // namespace

std::shared_ptr<Device> host_device() { return std::make_shared<HostDevice>(); }

}  // namespace exhume
