// Do the stated confidences hold? Noisy recoveries of planted networks, and what became of the claims.
//
//   exhume_coverage [runs] [first seed] [--rows N] [--units K] [--noise NAME]
//
// The runs go through n = 300 ... 30,000 rows, k = 1 ... 10 units and five shapes of noise in turn: normal,
// uniform, Laplace, skewed, and of a size that depends on an input. Drawn from the seed: one input to six,
// one output or two, noise of 5 to 50% of the outputs' spread, inputs normal or uniform. Of every run that
// stands: is E|f - fhat|^2, measured on fresh inputs, within the stated bound (confidence 0.999)? Of every
// run that states intervals: which share of them holds the truth (0.95)? Weights, and slopes and hinges
// apart. Standard errors of shares are taken over runs, since the numbers of one run depend on each other.
//
// Ends with 1 where a share lies outside of 93 to 97% by more than two of its standard errors, in all runs
// or in those of one n, k, noise, or number of rows for every weight; or where bounds fail more often than
// their confidence allows.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "../apps/fast_blas.h"
#include "base/random.h"
#include "data/planted.h"
#include "exhume/recover.h"

namespace exhume {
namespace {

constexpr std::array<Index, 7> kRows = {300, 500, 1000, 2000, 5000, 10000, 30000};
constexpr std::array<Index, 5> kUnits = {1, 2, 3, 5, 10};
constexpr std::array<const char*, 5> kNoises = {"normal", "uniform", "laplace", "skewed", "uneven"};
constexpr double kLow = 0.93, kHigh = 0.97;
constexpr Index kFresh = 20000;

struct Arguments {
  int runs = 2000;
  std::uint64_t first = 1;
  Index rows = 0, units = 0;  // 0: all
  std::string noise;
};

struct Shape {
  Index n = 0, k = 0, d = 0, m = 0;
  std::string noise;
  double level = 0;
  bool uniform_inputs = false;
};

Shape shape_of(int run, std::uint64_t seed, const Arguments& arguments) {
  const Stream draw(seed, "coverage");
  const auto r = static_cast<size_t>(run);
  Shape s;
  s.n = arguments.rows > 0 ? arguments.rows : kRows[r % kRows.size()];
  s.k = arguments.units > 0 ? arguments.units : kUnits[r / kRows.size() % kUnits.size()];
  s.noise = arguments.noise.empty() ? kNoises[r / (kRows.size() * kUnits.size()) % kNoises.size()]
                                    : arguments.noise;
  // Many units on a line leave pairs that no noisy sample tells apart.
  s.d = std::max<Index>(1 + static_cast<Index>(draw.below(6, 0)), s.k > 5 ? 3 : s.k > 3 ? 2 : 1);
  s.m = 1 + static_cast<Index>(draw.below(2, 1));
  constexpr double kLevels[] = {0.05, 0.1, 0.2, 0.5};
  s.level = kLevels[draw.below(4, 2)];
  s.uniform_inputs = draw.below(2, 3) == 1;
  return s;
}

// Noise of mean 0 and variance 1.
RowMatrix noise_of(const std::string& name, const RowMatrix& x, Index m, std::uint64_t seed) {
  RowMatrix e(x.rows(), m);
  if (name == "uniform") {
    Stream(seed, "noise").fill_uniform(0, e);
    return ((e.array() - 0.5) * std::sqrt(12.0)).matrix();
  }
  Stream(seed, "noise").fill_normal(0, e);
  RowMatrix u(x.rows(), 2 * m);
  Stream(seed, "size of the noise").fill_uniform(0, u);
  for (Index o = 0; o < m; ++o) {
    auto column = e.col(o).array();
    if (name == "laplace") column *= (-u.col(o).array().log()).sqrt();
    // Chi-squared with four degrees of freedom: skewness 1.4, kurtosis 6.
    if (name == "skewed")
      column = (-2 * (u.col(o).array() * u.col(m + o).array()).log() - 4) / std::sqrt(8.0);
    if (name == "uneven") column *= (1 + 0.3 * (2 * x.col(0).array()).tanh()) / 1.03;
  }
  return e;
}

// A share over runs whose numbers depend on each other, and its standard error.
struct Share {
  double inside = 0, all = 0, aa = 0, ia = 0, ii = 0;
  void add(double in, double count) {
    inside += in;
    all += count;
    aa += count * count;
    ia += in * count;
    ii += in * in;
  }
  [[nodiscard]] double value() const { return inside / std::max(all, 1.0); }
  [[nodiscard]] double error() const {
    const double p = value();
    return std::sqrt(std::max(0.0, ii - 2 * p * ia + p * p * aa)) / std::max(all, 1.0);
  }
  [[nodiscard]] bool outside() const {
    return all > 0 && (value() + 2 * error() < kLow || value() - 2 * error() > kHigh);
  }
  [[nodiscard]] std::string words() const {
    return all > 0 ? fmt::format("{:.2f}% +- {:.2f} of {:.0f}", 100 * value(), 100 * error(), all) : "-";
  }
};

struct Cell {
  int runs = 0, stand = 0, right = 0, bounded = 0, stated = 0;
  Share weights, effects;
};

struct Counted {
  double weights = 0, of_weights = 0, effects = 0, of_effects = 0;
};

// What the truth has for an effect of the fit; unit i of the fit is match[i] of the truth.
double true_effect(const Effect& e, const Network& found, const Network& truth,
                   const std::vector<Index>& match, const Vector& mean, const Matrix& covariance) {
  if (e.kind == "constant") return truth.c()(e.output);
  if (e.kind == "slope") return 0;
  const Index i = match[static_cast<size_t>(e.unit)];
  const auto w = truth.W().row(i);
  if (e.kind == "bend") return truth.A()(e.output, i) * w(e.input);
  if (e.kind == "size") return truth.A()(e.output, i) * std::sqrt((w * covariance * w.transpose()).value());
  if (e.kind == "offset") return truth.A()(e.output, i) * truth.b()(i);
  if (e.kind == "hinge") return mean(e.input) - (w.dot(mean) + truth.b()(i)) / w(e.input);
  // Slopes of the truth at the point of the fitted hinge.
  const Vector v = found.W().row(e.unit).transpose(), along = covariance * v;
  const Vector point = mean - (v.dot(mean) + found.b()(e.unit)) / v.dot(along) * along;
  double slope = e.kind == "after" ? truth.A()(e.output, i) * w(e.input) : 0;
  for (Index l = 0; l < truth.hidden(); ++l) {
    if (l != i && truth.W().row(l).dot(point) + truth.b()(l) > 0)
      slope += truth.A()(e.output, l) * truth.W()(l, e.input);
  }
  return slope;
}

Counted count_covered(const Result& result, const Network& truth, const Vector& mean,
                      const Matrix& covariance) {
  Counted out;
  const Network &found = result.network, &errors = result.errors.standard_errors;
  const std::vector<Index> match = align(found, truth).match[0];
  const auto count = [&](double difference, double error) {
    if (!(error > 0)) return;  // the weight of the only input is 1 or -1
    out.weights += std::abs(difference) <= result.errors.reach * error ? 1 : 0;
    ++out.of_weights;
  };
  for (Index i = 0; i < found.hidden(); ++i) {
    const Index j = match[static_cast<size_t>(i)];
    for (Index a = 0; a < found.inputs() && found.inputs() > 1; ++a)
      count(found.W()(i, a) - truth.W()(j, a), errors.W()(i, a));
    count(found.b()(i) - truth.b()(j), errors.b()(i));
    for (Index o = 0; o < found.outputs(); ++o) count(found.A()(o, i) - truth.A()(o, j), errors.A()(o, i));
  }
  for (Index o = 0; o < found.outputs(); ++o) count(found.c()(o) - truth.c()(o), errors.c()(o));
  for (const Effect& e : result.errors.effects) {
    const double value = true_effect(e, found, truth, match, mean, covariance);
    out.effects += value >= e.lower && value <= e.upper ? 1 : 0;
    ++out.of_effects;
  }
  return out;
}

RowMatrix inputs_of(const Shape& shape, Index n, std::uint64_t seed, const char* purpose) {
  RowMatrix x(n, shape.d);
  if (!shape.uniform_inputs) {
    Stream(seed, purpose).fill_normal(0, x);
    return x;
  }
  Stream(seed, purpose).fill_uniform(0, x);
  return ((x.array() - 0.5) * std::sqrt(12.0)).matrix();
}

class Coverage {
 public:
  void run(const Shape& s, std::uint64_t seed) {
    const Network truth = canonical(plant(
        {.inputs = s.d, .hidden = s.k, .outputs = s.m, .amplitudes = Amplitudes::kSigns, .seed = seed}));
    const RowMatrix x = inputs_of(s, s.n, seed, "x"), fresh = inputs_of(s, kFresh, seed, "fresh");
    RowMatrix y = evaluate(truth, x);
    const Eigen::RowVectorXd sd =
        ((y.rowwise() - y.colwise().mean()).colwise().squaredNorm() / static_cast<double>(s.n)).cwiseSqrt();
    y += noise_of(s.noise, x, s.m, seed) * (s.level * sd).asDiagonal();
    RecoverOptions options;
    options.seed = seed;
    options.budget_seconds = 60;
    Control control;
    control.threads = 1;
    const Result result = recover(memory_samples(x, y), options, control);
    const bool stands = result.certificate.status == Status::kEstimated;
    const bool right = stands && result.network.hidden() == s.k;
    if (!stands) ++reasons_[result.certificate.reason.substr(0, 70)];
    if (stands && !result.errors.no_intervals.empty()) ++reasons_[result.errors.no_intervals.substr(0, 70)];
    const double error = stands ? (evaluate(result.network, fresh) - evaluate(truth, fresh)).squaredNorm() /
                                      static_cast<double>(kFresh)
                                : 0;
    const bool stated = stands && result.errors.max_standard_error > 0;
    Counted counted;
    if (stated && right) {
      // Hinges and sizes are stated at the means and deviations of the rows that were fitted.
      const SamplePtr training =
          load(*split(memory_samples(x, y), result.certificate.held_out_period, seed).training);
      SampleBlock rows;
      training->read(0, training->rows(), rows);
      const Vector mean = rows.x().colwise().mean().transpose();
      const RowMatrix centred = rows.x().rowwise() - mean.transpose();
      counted = count_covered(result, truth, mean,
                              centred.transpose() * centred / static_cast<double>(training->rows()));
    }
    const double fitted = static_cast<double>(s.k * (s.d + s.m) + s.m);
    const double per_weight = static_cast<double>(s.n * s.m) / fitted;
    const int bucket = static_cast<int>(std::floor(std::log2(per_weight)));
    for (const std::string& name : {fmt::format("1 n {:6}", s.n), fmt::format("2 k {:2}", s.k),
                                    "3 " + s.noise, fmt::format("4 rows/weight 2^{:02}", bucket),
                                    fmt::format("5 n {:6} k {:2}", s.n, s.k), std::string("6 all")}) {
      Cell& cell = cells_[name];
      ++cell.runs;
      cell.stand += stands;
      cell.right += right;
      cell.bounded += stands && error <= result.errors.functional_error_bound;
      cell.stated += stated;
      if (!stated || !right) continue;
      cell.weights.add(counted.weights, counted.of_weights);
      cell.effects.add(counted.effects, counted.of_effects);
    }
  }

  [[nodiscard]] int report() const {
    fmt::print("{:22} {:>5} {:>6} {:>6} {:>7} {:>7}  {:28} {}\n", "", "runs", "stand", "right", "bounded",
               "stated", "weights covered", "slopes and hinges covered");
    bool good = true;
    for (const auto& [name, c] : cells_) {
      const bool bad = c.weights.outside() || c.effects.outside();
      fmt::print("{:22} {:5} {:6} {:6} {:7} {:7}  {:28} {} {}\n", name, c.runs, c.stand, c.right, c.bounded,
                 c.stated, c.weights.words(), c.effects.words(), bad ? "OUTSIDE" : "");
      good = good && (!bad || name[0] == '5');
      // More broken bounds than one in a thousand gives but once in a thousand trials (Poisson, roughly).
      if (name[0] == '6')
        good = good && c.stand - c.bounded <= 1 + 0.001 * c.stand + 4 * std::sqrt(0.001 * c.stand);
    }
    for (const auto& [why, count] : reasons_) fmt::print("{:5}  {}\n", count, why);
    return good ? 0 : 1;
  }

 private:
  std::map<std::string, Cell> cells_;
  std::map<std::string, int> reasons_;
};

Arguments parse(const std::vector<std::string>& words) {
  Arguments out;
  int numbers = 0;
  for (size_t i = 0; i < words.size(); ++i) {
    const bool has_value = i + 1 < words.size();
    if (words[i] == "--rows" && has_value) {
      out.rows = std::stol(words[++i]);
    } else if (words[i] == "--units" && has_value) {
      out.units = std::stol(words[++i]);
    } else if (words[i] == "--noise" && has_value) {
      out.noise = words[++i];
    } else if (numbers++ == 0) {
      out.runs = std::stoi(words[i]);
    } else {
      out.first = std::stoull(words[i]);
    }
  }
  return out;
}

int coverage(const Arguments& arguments) {
  Coverage all;
  for (int r = 0; r < arguments.runs; ++r) {
    const std::uint64_t seed = arguments.first + static_cast<std::uint64_t>(r);
    all.run(shape_of(r, seed, arguments), seed);
  }
  return all.report();
}

}  // namespace
}  // namespace exhume

int main(int argc, char** argv) {
  exhume::restart_with_fast_blas(argv);
  return exhume::coverage(exhume::parse({argv + 1, argv + argc}));
}
