// Paper memorize, section 5 and appendix A: synthetic rows, then handwritten digits in place of MNIST.
//
//   Figure 2       N = 300 rows, d = 100, r = 300; entries uniform, rows of unit norm
//   Figures 3, 4   digits: two layers with noise 0.01 on every input, three layers on 20 principal
//                  components with noise 0.05; true labels (3), random labels (4)
//   Figure 6       digits as they are, two layers: rows not in general position
//   A.2            test error: trained on half of the digits, tested on the other half
//
// Every figure shows perturbed gradient descent (practical steps) and Adam with the paper's schedule, and the
// closed form as a level. Adam's rate decays every 7,035 steps, as 15 epochs of MNIST are.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>

#include <fmt/format.h>
#include <Eigen/Eigenvalues>

#include "base/random.h"
#include "exhume/memorize.h"
#include "exhume/papers/memorize.h"
#include "exhume/samples.h"
#include "experiment.h"
#include "io/open.h"
#include "report/svg.h"

namespace exhume::experiments {
namespace {

constexpr int kPaperDecaySteps = 15 * 469;  // 15 epochs of 60,000 rows in batches of 128
constexpr std::size_t kCurvePoints = 400;

struct Curve {
  std::string name;
  std::vector<double> iteration, error;
};

struct Figure {
  std::string file, title;
  std::vector<Curve> curves;
  double closed_form = 0;
};

// Relative training error along a descent, thinned evenly in the logarithm of the iteration.
Curve curve(std::string name, const Descent& descent, double reference) {
  Curve out{std::move(name), {}, {}};
  const auto& history = descent.history;
  if (history.empty()) return out;
  const double last = std::log1p(static_cast<double>(history.back().iteration));
  double next = 0;
  for (std::size_t i = 0; i < history.size(); ++i) {
    const double place = std::log1p(static_cast<double>(history[i].iteration));
    if (place < next && i + 1 < history.size()) continue;
    next = place + last / static_cast<double>(kCurvePoints);
    out.iteration.push_back(std::max(1.0, static_cast<double>(history[i].iteration)));
    out.error.push_back(history[i].f / reference);
  }
  return out;
}

double reference_loss(const Vector& y) {
  return (y.array() - y.mean()).square().sum() / (4 * static_cast<double>(y.size()));
}

void draw(Bench& bench, const Figure& figure) {
  svg::Chart chart;
  chart.title = figure.title;
  chart.x.label = "iteration";
  chart.x.log = true;
  chart.y.label = "relative training error";
  chart.y.log = true;
  double furthest = 1, lowest = 1, highest = 1;
  std::string csv = "method,iteration,relative_error\n";
  for (const Curve& c : figure.curves) {
    svg::Series series;
    series.name = c.name;
    series.x = c.iteration;
    series.y = c.error;
    chart.series.push_back(series);
    for (std::size_t i = 0; i < c.iteration.size(); ++i)
      csv += fmt::format("{},{:.0f},{:.6e}\n", c.name, c.iteration[i], c.error[i]);
    if (c.iteration.empty()) continue;
    furthest = std::max(furthest, c.iteration.back());
    lowest = std::min(lowest, *std::min_element(c.error.begin(), c.error.end()));
    highest = std::max(highest, *std::max_element(c.error.begin(), c.error.end()));
  }
  chart.x.low = 1;
  chart.x.high = furthest;
  // The frame holds the curves. A closed form far below them is a note at its foot.
  chart.y.high = std::pow(10, std::ceil(std::log10(highest)));
  chart.y.low = std::pow(10, std::floor(std::log10(lowest)) - 1);
  const bool inside = figure.closed_form >= *chart.y.low;
  chart.rules.push_back(
      {inside ? figure.closed_form : *chart.y.low,
       fmt::format("closed form: {:.0e}{}", figure.closed_form, inside ? "" : ", below the frame"), false});
  csv += fmt::format("closed form,1,{:.6e}\n", figure.closed_form);
  bench.write(figure.file + ".svg", svg::standalone(svg::draw(chart)));
  bench.write(figure.file + ".csv", csv);
}

DescentOptions pgd(const Options& options, int iterations) {
  DescentOptions out;
  out.seed = options.seed;
  out.max_iterations = options.quick ? std::max(50, iterations / 20) : iterations;
  out.target = 1e-20;
  return out;
}

DescentOptions adam(const Options& options, Index rows, int iterations) {
  DescentOptions out = pgd(options, iterations);
  out.rule = DescentOptions::Rule::kAdam;
  const int steps_an_epoch = static_cast<int>((rows + out.batch - 1) / out.batch);
  out.decay_epochs = std::max(1, kPaperDecaySteps / steps_an_epoch);
  return out;
}

// One panel: closed form, PGD and Adam on the same rows. Returns the closed form.
MemorizeResult panel(Bench& bench, const std::string& file, const std::string& title, const RowMatrix& x,
                     const RowMatrix& y, const MemorizeOptions& options, Index units, int pgd_steps,
                     int adam_steps) {
  MemorizeResult closed = exhume::memorize(x, y, options, bench.options.control);
  const RowMatrix z = first_layer(closed.network, closed.inputs);
  const Vector labels = y.col(0);
  const double reference = reference_loss(labels);
  Figure figure{file, title, {}, closed.relative_error};
  const Descent by_pgd = descend(z, labels, units, pgd(bench.options, pgd_steps), bench.options.control);
  figure.curves.push_back(curve("perturbed gradient descent", by_pgd, reference));
  const Descent by_adam =
      descend(z, labels, units, adam(bench.options, x.rows(), adam_steps), bench.options.control);
  figure.curves.push_back(curve("Adam", by_adam, reference));
  draw(bench, figure);
  bench.find(title + ": closed form, relative error", closed.relative_error);
  bench.find(title + ": closed form, labels right", closed.accuracy);
  bench.find(title + ": closed form, seconds", closed.seconds);
  bench.find(title + ": sigma", closed.closed_form.sigma_min);
  bench.find(title + ": condition number of the kernel", closed.closed_form.condition);
  bench.find(title + ": PGD, relative error", by_pgd.f / reference);
  bench.find(title + ": PGD, iterations", by_pgd.iterations);
  bench.find(title + ": PGD, seconds", by_pgd.seconds);
  bench.find(title + ": Adam, relative error", by_adam.f / reference);
  bench.find(title + ": Adam, seconds", by_adam.seconds);
  return closed;
}

void synthetic(Bench& bench) {
  const Index n = 300, d = 100;
  RowMatrix x(n, d), y(n, 1);
  Stream(bench.options.seed, "synthetic inputs").fill_uniform(0, x);
  Stream(bench.options.seed, "synthetic labels").fill_uniform(0, y);
  x = unit_rows(2 * x.array() - 1);
  y = 2 * y.array() - 1;
  MemorizeResult closed =
      panel(bench, "memorize_synthetic", "Synthetic, N = 300, d = 100, r = 300", x, y, {}, 300, 2000, 20000);
  bench.find_at_most("Synthetic: closed form, relative error", closed.relative_error, 1e-20);
  bench.find_at_most("Synthetic: closed form, units", static_cast<double>(closed.network.hidden()), 100);

  const Vector labels = y.col(0);
  DescentOptions options = pgd(bench.options, 20000);
  options.target = 1e-10;
  const Descent narrow = descend(x, labels, 202, options, bench.options.control);
  bench.find_at_most("Synthetic: PGD with r = 202 from zero, relative error",
                     narrow.f / reference_loss(labels), 1e-10);
  bench.find("Synthetic: PGD with r = 202 from zero, iterations", narrow.iterations);
  bench.find("Synthetic: PGD with r = 202 from zero, seconds", narrow.seconds);
  const QuadraticObjective objective(x, labels, 202, 0, bench.options.control);
  const SecondOrder second =
      certify_stationarity(objective, objective.at(narrow.W), closed.closed_form.sigma_min);
  bench.find("Synthetic: PGD, smallest eigenvalue of the Hessian", second.lambda_min);
  bench.find_at_most("Synthetic: PGD, f over Lemma 1's bound", second.f / second.lemma1_bound, 1);

  DescentOptions printed = pgd(bench.options, 2000);
  printed.rule = DescentOptions::Rule::kPrinted;
  printed.sigma = closed.closed_form.sigma_min;
  const Descent cautious = descend(x, labels, 202, printed, bench.options.control);
  double worst_rise = 0;
  for (std::size_t i = 1; i < cautious.history.size(); ++i)
    worst_rise = std::max(worst_rise, cautious.history[i].g - cautious.history[i - 1].g);
  bench.find("Synthetic: printed constants (eps 1e-3), step", cautious.constants.step);
  bench.find("Synthetic: printed constants, iterations of one perturbation phase", cautious.constants.wait);
  bench.find("Synthetic: printed constants, largest rise of g in 2,000 iterations", worst_rise);
}

RowMatrix random_labels(Index n, std::uint64_t seed) {
  RowMatrix y(n, 1);
  const Stream stream(seed, "random labels");
  for (Index i = 0; i < n; ++i)
    y(i, 0) = static_cast<double>(stream.below(10, static_cast<std::uint64_t>(i)));
  return y;
}

RowMatrix principal_components(const RowMatrix& x, Index count) {
  const RowMatrix centred = x.rowwise() - x.colwise().mean();
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(centred.transpose() * centred);
  return centred * eigen.eigenvectors().rightCols(count);
}

struct Digits {
  RowMatrix x, y;  // rows of unit norm; the digits 0 to 9

  explicit Digits(const std::filesystem::path& folder) {
    const SamplePtr samples = load(*open_samples(folder / "digits.npz"));
    SampleBlock block;
    samples->read(0, samples->rows(), block);
    x = unit_rows(block.x());
    y = block.y();
  }
  [[nodiscard]] Index units() const { return 4 * x.cols(); }  // the paper takes r = 3,000 for d = 784
};

MemorizeOptions two_layers(const Bench& bench, double perturb) {
  MemorizeOptions options;
  options.layers = 2;
  options.seed = bench.options.seed;
  options.perturb = perturb;
  return options;
}

// Figures 3 and 4: one kind of labels, two and three layers.
void digit_labels(Bench& bench, const Digits& digits, const RowMatrix& labels, const char* word) {
  const MemorizeOptions two = two_layers(bench, 0.01);
  const MemorizeResult flat = panel(bench, fmt::format("memorize_digits_two_layers_{}", word),
                                    fmt::format("Digits, two layers, {} labels", word), digits.x, labels, two,
                                    digits.units(), 6000, 4 * kPaperDecaySteps);
  bench.find_at_most(fmt::format("Digits, two layers, {} labels: relative error", word), flat.relative_error,
                     1e-16);
  bench.find(fmt::format("Digits, two layers, {} labels: right after rounding", word), flat.accuracy, "1",
             flat.accuracy == 1);
  bench.find_at_most(fmt::format("Digits, two layers, {} labels: parameters / n", word),
                     static_cast<double>(flat.network.parameters()) / static_cast<double>(digits.x.rows()),
                     2.4);

  MemorizeOptions three = two;
  three.layers = 3;
  three.power = 2;
  three.perturb = 0.05;
  const RowMatrix few = principal_components(digits.x, 20);
  const MemorizeResult deep = panel(bench, fmt::format("memorize_digits_three_layers_{}", word),
                                    fmt::format("Digits, three layers, {} labels", word), few, labels, three,
                                    4 * 86, 6000, 4 * kPaperDecaySteps);
  bench.find(fmt::format("Digits, three layers, {} labels: right after rounding", word), deep.accuracy, "1",
             deep.accuracy == 1);
  bench.find(fmt::format("Digits, three layers, {} labels: k", word),
             static_cast<double>(deep.network.features()));
}

// Figure 6: rows that are not in general position.
void digits_as_they_are(Bench& bench, const Digits& digits) {
  const MemorizeResult stuck =
      panel(bench, "memorize_digits_unperturbed", "Digits as they are, two layers, true labels", digits.x,
            digits.y, two_layers(bench, 0), digits.units(), 6000, 4 * kPaperDecaySteps);
  bench.find("Digits as they are: independent columns of 1,797", static_cast<double>(stuck.closed_form.rank));
}

// Appendix A.2: even rows train, odd rows test.
void test_error(Bench& bench, const Digits& digits) {
  const Index n = digits.x.rows(), d = digits.x.cols(), half = (n + 1) / 2;
  RowMatrix train(half, d), train_y(half, 1), test(n - half, d), test_y(n - half, 1);
  for (Index i = 0; i < n; ++i) {
    (i % 2 == 0 ? train : test).row(i / 2) = digits.x.row(i);
    (i % 2 == 0 ? train_y : test_y)(i / 2, 0) = digits.y(i, 0);
  }
  bench.find("Test error: mean squared error of the training mean",
             (test_y.array() - train_y.mean()).square().mean());
  const auto fit_and_test = [&](const std::string& name, const MemorizeOptions& options) {
    const MemorizeResult fit = exhume::memorize(train, train_y, options, bench.options.control);
    bench.find(fmt::format("Test error: {}, training relative error", name), fit.relative_error);
    const RowMatrix values = evaluate(fit.network, test);
    bench.find(fmt::format("Test error: {}, mean squared error", name),
               (values - test_y).squaredNorm() / static_cast<double>(n - half));
    bench.find(fmt::format("Test error: {}, right after rounding", name),
               accuracy(LabelKind::kInteger, values, test_y));
  };
  for (const double perturb : {0.0, 0.01})
    fit_and_test(fmt::format("closed form, perturbation {}", perturb), two_layers(bench, perturb));
  for (const bool by_adam : {false, true}) {
    MemorizeOptions options = two_layers(bench, 0);
    options.hidden = digits.units();
    options.method = by_adam ? MemorizeMethod::kAdam : MemorizeMethod::kPgd;
    options.descent = by_adam ? adam(bench.options, half, 4 * kPaperDecaySteps) : pgd(bench.options, 6000);
    fit_and_test(fmt::format("{}, no perturbation", by_adam ? "Adam" : "PGD"), options);
  }
}

}  // namespace

Report memorize(const Options& options) {
  Bench bench(options);
  synthetic(bench);
  const Digits digits(options.data);
  digit_labels(bench, digits, digits.y, "true");
  digit_labels(bench, digits, random_labels(digits.x.rows(), options.seed), "random");
  digits_as_they_are(bench, digits);
  test_error(bench, digits);
  return bench.finish("memorize_findings.json");
}

}  // namespace exhume::experiments
