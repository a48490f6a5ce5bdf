// The module for CUDA: cuBLAS for products, cuSOLVER for Cholesky, kernels for the rest.
#include <cublas_v2.h>
#include <cusolverDn.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <future>
#include <string>
#include <vector>

#include "engine/cuda/kernels.h"
#include "engine/module.h"
#include "exhume/error.h"

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

// What takes its time to start: queue, cuBLAS, cuSOLVER, memory.
struct Started {
  cudaMemPool_t pool = nullptr;
  cudaStream_t stream = nullptr;
  cudaEvent_t ready = nullptr;
  cublasHandle_t blas = nullptr;
  cusolverDnHandle_t solver = nullptr;
  int* info = nullptr;

  static Started start() {
    Started on;
    must(cudaSetDevice(0), "choosing it");
    // Before the queues of products (start_products): what they wait for is made first.
    int least = 0, greatest = 0;
    must(cudaDeviceGetStreamPriorityRange(&least, &greatest), "making a queue");
    must(cudaStreamCreateWithPriority(&on.stream, cudaStreamNonBlocking, greatest), "making a queue");
    must(cudaEventCreateWithFlags(&on.ready, cudaEventDisableTiming), "making a queue");
    must(cublasCreate(&on.blas), "starting cuBLAS");
    must(cublasSetStream(on.blas, on.stream), "starting cuBLAS");
    must(cusolverDnCreate(&on.solver), "starting cuSOLVER");
    must(cusolverDnSetStream(on.solver, on.stream), "starting cuSOLVER");
    must(cudaMallocAsync(reinterpret_cast<void**>(&on.info), sizeof(int), on.stream), "taking memory");
    // Memory that was released is kept for the next request.
    must(cudaDeviceGetDefaultMemPool(&on.pool, 0), "taking memory");
    unsigned long long keep = ~0ULL;
    must(cudaMemPoolSetAttribute(on.pool, cudaMemPoolAttrReleaseThreshold, &keep), "taking memory");
    return on;
  }
};

class CudaDevice final : public Device {
 public:
  // It starts beside what its owner does next; who needs it first waits.
  CudaDevice() {
    must(cudaGetDeviceProperties(&properties_, 0), "asking what it is");
    starting_ = std::async(std::launch::async, &Started::start).share();
  }
  ~CudaDevice() override {
    Started started;
    try {
      started = on();
    } catch (const ResourceError&) {  // it never started
      return;
    }
    if (work_ != nullptr) cudaFreeAsync(work_, started.stream);
    cudaFreeAsync(started.info, started.stream);
    cudaStreamSynchronize(started.stream);
    for (Side& side : sides_) {
      if (side.blas == nullptr) continue;
      cublasDestroy(side.blas);
      for (cudaEvent_t done : side.done) cudaEventDestroy(done);
      cudaStreamDestroy(side.stream);
    }
    cudaEventDestroy(started.ready);
    cusolverDnDestroy(started.solver);
    cublasDestroy(started.blas);
    cudaStreamDestroy(started.stream);
  }

  std::string name() const override { return properties_.name; }
  double bytes_free() const override {
    std::size_t free = 0, all = 0;
    must(cudaMemGetInfo(&free, &all), "asking for its memory");
    unsigned long long kept = 0, used = 0;  // what was released is kept, and free all the same
    must(cudaMemPoolGetAttribute(on().pool, cudaMemPoolAttrReservedMemCurrent, &kept),
         "asking for its memory");
    must(cudaMemPoolGetAttribute(on().pool, cudaMemPoolAttrUsedMemCurrent, &used), "asking for its memory");
    return static_cast<double>(free) + static_cast<double>(kept) - static_cast<double>(used);
  }
  void* allocate(std::size_t bytes) override {
    void* memory = nullptr;
    must(cudaMallocAsync(&memory, bytes, on().stream), "taking memory");
    return memory;
  }
  void release(void* memory) noexcept override { cudaFreeAsync(memory, on().stream); }
  void upload(void* to, std::size_t to_stride, const void* from, std::size_t from_stride, std::size_t bytes,
              Size columns) override {
    must(cudaMemcpy2DAsync(to, to_stride, from, from_stride, bytes, static_cast<std::size_t>(columns),
                           cudaMemcpyHostToDevice, on().stream),
         "copying to it");
    synchronise();
  }
  void download(void* to, std::size_t to_stride, const void* from, std::size_t from_stride, std::size_t bytes,
                Size columns) override {
    must(cudaMemcpy2DAsync(to, to_stride, from, from_stride, bytes, static_cast<std::size_t>(columns),
                           cudaMemcpyDeviceToHost, on().stream),
         "copying from it");
    synchronise();
  }
  void synchronise() override {
    must(cudaGetLastError(), "starting a kernel");
    must(cudaStreamSynchronize(on().stream), "computing");
  }

#define EXHUME_CUDA_OPERATIONS(T)                                                                            \
  void product(T alpha, DeviceView<T> A, bool turn_a, DeviceView<T> B, bool turn_b, T beta, DeviceView<T> C) \
      override {                                                                                             \
    if (C.rows == 0 || C.cols == 0) return;                                                                  \
    must(gemm(on().blas, turn_a ? CUBLAS_OP_T : CUBLAS_OP_N, turn_b ? CUBLAS_OP_T : CUBLAS_OP_N,             \
              whole(C.rows), whole(C.cols), whole(turn_a ? A.rows : A.cols), &alpha, A.data,                 \
              whole(A.stride), B.data, whole(B.stride), &beta, C.data, whole(C.stride)),                     \
         "a product");                                                                                       \
  }                                                                                                          \
  void copy(DeviceView<T> from, DeviceView<T> to) override {                                                 \
    if (to.rows == 0 || to.cols == 0) return;                                                                \
    must(cudaMemcpy2DAsync(to.data, sizeof(T) * to.stride, from.data, sizeof(T) * from.stride,               \
                           sizeof(T) * to.rows, to.cols, cudaMemcpyDeviceToDevice, on().stream),             \
         "a copy");                                                                                          \
  }                                                                                                          \
  void fill(DeviceView<T> A, T value) override { cuda::fill<T>(A, value, on().stream); }                     \
  void fill_rows(DeviceView<T> A, DeviceView<T> row) override { cuda::fill_rows<T>(A, row, on().stream); }   \
  void activate(Kind kind, DeviceView<T> Q, DeviceView<T> P) override {                                      \
    cuda::activate<T>(kind, Q, P, on().stream);                                                              \
  }                                                                                                          \
  void slope(Kind kind, DeviceView<T> Q, DeviceView<T> g, DeviceView<T> S) override {                        \
    cuda::slope<T>(kind, Q, g, S, on().stream);                                                              \
  }                                                                                                          \
  void residual(DeviceView<T> E, DeviceView<T> Y, T scale, DeviceView<double> sum) override {                \
    cuda::residual<T>(E, Y, scale, sum.data, on().stream);                                                   \
  }

  EXHUME_CUDA_OPERATIONS(float)
  EXHUME_CUDA_OPERATIONS(double)
#undef EXHUME_CUDA_OPERATIONS

  void adam(Size count, float* parameters, const float* gradient, float* mean, float* square,
            AdamStep step) override {
    cuda::adam(count, parameters, gradient, mean, square, step, on().stream);
  }
  void gram(double alpha, DeviceView<double> A, double beta, DeviceView<double> C) override {
    if (A.cols == 0) return;
    must(cublasDsyrk(on().blas, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_T, whole(A.cols), whole(A.rows), &alpha,
                     A.data, whole(A.stride), &beta, C.data, whole(C.stride)),
         "a Gram matrix");
  }
  void row_products(DeviceView<double> S, DeviceView<double> P, DeviceView<double> J) override {
    cuda::row_products(S, P, J, on().stream);
  }
  void add_diagonal(DeviceView<double> A, DeviceView<double> d) override {
    cuda::add_diagonal(A, d, on().stream);
  }
  bool cholesky(DeviceView<double> A) override {
    const int n = whole(A.rows), stride = whole(A.stride);
    int size = 0;
    must(cusolverDnDpotrf_bufferSize(on().solver, CUBLAS_FILL_MODE_LOWER, n, A.data, stride, &size),
         "Cholesky");
    if (size > work_size_) {
      if (work_ != nullptr) must(cudaFreeAsync(work_, on().stream), "releasing memory");
      work_ = nullptr;
      work_size_ = 0;
      must(cudaMallocAsync(reinterpret_cast<void**>(&work_), sizeof(double) * static_cast<std::size_t>(size),
                           on().stream),
           "taking memory");
      work_size_ = size;
    }
    must(cusolverDnDpotrf(on().solver, CUBLAS_FILL_MODE_LOWER, n, A.data, stride, work_, size, on().info),
         "Cholesky");
    return succeeded();
  }
  void solve_lower(DeviceView<double> L, DeviceView<double> B) override {
    const double one = 1;
    must(cublasDtrsm(on().blas, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT,
                     whole(B.rows), whole(B.cols), &one, L.data, whole(L.stride), B.data, whole(B.stride)),
         "a triangular system");
  }
  void solve_cholesky(DeviceView<double> L, DeviceView<double> B) override {
    must(cusolverDnDpotrs(on().solver, CUBLAS_FILL_MODE_LOWER, whole(L.rows), whole(B.cols), L.data,
                          whole(L.stride), B.data, whole(B.stride), on().info),
         "a system");
  }

  // One product may not fill the device: they go to a few queues, each with its own handle, to the one that
  // has least to do. Every product is always made by the same one, so that its bits do not depend on who
  // finishes first.
  int start_products(const std::vector<DeviceProduct>& all, Size queues) override {
    const auto used = static_cast<std::size_t>(std::clamp<Size>(queues, 1, kSides));
    must(cudaEventRecord(on().ready, on().stream), "waiting");
    for (std::size_t i = 0; i < used; ++i) {
      open(sides_[i]);
      must(cudaStreamWaitEvent(sides_[i].stream, on().ready, 0), "waiting");
    }
    std::array<double, kSides> work{};
    for (const DeviceProduct& each : all) {
      if (each.C.rows == 0 || each.C.cols == 0) continue;
      std::size_t least = 0;
      for (std::size_t i = 1; i < used; ++i) {
        if (work[i] < work[least]) least = i;
      }
      work[least] += static_cast<double>(each.C.rows) * static_cast<double>(each.C.cols);
      add_product(sides_[least].blas, each);
    }
    const int batch = batches_++;
    for (std::size_t i = 0; i < used; ++i)
      must(cudaEventRecord(sides_[i].done[static_cast<std::size_t>(batch) % kBatches], sides_[i].stream),
           "waiting");
    return batch;
  }
  void finish_products(int batch) override {
    if (batch < finished_) return;
    for (Side& side : sides_) {
      if (side.blas == nullptr) continue;
      must(cudaEventSynchronize(side.done[static_cast<std::size_t>(batch) % kBatches]), "computing");
    }
    finished_ = batch + 1;
  }
  void mirror(DeviceView<double> A) override { cuda::mirror(A, on().stream); }
  void add(double alpha, DeviceView<double> A, DeviceView<double> B) override {
    cuda::add(alpha, A, B, on().stream);
  }
  void scale(double alpha, DeviceView<double> A) override { cuda::scale(alpha, A, on().stream); }
  void sum_and_difference(DeviceView<double> A, DeviceView<double> B) override {
    cuda::sum_and_difference(A, B, on().stream);
  }
  double dot(DeviceView<double> A, DeviceView<double> B) override {
    double sum = 0;
    must(cublasDdot(on().blas, whole(A.rows * A.cols), A.data, 1, B.data, 1, &sum), "a dot product");
    return sum;
  }
  void add_products(DeviceView<double> A, DeviceView<double> B, DeviceView<double> C) override {
    cuda::add_products(A, B, C, on().stream);
  }
  void product_each(DeviceView<double> A, DeviceView<double> X, DeviceView<double> Y) override {
    if (X.rows == 0) return;
    const double one = 1, zero = 0;
    must(cublasDgemvStridedBatched(on().blas, CUBLAS_OP_N, whole(A.rows), whole(A.rows), &one, A.data,
                                   whole(A.stride), A.stride * A.rows, X.data, whole(X.stride), 1, &zero,
                                   Y.data, whole(Y.stride), 1, whole(X.rows)),
         "products");
  }
  void scale_blocks(DeviceView<double> F, Size width, DeviceView<double> H) override {
    cuda::scale_blocks(F, width, H, on().stream);
  }
  bool eigen(DeviceView<double> A, bool vectors, DeviceView<double> values) override {
    const auto mode = vectors ? CUSOLVER_EIG_MODE_VECTOR : CUSOLVER_EIG_MODE_NOVECTOR;
    std::size_t there = 0, here = 0;
    must(cusolverDnXsyevd_bufferSize(on().solver, nullptr, mode, CUBLAS_FILL_MODE_LOWER, A.rows, CUDA_R_64F,
                                     A.data, A.stride, CUDA_R_64F, values.data, CUDA_R_64F, &there, &here),
         "eigenvalues");
    std::vector<char> host(here + 1);
    void* work = allocate(there + 1);
    const cusolverStatus_t status = cusolverDnXsyevd(
        on().solver, nullptr, mode, CUBLAS_FILL_MODE_LOWER, A.rows, CUDA_R_64F, A.data, A.stride, CUDA_R_64F,
        values.data, CUDA_R_64F, work, there, host.data(), here, on().info);
    release(work);
    must(status, "eigenvalues");
    return succeeded();
  }

  void pairs(DeviceView<double> X, DeviceView<double> weights, bool reversed, DeviceView<double> Q) override {
    cuda::pairs(X, weights, reversed, Q, on().stream);
  }
  void row_dots(DeviceView<double> S, DeviceView<double> X, DeviceView<double> out) override {
    cuda::row_dots(S, X, out, on().stream);
  }
  void hermite(int order, DeviceView<double> Z, DeviceView<double> H) override {
    cuda::hermite(order, Z, H, on().stream);
  }
  void hermite3(double factor, DeviceView<double> first, DeviceView<double> T) override {
    cuda::hermite3(factor, first, T, on().stream);
  }
  void hermite4(double factor, DeviceView<double> sums, DeviceView<double> second, DeviceView<double> zeroth,
                DeviceView<double> T) override {
    cuda::hermite4(factor, sums, second, zeroth, T, on().stream);
  }
  void climb(DeviceView<double> P, double shift, double tolerance, DeviceView<double> X,
             DeviceView<double> active) override {
    void* Y = allocate(sizeof(double) * static_cast<std::size_t>(X.rows * X.cols + 1));
    cuda::climb(P, shift, tolerance, X, active, static_cast<double*>(Y), on().stream);
    release(Y);
  }

 private:
  // What the last call of cuSOLVER says of its matrix; waits.
  bool succeeded() {
    int info = 0;
    must(cudaMemcpyAsync(&info, on().info, sizeof info, cudaMemcpyDeviceToHost, on().stream),
         "copying from it");
    synchronise();
    return info == 0;
  }

  [[nodiscard]] const Started& on() const { return starting_.get(); }

  static constexpr std::size_t kSides = 8;
  static constexpr std::size_t kBatches = 4;  // more than may be under way
  struct Side {
    cudaStream_t stream = nullptr;
    std::array<cudaEvent_t, kBatches> done{};
    cublasHandle_t blas = nullptr;
  };

  static void open(Side& side) {
    if (side.blas != nullptr) return;
    must(cudaStreamCreateWithFlags(&side.stream, cudaStreamNonBlocking), "making a queue");
    for (cudaEvent_t& done : side.done)
      must(cudaEventCreateWithFlags(&done, cudaEventDisableTiming), "making a queue");
    must(cublasCreate(&side.blas), "starting cuBLAS");
    must(cublasSetStream(side.blas, side.stream), "starting cuBLAS");
  }
  static void add_product(cublasHandle_t blas, const DeviceProduct& all) {
    const double one = 1;
    const auto& [A, B, C, parts, step] = all;
    const Size share = all.share(), in_shares = parts == 1 ? 0 : share * parts;
    if (in_shares > 0)
      must(cublasDgemmStridedBatched(blas, CUBLAS_OP_T, CUBLAS_OP_N, whole(C.rows), whole(C.cols),
                                     whole(share), &one, A.data, whole(A.stride), share, B.data,
                                     whole(B.stride), share, &one, C.data, whole(C.stride), step,
                                     whole(parts)),
           "a product");
    if (in_shares == A.rows) return;
    must(cublasDgemm(blas, CUBLAS_OP_T, CUBLAS_OP_N, whole(C.rows), whole(C.cols), whole(A.rows - in_shares),
                     &one, A.data + in_shares, whole(A.stride), B.data + in_shares, whole(B.stride), &one,
                     C.data, whole(C.stride)),
         "a product");
  }

  cudaDeviceProp properties_{};
  std::shared_future<Started> starting_;
  std::array<Side, kSides> sides_;
  double* work_ = nullptr;
  int work_size_ = 0;
  int batches_ = 0, finished_ = 0;  // of products: started, and known to be done
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
