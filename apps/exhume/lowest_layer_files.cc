#include "lowest_layer_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "exhume/io/npy.h"
#include "exhume/io/safetensors.h"
#include "exhume/data/reduce.h"
#include "exhume/report/svg.h"
#include "exhume/base/version.h"
#include "terminal.h"

namespace exhume::cli {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

}  // namespace

Json lowest_layer_json(const LowestLayerResult& result, const std::vector<std::string>& files,
                       const std::string& command) {
  Json json = {{"status", to_string(result.status)},
               {"reason", result.reason},
               {"route", "threshold"},
               {"activation", to_string(result.activation)},
               {"inputs", result.W.cols()},
               {"hidden_units", result.W.rows()},
               {"samples", result.samples},
               {"held_out", result.held_out},
               {"rest_level", number(result.rest.value)},
               {"noise_sd", number(result.rest.noise_sd)},
               {"nonlinear_share", number(result.nonlinear_share)},
               {"unexplained_share", number(result.unexplained)},
               {"stray_rate", number(result.stray_rate)},
               {"least_angle", number(result.least_angle)},
               {"least_threshold", number(result.least_threshold)},
               {"max_standard_error", number(result.worst_error)}};
  json["units"] = Json::array();
  for (Index i = 0; i < result.W.rows(); ++i) {
    const UnitFit& fit = result.fits[static_cast<std::size_t>(i)];
    Json w = Json::array();
    for (Index j = 0; j < result.W.cols(); ++j) w.push_back(number(result.W(i, j)));
    json["units"].push_back({{"direction", w},
                             {"threshold", number(result.t(i))},
                             {"size", number(fit.size)},
                             {"rows", fit.rows},
                             {"angle_error", number(fit.angle_error)},
                             {"threshold_error", number(fit.threshold_error)}});
  }
  json["assumptions"] = Json::array();
  for (const Assumption& a : result.assumptions) {
    json["assumptions"].push_back({{"name", a.name},
                                   {"value", number(a.value)},
                                   {"threshold", number(a.threshold)},
                                   {"holds", a.holds}});
  }
  json["timings"] = Json::object();
  for (const StageTime& stage : result.timings) json["timings"][stage.stage] = stage.seconds;
  json["seed"] = result.seed;
  json["version"] = kVersion;
  json["command"] = command;
  json["files"] = files;
  return json;
}

std::string units_bytes(const LowestLayerResult& result) {
  Tensors tensors;
  tensors.add("W", result.W);
  tensors.add("t", result.t);
  tensors.add("W_step1", result.start);
  tensors.metadata = {{"activation", to_string(result.activation)}};
  return safetensors_bytes(tensors);
}

void write_features(AtomicFile& file, const LowestLayerResult& result, const SampleSource& samples,
                    const Control& control) {
  NpyWriter writer(file, samples.rows(), result.W.rows());
  SampleBlock block;
  for (Index first = 0; first < samples.rows(); first += kBlockRows) {
    control.check();
    samples.read(first, std::min(kBlockRows, samples.rows() - first), block);
    writer.append(lowest_layer_features(result.W, result.t, result.activation, block.x()));
    control.report("features",
                   static_cast<double>(first + block.rows()) / static_cast<double>(samples.rows()));
  }
  writer.finish();
}

std::string units_picture(const LowestLayerResult& result, const SampleSource& samples,
                          const Control& control) {
  constexpr double kFrom = -2.5, kWidth = 0.1;
  constexpr Index kBins = 45;
  constexpr double kFewest = 20;  // rows of a bin that is drawn
  constexpr Index kColours = 6;   // of the palette
  const Index k = std::min(kDrawnUnits, result.W.rows());
  struct Sums {
    Matrix rows, outputs;  // k x bins
    void merge(const Sums& other) {
      rows += other.rows;
      outputs += other.outputs;
    }
  };
  Sums sums{Matrix::Zero(k, kBins), Matrix::Zero(k, kBins)};
  if (k > 0) {
    const Matrix W = result.W.topRows(k);
    sums = reduce_blocks(samples, sums, control, "picture", [&](Sums& to, const SampleBlock& block) {
      RowMatrix Z = block.x() * W.transpose();
      Z.rowwise() -= result.t.head(k).transpose();
      for (Index r = 0; r < block.rows(); ++r) {
        for (Index i = 0; i < k; ++i) {
          const double bin = std::floor((Z(r, i) - kFrom) / kWidth);
          if (!(bin >= 0 && bin < kBins)) continue;
          to.rows(i, static_cast<Index>(bin)) += 1;
          to.outputs(i, static_cast<Index>(bin)) += block.y()(r, 0);
        }
      }
    });
  }
  svg::Chart chart;
  chart.title = "Mean output along each direction";
  chart.x.label = "w.x - t";
  chart.y.label = "mean of y";
  chart.rules = {{.at = 0, .label = "threshold", .vertical = true}};
  for (Index i = 0; i < k; ++i) {
    svg::Series series{.name = fmt::format("unit {}", i + 1), .dashed = i >= kColours};
    for (Index b = 0; b < kBins; ++b) {
      if (sums.rows(i, b) < kFewest) continue;
      series.x.push_back(kFrom + (static_cast<double>(b) + 0.5) * kWidth);
      series.y.push_back(sums.outputs(i, b) / sums.rows(i, b));
    }
    chart.series.push_back(std::move(series));
  }
  return svg::standalone(svg::draw(chart));
}

std::string lowest_layer_summary(const LowestLayerResult& result) {
  constexpr Index kShown = 16;
  const bool good = result.status == Status::kCertified;
  std::string out = fmt::format(
      "{} {}.\n\n", toned(good ? Tone::kGood : Tone::kWarn, good ? "Certified." : "Not certified."),
      result.reason);
  out += fmt::format("  {:>5}  {:>10}  {:>10}  {:>11}  {:>10}\n", "unit", "threshold", "size", "angle error",
                     "rows");
  for (Index i = 0; i < std::min(kShown, result.W.rows()); ++i) {
    const UnitFit& fit = result.fits[static_cast<std::size_t>(i)];
    out += fmt::format("  {:>5}  {:>10.5f}  {:>10.4g}  {:>11.2g}  {:>10}\n", i + 1, result.t(i), fit.size,
                       fit.angle_error, grouped(fit.rows));
  }
  if (result.W.rows() > kShown) out += fmt::format("  and {} more\n", result.W.rows() - kShown);
  out += fmt::format(
      "\n  activation {}; least angle {:.3g}; activity with two or more units {:.3g}, with none {:.2g}\n",
      to_string(result.activation), result.least_angle, result.nonlinear_share, result.unexplained);
  for (const Assumption& a : result.assumptions) {
    if (!a.holds)
      out += fmt::format("  does not hold: {} ({:.4g}, threshold {:.4g})\n", a.name, a.value, a.threshold);
  }
  return out;
}

}  // namespace exhume::cli
