#include "extract/deep_within.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "exhume/fit/deep/prune.h"
#include "exhume/fit/deep/signs.h"
#include "extract/deep_fit.h"
#include "extract/first_layer.h"
#include "extract/follow.h"
#include "extract/jump_layers.h"
#include "extract/one_sided.h"
#include "extract/pairs.h"
#include "extract/plain_layers.h"
#include "extract/scaled.h"
#include "extract/single_kink.h"

namespace exhume {
namespace {

constexpr const char* kStage = "subspace";
constexpr std::size_t kMostLayers = 6;
constexpr double kExplained = 1e-5;  // distance of a kink from a unit's surface, over its own and the scale
constexpr double kNearPiece = 1e-2, kParallel = 1e-4;  // and of a surface that is parallel there
constexpr double kBeside = 0.1;  // distance of two kinks that are one where they are parallel, over the scale
constexpr double kBendsEverywhere = 0.75;
constexpr Index kLeastAlive = 3;
constexpr double kStandsOnNothing = 1e-4;  // share of a row that is on the layer below it
constexpr std::size_t kLeastMet = 3;
constexpr double kBendsMostly = 0.5;     // where units above hide it, and it is sharp
constexpr double kBendsSomewhere = 0.4;  // before it is sharpened
constexpr Index kSpare = 2;              // places beyond the dimensions
constexpr Index kManyOutputs = 3;        // whose jumps tell units apart,
constexpr double kSameJump = 1e-7;       // where they are known and agree so well
constexpr int kSharpenings = 3;
constexpr double kSharp = 1e-9;  // largest distance of a place from the surface, over the scale
constexpr double kRough = 1e-6;  // and from which on it is none
// Relative mean square up to which no unit is taken to be missing, by the layers above the first: rows are known
// less well from layer to layer. What is missing after all shows when the polish does not end at rounding.
constexpr double kAllThere[] = {1e-10, 1e-7};
constexpr double kNearlyThere = 1e-4;                 // and where rows are open
constexpr double kExact = 1e-19;                      // and up to which a fit is on its way to rounding
constexpr double kLinearShare = 2, kPolishShare = 2;  // equations for every unknown
constexpr Index kMore = 60;
constexpr Index kPairCandidates = 60000;
constexpr double kFarQuestions = 40;  // at which both units of a weight are on, of far places that were asked
constexpr double kPairQuestions = 4;  // at which both units of a weight are on
constexpr Index kMostSurprises = 60;
// Lines in a box are short, and units bend in few of its corners.
constexpr int kBoxLines = 24, kBoxQuiet = 12, kBoxMost = 72;
constexpr int kCornerRounds = 4;
constexpr double kSameDirection = 1e-5;  // of jumps of one unit
constexpr double kExactStart =
    1e-8;  // share of the variance that rows from kinks leave where none is missing
constexpr int kJumpRounds = 12;
constexpr double kCorner = 0.97;   // of the way to a corner
constexpr std::size_t kWorst = 2;  // lines to where most is left, in one pass
constexpr int kBlocked = 3;  // kinks in a row above the second layer that lead nowhere: one below is missing
constexpr std::size_t kBreaks = 3;  // of a surface that are looked at
constexpr int kMostBreaks = 24;     // of all
constexpr int kMostLooks = 40;
constexpr std::size_t kRightAway = 3;  // kinks of missing units that are looked for at once
constexpr int kTrimmings = 8;
constexpr double kTrimmed = 0.15;  // share of the questions that a missing unit may be on at
constexpr double kModelErrors = 100,
                 kModelRounding = 1e-9;  // how far answers of a model may be off, over what it leaves
constexpr Index kBeyond = 6;
constexpr double kSharpenShare = 1.5, kMostToSharpen = 6000;  // questions for every unknown, and of all
constexpr std::size_t kMostOneSided = 100;
constexpr double kPolishSeconds = 120;
constexpr int kManySteps = 10, kFewSteps = 4;  // without which a polish is given up

class Finder {
 public:
  Finder(const Space& space, const DeepWithinOptions& options)
      : space_(space), options_(options), s_(space.dimensions()) {}

  DeepWithin run() {
    PlanesOptions lines;
    lines.seed = options_.seed;
    lines.farthest = options_.farthest;
    lines.explained = [this](const Vector& u) { return explained(u); };
    if (space_.bounded()) {
      lines.least_lines = kBoxLines;
      lines.quiet_lines = kBoxQuiet;
      lines.most_lines = kBoxMost;
    }
    Planes& planes = out_.planes;
    if (space_.bounded() && space_.whole) {
      const bool exact = from_jumps();
      if (exact) out_.widths = out_.form.widths();
      // Two hidden layers, of which something is missing, are not found otherwise.
      if (!out_.widths.empty()) return std::move(out_);
      layers_.assign(1, planes.V);
    }
    bool closer = false;
    for (int pass = 0, looks = 0; pass < options_.passes; pass += closer ? 0 : 1) {
      const Index known = planes.V.rows();
      if (!closer) more_planes(space_, lines, planes);
      if (!closer && space_.bounded() && space_.whole) planes_in_corners(lines);
      if (planes.V.rows() > known) {
        layers_.assign(1, planes.V);
        units_.clear();
      }
      if (planes.V.rows() == 0) continue;
      if (two_layers(lines)) break;
      const bool there = grow();
      if ((there || some_open()) && finish(pass + 1 == options_.passes)) break;
      closer = looks < kMostLooks && look_closer(static_cast<std::uint64_t>(looks++));
      if (closer) continue;
      lines.through = where_most_is_left();
      lines.least_lines = std::max(1, static_cast<int>(lines.through.size()));
      lines.quiet_lines = 1;
    }
    for (const Matrix& v : layers_) out_.widths.push_back(v.rows());
    if (out_.plain) out_.widths = out_.form.widths();
    return std::move(out_);
  }

 private:
  // Two hidden layers and several outputs in a box (extract/jump_layers.h), polished on the far places asked.
  bool from_jumps() {
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
    const Index first = std::min(
        found.u.rows(), static_cast<Index>(kPolishShare * static_cast<double>(start.V.back().size())));
    const std::vector<Index> rare = where_pairs_act(start, found.u, found.u.topRows(first), kFarQuestions);
    out_.u = found.u.topRows(first);
    out_.y = found.y.topRows(first);
    append(found.u(rare, Eigen::all), found.y(rare, Eigen::all));
    if (!polished(start, control)) return false;
    out_.form.given = 0;
    return true;
  }

  // Units of the first layer that are on at all questions so far: lines to where they would switch.
  void planes_in_corners(PlanesOptions lines) {
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

  // Units of the last hidden layer by the directions of their jumps.
  [[nodiscard]] std::vector<FoundUnit> units_by_jumps() const {
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

  // Two hidden layers whose first is known with its signs, and whose second is told by the jumps of several outputs: its
  // kinks alone give its rows. Where questions are left unanswered, lines lead to them.
  bool two_layers(PlanesOptions lines) {
    const Index m = space_.meter->outputs();
    if (m < kManyOutputs) return false;
    const Control control = space_.meter->control().within(kPolishSeconds);
    for (int round = 0; round < kJumpRounds; ++round) {
      const FirstLayer first = first_layer(out_.planes.V, out_.planes.pieces);
      const std::vector<FoundUnit> units = units_by_jumps();
      if (first.signs.size() == 0 || units.empty()) return false;
      const Index k = out_.planes.V.rows();
      const auto unknowns =
          static_cast<double>(k * (s_ + 1) + static_cast<Index>(units.size()) * (k + 1 + m));
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
      lines.through = where_most_is_left();
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

  // Of the surface through a kink, near the middle.
  [[nodiscard]] double uncertainty(const UpperKink& kink) const {
    return kink.error * (out_.planes.scale + (kink.place - space_.middle()).norm());
  }

  [[nodiscard]] KnownLayers below(std::size_t level) const {
    return {s_, {layers_.begin(), layers_.begin() + static_cast<std::ptrdiff_t>(level)}};
  }

  [[nodiscard]] bool near(const KnownLayers& under, const Vector& row, const Vector& u) const {
    const KnownLayers::Value value = under.value(row, u);
    return std::abs(value.z) <=
           kExplained * value.slope.norm() * (out_.planes.scale + (u - space_.middle()).norm());
  }

  // By a unit above the first layer.
  [[nodiscard]] bool explained(const Vector& u) const {
    for (std::size_t level = 1; level < layers_.size(); ++level) {
      const KnownLayers under = below(level);
      for (Index j = 0; j < layers_[level].rows(); ++j)
        if (near(under, layers_[level].row(j).transpose(), u)) return true;
    }
    return false;
  }

  // By a unit whose surface passes near it in the same direction: as far as a row is known.
  [[nodiscard]] bool same_piece(const UpperKink& kink) const {
    for (std::size_t level = 1; level < layers_.size(); ++level) {
      const KnownLayers under = below(level);
      for (Index j = 0; j < layers_[level].rows(); ++j) {
        const KnownLayers::Value value = under.value(layers_[level].row(j).transpose(), kink.place);
        const double size = value.slope.norm(),
                     far = out_.planes.scale + (kink.place - space_.middle()).norm();
        const Vector across = value.slope - value.slope.dot(kink.normal) * kink.normal;
        if (std::abs(value.z) <= kNearPiece * size * far && across.norm() <= kParallel * size) return true;
      }
    }
    return false;
  }

  // Layers above the first, as far as kinks show them; true where the outputs are explained by them.
  bool grow() {
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

  // Units of layer `level` (from 0) behind kinks that nothing explains; true where there are new ones.
  bool grow_layer(std::size_t level) {
    const KnownLayers under = below(level);
    bool added = false;
    int failed = 0;
    // Sharp ones first.
    std::vector<std::size_t> order(out_.planes.upper.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [this](std::size_t i, std::size_t j) {
      return uncertainty(out_.planes.upper[i]) < uncertainty(out_.planes.upper[j]);
    });
    for (const std::size_t i : order) {
      const UpperKink kink = out_.planes.upper[i];
      if (tried(level, i, under.units()) || explained(kink.place) || same_piece(kink)) continue;
      space_.meter->control().check();
      FollowOptions follow;
      follow.seed = options_.seed + 7919 * static_cast<std::uint64_t>(i) + static_cast<std::uint64_t>(level);
      follow.scale = out_.planes.scale;
      follow.same = same_jump(i);
      Followed found = follow_unit(space_, under, kink, follow);
      std::optional<FoundUnit> row = verified(under, kink, follow.same, found, follow.seed);
      if (!row && !follow.same.empty()) {
        follow.same.clear();
        found = follow_unit(space_, under, kink, follow);
        row = verified(under, kink, {}, found, follow.seed);
      }
      if (!row) {
        remember(level, i, under.units());
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

  // Kinks whose jumps are along that of kink i: of the same unit, where it is of the last hidden layer.
  [[nodiscard]] std::vector<UpperKink> same_jump(std::size_t i) const {
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

  // True where it is another part of a unit that is known, which then gets what both say.
  bool joined(std::size_t level, const KnownLayers& under, const FoundUnit& unit) {
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

  // Kinks where a surface was lost: of a unit below that is missing. True where there are any.
  bool kinks_at_breaks(const Followed& found, std::uint64_t seed) {
    bool any = false;
    for (std::size_t i = 0; i < std::min(kBreaks, found.lost.size()) && breaks_ < kMostBreaks; ++i) {
      ++breaks_;
      for (const UpperKink& kink : kinks_at_break(space_, found.lost[i], out_.planes.scale, seed + i))
        any = add_kink(kink) || any;
    }
    return any;
  }

  // False where it is that of a known unit.
  bool add_kink(const UpperKink& kink) {
    const bool known =
        on_plane(kink.place) || explained(kink.place) || same_piece(kink) ||
        std::any_of(out_.planes.upper.begin(), out_.planes.upper.end(), [&](const UpperKink& other) {
          return std::abs(kink.normal.dot(kink.place - other.place)) <= kNearPiece * out_.planes.scale &&
                 1 - std::abs(kink.normal.dot(other.normal)) <= kParallel * kParallel &&
                 (kink.place - other.place).norm() <= kBeside * out_.planes.scale;
        });
    if (!known) out_.planes.upper.push_back(kink);
    return !known;
  }

  [[nodiscard]] bool on_plane(const Vector& u) const {
    const Matrix& V = layers_.front();
    return (V.leftCols(s_) * u + V.col(s_)).cwiseAbs().minCoeff() <=
           kExplained * (out_.planes.scale + (u - space_.middle()).norm());
  }

  // Kinks of units that are missing, where the others explain nearly all: true where there are new ones.
  bool look_closer(std::uint64_t look) {
    if (form_.C.size() == 0) return false;
    double left = 0;
    std::vector<Index> off = unexplained(left);
    if (known_) {
      // Questions of before that a network for all others does not answer.
      form_ = *std::exchange(known_, std::nullopt);
      left = 0;
      off = wrong_rows(left);
      if (static_cast<double>(off.size()) > kTrimmed * static_cast<double>(out_.u.rows())) return false;
    } else if (left < all_there() && left > kExact) {
      (void)sharpen_layers(off, left);
    }
    if (!(left < all_there())) return false;
    const Model model = [&](const RowMatrix& u) {
      NoisyAnswers said{evaluate(form_, u), Vector(u.rows())};
      for (Index i = 0; i < u.rows(); ++i)
        said.noise(i) = allowed(left, u.row(i).transpose(), said.values.row(i).cwiseAbs().maxCoeff());
      return said;
    };
    if (off.empty() && !form_.plain) {
      const RowMatrix u = where_units_switch(look);
      if (u.rows() == 0) return false;
      const RowMatrix y = space_.ask(kStage, u);
      const NoisyAnswers said = model(u);
      const Index have = out_.u.rows();
      append(u, y);
      for (Index i = 0; i < u.rows(); ++i)
        if ((y - said.values).row(i).cwiseAbs().maxCoeff() > said.noise(i)) off.push_back(have + i);
    }
    std::size_t found = 0;
    std::vector<std::pair<Vector, Vector>> known;
    const std::vector<bool> wrong = [&] {
      std::vector<bool> out(static_cast<std::size_t>(out_.u.rows()), false);
      for (const Index i : off) out[static_cast<std::size_t>(i)] = true;
      return out;
    }();
    for (std::size_t i = 0; i < off.size() && found < kRightAway && i < 2 * kRightAway; ++i) {
      const Vector to = out_.u.row(off[i]);
      Index nearest = -1;
      double least = 0;
      for (Index r = 0; r < out_.u.rows(); ++r) {
        const double far = (out_.u.row(r).transpose() - to).norm();
        if (!wrong[static_cast<std::size_t>(r)] && (nearest < 0 || far < least)) nearest = r, least = far;
      }
      if (nearest < 0) return false;
      const auto kink = first_kink(space_, model, out_.u.row(nearest).transpose(), to, out_.planes.scale,
                                   options_.seed + 104729 * (look + 1) + i);
      if (kink && add_kink(*kink)) {
        ++found;
      } else if (kink) {
        known.emplace_back(kink->place, to);
      }
    }
    return found > 0 || (!known.empty() && weights_beyond(known));
  }

  // A known unit, beyond whose surface the network is wrong: a weight on it that was open. Questions there give it.
  bool weights_beyond(const std::vector<std::pair<Vector, Vector>>& from_to) {
    RowMatrix u(static_cast<Index>(from_to.size()) * kBeyond, s_);
    for (std::size_t i = 0; i < from_to.size(); ++i)
      for (Index q = 0; q < kBeyond; ++q)
        u.row(static_cast<Index>(i) * kBeyond + q) =
            (from_to[i].first + static_cast<double>(q + 1) / static_cast<double>(kBeyond) *
                                    (from_to[i].second - from_to[i].first))
                .transpose();
    append(u, space_.ask(kStage, u));
    std::vector<Index> none;
    double left = 0;
    return sharpen_layers(none, left);
  }

  // How far the fitted model may be off where it holds.
  [[nodiscard]] double allowed(double left, const Vector& u, double size) const {
    const double spread = spread_of(out_.y);
    const double far = 1 + (u - space_.middle()).norm() / out_.planes.scale;
    return (kModelErrors * std::sqrt(left) + kModelRounding) * std::max(spread, size) * far;
  }

  // Questions that the layers do not explain, worst first, once they are left out of the fit; `left` is that of the
  // others.
  std::vector<Index> unexplained(double& left) {
    std::vector<Index> order(static_cast<std::size_t>(out_.u.rows()));
    std::iota(order.begin(), order.end(), Index{0});
    const auto kept = static_cast<Index>((1 - kTrimmed) * static_cast<double>(order.size()));
    left = fit_on(order);
    const auto by_residual = [&] {
      const Vector off = (out_.y - evaluate(form_, out_.u)).rowwise().norm();
      std::stable_sort(order.begin(), order.end(), [&](Index i, Index j) { return off(i) < off(j); });
    };
    for (int round = 0; round < kTrimmings && !(left < all_there()) && kept > form_.features(); ++round) {
      by_residual();
      left = fit_on({order.begin(), order.begin() + kept});
    }
    return left < all_there() ? wrong_rows(left) : std::vector<Index>{};
  }

  // Questions that the fitted model does not answer, worst first.
  [[nodiscard]] std::vector<Index> wrong_rows(double left) const {
    const RowMatrix off = out_.y - evaluate(form_, out_.u);
    std::vector<Index> out;
    for (Index i = 0; i < off.rows(); ++i)
      if (off.row(i).cwiseAbs().maxCoeff() >
          allowed(left, out_.u.row(i).transpose(), out_.y.row(i).cwiseAbs().maxCoeff()))
        out.push_back(i);
    const Vector size = off.rowwise().norm();
    std::stable_sort(out.begin(), out.end(), [&](Index i, Index j) { return size(i) > size(j); });
    return out;
  }

  // All rows of all layers, sign-free, on the questions that they explain. The layers take them, and it is true, where
  // surfaces still pass through all places at which they were met: rows of units that act rarely may not.
  bool sharpen_layers(std::vector<Index>& off, double& left) {
    const double unknowns =
        static_cast<double>(form_.unknowns()) / static_cast<double>(space_.meter->outputs());
    const double wanted = kSharpenShare * unknowns + static_cast<double>(form_.features());
    if (wanted > kMostToSharpen) return false;
    if (wanted + static_cast<double>(off.size()) > static_cast<double>(out_.u.rows())) {
      ask(wanted + static_cast<double>(off.size()));
      off = unexplained(left);
      if (!(left < all_there())) return false;
    }
    std::vector<bool> wrong(static_cast<std::size_t>(out_.u.rows()), false);
    for (const Index i : off) wrong[static_cast<std::size_t>(i)] = true;
    std::vector<Index> rows;
    for (Index i = 0; i < out_.u.rows(); ++i)
      if (!wrong[static_cast<std::size_t>(i)]) rows.push_back(i);
    const RowMatrix u = out_.u(rows, Eigen::all), y = out_.y(rows, Eigen::all);
    auto fit = polished_on(form_, u, y, kFewSteps, space_.meter->control().within(kPolishSeconds));
    if (!fit) return false;
    form_ = std::move(fit->form);
    left = fit->relative_mse;
    off = wrong_rows(left);
    const std::vector<Matrix> before = layers_;
    const auto units = units_;
    take_rows(form_.V);
    if (passes_places()) return true;
    layers_ = before;
    units_ = units;
    return false;
  }

  [[nodiscard]] bool passes_places() const {
    for (std::size_t l = 1; l < layers_.size(); ++l) {
      const KnownLayers under = below(l);
      for (const FoundUnit& unit : units_[l - 1]) {
        for (const MetPlace& place : unit.met) {
          const KnownLayers::Value value = under.value(unit.row, place.at);
          if (!(std::abs(value.z) <= kRough * out_.planes.scale * value.slope.norm())) return false;
        }
      }
    }
    return true;
  }

  double fit_on(const std::vector<Index>& rows) {
    const RowMatrix u = out_.u(rows, Eigen::all), y = out_.y(rows, Eigen::all);
    const Scaled scaled(u, y);
    form_ = {};
    form_.inputs = s_;
    form_.V = layers_;
    DeepForm inside = scaled.to_scaled(form_);
    normalise(inside);
    const double left = fit_linear_part(inside, scaled.data(u, y), space_.meter->control());
    form_ = scaled.from_scaled(inside);
    return left;
  }

  // Places at which units would switch that are on at all questions.
  [[nodiscard]] RowMatrix where_units_switch(std::uint64_t look) const {
    std::vector<Vector> places;
    for (std::size_t l = 0; l < form_.depth(); ++l) {
      const Matrix& V = form_.V[l];
      const Index k = V.rows();
      Matrix U, R;
      if (l + 1 == form_.depth()) {
        U = form_.C.topRows(k).transpose();
        R = form_.C.bottomRows(form_.C.rows() - k).transpose();
      } else {
        Index rows = 0;
        const Matrix& above = form_.V[l + 1];
        U.resize(above.rows(), k);
        R.resize(above.rows(), above.cols() - k);
        for (Index i = 0; i < above.rows(); ++i) {
          if (units_[l][static_cast<std::size_t>(i)].open > 0) continue;
          U.row(rows) = above.row(i).head(k);
          R.row(rows++) = above.row(i).tail(above.cols() - k);
        }
        U.conservativeResize(rows, Eigen::NoChange);
        R.conservativeResize(rows, Eigen::NoChange);
        if (rows < 2) continue;
      }
      const KnownLayers under(s_, {form_.V.begin(), form_.V.begin() + static_cast<std::ptrdiff_t>(l)});
      const std::uint64_t seed = options_.seed + 15485863 * (look + 1) + l;
      std::uint64_t number = 0;
      for (const Vector& row : one_sided_rows(U, R, V, seed, kMostOneSided))
        for (const double side : {1.0, -1.0})
          places.push_back(place_of_most(space_, out_.planes, under, side * row, seed + 7 * ++number));
    }
    RowMatrix out(static_cast<Index>(places.size()), s_);
    for (std::size_t i = 0; i < places.size(); ++i) out.row(static_cast<Index>(i)) = places[i].transpose();
    return out;
  }

  // The row, sharpened, where f bends along its surface.
  [[nodiscard]] std::optional<FoundUnit> verified(const KnownLayers& under, const UpperKink& kink,
                                                  const std::vector<UpperKink>& same, const Followed& found,
                                                  std::uint64_t seed) const {
    if (!found.row) return std::nullopt;
    FoundUnit unit{*found.row, {kink}, found.met, found.open, found.free};
    unit.kinks.insert(unit.kinks.end(), same.begin(), same.end());
    bool rough = false;
    for (int round = 0; round < kSharpenings; ++round) {
      const AlongSurface seen = along_surface(space_, under, out_.planes, unit.row, s_ + kSpare,
                                              seed + 1000003 * static_cast<std::uint64_t>(round));
      if (seen.alive < kLeastAlive) {
        // A surface that lies where few places are was seen on the way.
        if (found.breaks > 0 || unit.met.size() < kLeastMet || seen.bends < seen.alive) return std::nullopt;
        return unit;
      }
      const double share = static_cast<double>(seen.bends) / static_cast<double>(seen.alive);
      if (share < (round == 0 ? kBendsSomewhere : kBendsEverywhere)) return std::nullopt;
      unit.met.insert(unit.met.end(), seen.met.begin(), seen.met.end());
      double off = 0;
      unit.row = through_places(under, unit.row, unit.kinks, unit.met, off);
      if (off <= kSharp * out_.planes.scale &&
          (share >= kBendsEverywhere || (share >= kBendsMostly && seen.bends >= kLeastAlive)))
        return unit;
      rough = off > kRough * out_.planes.scale;
    }
    if (rough) return std::nullopt;
    return unit;
  }

  // Kinks that led nowhere are not followed again on the same layers.
  [[nodiscard]] bool tried(std::size_t level, std::size_t kink, Index units) const {
    return std::find(tried_.begin(), tried_.end(), Tried{level, kink, units}) != tried_.end();
  }
  void remember(std::size_t level, std::size_t kink, Index units) { tried_.push_back({level, kink, units}); }

  // Random questions until there are so many.
  void ask(double count) {
    const Index have = out_.u.rows(), wanted = static_cast<Index>(count) + kMore;
    if (have >= wanted) return;
    const RowMatrix u = places_about(space_, out_.planes, options_.seed ^ 0x2545f491u,
                                     static_cast<std::uint64_t>(have), wanted - have);
    const RowMatrix y = space_.ask(kStage, u);
    RowMatrix all_u(wanted, s_), all_y(wanted, y.cols());
    if (have > 0) {
      all_u.topRows(have) = out_.u;
      all_y.topRows(have) = out_.y;
    }
    all_u.bottomRows(u.rows()) = u;
    all_y.bottomRows(u.rows()) = y;
    out_.u = std::move(all_u);
    out_.y = std::move(all_y);
  }

  [[nodiscard]] double all_there() const { return kAllThere[layers_.size() > 2 ? 1 : 0]; }

  // The outputs on all features; returns what is left, as a share of the variance.
  double linear_part() {
    form_ = {};
    form_.inputs = s_;
    form_.V = layers_;
    ask(kLinearShare * static_cast<double>(form_.features()));
    const Scaled scaled(out_.u, out_.y);
    DeepForm inside = scaled.to_scaled(form_);
    normalise(inside);
    const double left = fit_linear_part(inside, scaled.data(out_.u, out_.y), space_.meter->control());
    form_ = scaled.from_scaled(inside);
    out_.relative_mse = left;
    return left;
  }

  // From the random questions that are answered best to those that are answered worst: a unit that is missing
  // bends f in between.
  [[nodiscard]] std::vector<std::pair<Vector, Vector>> where_most_is_left() const {
    std::vector<std::pair<Vector, Vector>> out;
    if (form_.C.size() == 0) return out;
    const Vector left = (out_.y - evaluate(form_, out_.u)).rowwise().norm();
    std::vector<Index> order(static_cast<std::size_t>(left.size()));
    std::iota(order.begin(), order.end(), Index{0});
    std::stable_sort(order.begin(), order.end(), [&](Index i, Index j) { return left(i) < left(j); });
    for (std::size_t i = 0; i < std::min(kWorst, order.size() / 2); ++i)
      out.emplace_back(out_.u.row(order[i]).transpose(), out_.u.row(order[order.size() - 1 - i]).transpose());
    return out;
  }

  // Nearly all is explained, and rows say little of some units: signs may tell more.
  [[nodiscard]] bool some_open() const {
    if (!(out_.relative_mse < kNearlyThere)) return false;
    for (const auto& units : units_)
      for (const FoundUnit& unit : units)
        if (unit.free.rows() > 0) return true;
    return false;
  }

  // Signs and last digits; false where that leads nowhere.
  bool finish(bool last) {
    const auto m = static_cast<double>(space_.meter->outputs());
    const Control control = space_.meter->control().within(kPolishSeconds);
    const Vector signs = first_layer(layers_.front(), out_.planes.pieces).signs;
    DeepForm plain = plain_layers(layers_.front(), units_, out_.u, out_.y, signs);
    if (plain.V.empty()) plain = find_signs(form_).form;
    ask(kPolishShare * static_cast<double>(plain.unknowns()) / m + static_cast<double>(plain.features()));
    // Units that act rarely show among more questions.
    if (!(linear_part() < (some_open() ? kNearlyThere : all_there()))) return false;
    if (polished(plain, control)) {
      without_twins(control);
      ask_where_pairs_act();
      on_all_questions(control);
      return !surprised();
    }
    if (!last) return false;
    ask(kPolishShare * static_cast<double>(form_.unknowns()) / m + static_cast<double>(form_.features()));
    if (!(linear_part() < all_there())) return false;
    if (!polished(form_, control)) return false;
    const DeepForm loose = out_.form;
    const DeepSigns second = find_signs(loose);
    if (!polished(second.form, control) && !polished(loose, control)) return false;
    on_all_questions(control);
    return !surprised();
  }

  void ask_where_pairs_act() {
    const RowMatrix places =
        places_about(space_, out_.planes, options_.seed ^ 0x510e527fu, 0, kPairCandidates);
    const RowMatrix u = places(where_pairs_act(out_.form, places, out_.u, kPairQuestions), Eigen::all);
    if (u.rows() > 0) append(u, space_.ask(kStage, u));
  }

  void append(const RowMatrix& u, const RowMatrix& y) {
    const Index have = out_.u.rows();
    out_.u.conservativeResize(have + u.rows(), Eigen::NoChange);
    out_.y.conservativeResize(have + y.rows(), Eigen::NoChange);
    out_.u.bottomRows(u.rows()) = u;
    out_.y.bottomRows(y.rows()) = y;
  }

  // Questions of before that the network answers wrongly join the random ones: a unit is missing.
  bool surprised() {
    const WrongAnswers wrong =
        wrong_answers(space_, out_.form, spread_of(out_.y), out_.planes.scale, kMostSurprises);
    if (wrong.u.rows() == 0) return false;
    append(wrong.u, wrong.y);
    if (out_.plain) adopt(out_.form);
    out_.exact = out_.plain = false;
    (void)linear_part();
    return true;
  }

  // A plain network that answers nearly all questions: its rows are as sharp as they get.
  void adopt(const DeepForm& plain) {
    known_ = plain;
    const DeepForm loose = to_sign_free_form(to_deep(plain));
    for (std::size_t l = 0; l < layers_.size(); ++l)
      if (loose.depth() != layers_.size() || loose.V[l].rows() != layers_[l].rows()) return;
    take_rows(loose.V);
  }

  // Sharper rows, on the scale of those before: what was open stays open.
  void take_rows(std::vector<Matrix> rows) {
    for (std::size_t l = 0; l < rows.size(); ++l) {
      for (Index j = 0; j < rows[l].rows(); ++j) {
        const double size = rows[l].row(j).norm(), sign = rows[l].row(j).dot(layers_[l].row(j)) < 0 ? -1 : 1;
        const double factor = sign * layers_[l].row(j).norm() / std::max(size, kTiny);
        rows[l].row(j) *= factor;
        Index column = j;  // of |Q_l| in what lies above
        for (std::size_t above = l + 1; above < rows.size(); ++above) {
          rows[above].col(column) /= std::abs(factor);
          column += rows[above].rows();
        }
        if (l > 0) units_[l - 1][static_cast<std::size_t>(j)].row = rows[l].row(j).transpose();
      }
    }
    layers_ = std::move(rows);
  }

  // Of a unit that was met on two parts of its surface one half is enough.
  void without_twins(const Control& control) {
    const auto doubtful = [](const FoundUnit& unit) { return unit.open > 0; };
    for (std::size_t l = 1; l < out_.form.depth(); ++l) {
      if (std::none_of(units_[l - 1].begin(), units_[l - 1].end(), doubtful)) continue;
      for (Index j = out_.form.V[l].rows(); j-- > 0 && out_.form.V[l].rows() > 1;) {
        std::vector<Index> kept(static_cast<std::size_t>(out_.form.V[l].rows()));
        std::iota(kept.begin(), kept.end(), Index{0});
        kept.erase(kept.begin() + j);
        (void)polished(with_units(out_.form, l, kept), control, kFewSteps);
      }
    }
  }

  // The last digits of units that act rarely: kinks and places on surfaces are questions too.
  void on_all_questions(const Control& control) {
    if (auto fit = polished_on_all(space_, out_.form, out_.u, out_.y, out_.planes.scale, kStage, control))
      out_.form = std::move(fit->form);
  }

  bool polished(const DeepForm& start, const Control& control, int hope = kManySteps) {
    auto fit = polished_on(start, out_.u, out_.y, hope, control);
    if (!fit) return false;
    out_.form = std::move(fit->form);
    out_.relative_mse = fit->relative_mse;
    out_.exact = true;
    out_.plain = out_.form.plain;
    return true;
  }

  struct Tried {
    std::size_t level = 0, kink = 0;
    Index units = 0;
    bool operator==(const Tried&) const = default;
  };

  const Space& space_;
  const DeepWithinOptions& options_;
  Index s_;
  std::vector<Matrix> layers_;                 // sign-free, in the space's coordinates
  std::vector<std::vector<FoundUnit>> units_;  // of every layer above the first
  std::vector<Tried> tried_;
  std::optional<DeepForm> known_;  // a plain network for all questions but a few
  bool below_ = false;             // a layer further down is to be looked at again
  int breaks_ = 0;                 // looked at so far
  DeepForm form_;
  DeepWithin out_;
};

}  // namespace

DeepWithin deep_within(const Space& space, const DeepWithinOptions& options) {
  return Finder(space, options).run();
}

}  // namespace exhume
