#include <algorithm>
#include <utility>

#include "extract/deep_finder.h"
#include "extract/first_layer.h"
#include "extract/jump_layers.h"
#include "extract/pairs.h"

namespace exhume {
namespace {

constexpr int kCornerRounds = 4;
constexpr double kSameDirection = 1e-5;  // of jumps of one unit
constexpr double kExactStart =
    1e-8;  // share of the variance that rows from kinks leave where none is missing
constexpr int kJumpRounds = 12;
constexpr double kCorner = 0.97;      // of the way to a corner
constexpr double kFarQuestions = 40;  // at which both units of a weight are on, of far places that were asked
constexpr double kPolishShare = 2;    // equations for every unknown

}  // namespace

bool DeepFinder::from_jumps() {
  const Index m = space_.meter->outputs();
  if (m < kManyOutputs) return false;
  JumpLayersOptions options;
  options.seed = options_.seed;
  const JumpLayers found = jump_layers(space_, options, out_.planes);
  out_.widths = found.widths;
  if (found.form.V.empty()) return false;
  const Control control = space_.meter->control().within(kPolishSeconds);
  // Planes through all their kinks are as sharp as answers are; the layers above follow from far places.
  DeepForm start = found.form;
  start.given = 1;
  const Index first =
      std::min(found.u.rows(), static_cast<Index>(kPolishShare * static_cast<double>(start.V.back().size())));
  const std::vector<Index> rare = where_pairs_act(start, found.u, found.u.topRows(first), kFarQuestions);
  out_.u = found.u.topRows(first);
  out_.y = found.y.topRows(first);
  append(found.u(rare, Eigen::all), found.y(rare, Eigen::all));
  if (!polished(start, control)) return false;
  out_.form.given = 0;
  return true;
}

void DeepFinder::planes_in_corners(PlanesOptions lines) {
  for (int round = 0; round < kCornerRounds; ++round) {
    const Index known = out_.planes.V.rows();
    const FirstLayer first = first_layer(out_.planes.V, out_.planes.pieces);
    lines.through.clear();
    const Box& box = space_.meter->frame().box();
    for (const Vector& w : first.left) {
      Vector corner = (box.high - box.low) / 2 * kCorner * w.array().sign().matrix();
      corner.array() += (box.low + box.high) / 2;
      const Vector opposite = Vector::Constant(s_, box.low + box.high) - corner;
      lines.through.emplace_back(opposite, corner);
    }
    if (lines.through.empty()) return;
    lines.least_lines = lines.most_lines = static_cast<int>(lines.through.size());
    more_planes(space_, lines, out_.planes);
    if (out_.planes.V.rows() == known) return;
  }
}

std::vector<FoundUnit> DeepFinder::units_by_jumps() const {
  const std::vector<UpperKink>& upper = out_.planes.upper;
  std::vector<FoundUnit> units;
  std::vector<bool> used(upper.size(), false);
  for (std::size_t i = 0; i < upper.size(); ++i) {
    if (used[i] || !(upper[i].error < kSameJump)) continue;
    FoundUnit unit{{}, {upper[i]}, {}, 1, {}};
    const Vector along = upper[i].jump.normalized();
    for (std::size_t j = i + 1; j < upper.size(); ++j) {
      const Vector across = upper[j].jump - along.dot(upper[j].jump) * along;
      if (used[j] || !(upper[j].error < kSameJump) || across.norm() > kSameDirection * upper[j].jump.norm())
        continue;
      used[j] = true;
      unit.kinks.push_back(upper[j]);
    }
    if (unit.kinks.size() > 1) units.push_back(std::move(unit));
  }
  return units;
}

bool DeepFinder::two_layers(PlanesOptions lines) {
  const Index m = space_.meter->outputs();
  if (m < kManyOutputs) return false;
  const Control control = space_.meter->control().within(kPolishSeconds);
  for (int round = 0; round < kJumpRounds; ++round) {
    const FirstLayer first = first_layer(out_.planes.V, out_.planes.pieces);
    const std::vector<FoundUnit> units = units_by_jumps();
    if (first.signs.size() == 0 || units.empty()) return false;
    const Index k = out_.planes.V.rows();
    const auto unknowns = static_cast<double>(k * (s_ + 1) + static_cast<Index>(units.size()) * (k + 1 + m));
    ask(kPolishShare * unknowns / static_cast<double>(m) + static_cast<double>(k + s_));
    const DeepForm plain = plain_layers(out_.planes.V, {units}, out_.u, out_.y, first.signs);
    if (plain.V.empty()) return false;
    const RowMatrix centred = out_.y.rowwise() - out_.y.colwise().mean();
    const double left =
        (out_.y - evaluate(plain, out_.u)).squaredNorm() / std::max(centred.squaredNorm(), kTiny);
    if (left < kExactStart) {
      if (!polished(plain, control)) return false;
      ask_where_pairs_act();
      on_all_questions(control);
      if (!surprised()) return true;
    }
    form_ = plain;
    lines.through = not_drawn(where_most_is_left());
    if (lines.through.empty()) return false;
    lines.least_lines = lines.most_lines = static_cast<int>(lines.through.size());
    const std::size_t kinks = out_.planes.upper.size();
    more_planes(space_, lines, out_.planes);
    if (out_.planes.V.rows() > k) {
      layers_.assign(1, out_.planes.V);
      units_.clear();
    } else if (out_.planes.upper.size() == kinks) {
      return false;
    }
  }
  return false;
}

}  // namespace exhume
