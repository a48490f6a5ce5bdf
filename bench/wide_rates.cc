// Moments of order 4 beside a dgemm of the same run, on the device where there is one, else on the processor.
//
//   exhume_wide_rates [auto|cpu|cuda|host] [INPUTS,INPUTS,...] [VARIANT,VARIANT,...]
//
// One line a size and, on a device, a way of doing it (moments/device_order4.h; `plan` is the one that is
// used): inputs, rows, seconds, useful TFLOP/s (one multiply and one add for every entry with its indices in
// order), those carried out, and the dgemm's. On the processor: two threads, and two dgemm of one thread
// each. Some moments are checked against plain sums first. host: the code of devices on the processor, with
// few rows, for this check alone.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/blas.h"
#include "base/random.h"
#include "data/resident.h"
#include "engine/open_device.h"
#include "engine/transfer.h"
#include "linalg/symmetric_matrix.h"
#include "moments/device_order4.h"
#include "moments/moments.h"

namespace exhume {
namespace {

constexpr double kLeastSeconds = 0.3;
constexpr int kThreads = 2;

double seconds_of(const std::function<void()>& work, int warm_up = 1) {
  using Clock = std::chrono::steady_clock;
  for (int i = 0; i < warm_up; ++i) work();
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
    const Index some = size / 16;  // columns that are drawn: the others are the same again
    const Matrix random = Stream(1, "a").normal_matrix(size, some);
    for (Index from = 0; from < size; from += some) {
      upload(*device, random.data(), size, a.view().columns(from, some));
      upload(*device, random.data(), size, b.view().columns(from, some));
    }
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

// E[r He_4] at (a, b), (c, e), all different, so that it is a plain sum.
struct Entry {
  Index a, b, c, e;
  [[nodiscard]] double plain(const RowMatrix& x, const RowMatrix& y) const {
    double half[2] = {0, 0};
    for (Index i = 0; i < x.rows(); ++i) half[i % 2] += 2 * y(i, 0) * x(i, a) * x(i, b) * x(i, c) * x(i, e);
    return (half[0] / static_cast<double>((x.rows() + 1) / 2) + half[1] / static_cast<double>(x.rows() / 2)) /
           2;
  }
  [[nodiscard]] Index row() const { return symmetric_position(a, b); }
  [[nodiscard]] Index column() const { return symmetric_position(c, e); }
};
std::vector<Entry> entries(Index d) {
  return {{0, 1, 2, 3},         {d - 4, d - 3, d - 2, d - 1}, {1, d - 1, 2, d - 2},
          {d / 3, d / 2, 0, 5}, {d / 2, d / 2 + 1, 7, 9},     {3, 4, d / 2, d - 1}};
}

struct Variant {
  std::string name;
  Order4Plan plan;
};
// What is used, and what else might be.
std::vector<Variant> variants(Index d, const std::string& wanted) {
  const Order4Plan plan = order4_plan(d);
  std::vector<Variant> all;
  const auto with = [&](const std::string& name, const std::function<void(Order4Plan&)>& change) {
    Variant variant{name, plan};
    change(variant.plan);
    all.push_back(variant);
  };
  with("plan", [](Order4Plan&) {});
  with("in-turn", [](Order4Plan& p) {
    p.ahead = false;
    p.parts = 1;
    p.strip_bytes = kStripBytes;
  });
  for (const Index parts : {1, 2, 4, 16})
    with(fmt::format("parts-{}", parts), [&](Order4Plan& p) { p.parts = parts; });
  for (const Index queues : {1, 2, 8})
    with(fmt::format("queues-{}", queues), [&](Order4Plan& p) { p.queues = queues; });
  for (const Index narrow : {64, 192, 256})
    with(fmt::format("narrow-{}", narrow), [&](Order4Plan& p) { p.narrow = narrow; });
  for (const int gigabytes : {1, 8})
    with(fmt::format("strip-{}", gigabytes), [&](Order4Plan& p) { p.strip_bytes = gigabytes * kStripBytes; });
  if (wanted == "all") return all;
  std::erase_if(all, [&](const Variant& v) {
    return ("," + wanted + ",").find("," + v.name + ",") == std::string::npos;
  });
  return all;
}

void print_rate(const std::string& name, Index d, Index rows, double seconds, double done, double dgemm) {
  const double t = static_cast<double>(d);
  const double useful = 2 * static_cast<double>(rows) * t * (t + 1) * (t + 2) * (t + 3) / 24;
  fmt::print("d {:4}  n {:8}  {:10} {:8.4f} s  useful {:7.3f} TFLOP/s ({:.0f}%)", d, rows, name, seconds,
             useful / seconds / 1e12, 100 * useful / seconds / dgemm);
  if (done > 0)
    fmt::print("  carried out {:7.3f} ({:.0f}%)", done / seconds / 1e12, 100 * done / seconds / dgemm);
  fmt::print("  dgemm {:7.3f}\n", dgemm / 1e12);
  std::fflush(stdout);
}

int run(const std::string& name, const std::string& inputs, const std::string& wanted) {
  const bool host = name == "host";
  const OpenedDevice opened = host ? OpenedDevice{host_device(), ""} : open_device(name);
  Device* device = opened.device.get();
  Control control;
  control.threads = kThreads;
  control.device = opened.device;
  fmt::print("{}\n", device != nullptr ? device->name() : "this processor");
  std::vector<Index> sizes = host                ? std::vector<Index>{20, 30}
                             : device != nullptr ? std::vector<Index>{64, 128, 256}
                                                 : std::vector<Index>{32, 64};
  if (!inputs.empty()) {
    sizes.clear();
    std::istringstream numbers(inputs);
    for (std::string number; std::getline(numbers, number, ',');) sizes.push_back(std::stol(number));
  }
  for (const Index d : sizes) {
    const Index rows = host                ? 20'001
                       : device == nullptr ? 32'768
                       : d <= 64           ? 500'000
                       : d <= 128          ? 200'000
                                           : 131'072;
    RowMatrix x(rows, d), y(rows, 1);
    Stream(1, "x").fill_normal(0, x);
    Stream(1, "y").fill_normal(0, y);
    const std::vector<Entry> checked = entries(d);
    std::vector<double> plain;
    for (const Entry& entry : checked) plain.push_back(entry.plain(x, y));
    const auto right = [&](const std::function<double(Index, Index)>& found) {
      for (std::size_t i = 0; i < checked.size(); ++i) {
        const double value = found(checked[i].row(), checked[i].column());
        if (std::abs(value - plain[i]) <= 1e-9) continue;
        fmt::print(stderr, "d = {}: moment {} is {}, a plain sum says {}\n", d, i, value, plain[i]);
        return false;
      }
      return true;
    };
    const SamplePtr here = memory_samples(std::move(x), std::move(y));
    const double dgemm = host ? 1 : dgemm_flops(device);
    if (device == nullptr) {
      const Matrix found = hermite_moments(*here, 4, control).estimate(4);
      if (!right([&](Index row, Index column) { return found(row, column); })) return 1;
      const double seconds = seconds_of([&] { (void)hermite_moments(*here, 4, control); });
      print_rate("", d, rows, seconds, 0, (dgemm + dgemm_flops(device)) / 2);
      continue;
    }
    const DeviceRows there = send_rows(*here, control);
    for (const auto& [variant, plan] : variants(d, wanted)) {
      bool good = true;
      order4_on_device(there, plan, control, [&](const DeviceView<double>& sum, const DeviceView<double>&) {
        good = right([&](Index row, Index column) {
          return fetched(*device, sum.block(row, column, 1, 1))(0, 0) / 2;
        });
      });
      if (!good) return 1;
      if (host) {
        fmt::print("d {:4}  {:10} right\n", d, variant);
        continue;
      }
      const auto pass = [&] {
        order4_on_device(there, plan, control, [](const DeviceView<double>&, const DeviceView<double>&) {});
      };
      const double seconds = seconds_of(pass, 0);
      print_rate(variant, d, rows, seconds, order4_flops(rows, d, plan), dgemm);
    }
    if (!host) fmt::print("d {:4}  dgemm again {:7.3f}\n", d, dgemm_flops(device) / 1e12);
  }
  return 0;
}

}  // namespace
}  // namespace exhume

int main(int count, char** arguments) {
  const auto argument = [&](int i, const char* otherwise) { return count > i ? arguments[i] : otherwise; };
  try {
    return exhume::run(argument(1, "auto"), argument(2, ""), argument(3, "plan"));
  } catch (const std::exception& failure) {
    fmt::print(stderr, "exhume_wide_rates: {}\n", failure.what());
    return 1;
  }
}
