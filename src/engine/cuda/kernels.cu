#include "engine/cuda/kernels.h"

#include "engine/hermite4_entry.h"

namespace exhume::cuda {
namespace {

using Size = Device::Size;
constexpr int kThreads = 256;
constexpr Size kMostBlocks = 65'535;

// Entry (i, j) of an array of rows x cols by every thread in turn.
template <class Use>
__global__ void over_entries(Size rows, Size cols, Use use) {
  const Size size = rows * cols, step = static_cast<Size>(gridDim.x) * blockDim.x;
  for (Size at = static_cast<Size>(blockIdx.x) * blockDim.x + threadIdx.x; at < size; at += step)
    use(at % rows, at / rows);
}

template <class Use>
void launch(Size rows, Size cols, cudaStream_t stream, Use use) {
  const Size size = rows * cols;
  if (size == 0) return;
  const Size blocks = (size + kThreads - 1) / kThreads;
  over_entries<<<static_cast<unsigned>(blocks < kMostBlocks ? blocks : kMostBlocks), kThreads, 0, stream>>>(
      rows, cols, use);
}

template <class T>
__global__ void residual_kernel(DeviceView<T> E, DeviceView<T> Y, T scale, double* sum) {
  __shared__ double part[1024];
  double own = 0;
  const Size size = E.rows * E.cols;
  for (Size at = threadIdx.x; at < size; at += blockDim.x) {
    const Size i = at % E.rows, j = at / E.rows;
    const T left = E.data[i + j * E.stride] - Y.data[i + j * Y.stride];
    own += static_cast<double>(left) * static_cast<double>(left);
    E.data[i + j * E.stride] = scale * left;
  }
  part[threadIdx.x] = own;
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
  }
  if (threadIdx.x == 0) *sum += part[0];
}

constexpr double kRoot = 1.41421356237309504880;

__host__ __device__ Size position(Size a, Size b) { return b * (b + 1) / 2 + a; }

// (a, b), a <= b, of a position.
struct Pair {
  Size a, b;
  __device__ explicit Pair(Size at) {
    b = static_cast<Size>((sqrt(8.0 * static_cast<double>(at) + 1) - 1) / 2);
    while (position(0, b) > at) --b;
    while (position(0, b + 1) <= at) ++b;
    a = at - position(0, b);
  }
};

// A few b and all their a an item, a thread a row: an entry of x is read once for several entries of Q, so
// that writing these is all it costs. It runs beside products: few blocks, which suffice for the memory, with
// few registers, by asking for many at once.
constexpr int kPairColumns = 4;
constexpr Size kPairGrid = 264;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int kPairBlocks = 4;
#else
constexpr int kPairBlocks = 6;
#endif
__global__ void __launch_bounds__(kThreads, kPairBlocks)
    pairs_kernel(DeviceView<double> X, const double* weights, bool reversed, DeviceView<double> Q) {
  const Size across = (X.rows + kThreads - 1) / kThreads;
  const Size groups = (X.cols + kPairColumns - 1) / kPairColumns;
  const Size step = reversed ? -X.stride : X.stride;
  for (Size item = blockIdx.x; item < across * groups; item += gridDim.x) {
    const Size i = item % across * kThreads + threadIdx.x;
    if (i >= X.rows) continue;
    // Those with many a first: they take longest.
    const Size from = (groups - 1 - item / across) * kPairColumns;
    const double* x = X.data + i + (reversed ? (X.cols - 1) * X.stride : 0);
    const double weight = weights != nullptr ? weights[i] : 1.0;
    double second[kPairColumns];
    double* q[kPairColumns];
#pragma unroll
    for (int j = 0; j < kPairColumns; ++j) {
      const Size b = from + j < X.cols ? from + j : X.cols - 1;
      second[j] = x[b * step] * weight;
      q[j] = Q.data + i + position(0, b) * Q.stride;  // those past the last b write it again
    }
#pragma unroll 2
    for (Size a = 0; a < from; ++a) {
      const double first = kRoot * *x;
#pragma unroll
      for (int j = 0; j < kPairColumns; ++j) {
        *q[j] = first * second[j];
        q[j] += Q.stride;
      }
      x += step;
    }
#pragma unroll
    for (int k = 0; k < kPairColumns; ++k) {
      if (from + k >= X.cols) break;
      const double own = *x;
#pragma unroll
      for (int j = k; j < kPairColumns; ++j) {
        if (from + j >= X.cols) break;
        *q[j] = (j == k ? own : kRoot * own) * second[j];
        q[j] += Q.stride;
      }
      x += step;
    }
  }
}

__device__ void sort2(Size& a, Size& b) {
  if (a > b) {
    const Size c = a;
    a = b;
    b = c;
  }
}

// Y(i, .) = M_i x_i + shift x_i: neighbouring threads have neighbouring starts, so that all reads are in
// line.
__global__ void climb_product(DeviceView<double> P, double shift, DeviceView<double> X, const double* active,
                              double* Y) {
  const Size i = static_cast<Size>(blockIdx.x) * blockDim.x + threadIdx.x, a = blockIdx.y;
  if (i >= X.rows || active[i] == 0) return;
  const double* p = P.data + i;
  const double* x = X.data + i;
  double sum = 0;
  for (Size b = 0; b < a; ++b) sum += p[position(b, a) * P.stride] * x[b * X.stride];
  for (Size b = a + 1; b < X.cols; ++b) sum += p[position(a, b) * P.stride] * x[b * X.stride];
  const double own = x[a * X.stride];
  Y[i + a * X.rows] = sum * (1 / kRoot) + (p[position(a, a) * P.stride] + shift) * own;
}

__global__ void climb_normalise(double tolerance, DeviceView<double> X, double* active, const double* Y) {
  const Size i = static_cast<Size>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= X.rows || active[i] == 0) return;
  double squares = 0, moved = 0;
  for (Size a = 0; a < X.cols; ++a) squares += Y[i + a * X.rows] * Y[i + a * X.rows];
  const double norm = sqrt(squares);
  for (Size a = 0; a < X.cols; ++a) {
    const double to = Y[i + a * X.rows] / norm, step = to - X.data[i + a * X.stride];
    X.data[i + a * X.stride] = to;
    moved += step * step;
  }
  if (!(sqrt(moved) > tolerance)) active[i] = 0;
}

}  // namespace

template <class T>
void fill(DeviceView<T> A, T value, cudaStream_t stream) {
  launch(A.rows, A.cols, stream, [=] __device__(Size i, Size j) { A.data[i + j * A.stride] = value; });
}

template <class T>
void fill_rows(DeviceView<T> A, DeviceView<T> row, cudaStream_t stream) {
  launch(A.rows, A.cols, stream,
         [=] __device__(Size i, Size j) { A.data[i + j * A.stride] = row.data[j * row.stride]; });
}

template <class T>
void activate(Device::Kind kind, DeviceView<T> Q, DeviceView<T> P, cudaStream_t stream) {
  const bool absolute = kind == Device::Kind::kAbsolute;
  launch(Q.rows, Q.cols, stream, [=] __device__(Size i, Size j) {
    const T q = Q.data[i + j * Q.stride];
    P.data[i + j * P.stride] = q < T(0) ? (absolute ? -q : T(0)) : q;
  });
}

template <class T>
void slope(Device::Kind kind, DeviceView<T> Q, DeviceView<T> g, DeviceView<T> S, cudaStream_t stream) {
  const bool absolute = kind == Device::Kind::kAbsolute;
  launch(Q.rows, Q.cols, stream, [=] __device__(Size i, Size j) {
    const T q = Q.data[i + j * Q.stride], value = g.data[i + j * g.stride];
    S.data[i + j * S.stride] = absolute ? (q < T(0) ? -value : value) : (q > T(0) ? value : T(0));
  });
}

template <class T>
void residual(DeviceView<T> E, DeviceView<T> Y, T scale, double* sum, cudaStream_t stream) {
  if (E.rows * E.cols == 0) return;
  residual_kernel<<<1, 1024, 0, stream>>>(E, Y, scale, sum);
}

void adam(Size count, float* parameters, const float* gradient, float* mean, float* square, AdamStep step,
          cudaStream_t stream) {
  launch(count, 1, stream, [=] __device__(Size i, Size) {
    const float g = gradient[i];
    const float m = mean[i] + (1 - step.first) * (g - mean[i]);
    const float v = square[i] + (1 - step.second) * (g * g - square[i]);
    mean[i] = m;
    square[i] = v;
    parameters[i] -= step.rate * m / (step.root * sqrtf(v) + step.epsilon);
  });
}

void row_products(DeviceView<double> S, DeviceView<double> P, DeviceView<double> J, cudaStream_t stream) {
  const Size width = P.cols;
  launch(S.rows, S.cols * width, stream, [=] __device__(Size i, Size c) {
    J.data[i + c * J.stride] = S.data[i + (c / width) * S.stride] * P.data[i + (c % width) * P.stride];
  });
}

void add_diagonal(DeviceView<double> A, DeviceView<double> d, cudaStream_t stream) {
  launch(d.rows, 1, stream, [=] __device__(Size i, Size) { A.data[i + i * A.stride] += d.data[i]; });
}

void add(double alpha, DeviceView<double> A, DeviceView<double> B, cudaStream_t stream) {
  launch(A.rows, A.cols, stream,
         [=] __device__(Size i, Size j) { B.data[i + j * B.stride] += alpha * A.data[i + j * A.stride]; });
}

void add_products(DeviceView<double> A, DeviceView<double> B, DeviceView<double> C, cudaStream_t stream) {
  launch(A.rows, A.cols, stream, [=] __device__(Size i, Size j) {
    C.data[i + j * C.stride] += A.data[i + j * A.stride] * B.data[i + j * B.stride];
  });
}

void mirror(DeviceView<double> A, cudaStream_t stream) {
  launch(A.rows, A.cols, stream, [=] __device__(Size i, Size j) {
    if (i < j) A.data[i + j * A.stride] = A.data[j + i * A.stride];
  });
}

void scale(double alpha, DeviceView<double> A, cudaStream_t stream) {
  launch(A.rows, A.cols, stream, [=] __device__(Size i, Size j) { A.data[i + j * A.stride] *= alpha; });
}

void sum_and_difference(DeviceView<double> A, DeviceView<double> B, cudaStream_t stream) {
  launch(A.rows, A.cols, stream, [=] __device__(Size i, Size j) {
    double &a = A.data[i + j * A.stride], &b = B.data[i + j * B.stride];
    const double sum = a + b;
    b = a - b;
    a = sum;
  });
}

void scale_blocks(DeviceView<double> F, Size width, DeviceView<double> H, cudaStream_t stream) {
  launch(H.rows, H.cols, stream, [=] __device__(Size i, Size j) {
    H.data[i + j * H.stride] *= F.data[i / width + (j / width) * F.stride];
  });
}

void pairs(DeviceView<double> X, DeviceView<double> weights, bool reversed, DeviceView<double> Q,
           cudaStream_t stream) {
  if (X.rows == 0 || Q.cols == 0) return;
  const Size items = ((X.rows + kThreads - 1) / kThreads) * ((X.cols + kPairColumns - 1) / kPairColumns);
  const auto blocks = static_cast<unsigned>(items < kPairGrid ? items : kPairGrid);
  pairs_kernel<<<blocks, kThreads, 0, stream>>>(X, weights.data, reversed, Q);
}

void row_dots(DeviceView<double> S, DeviceView<double> X, DeviceView<double> out, cudaStream_t stream) {
  launch(out.rows, out.cols, stream, [=] __device__(Size i, Size o) {
    double sum = 0;
    for (Size c = 0; c < X.cols; ++c)
      sum += S.data[i + (o * X.cols + c) * S.stride] * X.data[i + c * X.stride];
    out.data[i + o * out.stride] += sum;
  });
}

void hermite(int order, DeviceView<double> Z, DeviceView<double> H, cudaStream_t stream) {
  launch(Z.rows, Z.cols, stream, [=] __device__(Size i, Size j) {
    const double z = Z.data[i + j * Z.stride];
    H.data[i + j * H.stride] = order == 2 ? z * z - 1 : z * z * z - 3 * z;
  });
}

void hermite3(double factor, DeviceView<double> first, DeviceView<double> T, cudaStream_t stream) {
  const Size d = first.rows;
  launch(T.rows, T.cols, stream, [=] __device__(Size at, Size column) {
    const Pair pair(at);
    const Size c = column % d;
    const double* v = first.data + (column / d) * first.stride;
    double value = T.data[at + column * T.stride];
    if (pair.a == pair.b) {
      value -= pair.a == c ? 3 * v[c] : v[c];
    } else if (pair.b == c) {
      value -= kRoot * v[pair.a];
    } else if (pair.a == c) {
      value -= kRoot * v[pair.b];
    }
    T.data[at + column * T.stride] = factor * value;
  });
}

void hermite4(double factor, DeviceView<double> sums, DeviceView<double> second, DeviceView<double> zeroth,
              DeviceView<double> T, cudaStream_t stream) {
  const Size d = second.rows;
  const double* sum0 = zeroth.data;
  launch(T.rows, T.cols, stream, [=] __device__(Size row, Size column) {
    const Pair ij(row), kl(column);
    Size s0 = ij.a, s1 = ij.b, s2 = kl.a, s3 = kl.b;
    sort2(s0, s2);
    sort2(s1, s3);
    sort2(s1, s2);
    const double sum = sums.data[position(s0, s1) + position(d - 1 - s3, d - 1 - s2) * sums.stride];
    T.data[row + column * T.stride] = factor * hermite4_entry(sum, second.data, *sum0, second.stride, ij.a,
                                                              ij.b, kl.a, kl.b, s0 == s1, s2 == s3);
  });
}

void climb(DeviceView<double> P, double shift, double tolerance, DeviceView<double> X,
           DeviceView<double> active, double* Y, cudaStream_t stream) {
  if (X.rows == 0 || X.cols == 0) return;
  constexpr int kClimbers = 32;
  const auto blocks = static_cast<unsigned>((X.rows + kClimbers - 1) / kClimbers);
  climb_product<<<dim3(blocks, static_cast<unsigned>(X.cols)), kClimbers, 0, stream>>>(P, shift, X,
                                                                                       active.data, Y);
  climb_normalise<<<blocks, kClimbers, 0, stream>>>(tolerance, X, active.data, Y);
}

#define EXHUME_CUDA_KERNELS(T)                                                                     \
  template void fill<T>(DeviceView<T>, T, cudaStream_t);                                           \
  template void fill_rows<T>(DeviceView<T>, DeviceView<T>, cudaStream_t);                          \
  template void activate<T>(Device::Kind, DeviceView<T>, DeviceView<T>, cudaStream_t);             \
  template void slope<T>(Device::Kind, DeviceView<T>, DeviceView<T>, DeviceView<T>, cudaStream_t); \
  template void residual<T>(DeviceView<T>, DeviceView<T>, T, double*, cudaStream_t);
EXHUME_CUDA_KERNELS(float)
EXHUME_CUDA_KERNELS(double)

}  // namespace exhume::cuda
