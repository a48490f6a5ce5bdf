#include "engine/cuda/kernels.h"

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

#define EXHUME_CUDA_KERNELS(T)                                                                     \
  template void fill<T>(DeviceView<T>, T, cudaStream_t);                                           \
  template void fill_rows<T>(DeviceView<T>, DeviceView<T>, cudaStream_t);                          \
  template void activate<T>(Device::Kind, DeviceView<T>, DeviceView<T>, cudaStream_t);             \
  template void slope<T>(Device::Kind, DeviceView<T>, DeviceView<T>, DeviceView<T>, cudaStream_t); \
  template void residual<T>(DeviceView<T>, DeviceView<T>, T, double*, cudaStream_t);
EXHUME_CUDA_KERNELS(float)
EXHUME_CUDA_KERNELS(double)

}  // namespace exhume::cuda
