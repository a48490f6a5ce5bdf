// The battery: many kinds of data, half of them recoverable, and what recover says of each.
//
//   exhume_battery [seeds a kind] [first seed] [--only WORD] [--markdown FILE]
//
// For every kind: how often it was certified, how often the certificate was true, and the most frequent
// reason otherwise. A certificate is false if the data are not those of a two-layer ReLU network, or if the
// recovered weights are off: by more than 1e-7 without noise, by more than eight standard errors with it.
#include <fmt/format.h>

#include <Eigen/Dense>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "../apps/fast_blas.h"
#include "exhume/base/error.h"
#include "exhume/base/random.h"
#include "exhume/io/npz.h"
#include "exhume/recover.h"

namespace exhume {
namespace {

struct Instance {
  RowMatrix x, y;
  Network teacher;  // empty where there is none
  bool noisy = false;
  std::optional<Index> hidden{};  // the number of units, where it is told
};

using Maker = std::function<Instance(std::uint64_t seed)>;

struct Kind {
  const char* name;
  bool recoverable;
  Maker make;
};

Network teacher(Index d, Index k, Index m, double bias, std::uint64_t seed) {
  Network network;
  network.W = Stream(seed, "W").normal_matrix(k, d);
  network.W.rowwise().normalize();
  network.b = Stream(seed, "b").uniform_vector(k, -bias, bias);
  network.A.resize(m, k);
  for (Index i = 0; i < network.A.size(); ++i) {
    const auto [size, sign] = Stream(seed, "A").uniforms(static_cast<std::uint64_t>(i), 0);
    network.A.data()[i] = (sign < 0.5 ? -1 : 1) * (0.5 + size);
  }
  network.c = Stream(seed, "c").normal_matrix(m, 1).col(0);
  return network;
}

RowMatrix gaussian(Index n, Index d, std::uint64_t seed) {
  RowMatrix x(n, d);
  Stream(seed, "x").fill_normal(0, x);
  return x;
}

// Biases measured where the inputs are: at their mean, in units of the spread of w.x.
void centre_biases(Network& network, const RowMatrix& x) {
  const Eigen::RowVectorXd mean = x.colwise().mean();
  const Matrix projected = (x.rowwise() - mean) * network.W.transpose();
  for (Index i = 0; i < network.hidden(); ++i) {
    const double spread = std::sqrt(projected.col(i).squaredNorm() / static_cast<double>(x.rows()));
    network.b(i) = network.b(i) * spread - network.W.row(i).dot(mean);
  }
}

Instance sampled(Network network, RowMatrix x, double noise = 0, std::uint64_t seed = 0) {
  Instance out;
  centre_biases(network, x);
  out.y = evaluate(network, x);
  out.x = std::move(x);
  if (noise > 0) {
    RowMatrix e(out.y.rows(), out.y.cols());
    Stream(seed, "noise").fill_normal(0, e);
    for (Index o = 0; o < out.y.cols(); ++o) {
      const double sd = std::sqrt((out.y.col(o).array() - out.y.col(o).mean()).square().mean());
      out.y.col(o) += noise * sd * e.col(o);
    }
    out.noisy = true;
  }
  out.teacher = std::move(network);
  return out;
}

Instance without_teacher(RowMatrix x, RowMatrix y) {
  Instance out;
  out.x = std::move(x);
  out.y = std::move(y);
  return out;
}

double standard_uniform(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

RowMatrix mapped(const RowMatrix& x, double (*map)(double)) { return x.unaryExpr(map); }

RowMatrix rotated(const RowMatrix& x, double condition, double mean, std::uint64_t seed) {
  const Index d = x.cols();
  const Matrix Q = Eigen::HouseholderQR<Matrix>(Stream(seed, "axes").normal_matrix(d, d)).householderQ();
  Vector scale(d);
  for (Index a = 0; a < d; ++a)
    scale(a) = std::pow(condition, 0.5 * static_cast<double>(a) / static_cast<double>(d - 1));
  return ((x * (Q * scale.asDiagonal())).array() + mean).matrix();
}

RowMatrix half_binary(RowMatrix x) {
  for (Index a = 0; a < x.cols() / 2; ++a)
    x.col(a) = x.col(a).unaryExpr([](double v) { return v > 0 ? 1.0 : 0.0; });
  return x;
}

// Rows of the handwritten digits, in eight random mixtures of their pixels.
RowMatrix digit_rows(Index n, std::uint64_t seed) {
  const SamplePtr digits = read_samples_npz(std::string(EXHUME_DATA) + "/digits.npz");
  const SamplePtr all = load(*digits);
  SampleBlock block;
  all->read(0, all->rows(), block);
  const Matrix mix = Stream(1, "regions").normal_matrix(64, 8);
  const Matrix rows = block.x() * mix / 16;
  RowMatrix out(std::min<Index>(n, rows.rows()), 8);
  for (Index i = 0; i < out.rows(); ++i)
    out.row(i) = rows.row((i * 7 + static_cast<Index>(seed)) % rows.rows());
  return out;
}

template <class Function>
RowMatrix outputs(const RowMatrix& x, const Function& f) {
  RowMatrix y(x.rows(), 1);
  for (Index i = 0; i < x.rows(); ++i) y(i, 0) = f(Vector(x.row(i).transpose()));
  return y;
}

// Samples of five units of which one is never active; `teacher` holds the other four.
Instance with_dead_unit(std::uint64_t seed) {
  return sampled(teacher(6, 4, 1, 0.5, seed), gaussian(4000, 6, seed));
}

// Samples of five units of which two are equal; `teacher` holds them as one.
Instance with_equal_units(std::uint64_t seed) {
  Network network = teacher(6, 4, 1, 0.5, seed);
  network.A.col(0) *= 2;
  return sampled(network, gaussian(4000, 6, seed));
}

std::vector<Kind> kinds() {
  std::vector<Kind> list;
  const auto yes = [&](const char* name, Maker make) { list.push_back({name, true, std::move(make)}); };
  const auto no = [&](const char* name, Maker make) { list.push_back({name, false, std::move(make)}); };

  yes("Gaussian, many outputs",
      [](auto s) { return sampled(teacher(12, 12, 12, 0.5, s), gaussian(3000, 12, s)); });
  yes("Gaussian, one output",
      [](auto s) { return sampled(teacher(10, 10, 1, 0.8, s), gaussian(8000, 10, s)); });
  yes("more units than inputs",
      [](auto s) { return sampled(teacher(5, 9, 1, 0.8, s), gaussian(8000, 5, s)); });
  yes("few samples", [](auto s) { return sampled(teacher(8, 8, 1, 0.8, s), gaussian(500, 8, s)); });
  yes("noise 10%, many outputs",
      [](auto s) { return sampled(teacher(8, 6, 6, 0.5, s), gaussian(8000, 8, s), 0.1, s); });
  yes("noise 10%, one output",
      [](auto s) { return sampled(teacher(8, 5, 1, 0.5, s), gaussian(20000, 8, s), 0.1, s); });
  yes("rotated and rescaled inputs",
      [](auto s) { return sampled(teacher(8, 8, 2, 0.8, s), rotated(gaussian(5000, 8, s), 100, 2, s)); });
  yes("columns 10^6 apart", [](auto s) {
    RowMatrix x = gaussian(5000, 6, s);
    Network network = teacher(6, 6, 2, 0.8, s);
    for (Index a = 0; a < 6; ++a) {
      const double scale = std::pow(10.0, 1.2 * static_cast<double>(a) - 3);
      x.col(a) *= scale;
      network.W.col(a) /= scale;
    }
    network.W.rowwise().normalize();
    return sampled(network, x);
  });
  yes("symmetric mixture", [](auto s) {
    RowMatrix x = gaussian(4000, 8, s);
    for (Index i = 0; i < x.rows(); ++i) x.row(i).array() += i % 2 == 0 ? 1.5 : -1.5;
    return sampled(teacher(8, 8, 3, 0.8, s), x);
  });
  yes("exponential inputs", [](auto s) {
    return sampled(teacher(8, 8, 1, 0.8, s),
                   mapped(gaussian(4000, 8, s), [](double z) { return -std::log(standard_uniform(z)); }));
  });
  yes("uniform on [0, 1]", [](auto s) {
    return sampled(teacher(8, 8, 1, 0.8, s), mapped(gaussian(4000, 8, s), standard_uniform));
  });
  yes("half of the columns binary",
      [](auto s) { return sampled(teacher(8, 6, 1, 0.8, s), half_binary(gaussian(4000, 8, s))); });
  yes("rows of a real data set",
      [](auto s) { return sampled(teacher(8, 5, 1, 0.6, s), digit_rows(1797, s)); });

  no("tanh teacher", [](auto s) {
    const Network t = teacher(6, 4, 1, 0.5, s);
    RowMatrix x = gaussian(4000, 6, s);
    RowMatrix y =
        outputs(x, [&](const Vector& v) { return t.A.row(0).dot((t.W * v + t.b).array().tanh().matrix()); });
    return without_teacher(std::move(x), std::move(y));
  });
  no("sine teacher", [](auto s) {
    const Network t = teacher(5, 1, 1, 0.5, s);
    RowMatrix x = gaussian(4000, 5, s);
    RowMatrix y = outputs(x, [&](const Vector& v) { return std::sin(3 * t.W.row(0).dot(v)); });
    return without_teacher(std::move(x), std::move(y));
  });
  no("three-layer teacher", [](auto s) {
    const Network first = teacher(6, 6, 6, 0.5, s), second = teacher(6, 4, 1, 0.5, s + 1000000);
    RowMatrix x = gaussian(4000, 6, s);
    const RowMatrix hidden = evaluate(first, x).cwiseMax(0.0);
    return without_teacher(std::move(x), evaluate(second, hidden));
  });
  no("40 units, 300 samples",
     [](auto s) { return sampled(teacher(10, 40, 1, 0.5, s), gaussian(300, 10, s)); });
  no("shuffled labels", [](auto s) {
    Instance out = sampled(teacher(6, 5, 1, 0.5, s), gaussian(4000, 6, s));
    for (Index i = out.y.rows() - 1; i > 0; --i) {
      const auto j = static_cast<Index>(
          Stream(s, "shuffle").below(static_cast<std::uint64_t>(i + 1), static_cast<std::uint64_t>(i)));
      std::swap(out.y(i, 0), out.y(j, 0));
    }
    return without_teacher(out.x, out.y);
  });
  no("always-active unit", [](auto s) {
    Network t = teacher(6, 5, 1, 0.5, s);
    t.b(2) = 9;
    return without_teacher(gaussian(4000, 6, s), evaluate(t, gaussian(4000, 6, s)));
  });
  no("opposite units", [](auto s) {
    Network t = teacher(6, 5, 1, 0.5, s);
    t.W.row(1) = -t.W.row(0);
    t.b(1) = -t.b(0);
    return without_teacher(gaussian(4000, 6, s), evaluate(t, gaussian(4000, 6, s)));
  });
  // The function has a network of fewer units: without a number given, that one is the answer.
  yes("a unit that never fires: the others", [](auto s) { return with_dead_unit(s); });
  no("a unit that never fires, number given", [](auto s) {
    Instance out = with_dead_unit(s);
    out.hidden = out.teacher.hidden() + 1;
    return out;
  });
  yes("two equal units: as one", [](auto s) { return with_equal_units(s); });
  no("two equal units, number given", [](auto s) {
    Instance out = with_equal_units(s);
    out.hidden = out.teacher.hidden() + 1;
    return out;
  });
  no("1% gross outliers", [](auto s) {
    Instance out = sampled(teacher(6, 5, 1, 0.5, s), gaussian(4000, 6, s));
    for (Index i = static_cast<Index>(s % 100); i < 4000; i += 100)
      out.y(i, 0) += 50 * Stream(s, "outlier").normals(static_cast<std::uint64_t>(i), 0).first;
    return without_teacher(out.x, out.y);
  });
  no("inputs on a line", [](auto s) {
    RowMatrix x = gaussian(2000, 1, s) * Matrix(Stream(s, "line").normal_matrix(1, 4));
    RowMatrix y = evaluate(teacher(4, 3, 1, 0.5, s), x);
    return without_teacher(std::move(x), std::move(y));
  });
  no("integer-rounded outputs", [](auto s) {
    Instance out = sampled(teacher(6, 5, 1, 0.5, s), gaussian(4000, 6, s));
    return without_teacher(out.x, (out.y * 3).array().round().matrix());
  });
  no("a quadratic term", [](auto s) {
    const Network t = teacher(6, 4, 1, 0.5, s);
    RowMatrix x = gaussian(4000, 6, s);
    RowMatrix y = evaluate(t, x);
    const Vector w = Stream(s, "quadratic").normal_matrix(6, 1).col(0).normalized();
    y += 0.5 * (x * w).cwiseAbs2();
    return without_teacher(std::move(x), std::move(y));
  });
  no("rows repeated twenty times", [](auto s) {
    const RowMatrix few = gaussian(150, 8, s);
    const RowMatrix labels = Stream(s, "labels").normal_matrix(150, 1);
    RowMatrix x(3000, 8), y(3000, 1);
    for (Index i = 0; i < 3000; ++i) x.row(i) = few.row(i % 150), y.row(i) = labels.row(i % 150);
    return without_teacher(std::move(x), std::move(y));
  });
  return list;
}

bool is_true(const RecoverResult& result, const Instance& instance) {
  if (instance.teacher.hidden() == 0) return false;
  const Alignment alignment = align(result.network, instance.teacher);
  if (!alignment.comparable) return false;
  if (!instance.noisy) {
    const Network truth = canonical(instance.teacher);
    return alignment.worst_error <=
           1e-7 * std::max({1.0, truth.b.cwiseAbs().maxCoeff(), truth.A.cwiseAbs().maxCoeff()});
  }
  return alignment.worst_error <= 8 * result.max_standard_error;
}

struct Tally {
  int certified = 0, wrong = 0, total = 0;
  double seconds = 0;
  std::map<std::string, int> reasons;
};

Tally run(const Kind& kind, int seeds, std::uint64_t first) {
  Tally tally;
  Control control;
  control.threads = 0;
  for (int i = 0; i < seeds; ++i) {
    const std::uint64_t seed = first + static_cast<std::uint64_t>(i);
    const Instance instance = kind.make(seed);
    RecoverOptions options;
    options.seed = seed;
    options.hidden = instance.hidden;
    options.budget_seconds = 5;
    ++tally.total;
    const auto start = std::chrono::steady_clock::now();
    try {
      const RecoverResult result = recover(memory_samples(instance.x, instance.y), options, control);
      if (result.status == Status::kCertified) {
        ++tally.certified;
        if (!is_true(result, instance)) {
          ++tally.wrong;
          fmt::print(stderr, "FALSE CERTIFICATE: {} seed {}: {}\n", kind.name, seed, result.reason);
        }
      } else {
        ++tally.reasons[result.reason];
        if (kind.recoverable) {
          fmt::print(stderr, "not certified: {} seed {}: {}\n", kind.name, seed, result.reason);
          for (const Attempt& attempt : result.tried)
            fmt::print(stderr, "  {}: {}\n", attempt.route, attempt.outcome);
        }
      }
    } catch (const DataError& error) {
      ++tally.reasons[std::string("refused: ") + error.what()];
    }
    tally.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  return tally;
}

// The most frequent reason, the first in alphabetical order among equals.
std::string usual_reason(const Tally& tally) {
  std::string best;
  int most = 0;
  for (const auto& [reason, count] : tally.reasons) {
    if (count > most) {
      most = count;
      best = reason;
    }
  }
  return best;
}

int battery(int seeds, std::uint64_t first, const std::string& only, const std::string& markdown) {
  std::string table =
      "| kind | recoverable | certified | false | seconds each | usual reason otherwise |\n| --- | --- | --- "
      "| --- | --- | --- |\n";
  int wrong = 0, certified = 0, recoverable = 0;
  for (const Kind& kind : kinds()) {
    if (std::string(kind.name).find(only) == std::string::npos) continue;
    const Tally tally = run(kind, seeds, first);
    wrong += tally.wrong;
    if (kind.recoverable) certified += tally.certified, recoverable += tally.total;
    const std::string row = fmt::format("| {} | {} | {}/{} | {} | {:.2f} | {} |\n", kind.name,
                                        kind.recoverable ? "yes" : "no", tally.certified, tally.total,
                                        tally.wrong, tally.seconds / tally.total, usual_reason(tally));
    fmt::print("{}", row);
    std::fflush(stdout);
    table += row;
  }
  const std::string sum = fmt::format("\nFalse certificates: {}. Recoverable ones certified: {} of {}.\n",
                                      wrong, certified, recoverable);
  fmt::print("{}", sum);
  if (!markdown.empty()) std::ofstream(markdown) << table << sum;
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace exhume

int main(int argc, char** argv) {
  exhume::restart_with_fast_blas(argv);
  int seeds = 10;
  std::uint64_t first = 1;
  std::string markdown, only;
  std::vector<std::string> words(argv + 1, argv + argc);
  std::vector<std::string> numbers;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--markdown" && i + 1 < words.size()) {
      markdown = words[++i];
    } else if (words[i] == "--only" && i + 1 < words.size()) {
      only = words[++i];
    } else {
      numbers.push_back(words[i]);
    }
  }
  if (!numbers.empty()) seeds = std::stoi(numbers[0]);
  if (numbers.size() > 1) first = std::stoull(numbers[1]);
  return exhume::battery(seeds, first, only, markdown);
}
