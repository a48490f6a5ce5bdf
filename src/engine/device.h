// A device that computes beside the processor: memory of its own, and the few operations that heavy loops
// need.
//
//     A, B, C   column-major matrices in its memory, float or double, with a stride: blocks are views
//
// One queue: operations are done in the order in which they are asked for, and the same calls give the same
// bits on every run of the same device. What needs an answer (download, cholesky, synchronise) waits for it.
// Algorithms are written against this interface, so that they run on any device, and in tests on the
// processor itself (`host_device`). This header knows nothing of Eigen: compilers for devices read it too.
//
// Throws ResourceError where memory ends or the device fails.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace exhume {

// rows x cols entries, column by column, columns `stride` apart.
template <class T>
struct DeviceView {
  T* data = nullptr;
  std::ptrdiff_t rows = 0, cols = 0, stride = 0;

  [[nodiscard]] DeviceView block(std::ptrdiff_t row, std::ptrdiff_t col, std::ptrdiff_t r,
                                 std::ptrdiff_t c) const {
    return {data + row + col * stride, r, c, stride};
  }
  [[nodiscard]] DeviceView columns(std::ptrdiff_t first, std::ptrdiff_t count) const {
    return block(0, first, rows, count);
  }
};

// What Adam (1 / (1 - beta^t) already in rate and root) does to parameters.
struct AdamStep {
  float rate = 0, root = 1, first = 0.9F, second = 0.999F, epsilon = 1e-8F;
};

// C = A^T B + C. The rows of A and B may be summed in equal shares beside each other: share i goes to C moved
// by i `step` numbers, and what is left over to the first.
struct DeviceProduct {
  DeviceView<double> A, B, C;
  std::ptrdiff_t parts = 1, step = 0;

  // Rows of a share: in multiples of what products like.
  [[nodiscard]] std::ptrdiff_t share() const { return parts == 1 ? A.rows : A.rows / parts / 16 * 16; }
  [[nodiscard]] DeviceProduct rows(std::ptrdiff_t first, std::ptrdiff_t count, std::ptrdiff_t part) const {
    return {A.block(first, 0, count, A.cols),
            B.block(first, 0, count, B.cols),
            {C.data + part * step, C.rows, C.cols, C.stride}};
  }
};

class Device {
 public:
  using Size = std::ptrdiff_t;
  enum class Kind { kAbsolute, kRectified };  // |q|, max(q, 0)

  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual double bytes_free() const = 0;

  [[nodiscard]] virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;
  // Columns of `bytes` bytes each, strides in bytes.
  virtual void upload(void* to, std::size_t to_stride, const void* from, std::size_t from_stride,
                      std::size_t bytes, Size columns) = 0;
  virtual void download(void* to, std::size_t to_stride, const void* from, std::size_t from_stride,
                        std::size_t bytes, Size columns) = 0;
  virtual void synchronise() = 0;

#define EXHUME_DEVICE_OPERATIONS(T)                                                                 \
  /* C = alpha op(A) op(B) + beta C */                                                              \
  virtual void product(T alpha, DeviceView<T> A, bool turn_a, DeviceView<T> B, bool turn_b, T beta, \
                       DeviceView<T> C) = 0;                                                        \
  virtual void copy(DeviceView<T> from, DeviceView<T> to) = 0;                                      \
  virtual void fill(DeviceView<T> A, T value) = 0;                                                  \
  /* every row of A = the vector (1 x cols) */                                                      \
  virtual void fill_rows(DeviceView<T> A, DeviceView<T> row) = 0;                                   \
  /* P = |Q| or max(Q, 0) */                                                                        \
  virtual void activate(Kind kind, DeviceView<T> Q, DeviceView<T> P) = 0;                           \
  /* S = g times the slope of the activation at Q */                                                \
  virtual void slope(Kind kind, DeviceView<T> Q, DeviceView<T> g, DeviceView<T> S) = 0;             \
  /* E = scale (E - Y); sum (1 x 1, double) += the squares of E - Y */                              \
  virtual void residual(DeviceView<T> E, DeviceView<T> Y, T scale, DeviceView<double> sum) = 0;

  EXHUME_DEVICE_OPERATIONS(float)
  EXHUME_DEVICE_OPERATIONS(double)
#undef EXHUME_DEVICE_OPERATIONS

  virtual void adam(Size count, float* parameters, const float* gradient, float* mean, float* square,
                    AdamStep step) = 0;
  // C = alpha A^T A + beta C, lower triangle.
  virtual void gram(double alpha, DeviceView<double> A, double beta, DeviceView<double> C) = 0;
  // J(i, j w + c) = S(i, j) P(i, c), w the columns of P: rows of S and P multiplied out.
  virtual void row_products(DeviceView<double> S, DeviceView<double> P, DeviceView<double> J) = 0;
  // diagonal(A) += d (rows x 1)
  virtual void add_diagonal(DeviceView<double> A, DeviceView<double> d) = 0;
  // A = L L^T in its lower triangle; false where A is not positive definite.
  [[nodiscard]] virtual bool cholesky(DeviceView<double> A) = 0;
  // B = L^-1 B
  virtual void solve_lower(DeviceView<double> L, DeviceView<double> B) = 0;
  // B = (L L^T)^-1 B
  virtual void solve_cholesky(DeviceView<double> L, DeviceView<double> B) = 0;

  // C = A^T B + C for each, beside what is asked for next and, in so many queues, beside each other. Batches
  // that add to the same C list their products in the same order. At most two batches are under way;
  // finish_products, with the number that came back, waits for one.
  [[nodiscard]] virtual int start_products(const std::vector<DeviceProduct>& all, Size queues) = 0;
  virtual void finish_products(int batch) = 0;
  // The upper triangle of A = its lower one.
  virtual void mirror(DeviceView<double> A) = 0;
  // B += alpha A; A = alpha A
  virtual void add(double alpha, DeviceView<double> A, DeviceView<double> B) = 0;
  virtual void scale(double alpha, DeviceView<double> A) = 0;
  // A and B = A + B and A - B
  virtual void sum_and_difference(DeviceView<double> A, DeviceView<double> B) = 0;
  // sum over all entries of A * B, without gaps between columns; waits.
  [[nodiscard]] virtual double dot(DeviceView<double> A, DeviceView<double> B) = 0;
  // C += A * B, entry by entry
  virtual void add_products(DeviceView<double> A, DeviceView<double> B, DeviceView<double> C) = 0;
  // y_i = A_i x_i for every row of X and Y; A_1, A_2, ... square, side by side.
  virtual void product_each(DeviceView<double> A, DeviceView<double> X, DeviceView<double> Y) = 0;
  // Blocks of `width` x `width`: H_jl = F(j, l) H_jl.
  virtual void scale_blocks(DeviceView<double> F, Size width, DeviceView<double> H) = 0;
  // A = V diag(values) V^T, values ascending (rows x 1). Reads the lower triangle of A; V takes its place
  // where `vectors`, nothing of use otherwise. False where it fails.
  [[nodiscard]] virtual bool eigen(DeviceView<double> A, bool vectors, DeviceView<double> values) = 0;

  // What moments are made of, in the coordinates of linalg/symmetric_matrix.h; p = d (d + 1) / 2. Q(i, .) =
  // weights(i) times the coordinates of x x^T, x row i of X, its entries reversed where asked for; rows x p.
  // No weights (no data): 1.
  virtual void pairs(DeviceView<double> X, DeviceView<double> weights, bool reversed,
                     DeviceView<double> Q) = 0;
  // out(i, o) += sum_c S(i, o d + c) X(i, c), d the columns of X.
  virtual void row_dots(DeviceView<double> S, DeviceView<double> X, DeviceView<double> out) = 0;
  // H = He_order(Z), entry by entry: order 2 or 3.
  virtual void hermite(int order, DeviceView<double> Z, DeviceView<double> H) = 0;
  // T = factor (T - what He_3 pairs with the identity), p x (d m) of sums r x x x; first: sums r x, d x m.
  virtual void hermite3(double factor, DeviceView<double> first, DeviceView<double> T) = 0;
  // The same for order 4 of one output, from sums over indices in order (moments/moments.h); second: sums r
  // x x^T, d x d; zeroth: sum r, 1 x 1. T: p x p, all of it.
  virtual void hermite4(double factor, DeviceView<double> sums, DeviceView<double> second,
                        DeviceView<double> zeroth, DeviceView<double> T) = 0;
  // The shifted power method (decompose/subspace.h), a start a row: x <- normalise(M x + shift x), M the
  // matrix with coordinates P(i, .), for rows with active(i) != 0; active(i) = 0 where that moved it by
  // `tolerance` or less.
  virtual void climb(DeviceView<double> P, double shift, double tolerance, DeviceView<double> X,
                     DeviceView<double> active) = 0;
};

// A matrix in the device's memory, released with it.
template <class T>
class DeviceMatrix {
 public:
  DeviceMatrix() = default;
  DeviceMatrix(Device& device, std::ptrdiff_t rows, std::ptrdiff_t cols)
      : memory_(device.allocate(sizeof(T) * static_cast<std::size_t>(rows * cols > 0 ? rows * cols : 1)),
                Release{&device}),
        view_{static_cast<T*>(memory_.get()), rows, cols, rows} {}

  [[nodiscard]] DeviceView<T> view() const { return view_; }
  [[nodiscard]] T* data() const { return view_.data; }

 private:
  struct Release {
    Device* device = nullptr;
    void operator()(void* memory) const noexcept { device->release(memory); }
  };
  std::unique_ptr<void, Release> memory_;
  DeviceView<T> view_;
};

template <class T>
void upload(Device& device, const T* from, std::ptrdiff_t from_stride, DeviceView<T> to) {
  if (to.rows == 0 || to.cols == 0) return;
  device.upload(to.data, sizeof(T) * static_cast<std::size_t>(to.stride), from,
                sizeof(T) * static_cast<std::size_t>(from_stride),
                sizeof(T) * static_cast<std::size_t>(to.rows), to.cols);
}
template <class T>
void download(Device& device, DeviceView<T> from, T* to, std::ptrdiff_t to_stride) {
  if (from.rows == 0 || from.cols == 0) return;
  device.download(to, sizeof(T) * static_cast<std::size_t>(to_stride), from.data,
                  sizeof(T) * static_cast<std::size_t>(from.stride),
                  sizeof(T) * static_cast<std::size_t>(from.rows), from.cols);
}

// The processor as a device: what tests compare with, and where device code runs without one.
[[nodiscard]] std::shared_ptr<Device> host_device();

}  // namespace exhume
