#include "rate.h"

#include <fstream>
#include <numeric>
#include <thread>
#include <vector>

#include "base/blas.h"
#include "base/random.h"

namespace exhume::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

// dgemm_ is declared by Eigen, which the library compiles with EIGEN_USE_BLAS.
void dgemm(const Matrix& a, const Matrix& b, Matrix& c) {
  const int m = static_cast<int>(a.rows()), n = static_cast<int>(b.cols()), k = static_cast<int>(a.cols());
  const double one = 1, zero = 0;
  c.resize(m, n);
  dgemm_("N", "N", &m, &n, &k, &one, a.data(), &m, b.data(), &k, &zero, c.data(), &m);
}

void on_threads(int threads, const std::function<void(int)>& task) {
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) others.emplace_back(task, t);
  task(0);
  for (std::thread& thread : others) thread.join();
}

double dgemm_gflops(const DgemmShape& shape) {
  const SingleThreadedBlas single;
  const Matrix a = Stream(1, "a").normal_matrix(shape.rows, shape.inner);
  const Matrix b = Stream(1, "b").normal_matrix(shape.inner, shape.cols);
  std::vector<double> rates(kBenchThreads);
  on_threads(kBenchThreads, [&](int t) {
    Matrix c;
    dgemm(a, b, c);  // pages, caches and frequency settle
    const auto start = Clock::now();
    int products = 0;
    do {
      dgemm(a, b, c);
      ++products;
    } while (seconds_since(start) < 0.5);
    rates[t] = products * shape.flops() / seconds_since(start) / 1e9;
  });
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const auto colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

Rate::Rate(benchmark::State& state, double flops, const DgemmShape& beside)
    : state_(state), flops_(flops), beside_(beside), before_(dgemm_gflops(beside)), start_(Clock::now()) {}

void Rate::report() {
  const double gflops = flops_ * static_cast<double>(state_.iterations()) / seconds_since(start_) / 1e9;
  const double dgemm = 0.5 * (before_ + dgemm_gflops(beside_));
  state_.counters["GFLOP/s"] = gflops;
  state_.counters["dgemm"] = dgemm;
  state_.counters["percent"] = 100 * gflops / dgemm;
}

}  // namespace exhume::bench
