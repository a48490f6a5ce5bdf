#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/random.h"
#include "exhume/papers/threshold.h"
#include "papers/threshold/detectors.h"
#include "papers/threshold/structure.h"
#include "papers/threshold/unit_fit.h"
#include "report/svg.h"
#include "threshold_bench.h"

namespace exhume::experiments::threshold_parts {
namespace {

void relu(Bench& bench, double linear_low) {
  int start = 0, refined = 0;
  for (int s = 0; s < bench.seeds; ++s) {
    ThresholdPlan plan;
    plan.linear_low = linear_low;
    plan.seed = bench.seed(s);
    const ThresholdModel model = plant(plan);
    const LowestLayerResult found =
        lowest_layer(threshold_samples(model, {.samples = bench.samples, .seed = plan.seed}),
                     {.hidden = 10, .seed = plan.seed}, bench.options.control);
    const Errors first = errors(found.layer.start, Vector(), model),
                 second = errors(found.layer.W, found.layer.t, model);
    start += first.angle <= 0.1;
    refined += second.angle <= 0.02;
    bench.row(linear_low < 0 ? "relu with any sign" : "relu", s, first.angle, second.angle, second.threshold);
  }
  bench.count(fmt::format("ReLU t = 2, linear coefficients from {}: step 1 within 0.1", linear_low), start,
              bench.seeds, bench.most());
  bench.count(fmt::format("ReLU t = 2, linear coefficients from {}: refined within 0.02", linear_low),
              refined, bench.seeds, bench.most());
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
      const LowestLayerResult found = halfspaces(
          threshold_samples(model, {.samples = bench.samples, .flips = flips, .seed = bench.seed(s)}),
          {.hidden = 10, .seed = bench.seed(s)}, bench.options.control);
      const Errors e = errors(found.layer.W, found.layer.t, model);
      SampleBlock fresh;
      threshold_samples(model, {.samples = 100000, .seed = bench.seed(s) + 7919})->read(0, 100000, fresh);
      const Vector labels = halfspace_labels(found.layer, *found.set, fresh.x());
      const double agreement = (labels.array() == fresh.y().col(0).array()).cast<double>().mean();
      bench.row(flips > 0 ? "intersection with flips" : "intersection", s,
                errors(found.layer.start, Vector(), model).angle, e.angle, e.threshold, agreement);
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
    const Errors e = errors(found.layer.W, found.layer.t, model);
    bench.row("deep", s, errors(found.layer.start, Vector(), model).angle, e.angle, e.threshold);
    good += e.angle <= 0.05;
  }
  bench.count("deep network 12-8-8-1: first layer within 0.05", good, bench.seeds, bench.most());
}

void sigmoids(Bench& bench) {
  for (const bool biased : {false, true}) {
    int good = 0;
    for (int s = 0; s < bench.seeds; ++s) {
      const ThresholdModel model =
          plant(ThresholdPlan{.activation = UnitActivation::kSigmoid, .threshold = 4, .seed = bench.seed(s)});
      const SamplePtr samples =
          biased ? biased_samples(model, bench.samples / 5, bench.seed(s), 6)
                 : threshold_samples(model, {.samples = bench.samples / 5, .seed = bench.seed(s)});
      const LowestLayerResult found = lowest_layer(
          samples,
          {.hidden = 10, .activation = LowestActivation::kSigmoid, .biased = biased, .seed = bench.seed(s)},
          bench.options.control);
      const Errors e = errors(found.layer.W, found.layer.t, model);
      bench.row(biased ? "sigmoids from biased rows" : "sigmoids", s,
                errors(found.layer.start, Vector(), model).angle, e.angle, e.threshold);
      good += e.angle <= 1e-8 && found.certificate.status == Status::kCertified;
    }
    bench.count(fmt::format("sigmoids, {} rows: exact and certified", biased ? "biased" : "Gaussian"), good,
                bench.seeds, bench.most());
  }
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
  int climbed = 0;
  for (int s = 0; s < bench.seeds; ++s) {
    const std::uint64_t seed = bench.seed(s);
    const ThresholdModel model = plant(ThresholdPlan{
        .activation = UnitActivation::kSign, .threshold = 1.5, .upper = UpperKind::kPairs, .seed = seed});
    const SamplePtr samples = load(*threshold_samples(model, {.samples = bench.samples, .seed = seed}));
    const Vector w = model.W.row(0);
    const Vector aside = complement(w) * Vector(Stream(seed, "aside").normal_matrix(9, 1)).normalized();
    const Detected found =
        climb_detector(*samples, Detector::kStep, std::cos(0.2) * w + std::sin(0.2) * aside, 1.55, {},
                       bench.options.control);
    const double error = angle(found.direction, w);
    bench.row("detector by local search", s, 0.2, error, std::abs(found.threshold - 1.5),
              found.value / found.error);
    climbed += error <= 0.05;
  }
  bench.count("detector: local search from 0.2 away, within 0.05", climbed, bench.seeds, bench.most());
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
        double best = std::numbers::pi;
        for (Index j = 0; j < found.directions.cols(); ++j) {
          const Vector w = model.W.row(i), v = found.directions.col(j);
          best = std::min({best, angle(w, v), angle(w, -v)});
        }
        worst = std::max(worst, best);
      }
      bench.row(fmt::format("theorem 10 {}", to_string(u)), s, 0, worst, 0, found.misfit);
      good += worst <= 0.02;
    }
    bench.count(fmt::format("Theorem 10 with u = {}: within 0.02", to_string(u)), good, bench.seeds,
                bench.most());
  }
}

}  // namespace

void counts(Bench& bench) {
  relu(bench, 1);
  relu(bench, -1);
  polytopes(bench);
  deep(bench);
  sigmoids(bench);
  detectors(bench);
  structure(bench);
}

}  // namespace exhume::experiments::threshold_parts
