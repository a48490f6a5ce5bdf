// Paper rectified: every method on planted networks, unit rows and no biases, fresh seeds.
//
// The paper has theorems and no experiments; these are ours. One finding a promise of docs/rectified.md, over
// ten instances (twenty for the signs; three each in the short form), and one figure: the median of the worst
// parameter error against the number of samples, for the methods that are exact without noise, before and
// after the exact finish.
#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/random.h"
#include "exhume/papers/rectified.h"
#include "experiment.h"
#include "fit/fit.h"
#include "papers/rectified/starts.h"
#include "report/svg.h"

namespace exhume::experiments {
namespace {

struct Instance {
  Network truth;
  RowMatrix x, y;
};

struct Shape {
  Index d, k, m, n;
};

Network random_network(const Shape& s, std::uint64_t seed, bool orthonormal) {
  Matrix W = Stream(seed, "weights").normal_matrix(s.k, s.d);
  if (orthonormal) {
    const Eigen::HouseholderQR<Matrix> qr(Matrix(W.transpose()));
    W = (qr.householderQ() * Matrix::Identity(s.d, s.k)).transpose();
  }
  return {W.rowwise().normalized(),
          Vector::Zero(s.k),
          Stream(seed, "top").normal_matrix(s.m, s.k),
          Vector::Zero(s.m),
          {}};
}

Instance instance(const Shape& s, std::uint64_t seed, const Rectifier& f, bool orthonormal = false,
                  bool mixture = false) {
  Instance out;
  out.truth = random_network(s, seed, orthonormal);
  out.x.resize(s.n, s.d);
  Stream(seed, "inputs").fill_normal(0, out.x);
  if (mixture) {
    const Stream side(seed, "side");
    for (Index i = 0; i < s.n; ++i)
      out.x.row(i).array() += side.below(2, static_cast<std::uint64_t>(i)) == 0 ? 1 : -1;
  }
  out.y = evaluate(out.truth, f, out.x);
  return out;
}

double spread(const RowMatrix& y) {
  return std::sqrt((y.rowwise() - y.colwise().mean()).squaredNorm() / static_cast<double>(y.size()));
}

class Study {
 public:
  explicit Study(const Options& options)
      : options_(options), bench_(options), trials_(options.quick ? 3 : 10) {}

  Report run() {
    patterns();
    any_inputs(3, 2, 2, 24);
    any_inputs(4, 3, 3, 16);
    exact("ica: d = 12, k = 8, m = 10, n = 20,000", {12, 8, 10, 20000}, "relu", Start::kIca, 10);
    exact("tensor: d = 15, k = 10, m = 12, n = 10,000", {15, 10, 12, 10000}, "relu", Start::kTensor, 10);
    for (const char* name : {"square", "cube", "exp"}) {
      exact(fmt::format("tensor, {}: the same", name), {15, 10, 12, 10000}, name, Start::kTensor, 9);
    }
    exact("symmetric: +-1 mixture, k = 10, n = 5,000", {10, 10, 10, 5000}, "relu", Start::kSymmetric, 10);
    noise();
    few_outputs();
    arbitrary_noise();
    sparse_noise();
    figure();
    return bench_.finish("findings.json");
  }

 private:
  enum class Start { kIca, kTensor, kSymmetric };

  [[nodiscard]] std::uint64_t seed(int trial) const {
    return options_.seed * 1000003 + static_cast<std::uint64_t>(trial) + 1;
  }

  // `good` of the trials must hold, in proportion where there are fewer.
  void count(const std::string& name, int held, int tried, int good_of_ten) {
    const int needed = static_cast<int>(std::ceil(tried * good_of_ten / 10.0 - 1e-9));
    bench_.count(name, held, tried, needed);
  }
  void at_most(const std::string& name, double value, double limit) {
    bench_.find_at_most(name, value, limit);
  }

  void patterns() {
    const SignPatterns found =
        sign_patterns(Stream(options_.seed, "basis").normal_matrix(3, 16), {}, options_.control);
    const double expected = patterns_in_general_position(3, 16);
    const auto number = static_cast<double>(found.patterns.size());
    bench_.find("sign patterns of a random 3 x 16 basis", number, fmt::format("exactly {:g}", expected),
                number == expected);
  }

  void any_inputs(Index d, Index k, Index m, Index n) {
    int held = 0;
    double slowest = 0;
    for (int t = 0; t < trials_; ++t) {
      Instance it;
      it.truth = random_network({d, k, m, n}, seed(t), false);
      it.x = (3 * Stream(7, "integer points").normal_matrix(n, d)).array().round();
      it.y = evaluate(it.truth, rectified_power(1), it.x);
      const auto begin = Control::Clock::now();
      const AnyInputsFit fit = recover_any_inputs(it.x, it.y, k, {}, options_.control);
      slowest = std::max(slowest, std::chrono::duration<double>(Control::Clock::now() - begin).count());
      held += fit.outcome == AnyInputsOutcome::kExact && fit.relative_mse <= 1e-20 ? 1 : 0;
    }
    count(fmt::format("any inputs: {} integer points in R^{}, k = {}: residual at most 1e-10", n, d, k), held,
          trials_, 10);
    at_most("  slowest, seconds", slowest, 60);
  }

  PatternFinish finish(const Instance& it, const Shape& s, const Rectifier& f, Start start,
                       std::uint64_t from, double* rough) {
    const SamplePtr samples = memory_samples(it.x, it.y);
    Matrix V;
    if (start == Start::kIca) {
      V = ica_start(it.x, it.y, s.k, f, {Contrast::kTanh, from}, options_.control);
    } else if (start == Start::kTensor) {
      V = tensor_start(samples, s.k, from, options_.control);
    } else {
      V = symmetric_units(samples, s.k, from, options_.control);
    }
    if (rough != nullptr) {
      const Matrix cosines = (V.leftCols(s.d).rowwise().normalized() * it.truth.W().transpose()).cwiseAbs();
      *rough = V.rows() == 0 ? 1 : std::sqrt(std::max(0.0, 2 - 2 * cosines.colwise().maxCoeff().minCoeff()));
    }
    return pattern_finish(V, s.k, it.x, it.y, f, {}, options_.control);
  }

  void exact(const std::string& name, const Shape& s, const char* activation, Start start, int good_of_ten) {
    const Rectifier f = parse_rectifier(activation);
    int held = 0;
    double worst = 0;
    for (int t = 0; t < trials_; ++t) {
      const Instance it = instance(s, seed(t), f, start == Start::kIca, start == Start::kSymmetric);
      const double error = align(finish(it, s, f, start, seed(t), nullptr).network, it.truth).worst_error;
      held += error <= 1e-10 ? 1 : 0;
      if (std::isfinite(error)) worst = std::max(worst, error);
    }
    count(name + ": error at most 1e-10", held, trials_, good_of_ten);
    bench_.find("  worst error of those recovered", worst);
  }

  void noise() {
    const Shape s{15, 10, 12, 50000};
    const Rectifier f = rectified_power(1);
    const int trials = options_.quick ? 3 : 20;
    int right = 0;
    double ratio = 0;
    for (int t = 0; t < trials; ++t) {
      Instance it = instance(s, seed(t), f);
      const double sd = 0.3 * spread(it.y);
      it.y += sd * Stream(seed(t), "noise").normal_matrix(s.n, s.m);
      const SamplePtr samples = memory_samples(it.x, it.y);
      const NoisyFit fit =
          fit_noisy(noisy_start(samples, s.k, seed(t), options_.control), samples, f, true, options_.control);
      right += align(fit.network, it.truth).worst_error < 0.3 ? 1 : 0;
      const RowMatrix fresh = Stream(seed(t), "fresh").normal_matrix(20000, s.d);
      const double error =
          (evaluate(fit.network, f, fresh) - evaluate(it.truth, f, fresh)).squaredNorm() / 20000;
      ratio += error /
               (sd * sd * static_cast<double>(free_parameters(s.d, s.k, s.m)) / static_cast<double>(s.n)) /
               trials;
    }
    count("noise of 0.3 sd: d = 15, k = 10, m = 12, n = 50,000: all signs right", right, trials, 10);
    at_most("  function error over the Cramer-Rao prediction, mean", ratio, 1.1);
  }

  void few_outputs() {
    int held = 0;
    for (int t = 0; t < trials_; ++t) {
      const Instance it = instance({5, 4, 2, 200000}, seed(t), rectified_power(1));
      const FewOutputs fit = recover_few_outputs(it.x, it.y, rectified_power(1), {}, options_.control);
      held += align(fit.network, it.truth).worst_error <= 1e-9 ? 1 : 0;
    }
    count("few outputs: d = 5, k = 4, m = 2, n = 200,000: error at most 1e-9", held, trials_, 10);
    const auto time = [&](Index n) {
      const Instance it = instance({5, 4, 2, n}, seed(0), rectified_power(1));
      const auto begin = Control::Clock::now();
      (void)recover_few_outputs(it.x, it.y, rectified_power(1), {}, options_.control);
      return std::chrono::duration<double>(Control::Clock::now() - begin).count();
    };
    const double small = std::min(time(200000), time(200000));
    at_most("  time at n = 2,000,000 over time at 200,000", time(2000000) / small, 15);
  }

  void arbitrary_noise() {
    const Shape s{6, 2, 4, 100000};
    int held = 0;
    double worst = 0;
    for (int t = 0; t < trials_; ++t) {
      Instance it = instance(s, seed(t), rectified_power(1));
      RowMatrix u(s.n, s.m), E(s.n, s.m);
      Stream(seed(t), "chi").fill_uniform(0, u);
      Stream(seed(t), "noise").fill_normal(0, E);
      E = spread(it.y) *
          (E.array() / (-u.array().log()).sqrt()).matrix();  // Student t with 2 degrees of freedom
      it.y += E;
      ArbitraryNoiseOptions options;
      options.hidden = s.k;
      options.seed = seed(t);
      const ArbitraryNoiseFit fit =
          fit_arbitrary_noise(memory_samples(it.x, it.y), options, options_.control);
      const double ratio = fit.residual_norm / E.norm();
      held += ratio <= 1.01 ? 1 : 0;
      worst = std::max(worst, ratio);
    }
    count("arbitrary noise: Student t_2 as large as the signal, k = 2: at most 1.01 times the true residual",
          held, trials_, 9);
    at_most("  worst ratio", worst, 1.02);
  }

  void sparse_noise() {
    const Shape s{8, 4, 60, 5000};
    const Rectifier f = rectified_power(1);
    int held = 0, supports = 0;
    for (int t = 0; t < trials_; ++t) {
      Instance it = instance(s, seed(t), f);
      RowMatrix u(s.n, s.m);
      Stream(seed(t), "hit").fill_uniform(0, u);
      const Matrix size = 100 * Stream(seed(t), "size").normal_matrix(s.n, s.m);
      std::vector<std::pair<Index, Index>> hit;
      for (Index i = 0; i < s.n; ++i) {
        for (Index j = 0; j < s.m; ++j) {
          if (u(i, j) >= 0.05) continue;
          it.y(i, j) += size(i, j);
          hit.emplace_back(i, j);
        }
      }
      CleanOptions cleaning;
      cleaning.pursuit.seed = seed(t);
      const CleanOutputs cleaned = clean_outputs(it.y, cleaning, options_.control);
      supports += cleaned.support == hit ? 1 : 0;
      it.y = cleaned.y;
      held += align(finish(it, s, f, Start::kTensor, seed(t), nullptr).network, it.truth).worst_error <= 1e-8
                  ? 1
                  : 0;
    }
    count("sparse noise: m = 60, k = 4, 5% of the entries hit: error at most 1e-8", held, trials_, 10);
    count("  support returned exactly", supports, trials_, 10);
  }

  void figure() {
    const std::vector<double> sizes = options_.quick
                                          ? std::vector<double>{1000, 4000, 16000}
                                          : std::vector<double>{500, 1000, 2000, 4000, 8000, 16000};
    const int trials = options_.quick ? 3 : 7;
    struct Method {
      const char* name;
      Start start;
    };
    svg::Chart chart;
    chart.title = "Worst parameter error against samples, d = 10, k = 6, m = 8";
    chart.x = {"samples", true};
    chart.y = {"median of the worst error", true};
    std::string csv = "method,samples,start,finish\n";
    for (const Method& method :
         {Method{"ica", Start::kIca}, {"tensor", Start::kTensor}, {"symmetric", Start::kSymmetric}}) {
      svg::Series before{fmt::format("{}: start", method.name)},
          after{fmt::format("{}: exact finish", method.name)};
      before.dashed = true;
      after.points = true;
      for (const double n : sizes) {
        const Shape s{10, 6, 8, static_cast<Index>(n)};
        std::vector<double> rough, exact;
        for (int t = 0; t < trials; ++t) {
          const Instance it = instance(s, seed(t), rectified_power(1), method.start == Start::kIca,
                                       method.start == Start::kSymmetric);
          double error = 1;
          const PatternFinish done = finish(it, s, rectified_power(1), method.start, seed(t), &error);
          rough.push_back(error);
          exact.push_back(std::min(1.0, align(done.network, it.truth).worst_error));
        }
        before.x.push_back(n), before.y.push_back(median(rough));
        after.x.push_back(n), after.y.push_back(median(exact));
        csv += fmt::format("{},{},{},{}\n", method.name, n, before.y.back(), after.y.back());
      }
      chart.series.push_back(std::move(before));
      chart.series.push_back(std::move(after));
    }
    bench_.write("rectified_errors.svg", svg::standalone(svg::draw(chart)));
    bench_.write("rectified_errors.csv", csv);
  }

  const Options& options_;
  Bench bench_;
  int trials_;
};

}  // namespace

Report rectified(const Options& options) { return Study(options).run(); }

}  // namespace exhume::experiments
