#include <algorithm>
#include <cmath>
#include <utility>

#include "extract/always_on.h"
#include "extract/climb.h"
#include "extract/deep_finder.h"

namespace exhume {
namespace {

constexpr Index kMostAlwaysOn = 24;  // rows of a unit that may be on at all questions, which are looked at
// Than random places, where such a unit may be off; and how often places so far out are looked at.
constexpr double kFarther = 30;
constexpr int kMostFar = 3;
constexpr Index kMostFarKinks = 3;
constexpr double kErrors = 30, kLeastError = 1e-6;  // allowance for answers over their errors so far
constexpr double kSameDirection = 1e-6;             // 1 - |cosine| of a row's slope and a kink's normal
constexpr double kAbout[] = {0.01, 0.03, 0.1};      // of questions about a kink far out, over its distance

}  // namespace

RowMatrix DeepFinder::where_always_on_switch(const std::vector<AlwaysOnRow>& rows, std::uint64_t look,
                                             double farther) const {
  const std::size_t top = layers_.size() - 1;
  const Matrix B = plain_rows_of(top - 1);
  if (B.rows() == 0) return {};
  const KnownLayers under = below(top);
  RowMatrix out(std::min(kMostAlwaysOn, static_cast<Index>(rows.size())), s_);
  for (Index i = 0; i < out.rows(); ++i)
    out.row(i) =
        place_of_most(space_, out_.planes, under, -(B.transpose() * rows[static_cast<std::size_t>(i)].row),
                      options_.seed + 49979687 * (look + 1) + 7 * static_cast<std::uint64_t>(i), farther)
            .transpose();
  return out;
}

bool DeepFinder::switched_far_out(const Control& control) {
  if (space_.bounded() || layers_.size() < 2 || far_looks_ >= kMostFar) return false;
  const std::optional<PlainLook> look = plain_look();
  if (!look || !look->off.empty() || look->always_on.empty()) return false;
  const auto number = static_cast<std::uint64_t>(far_looks_++);
  const Matrix B = plain_rows_of(layers_.size() - 2);
  const RowMatrix far = where_always_on_switch(look->always_on, number, kFarther);
  if (far.rows() == 0) return false;
  // As sharp as it is on the questions: just beyond its surface the unit changes little.
  const double sharper = std::clamp(kErrors * look->error, kLeastError, 1.0);
  const Model model = [&](const RowMatrix& u) {
    NoisyAnswers said = look->model(u);
    said.noise *= sharper;
    return said;
  };
  const RowMatrix y = space_.ask(kStage, far);
  const NoisyAnswers said = model(far);
  const KnownLayers under = below(layers_.size() - 1);
  const Vector middle = space_.middle();
  Index kinks = 0;
  for (Index i = 0; i < far.rows() && kinks < kMostFarKinks; ++i) {
    if (!((y - said.values).row(i).cwiseAbs().maxCoeff() > said.noise(i))) continue;
    ++kinks;
    const auto kink = first_kink(space_, model, middle, far.row(i).transpose(), kFarther * out_.planes.scale,
                                 options_.seed + 86028121 * (number + 1));
    if (!kink) continue;
    const AlwaysOnRow* best = nullptr;
    double least = kSameDirection;
    for (const AlwaysOnRow& each : look->always_on) {
      const Vector slope = under.value(B.transpose() * each.row, kink->place).slope;
      const double off = 1 - std::abs(slope.normalized().dot(kink->normal));
      if (off <= least) least = off, best = &each;
    }
    if (best == nullptr) continue;
    const DeepForm start = with_always_on(look->plain, *best, kink->place, middle);
    // Questions to either side of its surface, without which its constant would be open.
    RowMatrix about(2 * static_cast<Index>(std::size(kAbout)), s_);
    Index row = 0;
    for (const double share : kAbout)
      for (const double side : {-1.0, 1.0})
        about.row(row++) = (middle + (1 + side * share) * (kink->place - middle)).transpose();
    const RowMatrix u = out_.u, answers = out_.y;
    append(about, space_.ask(kStage, about));
    if (polished(start, control, kPatientSteps)) {
      without_needless(out_.form.depth() - 1, control);
      return true;
    }
    out_.u = u;
    out_.y = answers;
  }
  return false;
}

}  // namespace exhume
