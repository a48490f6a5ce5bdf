// Moments of order 4 beside a dgemm of the same run, on the device where there is one, else on the processor.
//
//   exhume_wide_rates [auto|cpu|cuda]
//
// One line a size: inputs, rows, seconds, useful TFLOP/s (one multiply and one add for every entry with its indices in order),
// those carried out, and the dgemm's. On the processor: two threads, and two dgemm of one thread each. A moment is checked
// against a plain sum first.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "engine/transfer.h"
#include "exhume/base/blas.h"
#include "exhume/base/random.h"
#include "exhume/data/resident.h"
#include "exhume/engine/open_device.h"
#include "exhume/linalg/symmetric_matrix.h"
#include "exhume/moments/moments.h"
#include "moments/device_moments.h"

namespace exhume {
namespace {

constexpr double kLeastSeconds = 0.3;
constexpr int kThreads = 2;

double seconds_of(const std::function<void()>& work) {
  using Clock = std::chrono::steady_clock;
  work();
  const Clock::time_point start = Clock::now();
  double spent = 0;
  int rounds = 0;
  while (spent < kLeastSeconds) {
    work();
    ++rounds;
    spent = std::chrono::duration<double>(Clock::now() - start).count();
  }
  return spent / rounds;
}

double dgemm_flops(Device* device) {
  const Index size = device != nullptr ? 8192 : 1024;
  const double flops = 2 * std::pow(static_cast<double>(size), 3);
  if (device != nullptr) {
    const DeviceMatrix<double> a(*device, size, size), b(*device, size, size), c(*device, size, size);
    const Matrix random = Stream(1, "a").normal_matrix(size, size);
    upload(*device, random.data(), size, a.view());
    upload(*device, random.data(), size, b.view());
    return flops / seconds_of([&] {
             device->product(1, a.view(), false, b.view(), false, 0, c.view());
             device->synchronise();
           });
  }
  const SingleThreadedBlas single;
  const Matrix a = Stream(1, "a").normal_matrix(size, size);
  std::vector<Matrix> c(kThreads, Matrix(size, size));
  return kThreads * flops / seconds_of([&] {
           std::vector<std::thread> threads;
           for (Matrix& each : c) threads.emplace_back([&a, &each] { each.noalias() = a * a; });
           for (std::thread& thread : threads) thread.join();
         });
}

// E[r He_4] at (0, 1), (2, 3): all indices differ, so that it is a plain sum.
double plain_entry(const RowMatrix& x, const RowMatrix& y) {
  double half[2] = {0, 0};
  for (Index i = 0; i < x.rows(); ++i) half[i % 2] += 2 * y(i, 0) * x(i, 0) * x(i, 1) * x(i, 2) * x(i, 3);
  return (half[0] / static_cast<double>((x.rows() + 1) / 2) + half[1] / static_cast<double>(x.rows() / 2)) /
         2;
}

int run(const std::string& name) {
  const OpenedDevice opened = open_device(name);
  Device* device = opened.device.get();
  Control control;
  control.threads = kThreads;
  control.device = opened.device;
  fmt::print("{}\n", device != nullptr ? device->name() : "this processor");
  const std::vector<Index> sizes =
      device != nullptr ? std::vector<Index>{64, 128, 256} : std::vector<Index>{32, 64};
  for (const Index d : sizes) {
    const Index rows = device == nullptr ? 32'768 : d == 64 ? 500'000 : d == 128 ? 200'000 : 65'536;
    RowMatrix x(rows, d), y(rows, 1);
    Stream(1, "x").fill_normal(0, x);
    Stream(1, "y").fill_normal(0, y);
    const double plain = plain_entry(x, y);
    const SamplePtr here = memory_samples(std::move(x), std::move(y));
    const Index row = symmetric_position(0, 1), column = symmetric_position(2, 3);
    double found = 0, seconds = 0, done = 0;
    const double before = dgemm_flops(device);
    if (device != nullptr) {
      const DeviceRows there = send_rows(*here, control);
      const auto pass = [&](const std::function<void(const DeviceView<double>&)>& use) {
        moments_on_device(there, 4, control,
                          [&](const DeviceView<double>& sum, const DeviceView<double>&) { use(sum); });
      };
      pass([&](const DeviceView<double>& sum) {
        found = fetched(*device, sum.block(row, column, 1, 1))(0, 0) / 2;
      });
      seconds = seconds_of([&] { pass([](const DeviceView<double>&) {}); });
      done = order4_flops(rows, d);
    } else {
      found = hermite_moments(*here, 4, control).estimate(4)(row, column);
      seconds = seconds_of([&] { (void)hermite_moments(*here, 4, control); });
    }
    const double beside = (before + dgemm_flops(device)) / 2;
    const double t = static_cast<double>(d);
    const double useful = 2 * static_cast<double>(rows) * t * (t + 1) * (t + 2) * (t + 3) / 24;
    if (std::abs(found - plain) > 1e-9) {
      fmt::print(stderr, "d = {}: the moment is {}, a plain sum says {}\n", d, found, plain);
      return 1;
    }
    fmt::print("d {:4}  n {:8}  {:8.4f} s  useful {:7.3f} TFLOP/s ({:.0f}%)", d, rows, seconds,
               useful / seconds / 1e12, 100 * useful / seconds / beside);
    if (done > 0)
      fmt::print("  carried out {:7.3f} ({:.0f}%)", done / seconds / 1e12, 100 * done / seconds / beside);
    fmt::print("  dgemm {:7.3f}\n", beside / 1e12);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace exhume

int main(int count, char** arguments) { return exhume::run(count > 1 ? arguments[1] : "auto"); }
