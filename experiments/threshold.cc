// Paper threshold: what its theorems promise, measured. The paper has no experiments of its own.
//
//   errors against t        ReLU, orthonormal, d = k = 10, linear terms and all products; step 1 alone and
//                           with step 2
//   errors against n        the same at t = 2
//   errors against angles   random directions with a least angle, t = 2
//   starts                  the tensor road beside the paper's two objectives
//   halfspaces              intersection of 10 at distance 2.5, pairwise angles of 60 degrees or more, with
//                           and without 1% of the labels turned around
//   deep                    12-8-8-1, first thresholds 2, sigmoids above
//   detectors               P without linear terms: scores of true directions and of directions 0.3 away
//   theorems 8, 9, 10       groups and directions from structure alone
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "exhume/io/atomic_file.h"
#include "exhume/network.h"
#include "exhume/random.h"
#include "exhume/svg.h"
#include "exhume/threshold/detectors.h"
#include "exhume/threshold/halfspaces.h"
#include "exhume/threshold/models.h"
#include "exhume/threshold/structure.h"
#include "exhume/threshold/unit_fit.h"
#include "experiment.h"

namespace exhume::experiments {
namespace {

constexpr double kMissing = std::numbers::pi;  // angle of a unit that was not found

struct Bench {
  const Options& options;
  OutputFolder folder;
  Report report;
  Index samples;  // of the figures
  int seeds;

  explicit Bench(const Options& o)
      : options(o), folder(o.out), samples(o.quick ? 200000 : 1000000), seeds(o.quick ? 2 : 10) {}

  void find(std::string name, double value, std::string should = "", bool holds = true) {
    report.findings.push_back({std::move(name), value, std::move(should), holds});
  }
  void count(std::string name, int good, int of, int least) {
    find(std::move(name), good, fmt::format("at least {} of {}", least, of), good >= least);
  }
  void write(const std::string& name, const std::string& bytes) {
    folder.add(name, bytes);
    report.files.push_back(name);
  }
  [[nodiscard]] std::uint64_t seed(int i) const { return options.seed + static_cast<std::uint64_t>(i) + 1; }
  // Nine in ten, as the promises are made.
  [[nodiscard]] int most() const { return seeds - seeds / 10; }
};

double angle(const Vector& a, const Vector& b) { return 2 * std::atan2((a - b).norm(), (a + b).norm()); }

struct Errors {
  double angle = 0, threshold = 0;
};

Errors errors(const Matrix& W, const Vector& t, const ThresholdModel& truth) {
  const Index k = std::max(W.rows(), truth.W.rows());
  Matrix cost = Matrix::Constant(k, k, kMissing);
  for (Index i = 0; i < truth.W.rows(); ++i) {
    for (Index j = 0; j < W.rows(); ++j) cost(i, j) = angle(truth.W.row(i), W.row(j));
  }
  const std::vector<Index> match = optimal_assignment(cost);
  Errors out;
  for (Index i = 0; i < truth.W.rows(); ++i) {
    const Index j = match[static_cast<std::size_t>(i)];
    out.angle = std::max(out.angle, cost(i, j));
    if (j < t.size()) out.threshold = std::max(out.threshold, std::abs(t(j) - truth.t(i)));
  }
  return out;
}

struct Line {
  double x = 0, start = 0, refined = 0;
  int certified = 0;
};

// Medians over the seeds of the worst angle, before and after step 2.
Line measure(Bench& bench, double x, const ThresholdPlan& base, Index samples, int seeds) {
  std::vector<double> first, second;
  Line line{x};
  for (int s = 0; s < seeds; ++s) {
    ThresholdPlan plan = base;
    plan.seed = bench.seed(s);
    const ThresholdModel model = plant(plan);
    const LowestLayerResult found =
        lowest_layer(threshold_samples(model, {.samples = samples, .seed = plan.seed}),
                     {.hidden = plan.hidden, .seed = plan.seed}, bench.options.control);
    first.push_back(errors(found.start, Vector(), model).angle);
    second.push_back(errors(found.W, found.t, model).angle);
    line.certified += found.status == Status::kCertified;
  }
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  line.start = first[first.size() / 2];
  line.refined = second[second.size() / 2];
  return line;
}

void figure(Bench& bench, const std::string& file, const std::string& title, const std::string& axis,
            bool log, const std::vector<Line>& lines) {
  std::string csv = "x,step1,step2,certified\n";
  svg::Series start{.name = "step 1", .points = true}, refined{.name = "with step 2", .points = true};
  for (const Line& line : lines) {
    csv += fmt::format("{},{},{},{}\n", line.x, line.start, line.refined, line.certified);
    start.x.push_back(line.x);
    start.y.push_back(line.start);
    refined.x.push_back(line.x);
    refined.y.push_back(std::max(line.refined, 1e-17));
  }
  svg::Chart chart;
  chart.title = title;
  chart.x = {.label = axis, .log = log};
  chart.y = {.label = "worst angle (radians), median", .log = true};
  chart.series = {start, refined};
  bench.write(file + ".csv", csv);
  bench.write(file + ".svg", svg::standalone(svg::draw(chart)));
}

void sweeps(Bench& bench) {
  const int seeds = bench.options.quick ? 1 : 3;
  const Index n = bench.options.quick ? 200000 : 300000;
  std::vector<Line> lines;
  for (const double t : {0.5, 1.0, 1.5, 2.0, 2.5}) {
    ThresholdPlan plan;
    plan.threshold = t;
    lines.push_back(measure(bench, t, plan, n, seeds));
  }
  figure(bench, "error_against_threshold", "Worst angle against the threshold", "threshold t", false, lines);
  lines.clear();
  for (const Index rows : {Index{30000}, Index{100000}, Index{300000}, bench.samples}) {
    lines.push_back(measure(bench, static_cast<double>(rows), ThresholdPlan{}, rows, seeds));
  }
  figure(bench, "error_against_samples", "Worst angle against the number of samples", "samples n", true,
         lines);
  lines.clear();
  for (const double degrees : {20.0, 40.0, 60.0, 75.0}) {
    ThresholdPlan plan;
    plan.least_angle = degrees * std::numbers::pi / 180;
    lines.push_back(measure(bench, degrees, plan, n, seeds));
  }
  figure(bench, "error_against_angle", "Worst angle against the least angle between directions",
         "least angle (degrees)", false, lines);
}

void starts(Bench& bench) {
  for (const StartMethod method :
       {StartMethod::kTensor, StartMethod::kOneByOne, StartMethod::kSimultaneous}) {
    std::vector<double> worst;
    for (int s = 0; s < std::min(bench.seeds, 3); ++s) {
      ThresholdPlan plan;
      plan.seed = bench.seed(s);
      const ThresholdModel model = plant(plan);
      const LowestLayerResult found = lowest_layer(
          threshold_samples(model, {.samples = bench.samples, .seed = plan.seed}),
          {.hidden = 10, .start = method, .refine = false, .seed = plan.seed}, bench.options.control);
      worst.push_back(errors(found.start, Vector(), model).angle);
    }
    std::sort(worst.begin(), worst.end());
    bench.find(fmt::format("step 1 by {}: median worst angle", to_string(method)), worst[worst.size() / 2]);
  }
}

void relu(Bench& bench) {
  int start = 0, refined = 0;
  for (int s = 0; s < bench.seeds; ++s) {
    ThresholdPlan plan;
    plan.seed = bench.seed(s);
    const ThresholdModel model = plant(plan);
    const LowestLayerResult found =
        lowest_layer(threshold_samples(model, {.samples = bench.samples, .seed = plan.seed}),
                     {.hidden = 10, .seed = plan.seed}, bench.options.control);
    start += errors(found.start, Vector(), model).angle <= 0.1;
    refined += errors(found.W, found.t, model).angle <= 0.02;
  }
  bench.count("ReLU t = 2: step 1 within 0.1", start, bench.seeds, bench.most());
  bench.count("ReLU t = 2: refined within 0.02", refined, bench.seeds, bench.most());
}

void polytopes(Bench& bench) {
  for (const double flips : {0.0, 0.01}) {
    const double angle_most = flips > 0 ? 0.05 : 0.02, agree_least = flips > 0 ? 0.99 : 0.999;
    int good = 0;
    for (int s = 0; s < bench.seeds; ++s) {
      const ThresholdModel model = plant(ThresholdPlan{.activation = UnitActivation::kSign,
                                                       .threshold = 2.5,
                                                       .least_angle = std::numbers::pi / 3,
                                                       .upper = UpperKind::kIntersection,
                                                       .seed = bench.seed(s)});
      const HalfspacesResult found = halfspaces(
          threshold_samples(model, {.samples = bench.samples, .flips = flips, .seed = bench.seed(s)}),
          {.hidden = 10, .seed = bench.seed(s)}, bench.options.control);
      const Errors e = errors(found.layer.W, found.layer.t, model);
      SampleBlock fresh;
      threshold_samples(model, {.samples = 100000, .seed = bench.seed(s) + 7919})->read(0, 100000, fresh);
      const Vector labels = halfspace_labels(found, fresh.x());
      const double agreement = (labels.array() == fresh.y().col(0).array()).cast<double>().mean();
      good += e.angle <= angle_most && e.threshold <= angle_most && agreement >= agree_least;
    }
    bench.count(fmt::format("intersection of 10 halfspaces, {}% of labels turned", 100 * flips), good,
                bench.seeds, bench.most());
  }
}

void deep(Bench& bench) {
  int good = 0;
  for (int s = 0; s < bench.seeds; ++s) {
    const ThresholdModel model = plant(ThresholdPlan{
        .inputs = 12, .hidden = 8, .least_angle = 0.5, .upper = UpperKind::kDeep, .seed = bench.seed(s)});
    const LowestLayerResult found =
        lowest_layer(threshold_samples(model, {.samples = bench.samples, .seed = bench.seed(s)}),
                     {.hidden = 8, .seed = bench.seed(s)}, bench.options.control);
    good += errors(found.W, found.t, model).angle <= 0.05;
  }
  bench.count("deep network 12-8-8-1: first layer within 0.05", good, bench.seeds, bench.most());
}

void detectors(Bench& bench) {
  int good = 0;
  svg::Series on{.name = "true direction", .line = false, .points = true};
  svg::Series off{.name = "0.3 away", .line = false, .points = true};
  for (int s = 0; s < bench.seeds; ++s) {
    const std::uint64_t seed = bench.seed(s);
    const ThresholdModel model = plant(ThresholdPlan{
        .activation = UnitActivation::kSign, .threshold = 1.5, .upper = UpperKind::kPairs, .seed = seed});
    const Matrix away = Stream(seed, "directions away").normal_matrix(9, 10);
    Matrix D(10, 20);
    for (Index i = 0; i < 10; ++i) {
      const Vector w = model.W.row(i);
      D.col(i) = w;
      D.col(10 + i) = std::cos(0.3) * w + std::sin(0.3) * (complement(w) * away.col(i).normalized());
    }
    const Detection seen = detect(*threshold_samples(model, {.samples = bench.samples, .seed = seed}),
                                  Detector::kStep, D, Vector::Constant(20, 1.5), 0.1, bench.options.control);
    const Vector score = seen.score();
    for (Index i = 0; i < 10; ++i) {
      good += score(i) > 6 && score(10 + i) < 6;
      on.x.push_back(s * 10.0 + static_cast<double>(i));
      on.y.push_back(score(i));
      off.x.push_back(s * 10.0 + static_cast<double>(i));
      off.y.push_back(score(10 + i));
    }
  }
  bench.count("detector: true from 0.3 away", good, 10 * bench.seeds, 10 * bench.seeds);
  svg::Chart chart;
  chart.title = "Scores of the detector";
  chart.x.label = "test";
  chart.y.label = "value over standard error";
  chart.series = {on, off};
  chart.rules = {{.at = 6, .label = "threshold"}};
  bench.write("detector_scores.svg", svg::standalone(svg::draw(chart)));
}

// exp(rho (x summed over a group - t)), coordinates dealt out at random.
struct Grouped {
  ThresholdModel model;
  std::vector<std::vector<Index>> groups;
};
Grouped grouped(Index count, Index size, double rho, double t, double products, std::uint64_t seed) {
  Grouped out;
  const Index d = count * size;
  const Vector place = Stream(seed, "deal").uniform_vector(d, 0, 1);
  std::vector<Index> order(static_cast<std::size_t>(d));
  for (Index i = 0; i < d; ++i) order[static_cast<std::size_t>(i)] = i;
  std::sort(order.begin(), order.end(), [&](Index a, Index b) { return place(a) < place(b); });
  out.model.W = Matrix::Zero(count, d);
  out.model.t = Vector::Constant(count, rho * t);
  out.model.activation = UnitActivation::kExponential;
  PolynomialTop top;
  for (Index g = 0; g < count; ++g) {
    std::vector<Index> group(order.begin() + g * size, order.begin() + (g + 1) * size);
    for (const Index i : group) out.model.W(g, i) = rho;
    std::sort(group.begin(), group.end());
    out.groups.push_back(group);
    top.terms.push_back({1, {{g, 1}}});
    for (Index h = 0; h < g; ++h) top.terms.push_back({products, {{g, 1}, {h, 1}}});
  }
  std::sort(out.groups.begin(), out.groups.end());
  out.model.upper = top;
  return out;
}

void structure(Bench& bench) {
  int eight = 0, nine = 0;
  for (int s = 0; s < bench.seeds; ++s) {
    const Grouped first = grouped(6, 10, 0.4, 6, 0.1, bench.seed(s));
    eight += correlation_groups(threshold_samples(first.model, {.samples = 100000, .seed = bench.seed(s)}),
                                bench.options.control)
                 .groups == first.groups;
    const Grouped second = grouped(3, 4, 1, 0, 0.02, bench.seed(s));
    nine +=
        exponential_groups(load(*threshold_samples(second.model, {.samples = 500000, .seed = bench.seed(s)})),
                           {}, bench.options.control)
            .groups == second.groups;
  }
  bench.count("Theorem 8: 60 coordinates in 6 groups", eight, bench.seeds, bench.seeds);
  bench.count("Theorem 9: 12 coordinates in 3 groups", nine, bench.seeds, bench.most());
  for (const UnitActivation u : {UnitActivation::kSquare, UnitActivation::kAbsolute}) {
    int good = 0;
    for (int s = 0; s < bench.seeds; ++s) {
      const std::uint64_t seed = bench.seed(s);
      ThresholdModel model;
      model.W = orthonormal_directions(8, 8, seed);
      model.t = Vector::Zero(8);
      model.activation = u;
      PolynomialTop top;
      const Vector linear = Stream(seed, "linear").uniform_vector(8, 0.5, 1.5);
      const Vector products = Stream(seed, "products").uniform_vector(64, 0.5, 1.5);
      for (Index i = 0; i < 8; ++i) {
        top.terms.push_back({linear(i), {{i, 1}}});
        for (Index j = 0; j < i; ++j) {
          top.terms.push_back(
              {(u == UnitActivation::kSquare ? 1 : 0.02) * products(8 * i + j), {{i, 1}, {j, 1}}});
        }
      }
      model.upper = top;
      const EvenDirections found = even_directions(
          load(*threshold_samples(model, {.samples = 200000, .seed = seed})), 8, seed, bench.options.control);
      double worst = 0;
      for (Index i = 0; i < 8; ++i) {
        double best = kMissing;
        for (Index j = 0; j < found.directions.cols(); ++j) {
          const Vector w = model.W.row(i), v = found.directions.col(j);
          best = std::min({best, angle(w, v), angle(w, -v)});
        }
        worst = std::max(worst, best);
      }
      good += worst <= 0.02;
    }
    bench.count(fmt::format("Theorem 10 with u = {}: within 0.02", to_string(u)), good, bench.seeds,
                bench.most());
  }
}

}  // namespace

Report threshold(const Options& options) {
  Bench bench(options);
  relu(bench);
  polytopes(bench);
  deep(bench);
  detectors(bench);
  structure(bench);
  starts(bench);
  sweeps(bench);
  nlohmann::ordered_json findings = nlohmann::ordered_json::array();
  for (const Finding& f : bench.report.findings) {
    findings.push_back({{"name", f.name}, {"value", f.value}, {"should_be", f.should}, {"holds", f.holds}});
  }
  bench.write("findings.json", findings.dump(2) + "\n");
  bench.folder.commit();
  return bench.report;
}

}  // namespace exhume::experiments
