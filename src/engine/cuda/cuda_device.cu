// The module for CUDA: cuBLAS for products, cuSOLVER for Cholesky, kernels for the rest.
#include <cublas_v2.h>
#include <cusolverDn.h>

#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "engine/cuda/kernels.h"
#include "engine/module.h"
#include "exhume/base/error.h"

namespace exhume {
namespace {

void must(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  if (status == cudaErrorMemoryAllocation)
    throw ResourceError("the CUDA device has too little memory for this problem; compute on the processor");
  throw ResourceError(std::string("the CUDA device failed (") + what + ": " + cudaGetErrorString(status) +
                      ")");
}
void must(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw ResourceError(std::string("the CUDA device failed (") + what + ": " + cublasGetStatusString(status) +
                      ")");
}
void must(cusolverStatus_t status, const char* what) {
  if (status == CUSOLVER_STATUS_SUCCESS) return;
  throw ResourceError(std::string("the CUDA device failed (") + what + ", cuSOLVER status " +
                      std::to_string(static_cast<int>(status)) + ")");
}

cublasStatus_t gemm(cublasHandle_t h, cublasOperation_t a, cublasOperation_t b, int m, int n, int k,
                    const float* alpha, const float* A, int lda, const float* B, int ldb, const float* beta,
                    float* C, int ldc) {
  return cublasSgemm(h, a, b, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
}
cublasStatus_t gemm(cublasHandle_t h, cublasOperation_t a, cublasOperation_t b, int m, int n, int k,
                    const double* alpha, const double* A, int lda, const double* B, int ldb,
                    const double* beta, double* C, int ldc) {
  return cublasDgemm(h, a, b, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
}

int whole(Device::Size size) { return static_cast<int>(size); }

class CudaDevice final : public Device {
 public:
  CudaDevice() {
    must(cudaSetDevice(0), "choosing it");
    must(cudaGetDeviceProperties(&properties_, 0), "asking what it is");
    must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a queue");
    must(cublasCreate(&blas_), "starting cuBLAS");
    must(cublasSetStream(blas_, stream_), "starting cuBLAS");
    must(cusolverDnCreate(&solver_), "starting cuSOLVER");
    must(cusolverDnSetStream(solver_, stream_), "starting cuSOLVER");
    must(cudaMallocAsync(reinterpret_cast<void**>(&info_), sizeof(int), stream_), "taking memory");
    // Memory that was released is kept for the next request.
    must(cudaDeviceGetDefaultMemPool(&pool_, 0), "taking memory");
    unsigned long long keep = ~0ULL;
    must(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep), "taking memory");
    must(cudaEventCreateWithFlags(&ready_, cudaEventDisableTiming), "making a queue");
    for (Side& side : sides_) {
      must(cudaStreamCreateWithFlags(&side.stream, cudaStreamNonBlocking), "making a queue");
      must(cudaEventCreateWithFlags(&side.done, cudaEventDisableTiming), "making a queue");
      must(cublasCreate(&side.blas), "starting cuBLAS");
      must(cublasSetStream(side.blas, side.stream), "starting cuBLAS");
    }
  }
  ~CudaDevice() override {
    if (work_ != nullptr) cudaFreeAsync(work_, stream_);
    cudaFreeAsync(info_, stream_);
    cudaStreamSynchronize(stream_);
    for (Side& side : sides_) {
      cublasDestroy(side.blas);
      cudaEventDestroy(side.done);
      cudaStreamDestroy(side.stream);
    }
    cudaEventDestroy(ready_);
    cusolverDnDestroy(solver_);
    cublasDestroy(blas_);
    cudaStreamDestroy(stream_);
  }

  std::string name() const override { return properties_.name; }
  double bytes_free() const override {
    std::size_t free = 0, all = 0;
    must(cudaMemGetInfo(&free, &all), "asking for its memory");
    unsigned long long kept = 0, used = 0;  // what was released is kept, and free all the same
    must(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemCurrent, &kept), "asking for its memory");
    must(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrUsedMemCurrent, &used), "asking for its memory");
    return static_cast<double>(free) + static_cast<double>(kept) - static_cast<double>(used);
  }
  void* allocate(std::size_t bytes) override {
    void* memory = nullptr;
    must(cudaMallocAsync(&memory, bytes, stream_), "taking memory");
    return memory;
  }
  void release(void* memory) noexcept override { cudaFreeAsync(memory, stream_); }
  void upload(void* to, std::size_t to_stride, const void* from, std::size_t from_stride, std::size_t bytes,
              Size columns) override {
    must(cudaMemcpy2DAsync(to, to_stride, from, from_stride, bytes, static_cast<std::size_t>(columns),
                           cudaMemcpyHostToDevice, stream_),
         "copying to it");
    synchronise();
  }
  void download(void* to, std::size_t to_stride, const void* from, std::size_t from_stride, std::size_t bytes,
                Size columns) override {
    must(cudaMemcpy2DAsync(to, to_stride, from, from_stride, bytes, static_cast<std::size_t>(columns),
                           cudaMemcpyDeviceToHost, stream_),
         "copying from it");
    synchronise();
  }
  void synchronise() override {
    must(cudaGetLastError(), "starting a kernel");
    must(cudaStreamSynchronize(stream_), "computing");
  }

#define EXHUME_CUDA_OPERATIONS(T)                                                                            \
  void product(T alpha, DeviceView<T> A, bool turn_a, DeviceView<T> B, bool turn_b, T beta, DeviceView<T> C) \
      override {                                                                                             \
    if (C.rows == 0 || C.cols == 0) return;                                                                  \
    must(gemm(blas_, turn_a ? CUBLAS_OP_T : CUBLAS_OP_N, turn_b ? CUBLAS_OP_T : CUBLAS_OP_N, whole(C.rows),  \
              whole(C.cols), whole(turn_a ? A.rows : A.cols), &alpha, A.data, whole(A.stride), B.data,       \
              whole(B.stride), &beta, C.data, whole(C.stride)),                                              \
         "a product");                                                                                       \
  }                                                                                                          \
  void copy(DeviceView<T> from, DeviceView<T> to) override {                                                 \
    if (to.rows == 0 || to.cols == 0) return;                                                                \
    must(cudaMemcpy2DAsync(to.data, sizeof(T) * to.stride, from.data, sizeof(T) * from.stride,               \
                           sizeof(T) * to.rows, to.cols, cudaMemcpyDeviceToDevice, stream_),                 \
         "a copy");                                                                                          \
  }                                                                                                          \
  void fill(DeviceView<T> A, T value) override { cuda::fill<T>(A, value, stream_); }                         \
  void fill_rows(DeviceView<T> A, DeviceView<T> row) override { cuda::fill_rows<T>(A, row, stream_); }       \
  void activate(Kind kind, DeviceView<T> Q, DeviceView<T> P) override {                                      \
    cuda::activate<T>(kind, Q, P, stream_);                                                                  \
  }                                                                                                          \
  void slope(Kind kind, DeviceView<T> Q, DeviceView<T> g, DeviceView<T> S) override {                        \
    cuda::slope<T>(kind, Q, g, S, stream_);                                                                  \
  }                                                                                                          \
  void residual(DeviceView<T> E, DeviceView<T> Y, T scale, DeviceView<double> sum) override {                \
    cuda::residual<T>(E, Y, scale, sum.data, stream_);                                                       \
  }

  EXHUME_CUDA_OPERATIONS(float)
  EXHUME_CUDA_OPERATIONS(double)
#undef EXHUME_CUDA_OPERATIONS

  void adam(Size count, float* parameters, const float* gradient, float* mean, float* square,
            AdamStep step) override {
    cuda::adam(count, parameters, gradient, mean, square, step, stream_);
  }
  void gram(double alpha, DeviceView<double> A, double beta, DeviceView<double> C) override {
    if (A.cols == 0) return;
    must(cublasDsyrk(blas_, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_T, whole(A.cols), whole(A.rows), &alpha, A.data,
                     whole(A.stride), &beta, C.data, whole(C.stride)),
         "a Gram matrix");
  }
  void row_products(DeviceView<double> S, DeviceView<double> P, DeviceView<double> J) override {
    cuda::row_products(S, P, J, stream_);
  }
  void add_diagonal(DeviceView<double> A, DeviceView<double> d) override {
    cuda::add_diagonal(A, d, stream_);
  }
  bool cholesky(DeviceView<double> A) override {
    const int n = whole(A.rows), stride = whole(A.stride);
    int size = 0;
    must(cusolverDnDpotrf_bufferSize(solver_, CUBLAS_FILL_MODE_LOWER, n, A.data, stride, &size), "Cholesky");
    if (size > work_size_) {
      if (work_ != nullptr) must(cudaFreeAsync(work_, stream_), "releasing memory");
      work_ = nullptr;
      work_size_ = 0;
      must(cudaMallocAsync(reinterpret_cast<void**>(&work_), sizeof(double) * static_cast<std::size_t>(size),
                           stream_),
           "taking memory");
      work_size_ = size;
    }
    must(cusolverDnDpotrf(solver_, CUBLAS_FILL_MODE_LOWER, n, A.data, stride, work_, size, info_),
         "Cholesky");
    return succeeded();
  }
  void solve_lower(DeviceView<double> L, DeviceView<double> B) override {
    const double one = 1;
    must(cublasDtrsm(blas_, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT,
                     whole(B.rows), whole(B.cols), &one, L.data, whole(L.stride), B.data, whole(B.stride)),
         "a triangular system");
  }
  void solve_cholesky(DeviceView<double> L, DeviceView<double> B) override {
    must(cusolverDnDpotrs(solver_, CUBLAS_FILL_MODE_LOWER, whole(L.rows), whole(B.cols), L.data,
                          whole(L.stride), B.data, whole(B.stride), info_),
         "a system");
  }

  // One product may not fill the device: they take turns on a few queues, each with its own handle. Every product
  // is always made by the same one, so that its bits do not depend on who finishes first.
  void products(const std::vector<DeviceProduct>& all) override {
    must(cudaEventRecord(ready_, stream_), "waiting");
    for (Side& side : sides_) must(cudaStreamWaitEvent(side.stream, ready_, 0), "waiting");
    const double one = 1;
    std::size_t turn = 0;
    for (const auto& [A, B, C] : all) {
      if (C.rows == 0 || C.cols == 0) continue;
      must(cublasDgemm(sides_[turn % kSides].blas, CUBLAS_OP_T, CUBLAS_OP_N, whole(C.rows), whole(C.cols),
                       whole(A.rows), &one, A.data, whole(A.stride), B.data, whole(B.stride), &one, C.data,
                       whole(C.stride)),
           "a product");
      ++turn;
    }
    for (Side& side : sides_) {
      must(cudaEventRecord(side.done, side.stream), "waiting");
      must(cudaStreamWaitEvent(stream_, side.done, 0), "waiting");
    }
  }
  void mirror(DeviceView<double> A) override { cuda::mirror(A, stream_); }
  void add(double alpha, DeviceView<double> A, DeviceView<double> B) override {
    cuda::add(alpha, A, B, stream_);
  }
  void scale(double alpha, DeviceView<double> A) override { cuda::scale(alpha, A, stream_); }
  double dot(DeviceView<double> A, DeviceView<double> B) override {
    double sum = 0;
    must(cublasDdot(blas_, whole(A.rows * A.cols), A.data, 1, B.data, 1, &sum), "a dot product");
    return sum;
  }
  void add_products(DeviceView<double> A, DeviceView<double> B, DeviceView<double> C) override {
    cuda::add_products(A, B, C, stream_);
  }
  void product_each(DeviceView<double> A, DeviceView<double> X, DeviceView<double> Y) override {
    if (X.rows == 0) return;
    const double one = 1, zero = 0;
    must(cublasDgemvStridedBatched(blas_, CUBLAS_OP_N, whole(A.rows), whole(A.rows), &one, A.data,
                                   whole(A.stride), A.stride * A.rows, X.data, whole(X.stride), 1, &zero,
                                   Y.data, whole(Y.stride), 1, whole(X.rows)),
         "products");
  }
  void scale_blocks(DeviceView<double> F, Size width, DeviceView<double> H) override {
    cuda::scale_blocks(F, width, H, stream_);
  }
  bool eigen(DeviceView<double> A, bool vectors, DeviceView<double> values) override {
    const auto mode = vectors ? CUSOLVER_EIG_MODE_VECTOR : CUSOLVER_EIG_MODE_NOVECTOR;
    std::size_t there = 0, here = 0;
    must(cusolverDnXsyevd_bufferSize(solver_, nullptr, mode, CUBLAS_FILL_MODE_LOWER, A.rows, CUDA_R_64F,
                                     A.data, A.stride, CUDA_R_64F, values.data, CUDA_R_64F, &there, &here),
         "eigenvalues");
    std::vector<char> host(here + 1);
    void* work = allocate(there + 1);
    const cusolverStatus_t status =
        cusolverDnXsyevd(solver_, nullptr, mode, CUBLAS_FILL_MODE_LOWER, A.rows, CUDA_R_64F, A.data, A.stride,
                         CUDA_R_64F, values.data, CUDA_R_64F, work, there, host.data(), here, info_);
    release(work);
    must(status, "eigenvalues");
    return succeeded();
  }

  void pairs(DeviceView<double> X, DeviceView<double> weights, bool reversed, DeviceView<double> Q) override {
    cuda::pairs(X, weights, reversed, Q, stream_);
  }
  void row_dots(DeviceView<double> S, DeviceView<double> X, DeviceView<double> out) override {
    cuda::row_dots(S, X, out, stream_);
  }
  void hermite(int order, DeviceView<double> Z, DeviceView<double> H) override {
    cuda::hermite(order, Z, H, stream_);
  }
  void hermite3(double factor, DeviceView<double> first, DeviceView<double> T) override {
    cuda::hermite3(factor, first, T, stream_);
  }
  void hermite4(double factor, DeviceView<double> sums, DeviceView<double> second, DeviceView<double> zeroth,
                DeviceView<double> T) override {
    cuda::hermite4(factor, sums, second, zeroth, T, stream_);
  }
  void climb(DeviceView<double> P, double shift, double tolerance, DeviceView<double> X,
             DeviceView<double> active) override {
    void* Y = allocate(sizeof(double) * static_cast<std::size_t>(X.rows * X.cols + 1));
    cuda::climb(P, shift, tolerance, X, active, static_cast<double*>(Y), stream_);
    release(Y);
  }

 private:
  // What the last call of cuSOLVER says of its matrix; waits.
  bool succeeded() {
    int info = 0;
    must(cudaMemcpyAsync(&info, info_, sizeof info, cudaMemcpyDeviceToHost, stream_), "copying from it");
    synchronise();
    return info == 0;
  }

  struct Side {
    cudaStream_t stream = nullptr;
    cudaEvent_t done = nullptr;
    cublasHandle_t blas = nullptr;
  };
  static constexpr std::size_t kSides = 4;

  cudaDeviceProp properties_{};
  cudaMemPool_t pool_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t ready_ = nullptr;
  std::array<Side, kSides> sides_;
  cublasHandle_t blas_ = nullptr;
  cusolverDnHandle_t solver_ = nullptr;
  int* info_ = nullptr;
  double* work_ = nullptr;
  int work_size_ = 0;
};

}  // namespace
}  // namespace exhume

extern "C" {

int exhume_device_interface() { return exhume::kDeviceInterface; }

exhume::Device* exhume_open_device(char* why, std::size_t size) {
  int devices = 0, driver = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status == cudaErrorInsufficientDriver && cudaDriverGetVersion(&driver) == cudaSuccess && driver > 0) {
    std::snprintf(why, size,
                  "the driver is for CUDA %d.%d and the module for %d.%d; a newer driver is needed",
                  driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    return nullptr;
  }
  if (status != cudaSuccess || devices == 0) {
    std::snprintf(why, size, "no CUDA device was found (%s)",
                  status == cudaSuccess ? "there is none" : cudaGetErrorString(status));
    return nullptr;
  }
  try {
    return new exhume::CudaDevice;
  } catch (const std::exception& failure) {
    std::snprintf(why, size, "%s", failure.what());
    return nullptr;
  }
}
}
