#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>

#include "exhume/papers/threshold.h"
#include "papers/threshold/alone.h"
#include "papers/threshold/refine.h"
#include "papers/threshold/step_one.h"
#include "papers/threshold/unit_fit.h"
#include "report/svg.h"
#include "threshold_bench.h"

namespace exhume::experiments::threshold_parts {
namespace {

struct Line {
  double x = 0, start = 0, refined = 0;
  int certified = 0;
};

// Orthonormal rows moved towards their sum until all cosines are `cosine`.
Matrix correlated(const Matrix& W, double cosine) {
  const auto k = static_cast<double>(W.rows());
  const double own = std::sqrt(1 - cosine);
  const double shared = std::sqrt((1 - cosine) / k + cosine) - own / std::sqrt(k);
  const Eigen::RowVectorXd sum = W.colwise().sum() / std::sqrt(k);
  return (own * W).rowwise() + shared * sum;
}

// Medians over the seeds of the worst angle, before and after step 2.
Line measure(Bench& bench, double x, const ThresholdPlan& base, Index samples, int seeds, double cosine = 0) {
  std::vector<double> first, second;
  Line line{x};
  for (int s = 0; s < seeds; ++s) {
    ThresholdPlan plan = base;
    plan.seed = bench.seed(s);
    ThresholdModel model = plant(plan);
    if (cosine > 0) model.W = correlated(model.W, cosine);
    const LowestLayerResult found =
        lowest_layer(threshold_samples(model, {.samples = samples, .seed = plan.seed}),
                     {.hidden = plan.hidden, .seed = plan.seed}, bench.options.control);
    first.push_back(errors(found.layer.start, Vector(), model).angle);
    second.push_back(errors(found.layer.W, found.layer.t, model).angle);
    line.certified += found.certificate.status == Status::kCertified;
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

}  // namespace

void sweeps(Bench& bench) {
  const int seeds = bench.options.quick ? 1 : 5;
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
  for (const double cosine : {0.0, 0.1, 0.2, 0.3, 0.4, 0.5}) {
    lines.push_back(measure(bench, cosine, ThresholdPlan{}, n, seeds, cosine));
  }
  figure(bench, "error_against_correlation", "Worst angle against the correlation of the weights",
         "cosine between any two directions", false, lines);
}

void starts(Bench& bench) {
  std::string csv = "method,look,median_worst_angle\n";
  for (const StartMethod method :
       {StartMethod::kTensor, StartMethod::kOneByOne, StartMethod::kSimultaneous}) {
    for (const bool second_look : {false, true}) {
      if (second_look && method != StartMethod::kTensor) continue;
      std::vector<double> worst;
      for (int s = 0; s < std::min(bench.seeds, 5); ++s) {
        const ThresholdModel model = plant(ThresholdPlan{.seed = bench.seed(s)});
        const SamplePtr samples =
            load(*threshold_samples(model, {.samples = bench.samples, .seed = bench.seed(s)}));
        const StepOne found =
            step_one(samples, rest_level(*samples),
                     {.hidden = 10, .method = method, .second_look = second_look, .seed = bench.seed(s)},
                     bench.options.control);
        worst.push_back(errors(found.found.units.W, Vector(), model).angle);
      }
      std::sort(worst.begin(), worst.end());
      const double median = worst[worst.size() / 2];
      bench.find(fmt::format("step 1 by {}, {} look: median worst angle", to_string(method),
                             second_look ? "second" : "first"),
                 median);
      csv += fmt::format("{},{},{:.4g}\n", to_string(method), second_look ? 2 : 1, median);
    }
  }
  bench.write("starts.csv", csv);
}

void refinements(Bench& bench) {
  std::vector<double> before, perturbed, regressed;
  double perturbed_seconds = 0, regressed_seconds = 0;
  const auto seconds_of = [](const auto& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  for (int s = 0; s < std::min(bench.seeds, 3); ++s) {
    const ThresholdModel model = plant(ThresholdPlan{.activation = UnitActivation::kSign,
                                                     .threshold = 2.5,
                                                     .least_angle = std::numbers::pi / 3,
                                                     .upper = UpperKind::kIntersection,
                                                     .seed = bench.seed(s)});
    const SamplePtr samples =
        load(*threshold_samples(model, {.samples = bench.samples, .seed = bench.seed(s)}));
    const RestLevel rest = rest_level(*samples);
    const LowestUnits units =
        step_one(samples, rest, {.hidden = 10, .seed = bench.seed(s)}, bench.options.control).found.units;
    const std::vector<AloneRows> rows = alone_rows(*samples, units, 0.6, 0.3, bench.options.control);
    for (Index i = 0; i < units.W.rows(); ++i) {
      const AloneRows& mine = rows[static_cast<std::size_t>(i)];
      const Vector z = units.W.row(i);
      const auto error = [&](const Vector& w) {
        double least = std::numbers::pi;
        for (Index j = 0; j < model.W.rows(); ++j) least = std::min(least, angle(w, model.W.row(j)));
        return least;
      };
      before.push_back(error(z));
      perturbed_seconds += seconds_of([&] {
        perturbed.push_back(
            error(refine_estimate(mine, rest, z, {.target = 1e-4, .seed = bench.seed(s)}).direction));
      });
      regressed_seconds += seconds_of([&] { regressed.push_back(error(fit_step(mine, z, units.t(i)).w)); });
    }
  }
  const auto median = [](std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values.empty() ? std::numbers::pi : values[values.size() / 2];
  };
  const auto count = static_cast<double>(std::max<std::size_t>(1, before.size()));
  bench.find("step 2 on one set of rows, before: median angle of a halfspace", median(before));
  bench.find("  by RefineEstimate, 400 random perturbations", median(perturbed));
  bench.find("    seconds per halfspace", perturbed_seconds / count);
  bench.find("  by regression in a narrowing band and the maximum margin", median(regressed));
  bench.find("    seconds per halfspace", regressed_seconds / count);
}

}  // namespace exhume::experiments::threshold_parts
