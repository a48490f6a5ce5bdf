// The closed form at a size where only one n x n matrix fits, beside a plain Cholesky factorisation of that
// size.
//
//   exhume_memorize_large [n] [d] [threads] [memory limit in GiB]      20,000, 250, all cores, 4
//
// Checks the answer, then prints: seconds of the whole fit and of its stages; seconds of LAPACK's dpotrf on
// an n x n matrix in the same run with as many threads; their ratio; the largest resident memory of the fit.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include <Eigen/Dense>

#include "../apps/fast_blas.h"
#include "base/random.h"
#include "exhume/papers/memorize.h"

extern "C" {
void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info);
void openblas_set_num_threads(int threads) __attribute__((weak));
}

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double peak_gib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / (1 << 20);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace exhume;
  restart_with_fast_blas(argv);
  const Index n = argc > 1 ? std::atol(argv[1]) : 20000, d = argc > 2 ? std::atol(argv[2]) : 250;
  Control control;
  control.threads = argc > 3 ? std::atoi(argv[3]) : 0;
  ClosedFormOptions options;
  if (argc > 4) options.memory_bytes = std::atof(argv[4]) * 0x1p30;
  RowMatrix x(n, d), y(n, 1);
  Stream(1, "inputs").fill_normal(0, x);
  Stream(1, "labels").fill_normal(0, y);
  std::printf("n %ld, d %ld, threads %d, BLAS kernels %s\n", static_cast<long>(n), static_cast<long>(d),
              control.workers(), blas_kernels().c_str());

  double start = now();
  ClosedForm fit = fit_closed_form(x, y, options, control);
  QuadraticNetwork network;
  set_quadratic_forms(network, fit.forms);
  const double seconds = now() - start, memory = peak_gib();
  const double error = relative_error(evaluate(network, x), y);
  std::printf(
      "closed form: %s, %.1f s (kernel %.1f, factor %.1f, solve %.1f, spectrum %.1f), relative error %.2e, "
      "%ld units, sigma %.4g, "
      "condition %.4g, %d products, peak %.2f GiB\n",
      to_string(fit.solver), seconds, fit.kernel_seconds, fit.factor_seconds, fit.solve_seconds,
      fit.spectrum_seconds, error, static_cast<long>(network.hidden()), fit.sigma_min, fit.condition,
      fit.iterations, memory);
  if (!(error <= 1e-16)) {
    std::printf("the fit is not good: nothing to time\n");
    return 1;
  }
  Matrix k = Matrix::Constant(n, n, 0.5);
  k.diagonal().array() += static_cast<double>(n);
  if (openblas_set_num_threads != nullptr) openblas_set_num_threads(control.workers());
  const int size = static_cast<int>(n);
  int info = 0;
  start = now();
  dpotrf_("L", &size, k.data(), &size, &info);
  const double factor = now() - start;
  std::printf("dpotrf: %.1f s, %.0f GFLOP/s (info %d); closed form / dpotrf = %.2f\n", factor,
              1e-9 / 3 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n) / factor,
              info, seconds / factor);
  return 0;
}
