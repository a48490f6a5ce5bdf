// Kernels that cuBLAS has not: entry by entry over column-major blocks. One launch each, on `stream`.
#pragma once

#include <cuda_runtime.h>

#include "exhume/engine/device.h"

namespace exhume::cuda {

template <class T>
void fill(DeviceView<T> A, T value, cudaStream_t stream);
template <class T>
void fill_rows(DeviceView<T> A, DeviceView<T> row, cudaStream_t stream);
template <class T>
void activate(Device::Kind kind, DeviceView<T> Q, DeviceView<T> P, cudaStream_t stream);
template <class T>
void slope(Device::Kind kind, DeviceView<T> Q, DeviceView<T> g, DeviceView<T> S, cudaStream_t stream);
// One block of threads, so that the sum is always taken in the same order.
template <class T>
void residual(DeviceView<T> E, DeviceView<T> Y, T scale, double* sum, cudaStream_t stream);
void adam(Device::Size count, float* parameters, const float* gradient, float* mean, float* square,
          AdamStep step, cudaStream_t stream);
void row_products(DeviceView<double> S, DeviceView<double> P, DeviceView<double> J, cudaStream_t stream);
void add_diagonal(DeviceView<double> A, DeviceView<double> d, cudaStream_t stream);

}  // namespace exhume::cuda
