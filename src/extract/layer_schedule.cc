#include "extract/layer_schedule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "extract/moves/find_always_on_unit.h"
#include "extract/moves/find_missing_unit.h"
#include "extract/moves/find_planes.h"
#include "extract/moves/finish_network.h"
#include "extract/moves/grow_layers.h"
#include "extract/moves/tell_by_jumps.h"

namespace exhume {
namespace {

// Chosen by experience on random and digit-trained networks; not derived.
struct LayerScheduleLimits {
  int passes = 10;      // of lines
  int most_looks = 40;  // for missing units
  // Lines in a box are short, and units bend in few of its corners.
  int box_lines = 24, box_quiet = 12, box_most = 72;
  int random_lines = 2;  // of a further pass
  // Queries after which an attempt is given up, so that another may be made: since it last came further, and
  // in all; some, and so many per unit of the first layer. Further is another unit of the second layer, or a
  // tenth of what was left.
  double idle = 4000, idle_per_plane = 500;
  double all = 10000, all_per_plane = 2000;
  double progress = 0.1;
};
constexpr LayerScheduleLimits kSchedule;

class LayerSchedule {
 public:
  LayerSchedule(LayerSearch& search, MoveLog& log)
      : search_(search), known_(search.hypothesis), log_(log), started_(answered()), progress_(started_) {
    lines_.seed = search.seed;
    lines_.farthest = search.farthest;
    lines_.explained = [&search](const Vector& u) { return is_explained(search, u); };
    if (search.space.bounded()) {
      lines_.least_lines = kSchedule.box_lines;
      lines_.quiet_lines = kSchedule.box_quiet;
      lines_.most_lines = kSchedule.box_most;
    }
    if (known_.planes.rows() > 0) known_.start_over();
  }

  void run() {
    std::optional<MoveRecord> next = first();
    while (next && !search_.space.meter->control().out_of_time()) {
      next->queries = answered();
      log_.push_back(*next);
      next = after(next->move);
    }
  }

 private:
  using Next = std::optional<MoveRecord>;
  static Next then(Move move, std::string why) { return MoveRecord{move, std::move(why), 0}; }

  [[nodiscard]] Index answered() const { return search_.space.meter->answered(); }
  [[nodiscard]] bool boxed() const { return search_.space.bounded() && search_.space.whole; }
  [[nodiscard]] std::string layers_so_far() const {
    return fmt::format("{} units leave {:.1e} of the variance", fmt::join(known_.widths_so_far(), "-"),
                       known_.left);
  }

  [[nodiscard]] Next first() const {
    if (boxed() && jumps_tell_units(search_))
      return then(Move::kTellBoxByJumps, "a box, and outputs enough to tell units by their jumps");
    return then(Move::kFindPlanes, known_.planes.rows() > 0
                                       ? fmt::format("{} planes are known from before", known_.planes.rows())
                                       : "nothing is known");
  }

  // Makes the move, and says which comes after it.
  Next after(Move move) {
    switch (move) {
      case Move::kTellBoxByJumps:
        return box_by_jumps();
      case Move::kFindPlanes:
        return planes();
      case Move::kTellByJumps:
        if (find_two_layers(search_, lines_)) return std::nullopt;
        return then(Move::kGrowLayers, "jumps do not tell two layers that answer all queries");
      case Move::kGrowLayers:
        if (grow_layers(search_, [this] { return is_out_of_patience(); }))
          return then(Move::kPolish, layers_so_far());
        if (is_nearly_explained(search_))
          return then(Move::kPolish, layers_so_far() + "; signs may tell what is open");
        return unless_out_of_patience();
      case Move::kPolish:
        if (finish_network(search_, pass_ + 1 == kSchedule.passes)) return std::nullopt;
        return unless_out_of_patience();
      default:
        return missing_unit();
    }
  }

  Next box_by_jumps() {
    (void)find_box_network(search_);
    // Two hidden layers, of which something is missing, are not found otherwise.
    if (!known_.widths.empty()) return std::nullopt;
    known_.start_over();
    started_ = progress_ = answered();
    return then(Move::kFindPlanes, "jumps show no second layer");
  }

  Next planes() {
    const Index before = known_.planes.rows();
    find_planes(search_.space, lines_, search_.evidence, known_.planes);
    if (boxed()) find_planes_in_corners(search_, lines_);
    if (known_.planes.rows() > before) known_.start_over();
    if (known_.planes.rows() == 0)
      return ++pass_ < kSchedule.passes ? then(Move::kFindPlanes, "no plane was found") : std::nullopt;
    return above_planes();
  }

  [[nodiscard]] Next above_planes() const {
    const std::string why =
        fmt::format("{} planes, {} kinks above them", known_.planes.rows(), search_.evidence.kinks.size());
    return then(jumps_tell_units(search_) ? Move::kTellByJumps : Move::kGrowLayers, why);
  }

  Next unless_out_of_patience() {
    if (is_out_of_patience()) return std::nullopt;
    return then(Move::kFindMissingUnit, layers_so_far());
  }

  Next missing_unit() {
    if (looks_ < kSchedule.most_looks && find_missing_unit(search_, static_cast<std::uint64_t>(looks_++)))
      return above_planes();
    lines_.through = lines_to_worst(search_);
    const std::vector<Segment> across = lines_across_one_sided(search_, static_cast<std::uint64_t>(pass_));
    lines_.through.insert(lines_.through.end(), across.begin(), across.end());
    // And some at random: a unit that is missing may bend f where little is left.
    lines_.least_lines = kSchedule.random_lines + static_cast<int>(lines_.through.size());
    lines_.quiet_lines = 1;
    if (++pass_ == kSchedule.passes) return std::nullopt;
    return then(Move::kFindPlanes, fmt::format("no missing unit was found; {} lines to where most is left",
                                               lines_.through.size()));
  }

  bool is_out_of_patience() {
    if (search_.space.bounded() || known_.layers.empty()) return false;
    const Index now = answered(), second = known_.layers.size() > 1 ? known_.layers[1].rows() : 0;
    if (second > most_second_ || known_.left < kSchedule.progress * least_left_) {
      most_second_ = std::max(most_second_, second);
      least_left_ = std::min(least_left_, known_.left);
      progress_ = now;
    }
    const auto planes = static_cast<double>(known_.layers.front().rows());
    return static_cast<double>(now - progress_) > kSchedule.idle + kSchedule.idle_per_plane * planes ||
           static_cast<double>(now - started_) > kSchedule.all + kSchedule.all_per_plane * planes;
  }

  LayerSearch& search_;
  Hypothesis& known_;
  MoveLog& log_;
  PlanesOptions lines_;
  int pass_ = 0, looks_ = 0;
  Index started_, progress_;  // queries before the first of this search, and when it last came further
  Index most_second_ = 0;     // units of the second layer so far,
  double least_left_ = 1;     // and share of the variance
};

}  // namespace

void search_layers(LayerSearch& search, MoveLog& log) { LayerSchedule(search, log).run(); }

}  // namespace exhume
