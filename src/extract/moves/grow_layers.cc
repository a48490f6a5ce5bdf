#include "extract/moves/grow_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "extract/moves/polish.h"
#include "extract/moves/resolve_signs.h"
#include "extract/moves/trace_unit.h"
#include "extract/surface.h"

namespace exhume {
namespace {

// Chosen by experience on random and digit-trained networks; not derived.
struct GrowLayersLimits {
  std::size_t most_layers = 6;
  // A unit is one where f bends along its surface at such a share of the places where f changes.
  double bends_everywhere = 0.75,
         bends_mostly = 0.5;     // the latter where units above hide it, and it is sharp
  double bends_somewhere = 0.4;  // before it is sharpened
  Index least_alive = 3;         // such places; with fewer, and places met on the way:
  std::size_t least_met = 3;
  Index least_agreed = 2;           // equations of a slope that show where a kink belongs
  Index spare = 2;                  // places beyond the unknowns
  int sharpenings = 3;              // rounds
  double sharp = 1e-9;              // largest distance of a place from the surface, over the scale
  double rough = 1e-6;              // from which on it is none
  double clean_errors = 30;         // distance of a place from the surface, in its own errors
  double stands_on_nothing = 1e-4;  // share of a row that is on the layer below it
  // Kinks above the second layer that lead nowhere in one go: in all while signs are open, and in a row,
  // which says that a unit below is missing.
  int most_blind = 5, blocked = 3;
  Index many_outputs = 3;   // whose jumps tell units apart,
  double same_jump = 1e-7;  // where they are known and agree so well
  std::size_t breaks = 3;   // of a surface that are looked at,
  int most_breaks = 24;     // and of all
};
constexpr GrowLayersLimits kGrow;

enum class Growth { kNothing, kAdded, kMissingBelow };

// Whether the surface passes all its places as near as they are known, and there are enough to tell.
bool within_errors(const SignFreeLayers& under, const FoundUnit& unit, Index equations, Index unknowns) {
  return equations >= unknowns + kGrow.spare &&
         std::all_of(unit.met.begin(), unit.met.end(), [&](const MetPlace& place) {
           const SignFreeLayers::Value value = under.value(unit.row, place.at);
           return std::abs(value.z) <= kGrow.clean_errors * place.error * value.slope.norm();
         });
}

// Discards units of a level that were traced before the signs below were known and that have more unknown
// weights than the layer below has units (`most`): they are found again.
void drop_loose_units(Hypothesis& known, std::size_t level, Index most) {
  if (most == 0 || known.layers.size() <= level) return;
  std::vector<Index> kept;
  std::vector<FoundUnit> units;
  for (std::size_t j = 0; j < known.units[level - 1].size(); ++j) {
    if (known.units[level - 1][j].open > most) continue;
    kept.push_back(static_cast<Index>(j));
    units.push_back(known.units[level - 1][j]);
  }
  if (units.size() == known.units[level - 1].size()) return;
  known.layers.resize(level + 1);
  known.units.resize(level);
  known.layers[level] = Matrix(known.layers[level](kept, Eigen::all));
  known.units[level - 1] = std::move(units);
}

// Kinks whose jumps are along that of kink i: of the same unit, where it is of the last hidden layer.
std::vector<Kink> kinks_of_same_jump(const std::vector<Kink>& kinks, std::size_t i) {
  std::vector<Kink> out;
  const Kink& kink = kinks[i];
  if (kink.jump.size() < kGrow.many_outputs || !(kink.error < kGrow.same_jump)) return out;
  const Vector along = kink.jump.normalized();
  for (std::size_t j = 0; j < kinks.size(); ++j) {
    const Kink& other = kinks[j];
    if (j == i || !(other.error < kGrow.same_jump)) continue;
    const Vector across = other.jump - along.dot(other.jump) * along;
    if (across.norm() <= kGrow.same_jump * other.jump.norm()) out.push_back(other);
  }
  return out;
}

// True where it is another part of a unit that is known, which then gets what both say.
bool join_units(LayerSearch& search, std::size_t level, const SignFreeLayers& under, const FoundUnit& unit) {
  Hypothesis& known = search.hypothesis;
  if (known.layers.size() <= level) return false;
  for (std::size_t j = 0; j < known.units[level - 1].size(); ++j) {
    FoundUnit& other = known.units[level - 1][j];
    if (unit.free.rows() + other.free.rows() == 0) continue;
    const auto row = joined_row(other.row, other.free, unit.row, unit.free);
    if (!row) continue;
    std::vector<MetPlace> met = other.met;
    met.insert(met.end(), unit.met.begin(), unit.met.end());
    std::vector<Kink> kinks = other.kinks;
    kinks.insert(kinks.end(), unit.kinks.begin(), unit.kinks.end());
    double off = 0;
    const Vector both = through_places(under, *row, kinks, met, off);
    if (!(off <= kGrow.rough * search.evidence.scale)) continue;
    other.row = both;
    other.met = std::move(met);
    other.kinks = std::move(kinks);
    other.free.resize(0, both.size());
    other.open = 0;
    known.layers.resize(level + 1);
    known.units.resize(level);
    known.layers[level].row(static_cast<Index>(j)) = both.transpose();
    return true;
  }
  return false;
}

// The row, sharpened, where f bends along its surface.
std::optional<FoundUnit> verified_unit(const LayerSearch& search, const SignFreeLayers& under,
                                       const Kink& kink, const TraceOptions& follow,
                                       const TracedUnit& found) {
  if (!found.row) return std::nullopt;
  const Index s = search.dimensions();
  FoundUnit unit{*found.row, {kink}, found.met, found.open, found.free};
  unit.kinks.insert(unit.kinks.end(), follow.same.begin(), follow.same.end());
  const Index unknowns = follow.plain.rows() > 0 ? follow.plain.rows() + 1 : unit.row.size();
  std::vector<MetPlace> all = found.met;
  bool rough = false;
  for (int round = 0; round < kGrow.sharpenings; ++round) {
    const AlongSurface seen =
        along_surface(search.space, under, search.evidence, unit.row, std::min(s, unknowns) + kGrow.spare,
                      sub_seed(follow.seed, "surface", round));
    if (seen.alive < kGrow.least_alive) {
      // A surface that lies where few places are was seen on the way.
      const bool shown = unit.met.size() >= kGrow.least_met || found.agreed >= kGrow.least_agreed;
      if (found.breaks > 0 || !shown || seen.bends < seen.alive) return std::nullopt;
      return unit;
    }
    const double share = static_cast<double>(seen.bends) / static_cast<double>(seen.alive);
    if (share < (round == 0 ? kGrow.bends_somewhere : kGrow.bends_everywhere)) return std::nullopt;
    all.insert(all.end(), seen.met.begin(), seen.met.end());
    double off = 0;
    unit.met = all;
    const Vector before = unit.row;
    unit.row = through_places(under, before, unit.kinks, unit.met, off, follow.plain);
    const auto places = [](const FoundUnit& each) { return static_cast<Index>(each.met.size()); };
    bool clean = within_errors(under, unit, places(unit) + s, unknowns);
    // A kink beside another on its line may have a wrong normal, which nothing tells but the places
    // themselves.
    if (!clean && static_cast<Index>(all.size()) >= unknowns + kGrow.spare) {
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
    if ((clean || (round + 1 == kGrow.sharpenings && off <= kGrow.sharp * search.evidence.scale)) &&
        (share >= kGrow.bends_everywhere || (share >= kGrow.bends_mostly && seen.bends >= kGrow.least_alive)))
      return unit;
    rough = off > kGrow.rough * search.evidence.scale;
  }
  if (rough) return std::nullopt;
  return unit;
}

// Kinks where a surface was lost: of a unit below that is missing. True where there are any.
bool add_kinks_at_breaks(LayerSearch& search, const TracedUnit& found, std::uint64_t seed) {
  bool any = false;
  for (std::size_t i = 0;
       i < std::min(kGrow.breaks, found.lost.size()) && search.evidence.breaks < kGrow.most_breaks; ++i) {
    ++search.evidence.breaks;
    for (const Kink& kink :
         kinks_at_break(search.space, found.lost[i], search.evidence.scale, sub_seed(seed, "break", i)))
      any = add_kink(search, kink) || any;
  }
  return any;
}

// Adds a unit to the layer that it belongs to, and drops what lies above it: returns its level. A unit that
// stands on nothing of the layer below belongs to that layer.
std::size_t place_unit(Hypothesis& known, std::size_t level, FoundUnit unit) {
  std::size_t to = level;
  Vector row = unit.row;
  while (to > 1 && row.head(known.layers[to - 1].rows()).norm() < kGrow.stands_on_nothing * row.norm()) {
    row = Vector(row.tail(row.size() - known.layers[to - 1].rows()));
    --to;
  }
  if (known.layers.size() <= to) {
    known.layers.emplace_back(0, row.size());
    known.units.emplace_back();
  }
  known.layers.resize(to + 1);
  known.units.resize(to);
  Matrix& rows = known.layers[to];
  rows.conservativeResize(rows.rows() + 1, Eigen::NoChange);
  rows.bottomRows(1) = row.transpose();
  unit.row = row;
  known.units[to - 1].push_back(std::move(unit));
  return to;
}

// Units of layer `level` (from 0) behind kinks that nothing explains.
Growth grow_layer(LayerSearch& search, std::size_t level, const std::function<bool()>& is_over) {
  Hypothesis& known = search.hypothesis;
  const std::vector<Kink>& kinks = search.evidence.kinks;
  const SignFreeLayers under = known.below(level);
  Growth added = Growth::kNothing;
  int failed = 0, blind = 0;
  // Those that were met most often first, and of these sharp ones.
  std::vector<std::size_t> order(kinks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Of the surface through a kink, near the middle.
  const auto uncertainty = [&](std::size_t i) { return kinks[i].error * search.far(kinks[i].place); };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t i, std::size_t j) { return uncertainty(i) < uncertainty(j); });
  std::vector<std::vector<std::size_t>> together;
  if (const Matrix plain = plain_rows_of(search, level - 1); plain.rows() > 0) {
    together = group_kinks_by_unit(under, plain, kinks);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t i, std::size_t j) { return together[i].size() > together[j].size(); });
  }
  for (const std::size_t i : order) {
    const Kink kink = kinks[i];
    const Matrix plain = plain_rows_of(search, level - 1);
    if (plain.rows() > 0 && together.empty()) together = group_kinks_by_unit(under, plain, kinks);
    drop_loose_units(known, level, plain.rows());
    // Once signs are known a kink is followed again.
    const Index key = under.units() * (plain.rows() > 0 ? -1 : 1);
    const QueryEvidence::TracedKink traced{level, i, key};
    auto& in_vain = search.evidence.in_vain;
    if (std::find(in_vain.begin(), in_vain.end(), traced) != in_vain.end() ||
        is_explained(search, kink.place) || is_on_known_piece(search, kink))
      continue;
    search.space.meter->control().check();
    if (is_over()) return added;
    TraceOptions follow;
    follow.seed = sub_seed(search.seed, fmt::format("trace in layer {}", level), i);
    follow.scale = search.evidence.scale;
    follow.same = kinks_of_same_jump(kinks, i);
    if (follow.same.empty() && !together.empty())
      for (const std::size_t j : together[i]) follow.same.push_back(kinks[j]);
    follow.plain = plain;
    TracedUnit found = trace_unit(search.space, under, kink, follow);
    std::optional<FoundUnit> row = verified_unit(search, under, kink, follow, found);
    if (!row && !follow.same.empty()) {
      follow.same.clear();
      found = trace_unit(search.space, under, kink, follow);
      row = verified_unit(search, under, kink, follow, found);
    }
    if (!row) {
      in_vain.push_back(traced);
      // While signs below are open every kink is followed far; many that lead nowhere say that something
      // below is missing.
      if (level > 1 && plain.rows() == 0 && ++blind >= kGrow.most_blind) return added;
      if (level > 1 && ++failed >= kGrow.blocked && add_kinks_at_breaks(search, found, follow.seed))
        return Growth::kMissingBelow;
      continue;
    }
    failed = 0;
    if (join_units(search, level, under, *row)) {
      added = Growth::kAdded;
      continue;
    }
    const std::size_t to = place_unit(known, level, std::move(*row));
    added = Growth::kAdded;
    if (to < level) return added;
  }
  return added;
}

}  // namespace

bool grow_layers(LayerSearch& search, const std::function<bool()>& is_over) {
  const std::vector<Matrix>& layers = search.hypothesis.layers;
  for (std::size_t level = 1; level <= kGrow.most_layers; ++level) {
    const Growth growth = grow_layer(search, level, is_over);
    if (growth == Growth::kMissingBelow) {
      level = 0;
      continue;
    }
    const bool added = growth == Growth::kAdded;
    if (added && layers.size() <= level) level = layers.size() - 1;  // it belonged further down
    if (layers.size() <= level) return false;
    if (added || level + 1 == layers.size()) {
      if (fit_layer_outputs(search) < explained_share(search)) return true;
    }
  }
  return false;
}

}  // namespace exhume
