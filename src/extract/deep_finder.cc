#include "extract/deep_finder.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "extract/climb.h"
#include "extract/deep_fit.h"
#include "extract/pairs.h"
#include "extract/scaled.h"
#include "fit/deep/prune.h"
#include "fit/signs.h"

namespace exhume {
namespace {

constexpr double kNearlyThere = 2e-3;                 // and where rows are open
constexpr double kLinearShare = 2, kPolishShare = 2;  // equations for every unknown
constexpr Index kMore = 60;
constexpr Index kPairCandidates = 60000;
constexpr double kPairQuestions = 4;  // at which both units of a weight are on
constexpr Index kMostSurprises = 60;
constexpr int kLessons = 4;  // polishes on surprises
// Questions after which an attempt is given up, so that another may be made: since it last came further, and in all; some, and so
// many for every unit of the first layer. Further is another unit of the second layer, or a tenth of what was left.
constexpr double kPatience = 4000, kPatienceForPlane = 500;
constexpr double kMostPatience = 10000, kMostForPlane = 2000;
constexpr double kProgress = 0.1;
constexpr Index kClimbs =
    400;  // questions where sums of known units are most, before a network is taken for whole
// Lines in a box are short, and units bend in few of its corners.
constexpr int kBoxLines = 24, kBoxQuiet = 12, kBoxMost = 72;
constexpr std::size_t kWorst = 2;  // lines to where most is left, in one pass
constexpr int kMostLooks = 40;
constexpr int kRandomLines = 2;  // of a further pass

}  // namespace

DeepWithin DeepFinder::run() {
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
  planes = options_.planes;
  if (planes.V.rows() > 0) layers_.assign(1, planes.V);
  if (space_.bounded() && space_.whole) {
    const bool exact = from_jumps();
    if (exact) out_.widths = out_.form.widths();
    // Two hidden layers, of which something is missing, are not found otherwise.
    if (!out_.widths.empty()) return std::move(out_);
    layers_.assign(1, planes.V);
  }
  bool closer = false;
  started_ = progress_ = used();
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
    if (out_of_patience()) break;
    closer = looks < kMostLooks && look_closer(static_cast<std::uint64_t>(looks++));
    if (closer) continue;
    lines.through = not_drawn(where_most_is_left());
    const auto across = across_one_sided(static_cast<std::uint64_t>(pass));
    lines.through.insert(lines.through.end(), across.begin(), across.end());
    // And some at random: a unit that is missing may bend f where little is left.
    lines.least_lines = kRandomLines + static_cast<int>(lines.through.size());
    lines.quiet_lines = 1;
  }
  for (const Matrix& v : layers_) out_.widths.push_back(v.rows());
  if (out_.plain) out_.widths = out_.form.widths();
  return std::move(out_);
}

Index DeepFinder::used() const {
  Index sum = 0;
  for (const StageQuestions& stage : space_.meter->stages())
    if (stage.stage != "answers lost") sum += stage.questions;
  return sum;
}

bool DeepFinder::out_of_patience() {
  if (space_.bounded() || layers_.empty()) return false;
  const Index now = used(), second = layers_.size() > 1 ? layers_[1].rows() : 0;
  if (second > most_second_ || out_.relative_mse < kProgress * least_left_) {
    most_second_ = std::max(most_second_, second);
    least_left_ = std::min(least_left_, out_.relative_mse);
    progress_ = now;
  }
  const auto planes = static_cast<double>(layers_.front().rows());
  return static_cast<double>(now - progress_) > kPatience + kPatienceForPlane * planes ||
         static_cast<double>(now - started_) > kMostPatience + kMostForPlane * planes;
}

void DeepFinder::ask(double count) {
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

double DeepFinder::linear_part() {
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

std::vector<std::pair<Vector, Vector>> DeepFinder::where_most_is_left() const {
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

std::vector<std::pair<Vector, Vector>> DeepFinder::not_drawn(std::vector<std::pair<Vector, Vector>> ends) {
  std::erase_if(ends, [this](const auto& pair) {
    return std::find(drawn_.begin(), drawn_.end(), pair) != drawn_.end();
  });
  drawn_.insert(drawn_.end(), ends.begin(), ends.end());
  return ends;
}

bool DeepFinder::some_open() const {
  if (!(out_.relative_mse < kNearlyThere)) return false;
  for (const auto& units : units_)
    for (const FoundUnit& unit : units)
      if (unit.free.rows() > 0) return true;
  return false;
}

bool DeepFinder::finish(bool last) {
  const auto m = static_cast<double>(space_.meter->outputs());
  const Control control = space_.meter->control().within(kPolishSeconds);
  DeepForm plain = plain_so_far();
  if (plain.V.empty()) plain = find_signs(form_).form;
  if (start_) plain = *std::exchange(start_, std::nullopt);
  ask(kPolishShare * static_cast<double>(plain.unknowns()) / m + static_cast<double>(plain.features()));
  // Units that act rarely show among more questions.
  const double left = linear_part();
  if (!(left < (some_open() ? kNearlyThere : all_there()))) return false;
  // Where much is left, weights of the last hidden layer are open: alone they are found sooner.
  if ((left < all_there() && polished(plain, control)) ||
      (plain.plain && polished_from_above(plain, control)) ||
      (left < all_there() && switched_far_out(control))) {
    without_twins(control);
    ask_where_pairs_act();
    on_all_questions(control);
    if (surprised() && !learned(control)) return false;
    // In the inputs themselves the last look does so (extract/completed.h).
    if (space_.whole) return true;
    ask_at_climbs();
    return !surprised() || learned(control);
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

void DeepFinder::ask_where_pairs_act() {
  const RowMatrix places = places_about(space_, out_.planes, options_.seed ^ 0x510e527fu, 0, kPairCandidates);
  const RowMatrix u = places(where_pairs_act(out_.form, places, out_.u, kPairQuestions), Eigen::all);
  if (u.rows() > 0) append(u, space_.ask(kStage, u));
}

void DeepFinder::ask_at_climbs() {
  const RowMatrix u = climbs(space_, out_.planes, out_.form,
                             options_.seed ^ (0x428a2f98u + static_cast<std::uint64_t>(climbed_++)), kClimbs);
  if (u.rows() > 0) (void)space_.ask("climbs", u);
}

void DeepFinder::append(const RowMatrix& u, const RowMatrix& y) {
  const Index have = out_.u.rows();
  out_.u.conservativeResize(have + u.rows(), Eigen::NoChange);
  out_.y.conservativeResize(have + y.rows(), Eigen::NoChange);
  out_.u.bottomRows(u.rows()) = u;
  out_.y.bottomRows(y.rows()) = y;
}

bool DeepFinder::surprised() {
  const WrongAnswers wrong =
      wrong_answers(space_, out_.form, spread_of(out_.y), out_.planes.scale, kMostSurprises);
  if (wrong.u.rows() == 0) return false;
  append(wrong.u, wrong.y);
  if (out_.plain) adopt(out_.form);
  out_.exact = out_.plain = false;
  (void)linear_part();
  return true;
}

bool DeepFinder::learned(const Control& control) {
  for (int round = 0; round < kLessons && known_; ++round) {
    const DeepForm start = *known_;
    if (!polished(start, control, kPatientSteps)) return false;
    without_twins(control);
    on_all_questions(control);
    if (!surprised()) return true;
  }
  return false;
}

void DeepFinder::adopt(const DeepForm& plain) {
  known_ = plain;
  const DeepForm loose = to_sign_free_form(to_network(plain));
  for (std::size_t l = 0; l < layers_.size(); ++l)
    if (loose.depth() != layers_.size() || loose.V[l].rows() != layers_[l].rows()) return;
  take_rows(loose.V);
}

void DeepFinder::take_rows(std::vector<Matrix> rows) {
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

void DeepFinder::without_twins(const Control& control) {
  const auto doubtful = [](const FoundUnit& unit) { return unit.open > 0; };
  for (std::size_t l = 1; l < out_.form.depth(); ++l) {
    if (std::any_of(units_[l - 1].begin(), units_[l - 1].end(), doubtful)) without_needless(l, control);
  }
}

void DeepFinder::without_needless(std::size_t l, const Control& control) {
  for (Index j = out_.form.V[l].rows(); j-- > 0 && out_.form.V[l].rows() > 1;) {
    std::vector<Index> kept(static_cast<std::size_t>(out_.form.V[l].rows()));
    std::iota(kept.begin(), kept.end(), Index{0});
    kept.erase(kept.begin() + j);
    (void)polished(with_units(out_.form, l, kept), control, kFewSteps);
  }
}

void DeepFinder::on_all_questions(const Control& control) {
  if (auto fit = polished_on_all(space_, out_.form, out_.u, out_.y, out_.planes.scale, kStage, control))
    out_.form = std::move(fit->form);
}

bool DeepFinder::polished(const DeepForm& start, const Control& control, int hope) {
  auto fit = polished_on(start, out_.u, out_.y, hope, control);
  if (!fit) return false;
  out_.form = std::move(fit->form);
  out_.relative_mse = fit->relative_mse;
  out_.exact = true;
  out_.plain = out_.form.plain;
  return true;
}

DeepWithin deep_within(const Space& space, const DeepWithinOptions& options) {
  return DeepFinder(space, options).run();
}

}  // namespace exhume
