#include "exhume/papers/threshold.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "certify/inspect.h"
#include "data/reduce.h"
#include "exhume/error.h"

namespace exhume {
namespace {

// The two values of the labels; a row with a third one is remembered.
struct Values {
  double low = 0, high = 0;
  Index rows = 0, bad_row = -1;
  void merge(const Values& other) {
    if (other.rows == 0) return;
    if (rows == 0) {
      *this = other;
      return;
    }
    const Values a = *this;
    low = std::min(a.low, other.low);
    high = std::max(a.high, other.high);
    rows = a.rows + other.rows;
    bad_row = a.bad_row >= 0 ? a.bad_row : other.bad_row;
    const auto fits = [&](const Values& v) {
      return (v.low == low || v.low == high) && (v.high == low || v.high == high);
    };
    if (bad_row < 0 && (!fits(a) || !fits(other))) bad_row = 0;
  }
};

Values values_of(const SampleSource& samples, const Control& control) {
  return reduce_blocks(samples, Values{}, control, "labels", [](Values& to, const SampleBlock& block) {
    const auto y = block.y().col(0);
    Values v;
    v.low = y.minCoeff();
    v.high = y.maxCoeff();
    v.rows = y.size();
    for (Index r = 0; r < y.size() && v.bad_row < 0; ++r) {
      if (y(r) != v.low && y(r) != v.high) v.bad_row = block.first_row() + r;
    }
    to.merge(v);
  });
}

}  // namespace

LowestLayerResult halfspaces(const SamplePtr& samples, LowestLayerOptions options, const Control& control) {
  if (samples->outputs() != 1) {
    throw DataError(
        fmt::format("halfspaces are found from one column of labels, but there are {}", samples->outputs()));
  }
  const Values values = values_of(*samples, control);
  if (values.bad_row >= 0) {
    throw DataError(fmt::format(
        "the labels take more than two values (seen up to row {}, counting from 0); halfspaces need two, "
        "for other outputs find a lowest layer",
        values.bad_row));
  }
  if (values.low == values.high) {
    throw DataError(fmt::format("all labels are {}; halfspaces need rows of both labels", values.low));
  }
  options.activation = LowestActivation::kSign;
  LowestLayerResult result = lowest_layer(samples, options, control);
  const LowestLayer& layer = result.layer;
  const Certificate& certificate = result.certificate;
  HalfspaceSet& set = result.set.emplace();
  // The units say which label lies on their far side; where there are none, the label at rest is that of most
  // rows.
  double step = 0;
  for (const UnitFit& fit : layer.fits) step += fit.size;
  const bool rest_is_low =
      step != 0 ? step > 0
                : std::abs(layer.rest.value - values.low) <= std::abs(layer.rest.value - values.high);
  set.labels[0] = rest_is_low ? values.low : values.high;
  set.labels[1] = rest_is_low ? values.high : values.low;
  set.intersection = !rest_is_low;
  set.flip_rate = layer.stray_rate;
  // The rows that the layer held out.
  const SamplePtr rows = certificate.samples < certificate.rows ? distinct_rows(samples, control) : samples;
  const SamplePtr held_out = split(rows, certificate.held_out_period, options.seed).held_out;
  struct Count {
    double same = 0;
    void merge(const Count& other) { same += other.same; }
  };
  const Count count =
      reduce_blocks(*held_out, Count{}, control, "", [&](Count& to, const SampleBlock& block) {
        const Vector labels = halfspace_labels(layer, set, block.x());
        to.same += static_cast<double>((labels.array() == block.y().col(0).array()).count());
      });
  set.agreement = count.same / static_cast<double>(std::max<Index>(1, held_out->rows()));
  // Labels turned around cost their share of the agreement; beyond that the set itself is wrong.
  constexpr double kWanted = 0.999;
  const double wanted = kWanted - set.flip_rate;
  Checks checks;
  checks.require("the set agrees with held-out labels, label noise apart", set.agreement, wanted,
                 set.agreement >= wanted,
                 fmt::format("the set agrees with {:.4g} of the held-out labels where {:.4g} are asked for",
                             set.agreement, wanted));
  std::move(checks).add_to(result.certificate);
  return result;
}

Vector halfspace_labels(const LowestLayer& layer, const HalfspaceSet& set,
                        const Eigen::Ref<const RowMatrix>& x) {
  Vector labels = Vector::Constant(x.rows(), set.labels[0]);
  if (layer.W.rows() == 0) return labels;
  const RowMatrix Z = x * layer.W.transpose();
  for (Index r = 0; r < x.rows(); ++r) {
    if ((Z.row(r).transpose().array() > layer.t.array()).any()) labels(r) = set.labels[1];
  }
  return labels;
}

}  // namespace exhume
