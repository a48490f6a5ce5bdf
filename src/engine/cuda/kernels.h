// Kernels that cuBLAS has not: entry by entry over column-major blocks. One launch each, on `stream`.
#pragma once

#include <cuda_runtime.h>

#include "engine/device.h"

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
void add(double alpha, DeviceView<double> A, DeviceView<double> B, cudaStream_t stream);
void add_products(DeviceView<double> A, DeviceView<double> B, DeviceView<double> C, cudaStream_t stream);
void mirror(DeviceView<double> A, cudaStream_t stream);
void scale(double alpha, DeviceView<double> A, cudaStream_t stream);
void sum_and_difference(DeviceView<double> A, DeviceView<double> B, cudaStream_t stream);
void scale_blocks(DeviceView<double> F, Device::Size width, DeviceView<double> H, cudaStream_t stream);
void pairs(DeviceView<double> X, DeviceView<double> weights, bool reversed, DeviceView<double> Q,
           cudaStream_t stream);
void row_dots(DeviceView<double> S, DeviceView<double> X, DeviceView<double> out, cudaStream_t stream);
void hermite(int order, DeviceView<double> Z, DeviceView<double> H, cudaStream_t stream);
void hermite3(double factor, DeviceView<double> first, DeviceView<double> T, cudaStream_t stream);
void hermite4(double factor, DeviceView<double> sums, DeviceView<double> second, DeviceView<double> zeroth,
              DeviceView<double> T, cudaStream_t stream);
// Y: place for as many numbers as X has.
void climb(DeviceView<double> P, double shift, double tolerance, DeviceView<double> X,
           DeviceView<double> active, double* Y, cudaStream_t stream);

}  // namespace exhume::cuda
