#include "extract/deep_finder.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "extract/same_unit.h"

namespace exhume {
namespace {

constexpr std::size_t kMostLayers = 6;
constexpr double kBendsEverywhere = 0.75;
constexpr Index kLeastAlive = 3;
constexpr double kStandsOnNothing = 1e-4;  // share of a row that is on the layer below it
constexpr std::size_t kLeastMet = 3;
constexpr double kBendsMostly = 0.5;     // where units above hide it, and it is sharp
constexpr double kBendsSomewhere = 0.4;  // before it is sharpened
constexpr Index kSpare = 2;              // places beyond the dimensions
constexpr int kSharpenings = 3;
constexpr double kSharp = 1e-9;  // largest distance of a place from the surface, over the scale
constexpr int kMostBlind =
    5;  // kinks above the second layer that lead nowhere in one go, while signs are open
constexpr Index kLeastAgreed = 2;    // equations of a slope that show where a kink belongs
constexpr double kCleanErrors = 30;  // distance of a place from the surface, in its own errors
constexpr int kBlocked = 3;  // kinks in a row above the second layer that lead nowhere: one below is missing

// Whether the surface passes all its places as near as they are known, and there are enough to tell.
bool within_errors(const KnownLayers& under, const FoundUnit& unit, Index equations, Index unknowns) {
  return equations >= unknowns + kSpare &&
         std::all_of(unit.met.begin(), unit.met.end(), [&](const MetPlace& place) {
           const KnownLayers::Value value = under.value(unit.row, place.at);
           return std::abs(value.z) <= kCleanErrors * place.error * value.slope.norm();
         });
}

}  // namespace

double DeepFinder::uncertainty(const UpperKink& kink) const {
  return kink.error * (out_.planes.scale + (kink.place - space_.middle()).norm());
}

KnownLayers DeepFinder::below(std::size_t level) const {
  return {s_, {layers_.begin(), layers_.begin() + static_cast<std::ptrdiff_t>(level)}};
}

bool DeepFinder::near(const KnownLayers& under, const Vector& row, const Vector& u) const {
  const KnownLayers::Value value = under.value(row, u);
  return std::abs(value.z) <=
         kExplained * value.slope.norm() * (out_.planes.scale + (u - space_.middle()).norm());
}

bool DeepFinder::explained(const Vector& u) const {
  for (std::size_t level = 1; level < layers_.size(); ++level) {
    const KnownLayers under = below(level);
    for (Index j = 0; j < layers_[level].rows(); ++j)
      if (near(under, layers_[level].row(j).transpose(), u)) return true;
  }
  return false;
}

bool DeepFinder::same_piece(const UpperKink& kink) const {
  for (std::size_t level = 1; level < layers_.size(); ++level) {
    const KnownLayers under = below(level);
    for (Index j = 0; j < layers_[level].rows(); ++j) {
      const KnownLayers::Value value = under.value(layers_[level].row(j).transpose(), kink.place);
      const double size = value.slope.norm(), far = out_.planes.scale + (kink.place - space_.middle()).norm();
      const Vector across = value.slope - value.slope.dot(kink.normal) * kink.normal;
      if (std::abs(value.z) <= kNearPiece * size * far && across.norm() <= kParallel * size) return true;
    }
  }
  return false;
}

bool DeepFinder::grow() {
  for (std::size_t level = 1; level <= kMostLayers; ++level) {
    const bool added = grow_layer(level);
    if (below_) {
      below_ = false;
      level = 0;
      continue;
    }
    if (added && layers_.size() <= level) level = layers_.size() - 1;  // it belonged further down
    if (layers_.size() <= level) return false;
    if (added || level + 1 == layers_.size()) {
      if (linear_part() < all_there()) return true;
    }
  }
  return false;
}

bool DeepFinder::grow_layer(std::size_t level) {
  const KnownLayers under = below(level);
  bool added = false;
  int failed = 0, blind = 0;
  // Those that were met most often first, and of these sharp ones.
  std::vector<std::size_t> order(out_.planes.upper.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [this](std::size_t i, std::size_t j) {
    return uncertainty(out_.planes.upper[i]) < uncertainty(out_.planes.upper[j]);
  });
  std::vector<std::vector<std::size_t>> together;
  if (const Matrix plain = plain_rows_of(level - 1); plain.rows() > 0) {
    together = kinks_of_one_unit(under, plain, out_.planes.upper);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t i, std::size_t j) { return together[i].size() > together[j].size(); });
  }
  for (const std::size_t i : order) {
    const UpperKink kink = out_.planes.upper[i];
    const Matrix plain = plain_rows_of(level - 1);
    if (plain.rows() > 0 && together.empty()) together = kinks_of_one_unit(under, plain, out_.planes.upper);
    without_loose(level, plain.rows());
    // Once signs are known a kink is followed again.
    const Index key = under.units() * (plain.rows() > 0 ? -1 : 1);
    if (tried(level, i, key) || explained(kink.place) || same_piece(kink)) continue;
    space_.meter->control().check();
    if (out_of_patience()) return added;
    FollowOptions follow;
    follow.seed = options_.seed + 7919 * static_cast<std::uint64_t>(i) + static_cast<std::uint64_t>(level);
    follow.scale = out_.planes.scale;
    follow.same = same_jump(i);
    if (follow.same.empty() && !together.empty())
      for (const std::size_t j : together[i]) follow.same.push_back(out_.planes.upper[j]);
    follow.plain = plain;
    Followed found = follow_unit(space_, under, kink, follow);
    std::optional<FoundUnit> row = verified(under, kink, follow, found);
    if (!row && !follow.same.empty()) {
      follow.same.clear();
      found = follow_unit(space_, under, kink, follow);
      row = verified(under, kink, follow, found);
    }
    if (!row) {
      remember(level, i, key);
      // While signs below are open every kink is followed far; many that lead nowhere say that something below is missing.
      if (level > 1 && plain.rows() == 0 && ++blind >= kMostBlind) return added;
      if (level > 1 && ++failed >= kBlocked && kinks_at_breaks(found, follow.seed)) {
        below_ = true;
        return added;
      }
      continue;
    }
    failed = 0;
    if (joined(level, under, *row)) {
      added = true;
      continue;
    }
    std::size_t to = level;
    Vector kept = row->row;
    // A unit that stands on nothing of the layer below belongs to that layer.
    while (to > 1 && kept.head(layers_[to - 1].rows()).norm() < kStandsOnNothing * kept.norm()) {
      kept = Vector(kept.tail(kept.size() - layers_[to - 1].rows()));
      --to;
    }
    if (layers_.size() <= to) {
      layers_.emplace_back(0, kept.size());
      units_.emplace_back();
    }
    layers_.resize(to + 1);
    units_.resize(to);
    Matrix& rows = layers_[to];
    rows.conservativeResize(rows.rows() + 1, Eigen::NoChange);
    rows.bottomRows(1) = kept.transpose();
    row->row = kept;
    units_[to - 1].push_back(std::move(*row));
    added = true;
    if (to < level) return added;
  }
  return added;
}

void DeepFinder::without_loose(std::size_t level, Index most) {
  if (most == 0 || layers_.size() <= level) return;
  std::vector<Index> kept;
  std::vector<FoundUnit> units;
  for (std::size_t j = 0; j < units_[level - 1].size(); ++j) {
    if (units_[level - 1][j].open > most) continue;
    kept.push_back(static_cast<Index>(j));
    units.push_back(units_[level - 1][j]);
  }
  if (units.size() == units_[level - 1].size()) return;
  layers_.resize(level + 1);
  units_.resize(level);
  layers_[level] = Matrix(layers_[level](kept, Eigen::all));
  units_[level - 1] = std::move(units);
}

std::vector<UpperKink> DeepFinder::same_jump(std::size_t i) const {
  std::vector<UpperKink> out;
  const UpperKink& kink = out_.planes.upper[i];
  if (kink.jump.size() < kManyOutputs || !(kink.error < kSameJump)) return out;
  const Vector along = kink.jump.normalized();
  for (std::size_t j = 0; j < out_.planes.upper.size(); ++j) {
    const UpperKink& other = out_.planes.upper[j];
    if (j == i || !(other.error < kSameJump)) continue;
    const Vector across = other.jump - along.dot(other.jump) * along;
    if (across.norm() <= kSameJump * other.jump.norm()) out.push_back(other);
  }
  return out;
}

bool DeepFinder::joined(std::size_t level, const KnownLayers& under, const FoundUnit& unit) {
  if (layers_.size() <= level) return false;
  for (std::size_t j = 0; j < units_[level - 1].size(); ++j) {
    FoundUnit& other = units_[level - 1][j];
    if (unit.free.rows() + other.free.rows() == 0) continue;
    const auto row = joined_row(other.row, other.free, unit.row, unit.free);
    if (!row) continue;
    std::vector<MetPlace> met = other.met;
    met.insert(met.end(), unit.met.begin(), unit.met.end());
    std::vector<UpperKink> kinks = other.kinks;
    kinks.insert(kinks.end(), unit.kinks.begin(), unit.kinks.end());
    double off = 0;
    const Vector both = through_places(under, *row, kinks, met, off);
    if (!(off <= kRough * out_.planes.scale)) continue;
    other.row = both;
    other.met = std::move(met);
    other.kinks = std::move(kinks);
    other.free.resize(0, both.size());
    other.open = 0;
    layers_.resize(level + 1);
    units_.resize(level);
    layers_[level].row(static_cast<Index>(j)) = both.transpose();
    return true;
  }
  return false;
}

std::optional<FoundUnit> DeepFinder::verified(const KnownLayers& under, const UpperKink& kink,
                                              const FollowOptions& follow, const Followed& found) const {
  if (!found.row) return std::nullopt;
  FoundUnit unit{*found.row, {kink}, found.met, found.open, found.free};
  unit.kinks.insert(unit.kinks.end(), follow.same.begin(), follow.same.end());
  const Index unknowns = follow.plain.rows() > 0 ? follow.plain.rows() + 1 : unit.row.size();
  std::vector<MetPlace> all = found.met;
  bool rough = false;
  for (int round = 0; round < kSharpenings; ++round) {
    const AlongSurface seen =
        along_surface(space_, under, out_.planes, unit.row, std::min(s_, unknowns) + kSpare,
                      follow.seed + 1000003 * static_cast<std::uint64_t>(round));
    if (seen.alive < kLeastAlive) {
      // A surface that lies where few places are was seen on the way.
      const bool shown = unit.met.size() >= kLeastMet || found.agreed >= kLeastAgreed;
      if (found.breaks > 0 || !shown || seen.bends < seen.alive) return std::nullopt;
      return unit;
    }
    const double share = static_cast<double>(seen.bends) / static_cast<double>(seen.alive);
    if (share < (round == 0 ? kBendsSomewhere : kBendsEverywhere)) return std::nullopt;
    all.insert(all.end(), seen.met.begin(), seen.met.end());
    double off = 0;
    unit.met = all;
    const Vector before = unit.row;
    unit.row = through_places(under, before, unit.kinks, unit.met, off, follow.plain);
    const auto places = [](const FoundUnit& each) { return static_cast<Index>(each.met.size()); };
    bool clean = within_errors(under, unit, places(unit) + s_, unknowns);
    // A kink beside another on its line may have a wrong normal, which nothing tells but the places themselves.
    if (!clean && static_cast<Index>(all.size()) >= unknowns + kSpare) {
      FoundUnit alone = unit;
      double left = 0;
      alone.met = all;
      alone.row = through_places(under, before, {}, alone.met, left, follow.plain);
      clean = within_errors(under, alone, places(alone), unknowns);
      if (clean || left < off) {
        unit = std::move(alone);
        off = left;
      }
    }
    if ((clean || (round + 1 == kSharpenings && off <= kSharp * out_.planes.scale)) &&
        (share >= kBendsEverywhere || (share >= kBendsMostly && seen.bends >= kLeastAlive)))
      return unit;
    rough = off > kRough * out_.planes.scale;
  }
  if (rough) return std::nullopt;
  return unit;
}

bool DeepFinder::tried(std::size_t level, std::size_t kink, Index units) const {
  return std::find(tried_.begin(), tried_.end(), Tried{level, kink, units}) != tried_.end();
}

}  // namespace exhume
