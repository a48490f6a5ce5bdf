// The parts of deep_within (extract/deep_within.h): what is known of a deep network so far, and what is done to it.
//
//     deep_finder.cc     lines, the order of things, signs, polish
//     deep_growth.cc     units of a layer behind kinks that nothing explains
//     deep_signs.cc      signs of a layer, from the rows or the kinks above it
//     deep_jumps.cc      two hidden layers and several outputs: kinks told apart by their jumps
//     deep_missing.cc    units that are missing where the others explain nearly all
//     deep_plain.cc      what is wrong where signs are known of all layers but the last
//     deep_always_on.cc  a unit of the last hidden layer that is on at all questions, and where it switches
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "extract/always_on.h"
#include "extract/deep_within.h"
#include "extract/follow.h"
#include "extract/known_layers.h"
#include "extract/plain_layers.h"
#include "extract/single_kink.h"

namespace exhume {

inline constexpr const char* kStage = "subspace";
inline constexpr double kExplained =
    1e-5;  // distance of a kink from a unit's surface, over its own and the scale
inline constexpr double kNearPiece = 1e-2, kParallel = 1e-4;  // and of a surface that is parallel there
inline constexpr Index kManyOutputs = 3;                      // whose jumps tell units apart,
inline constexpr double kSameJump = 1e-7;                     // where they are known and agree so well
inline constexpr double kRough = 1e-6;                        // and from which on it is none
// Relative mean square up to which no unit is taken to be missing, by the layers above the first: rows are known
// less well from layer to layer. What is missing after all shows when the polish does not end at rounding.
inline constexpr double kAllThere[] = {1e-10, 1e-7};
inline constexpr double kPolishSeconds = 120;
// Steps without which a polish is given up.
inline constexpr int kPatientSteps = 40, kManySteps = 10, kFewSteps = 4;

class DeepFinder {
 public:
  DeepFinder(const Space& space, const DeepWithinOptions& options)
      : space_(space), options_(options), s_(space.dimensions()) {}
  DeepWithin run();

 private:
  // Questions of all stages so far, those of a log included as they are read.
  [[nodiscard]] Index used() const;
  // So many were asked for what was found that another attempt is better than going on.
  [[nodiscard]] bool out_of_patience();
  // Two hidden layers and several outputs in a box (extract/jump_layers.h), polished on the far places asked.
  bool from_jumps();
  // Units of the first layer that are on at all questions so far: lines to where they would switch.
  void planes_in_corners(PlanesOptions lines);
  // Units of the last hidden layer by the directions of their jumps.
  [[nodiscard]] std::vector<FoundUnit> units_by_jumps() const;
  // Two hidden layers whose first is known with its signs, and whose second is told by the jumps of several outputs: its
  // kinks alone give its rows. Where questions are left unanswered, lines lead to them.
  bool two_layers(PlanesOptions lines);
  // Of the surface through a kink, near the middle.
  [[nodiscard]] double uncertainty(const UpperKink& kink) const;
  [[nodiscard]] KnownLayers below(std::size_t level) const;
  [[nodiscard]] bool near(const KnownLayers& under, const Vector& row, const Vector& u) const;
  // By a unit above the first layer.
  [[nodiscard]] bool explained(const Vector& u) const;
  // By a unit whose surface passes near it in the same direction: as far as a row is known.
  [[nodiscard]] bool same_piece(const UpperKink& kink) const;
  // Layers above the first, as far as kinks show them; true where the outputs are explained by them.
  bool grow();
  // Units of layer `level` (from 0) behind kinks that nothing explains; true where there are new ones.
  bool grow_layer(std::size_t level);
  // Rows of a layer's units after max(., 0), as the units above it tell their signs; none where these are open.
  [[nodiscard]] Matrix plain_rows_of(std::size_t layer) const;
  // Units of a level that were followed while signs were open, and of which more is open than what lies just below has units:
  // they are found again.
  void without_loose(std::size_t level, Index most);
  // Those signs from kinks above the layer, where it has no more units than the space has dimensions: the slope there is a sum
  // of the slopes of its units, in which those that are off have no part.
  [[nodiscard]] Vector signs_by_kinks(std::size_t layer) const;
  // What they were last, of which layer and from how many kinks: all ways of them are tried.
  struct SignsTold {
    Matrix rows;
    std::size_t kinks = 0;
    Vector signs;
  };
  mutable SignsTold told_;
  // Kinks whose jumps are along that of kink i: of the same unit, where it is of the last hidden layer.
  [[nodiscard]] std::vector<UpperKink> same_jump(std::size_t i) const;
  // True where it is another part of a unit that is known, which then gets what both say.
  bool joined(std::size_t level, const KnownLayers& under, const FoundUnit& unit);
  // Kinks where a surface was lost: of a unit below that is missing. True where there are any.
  bool kinks_at_breaks(const Followed& found, std::uint64_t seed);
  // False where it is that of a known unit.
  bool add_kink(const UpperKink& kink);
  [[nodiscard]] bool on_plane(const Vector& u) const;
  // Kinks of units that are missing, where the others explain nearly all: true where there are new ones.
  bool look_closer(std::uint64_t look);
  // The layers as a plain network, as far as they are known; empty where signs are open.
  [[nodiscard]] DeepForm plain_so_far() const;
  // The outputs on the last hidden layer and the features below it, by least absolute deviations, and the questions that this does
  // not answer, worst first: a unit is missing there, or a weight is open. None where most are wrong.
  struct PlainLook {
    Model model;
    std::vector<Index> off;
    DeepForm plain;                      // the layers as they are known
    double error = 0;                    // of answers, over their allowance
    std::vector<AlwaysOnRow> always_on;  // of a unit of the last hidden layer that may be on at all questions
  };
  [[nodiscard]] std::optional<PlainLook> plain_look() const;
  // Places at which such units would be off, so many times as far out as random ones.
  [[nodiscard]] RowMatrix where_always_on_switch(const std::vector<AlwaysOnRow>& rows, std::uint64_t look,
                                                 double farther = 1) const;
  // All is answered but for terms that pass the last hidden layer by: a unit of it may be on at all random questions and switch far
  // out, where it is then found. True where all questions are answered with it.
  bool switched_far_out(const Control& control);
  // Its last hidden layer on the questions, then all of it.
  bool polished_from_above(const DeepForm& start, const Control& control);
  // Asks there, and returns those of the questions that a model does not answer.
  std::vector<Index> wrong_at(const RowMatrix& u, const Model& model);
  // Kinks on the way to questions that a model does not answer, worst first: the number of new ones. Known surfaces, and how far they were
  // from these questions, join `known`.
  std::size_t kinks_towards(const std::vector<Index>& off, const Model& model, std::uint64_t look,
                            std::vector<std::pair<Vector, Vector>>& known);
  // A known unit, beyond whose surface the network is wrong: a weight on it that was open. Questions there give it.
  bool weights_beyond(const std::vector<std::pair<Vector, Vector>>& from_to);
  // How far the fitted model may be off where it holds.
  [[nodiscard]] double allowed(double left, const Vector& u, double size) const;
  // Questions that the layers do not explain, worst first, once they are left out of the fit; `left` is that of the
  // others.
  std::vector<Index> unexplained(double& left);
  // Questions that the fitted model does not answer, worst first.
  [[nodiscard]] std::vector<Index> wrong_rows(double left) const;
  // All rows of all layers, sign-free, on the questions that they explain. The layers take them, and it is true, where
  // surfaces still pass through all places at which they were met: rows of units that act rarely may not.
  bool sharpen_layers(std::vector<Index>& off, double& left);
  [[nodiscard]] bool passes_places() const;
  double fit_on(const std::vector<Index>& rows);
  // Lines from where a unit of a layer below others that is always on, as the rows above tell, is most to where it is least.
  [[nodiscard]] std::vector<std::pair<Vector, Vector>> across_one_sided(std::uint64_t look) const;
  // Places at which units would switch that are on at all questions.
  [[nodiscard]] RowMatrix where_units_switch(std::uint64_t look) const;
  // The row, sharpened, where f bends along its surface.
  [[nodiscard]] std::optional<FoundUnit> verified(const KnownLayers& under, const UpperKink& kink,
                                                  const FollowOptions& follow, const Followed& found) const;
  // Kinks that led nowhere are not followed again on the same layers.
  [[nodiscard]] bool tried(std::size_t level, std::size_t kink, Index units) const;
  void remember(std::size_t level, std::size_t kink, Index units) { tried_.push_back({level, kink, units}); }
  // Random questions until there are so many.
  void ask(double count);
  [[nodiscard]] double all_there() const { return kAllThere[layers_.size() > 2 ? 1 : 0]; }
  // The outputs on all features; returns what is left, as a share of the variance.
  double linear_part();
  // From the random questions that are answered best to those that are answered worst: a unit that is missing
  // bends f in between.
  [[nodiscard]] std::vector<std::pair<Vector, Vector>> where_most_is_left() const;
  // Those of the lines that were not drawn before: no question is asked twice.
  [[nodiscard]] std::vector<std::pair<Vector, Vector>> not_drawn(std::vector<std::pair<Vector, Vector>> ends);
  // Nearly all is explained, and rows say little of some units: signs may tell more.
  [[nodiscard]] bool some_open() const;
  // Signs and last digits; false where that leads nowhere.
  bool finish(bool last);
  void ask_where_pairs_act();
  // Where units that act rarely would.
  void ask_at_climbs();
  void append(const RowMatrix& u, const RowMatrix& y);
  // Questions of before that the network answers wrongly join the random ones: a unit is missing.
  bool surprised();
  // The network that was surprised, fitted to these questions too: weights that were open where nothing was asked. False where
  // that is not enough.
  bool learned(const Control& control);
  // A plain network that answers nearly all questions: its rows are as sharp as they get.
  void adopt(const DeepForm& plain);
  // Sharper rows, on the scale of those before: what was open stays open.
  void take_rows(std::vector<Matrix> rows);
  // Of a unit that was met on two parts of its surface one half is enough.
  void without_twins(const Control& control);
  // Leaves out units of layer l (from 0) without which all questions are answered as well.
  void without_needless(std::size_t l, const Control& control);
  // The last digits of units that act rarely: kinks and places on surfaces are questions too.
  void on_all_questions(const Control& control);
  bool polished(const DeepForm& start, const Control& control, int hope = kManySteps);
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
  std::optional<DeepForm> known_;                 // a plain network for all questions but a few
  std::optional<DeepForm> start_;                 // one for all so far, of which a polish may start
  bool below_ = false;                            // a layer further down is to be looked at again
  int breaks_ = 0;                                // looked at so far
  int climbed_ = 0;                               // times
  int far_looks_ = 0;                             // for a unit that switches far out
  std::vector<std::pair<Vector, Vector>> drawn_;  // lines to where most is left
  Index started_ = 0,
        progress_ = 0;     // questions before the first of this attempt, and when it last came further
  Index most_second_ = 0;  // units of the second layer so far,
  double least_left_ = 1;  // and share of the variance
  DeepForm form_;
  DeepWithin out_;
};

}  // namespace exhume
