// Paper depth2: how far its algorithms get, and what the default route does on the same samples.
//
//   depth2_error      worst parameter error against n; d = 5, k = 3: Algorithm 6 as printed, Algorithm 6 on
//                     residualised moments with ALS, the default route
//   depth2_success    share of exact networks against n; (d, k) = (10, 10) and (5, 8), one output: the
//                     default route, depth2-jennrich, the sign-free polish and plain ReLU
//                     Levenberg-Marquardt from random starts, and scikit-learn where
//                     DATA/sklearn_success.csv (python -m race success-table) gives it
//   depth2_smoothed   smallest singular value of W^(.)1 and W^(.)2, and share of successes, against tau:
//                     six units, four of which lie in a plane until they are perturbed
//
// Networks have unit rows, |b| <= 0.8 and |a| in [0.5, 1.5] with random signs. Exact: relative error below
// 1e-10 on fresh rows. The short form has fewer networks and sizes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "base/random.h"
#include "data/planted.h"
#include "data/smoothed.h"
#include "exhume/recover.h"
#include "experiment.h"
#include "fit/polish.h"
#include "io/csv.h"
#include "moments/hermite_tensors.h"
#include "papers/depth2/depth2_jennrich.h"
#include "report/svg.h"

namespace exhume::experiments {
namespace {

constexpr double kBias = 0.8;
constexpr double kExact = 1e-10;  // relative error on fresh rows
constexpr Index kFreshRows = 2000;
constexpr Index kPolishRows = 5000;  // random starts are polished on at most so many rows
constexpr int kRestarts = 5;
constexpr double kLeastDrawn = 1e-17;  // errors below are drawn here

std::uint64_t instance_seed(const Bench& bench, int instance) {
  return 1000 * (bench.options.seed + 1) + static_cast<std::uint64_t>(instance);
}

Network teacher(Index d, Index k, std::uint64_t seed) {
  return plant({.inputs = d,
                .hidden = k,
                .outputs = 1,
                .bias = kBias,
                .amplitudes = Amplitudes::kSigns,
                .seed = seed});
}

double worst_error(const Network& found, const Network& truth) {
  const Alignment alignment = align(found, truth);
  return alignment.comparable ? alignment.worst_error : std::numeric_limits<double>::infinity();
}

// Least-squares slope of log y against log x.
double slope(const std::vector<double>& x, const std::vector<double>& y) {
  double mx = 0, my = 0, xx = 0, xy = 0;
  const auto n = static_cast<double>(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    mx += std::log(x[i]) / n;
    my += std::log(y[i]) / n;
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (std::log(x[i]) - mx) * (std::log(x[i]) - mx);
    xy += (std::log(x[i]) - mx) * (std::log(y[i]) - my);
  }
  return xy / xx;
}

// Curves of one picture with the numbers behind them.
struct Curves {
  std::string file, title, x_label, y_label;
  bool log_y = false;
  std::vector<svg::Series> series{};

  svg::Series& add(const std::string& name) {
    series.emplace_back();
    series.back().name = name;
    series.back().points = true;
    return series.back();
  }
  void draw(Bench& bench) const {
    svg::Chart chart;
    chart.title = title;
    chart.x.label = x_label;
    chart.x.log = true;
    chart.y.label = y_label;
    chart.y.log = log_y;
    if (!log_y) {
      chart.y.low = 0;
      chart.y.high = 1;
    }
    std::string csv = fmt::format("method,{},{}\n", x_label, y_label);
    for (const svg::Series& one : series) {
      svg::Series drawn = one;
      drawn.x.clear();
      drawn.y.clear();
      for (std::size_t i = 0; i < one.x.size(); ++i) {
        csv += fmt::format("{},{:g},{:.6e}\n", one.name, one.x[i], one.y[i]);
        if (!std::isfinite(one.y[i])) continue;
        drawn.x.push_back(one.x[i]);
        drawn.y.push_back(log_y ? std::max(one.y[i], kLeastDrawn) : one.y[i]);
      }
      chart.series.push_back(std::move(drawn));
    }
    bench.write(file + ".svg", svg::standalone(svg::draw(chart)));
    bench.write(file + ".csv", csv);
  }
};

FullRankResult algorithm6(const SamplePtr& samples, Index k, bool practical, const Control& control) {
  Depth2JennrichOptions options;
  options.hidden = k;
  options.jennrich.als = practical;
  return full_rank_network(estimate_hermite_tensors(samples, {.residualise = practical}, control), options);
}

void errors_against_samples(Bench& bench) {
  const Index d = 5, k = 3;
  const int instances = bench.options.quick ? 11 : 31;
  const std::vector<Index> sizes{10000, 30000, 100000, 300000, 1000000};
  Curves curves{"depth2_error", "Worst parameter error, d = 5, k = 3", "samples",
                "median of the worst parameter error", true};
  const char* names[] = {"Algorithm 6 as printed", "Algorithm 6, residualised, ALS"};
  for (const bool practical : {false, true}) {
    svg::Series& series = curves.add(names[practical]);
    std::vector<double> x, y;
    for (const Index n : sizes) {
      std::vector<double> errors;
      int claimed = 0;
      for (int i = 0; i < instances; ++i) {
        const std::uint64_t seed = instance_seed(bench, i);
        const Network network = teacher(d, k, seed);
        const FullRankResult found = algorithm6(planted_samples(network, {.samples = n, .seed = seed}), k,
                                                practical, bench.options.control);
        errors.push_back(worst_error(found.network, network));
        claimed += found.outcome == FullRankOutcome::kRecovered;
      }
      series.x.push_back(static_cast<double>(n));
      series.y.push_back(median(errors));
      bench.find(fmt::format("{}, n = {}: claimed of {}", names[practical], n, instances), claimed);
      if (std::isfinite(series.y.back())) {
        x.push_back(series.x.back());
        y.push_back(series.y.back());
      }
    }
    const double found = x.size() >= 3 ? slope(x, y) : 0;
    // As printed, small n are not yet in the range of the law: the error stays near one, then catches up.
    bench.find(fmt::format("{}: slope of log error against log n", names[practical]), found,
               practical ? "-0.5 +- 0.15" : "", !practical || std::abs(found + 0.5) <= 0.15);
  }
  svg::Series& series = curves.add("default route");
  for (const Index n : {1000, 10000, 100000}) {
    std::vector<double> errors;
    for (int i = 0; i < std::min(instances, 9); ++i) {
      const std::uint64_t seed = instance_seed(bench, i);
      const Network network = teacher(d, k, seed);
      RecoverOptions options;
      options.seed = seed;
      options.budget_seconds = 30;
      errors.push_back(worst_error(
          recover(planted_samples(network, {.samples = n, .seed = seed}), options, bench.options.control)
              .network,
          network));
    }
    series.x.push_back(static_cast<double>(n));
    series.y.push_back(median(errors));
  }
  curves.draw(bench);
}

double fresh_error(const std::function<RowMatrix(const RowMatrix&)>& f, const Network& truth,
                   std::uint64_t seed) {
  RowMatrix x(kFreshRows, truth.inputs());
  Stream(seed, "fresh rows").fill_normal(0, x);
  const RowMatrix y = evaluate(truth, x);
  return (f(x) - y).squaredNorm() / (y.array() - y.mean()).square().sum();
}

// Best of `starts` polishes from random units.
double random_starts(const SamplePtr& samples, const Network& truth, Activation activation, int starts,
                     std::uint64_t seed, const Control& control) {
  const Index d = truth.inputs(), k = truth.hidden();
  const SamplePtr rows = spread_subset(*samples, kPolishRows);
  Polished best;
  best.relative_mse = std::numeric_limits<double>::infinity();
  for (int s = 0; s < starts; ++s) {
    RowMatrix V(k, d + 1);
    Stream(seed, "random starts").fill_normal(static_cast<std::uint64_t>(s * k), V);
    V.leftCols(d).rowwise().normalize();
    V.col(d) *= kBias / 2;
    Form start = one_layer(V);
    start.plain = activation == Activation::kRelu;
    PolishOptions options;
    options.max_iterations = 100;
    Polished found = polish(start, *rows, options, control);
    if (found.relative_mse < best.relative_mse) best = std::move(found);
    if (best.relative_mse < kExact * kExact) break;
  }
  return fresh_error([&](const RowMatrix& x) { return evaluate(best.form, x); }, truth, seed);
}

double by_recover(const char* route, const SamplePtr& samples, const Network& truth, std::uint64_t seed,
                  const Control& control) {
  RecoverOptions options;
  options.route = route;
  options.seed = seed;
  options.budget_seconds = 30;
  const Network found = recover(samples, options, control).network;
  return fresh_error([&](const RowMatrix& x) { return evaluate(found, x); }, truth, seed);
}

// Rows of sklearn_success.csv: d, k, n, instances, exact with lbfgs, exact with adam.
void add_sklearn(Bench& bench, Index d, Index k, Curves& curves) {
  const std::filesystem::path path = bench.options.data / "sklearn_success.csv";
  if (!std::filesystem::exists(path)) return;
  const RowMatrix table = read_all(*open_csv(path, bench.options.control));
  const char* names[] = {"scikit-learn lbfgs", "scikit-learn adam"};
  for (const Index which : {0, 1}) {
    svg::Series& series = curves.add(names[which]);
    for (Index r = 0; r < table.rows(); ++r) {
      if (table(r, 0) != static_cast<double>(d) || table(r, 1) != static_cast<double>(k)) continue;
      series.x.push_back(table(r, 2));
      series.y.push_back(table(r, 4 + which) / table(r, 3));
    }
  }
}

void success_against_samples(Bench& bench, Index d, Index k) {
  const int instances = bench.options.quick ? 3 : 20;
  const std::vector<Index> sizes = bench.options.quick
                                       ? std::vector<Index>{500, 2000, 20000}
                                       : std::vector<Index>{300, 500, 1000, 2000, 5000, 20000};
  struct Method {
    const char* name;
    std::function<double(const SamplePtr&, const Network&, std::uint64_t)> run;
  };
  const Control& control = bench.options.control;
  const auto starts = [&](Activation activation, int count) {
    return [&control, activation, count](const SamplePtr& s, const Network& t, std::uint64_t seed) {
      return random_starts(s, t, activation, count, seed, control);
    };
  };
  const auto route = [&](const char* name) {
    return [&control, name](const SamplePtr& s, const Network& t, std::uint64_t seed) {
      return by_recover(name, s, t, seed, control);
    };
  };
  const Method methods[] = {
      {"default route", route("auto")},
      {"depth2-jennrich", route("depth2-jennrich")},
      {"sign-free polish, best of 5 starts", starts(Activation::kAbsolute, kRestarts)},
      {"sign-free polish, one start", starts(Activation::kAbsolute, 1)},
      {"ReLU Levenberg-Marquardt, best of 5 starts", starts(Activation::kRelu, kRestarts)},
      {"ReLU Levenberg-Marquardt, one start", starts(Activation::kRelu, 1)},
  };
  Curves curves{fmt::format("depth2_success_{}_{}", d, k),
                fmt::format("Exact networks, d = {}, k = {}", d, k), "samples", "share of exact networks"};
  for (const Method& method : methods) {
    svg::Series& series = curves.add(method.name);
    for (const Index n : sizes) {
      int exact = 0;
      for (int i = 0; i < instances; ++i) {
        const std::uint64_t seed = instance_seed(bench, i);
        const Network network = teacher(d, k, seed);
        exact += method.run(planted_samples(network, {.samples = n, .seed = seed}), network, seed) < kExact;
        bench.options.control.check();
      }
      series.x.push_back(static_cast<double>(n));
      series.y.push_back(static_cast<double>(exact) / instances);
      const bool promised = std::string(method.name) == "default route" && n >= 2000;
      bench.find(fmt::format("d = {}, k = {}, n = {}: {}: exact of {}", d, k, n, method.name, instances),
                 exact, promised ? "all" : "", !promised || exact == instances);
    }
  }
  add_sklearn(bench, d, k, curves);
  curves.draw(bench);
}

// Six units in R^6, the first four in the plane of the first two coordinates.
Network degenerate(std::uint64_t seed) {
  Network network = teacher(6, 6, seed);
  network.W().topRightCorner(4, 4).setZero();
  network.W().rowwise().normalize();
  return network;
}

// The network's Hermite tensors with a random error of `relative` times their own size.
HermiteTensors with_errors(const Network& network, double relative, std::uint64_t seed) {
  HermiteTensors tensors = population_hermite_tensors(network, 4);
  for (std::size_t p = 0; p < tensors.estimate.size(); ++p) {
    Matrix& entries = tensors.estimate[p].entries;
    const double size =
        relative * entries.norm() / std::sqrt(static_cast<double>(std::max<Index>(entries.size(), 1)));
    const auto draw = [&](const char* purpose) {
      return Matrix(size * Stream(seed + 31 * p, purpose).normal_matrix(entries.rows(), entries.cols()));
    };
    entries += draw("tensor errors");
    tensors.noise[p].entries = draw("tensor noise");
  }
  return tensors;
}

void smoothed(Bench& bench) {
  const int instances = bench.options.quick ? 5 : 30;
  constexpr double kBad = 1e-3;  // relative error of the tensors
  constexpr double kGood = 0.1;  // worst parameter error of Algorithm 6 on those that counts as a success
  const std::vector<double> taus{0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1};
  Curves singular{"depth2_smoothed_singular", "Smallest singular value of the powers of W", "tau",
                  "median of the smallest singular value", true};
  Curves success{"depth2_smoothed_success", "Successes on a perturbed degenerate network", "tau",
                 "share of successes"};
  std::vector<std::vector<double>> least(2), rates(3);
  for (const double tau : taus) {
    std::vector<double> values[2];
    int good[3] = {0, 0, 0};
    for (int i = 0; i < instances; ++i) {
      const std::uint64_t seed = instance_seed(bench, i);
      const Network network = perturbed(degenerate(seed), tau, seed);
      for (int l = 1; l <= 2; ++l) values[l - 1].push_back(khatri_rao_singular_values(network.W(), l)(5));
      good[0] +=
          worst_error(full_rank_network(population_hermite_tensors(network, 4)).network, network) < 1e-6;
      Depth2JennrichOptions six;
      six.hidden = 6;
      good[1] +=
          worst_error(full_rank_network(with_errors(network, kBad, seed), six).network, network) < kGood;
      const SamplePtr few = planted_samples(network, {.samples = 5000, .seed = seed});
      good[2] += by_recover("auto", few, network, seed, bench.options.control) < kExact;
    }
    for (std::size_t l = 0; l < 2; ++l) least[l].push_back(median(values[l]));
    for (std::size_t s = 0; s < 3; ++s) rates[s].push_back(static_cast<double>(good[s]) / instances);
  }
  for (std::size_t l = 0; l < 2; ++l) {
    svg::Series& series = singular.add(fmt::format("power {}", l + 1));
    series.x = taus;
    series.y = least[l];
    const std::vector<double> x(taus.begin(), taus.begin() + 5), y(least[l].begin(), least[l].begin() + 5);
    bench.find(fmt::format("smallest singular value of power {} at tau = 0.1", l + 1), least[l][4]);
    // Corollary 3.3 allows (tau/d)^O(l): two of the four directions leave the plane, at first or second
    // order.
    const double found = slope(x, y);
    bench.find(fmt::format("slope of log s_k of power {} against log tau", l + 1), found, "0.8 to 4.2",
               found > 0.8 && found < 4.2);
  }
  const std::string names[] = {"Algorithm 6, exact tensors",
                               fmt::format("Algorithm 6, tensors off by {:g}", kBad),
                               "default route, 5,000 samples"};
  for (std::size_t s = 0; s < 3; ++s) {
    svg::Series& series = success.add(names[s]);
    series.x = taus;
    series.y = rates[s];
    bench.find(names[s] + ": successes at tau = 0.01", rates[s][2]);
    bench.find(names[s] + ": successes at tau = 1", rates[s].back());
  }
  singular.draw(bench);
  success.draw(bench);
}

}  // namespace

Report depth2(const Options& options) {
  Bench bench(options);
  errors_against_samples(bench);
  success_against_samples(bench, 10, 10);
  success_against_samples(bench, 5, 8);
  smoothed(bench);
  return bench.finish("depth2_findings.json");
}

}  // namespace exhume::experiments
