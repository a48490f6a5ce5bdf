#include "exhume/papers/threshold.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/blas.h"
#include "base/stage_clock.h"
#include "data/reduce.h"
#include "routes/engine.h"

namespace exhume {

namespace {

// What was asked for, as the certificate keeps it: with it `verify` learns the layer again.
std::vector<std::pair<std::string, std::string>> layer_options_said(const LowestLayerOptions& options) {
  return {{"hidden", options.hidden ? fmt::format("{}", *options.hidden) : "found"},
          {"activation", to_string(options.activation)},
          {"start", to_string(options.start)},
          {"refine", options.refine ? "yes" : "no"},
          {"biased", options.biased ? "yes" : "no"},
          {"profile_degree", fmt::format("{}", options.profile_degree)},
          {"least_threshold", fmt::format("{}", options.least_threshold)},
          {"least_angle", fmt::format("{}", options.least_angle)},
          {"most_overlap", fmt::format("{}", options.most_overlap)},
          {"most_unexplained", fmt::format("{}", options.most_unexplained)},
          {"most_error", fmt::format("{}", options.most_error)}};
}

}  // namespace

LowestLayerResult lowest_layer(const SamplePtr& samples, const LowestLayerOptions& options,
                               const Control& control) {
  options.validate();
  const SingleThreadedBlas single;
  LowestLayerResult result;
  StageClock clock;
  Plan plan;
  plan.finds = Finds::kLowestLayer;
  plan.options.route = options.activation == LowestActivation::kSigmoid ? "threshold-sigmoid" : "threshold";
  if (options.hidden) plan.options.widths = {*options.hidden};
  plan.options.seed = options.seed;
  plan.options.budget_seconds = std::numeric_limits<double>::infinity();
  plan.layer = &options;
  Certificate& certificate = result.certificate;
  certificate.options = layer_options_said(options);
  RouteRun run = run_routes(samples, plan, certificate, clock, control);
  Found& found = run.found;
  if (found.layer) result.layer = std::move(*found.layer);
  for (const Assumption& test : run.data->inspection().tests) certificate.assumptions.push_back(test);
  std::move(found.checks).conclude(certificate, std::move(found.said));
  if (!found.refusal.empty()) {
    certificate.status = Status::kRefused;
    certificate.reason = found.refusal;
  }
  certificate.timings = clock.laps();
  return result;
}

RowMatrix lowest_layer_features(const Matrix& W, const Vector& t, LowestActivation activation,
                                const Eigen::Ref<const RowMatrix>& x) {
  if (x.cols() != W.cols() || t.size() != W.rows()) {
    throw std::invalid_argument(fmt::format("features: W is {} x {}, t has {} entries and x has {} columns",
                                            W.rows(), W.cols(), t.size(), x.cols()));
  }
  RowMatrix Z = x * W.transpose();
  Z.rowwise() -= t.transpose();
  switch (activation) {
    case LowestActivation::kSign:
      return (Z.array() > 0).cast<double>();
    case LowestActivation::kSigmoid:
      return 1 / (1 + (-Z.array()).exp());
    default:
      return Z.cwiseMax(0);
  }
}

UnitProfiles unit_profiles(const LowestLayer& layer, const SampleSource& samples, const Control& control) {
  constexpr double kFrom = -2.5, kWidth = 0.1, kFewest = 20;
  constexpr Index kBins = 45, kMostUnits = 8;
  const Index k = std::min(kMostUnits, layer.W.rows());
  struct Sums {
    Matrix rows, outputs;  // k x bins
    void merge(const Sums& other) {
      rows += other.rows;
      outputs += other.outputs;
    }
  };
  if (k == 0) return {};
  const Matrix W = layer.W.topRows(k);
  const Sums empty{Matrix::Zero(k, kBins), Matrix::Zero(k, kBins)};
  const Sums sums =
      reduce_blocks(samples, empty, control, "picture", [&](Sums& to, const SampleBlock& block) {
        RowMatrix Z = block.x() * W.transpose();
        Z.rowwise() -= layer.t.head(k).transpose();
        for (Index r = 0; r < block.rows(); ++r) {
          for (Index i = 0; i < k; ++i) {
            const double bin = std::floor((Z(r, i) - kFrom) / kWidth);
            if (!(bin >= 0 && bin < kBins)) continue;
            to.rows(i, static_cast<Index>(bin)) += 1;
            to.outputs(i, static_cast<Index>(bin)) += block.y()(r, 0);
          }
        }
      });
  UnitProfiles profiles(static_cast<std::size_t>(k));
  for (Index i = 0; i < k; ++i) {
    UnitProfile& profile = profiles[static_cast<std::size_t>(i)];
    for (Index b = 0; b < kBins; ++b) {
      if (sums.rows(i, b) < kFewest) continue;
      profile.at.push_back(kFrom + (static_cast<double>(b) + 0.5) * kWidth);
      profile.mean.push_back(sums.outputs(i, b) / sums.rows(i, b));
    }
  }
  return profiles;
}

}  // namespace exhume
