#include "fit/deep/to_rounding.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "fit/deep/missing_unit.h"
#include "fit/deep/most_rows.h"
#include "fit/deep/prune.h"
#include "fit/deep/signs.h"

namespace exhume {
namespace {

constexpr int kMissing = 8;  // units that are read off rows, at most
constexpr int kSteps = 30;   // of a polish that has to explain all rows

class Towards {
 public:
  Towards(DeepData& data, double each, double exact, const Control& control)
      : data_(data), each_(each), exact_(exact), control_(control) {}

  ToRounding run(const Form& start, int rounds) {
    MostRows most = polish_most(start, data_, each_, exact_, rounds, control_);
    if (!most.exact) return ended(most);
    // Units too many may take the rows that are left, once these have a say: but not a handful of rows each.
    const Form wide = most.fit.form;
    without_rare_units(most.fit.form, data_, most.left);
    const auto enough = static_cast<std::size_t>(wide.V.back().cols());
    if (most.left.empty() || most.left.size() > enough) {
      Polished all = with_a_say(wide, most.left);
      if (all.relative_mse < exact_) return {std::move(all), false, {}};
    }
    // A weight that no other row shows is open without those that are left: nothing is missing there.
    for (const bool singly : {false, true}) {
      fewer_units(most, singly);
      if (most.left.empty()) break;
      Polished all = with_a_say(most.fit.form, most.left);
      if (all.relative_mse < exact_) return {std::move(all), minimal_, {}};
      if (control_.out_of_time()) break;
    }
    for (int i = 0; i < kMissing && !most.left.empty() && !control_.out_of_time(); ++i)
      if (!explain(most)) break;
    if (most.exact && most.left.empty()) most.fit = on_all_rows(most.fit.form);
    return ended(most);
  }

 private:
  ToRounding ended(MostRows& most) {
    most.fit.relative_mse = relative_error(most.fit.form, data_, control_);
    return {std::move(most.fit), minimal_, std::move(most.left)};
  }

  // On the rows that are reproduced; what is made up for a handful of them goes first, and again.
  void fewer_units(MostRows& most, bool singly) {
    PruneOptions pruning;
    pruning.exact = exact_;
    pruning.singly = singly;
    pruning.given_too = false;  // tried in the plain network
    // Only the least network has signs; its units are tried in the plain form.
    pruning.until = [](const Form& form) { return find_signs(form).plain; };
    most.left = not_reproduced(most.fit.form, data_, exact_, control_);  // in today's order of the rows
    do {
      DeepData reproduced = data_;
      static_cast<void>(reproduced.take_out(most.left));
      most.fit.relative_mse = relative_error(most.fit.form, reproduced, control_);
      Pruned pruned = prune(most.fit, reproduced, pruning, control_);
      most.fit = std::move(pruned.fit);
      minimal_ = pruned.minimal && singly && most.fit.form.given == 0;
      most.left = not_reproduced(most.fit.form, data_, exact_, control_);
    } while (!control_.out_of_time() && without_rare_units(most.fit.form, data_, most.left));
  }

  // A unit more, so that fewer rows are left; false where no layer has one.
  bool explain(MostRows& most) {
    const DeepData left = rows_of(data_, most.left);
    MostRows best = most;
    bool found = false;
    for (std::size_t l = most.fit.form.depth(); l-- > 1;) {
      const std::optional<Form> more = with_missing_unit(most.fit.form, l, left, most_off(data_, exact_));
      if (!more) continue;
      MostRows now = polish_most(with_a_say(*more, most.left).form, data_, each_, exact_, 1, control_);
      if (!now.exact || now.left.size() >= best.left.size()) continue;
      best = std::move(now);
      found = true;
    }
    if (found) {
      most = std::move(best);
      minimal_ = false;
    }
    most.left = not_reproduced(most.fit.form, data_, exact_, control_);  // in today's order of the rows
    return found;
  }

  // A polish that begins with the rows that are left, brought forward.
  Polished with_a_say(const Form& form, std::vector<Index>& left) {
    data_.bring_forward(form, static_cast<Index>(left.size()), 0, control_);
    std::iota(left.begin(), left.end(), Index{0});
    return on_all_rows(form);
  }

  Polished on_all_rows(const Form& form) {
    DeepPolishOptions polishing;
    polishing.max_iterations = kSteps;
    polishing.hope = 6;
    polishing.hopeful = exact_;
    polishing.enough_relative = 1e-26;
    return polish_all(form, data_, each_, exact_, polishing, control_);
  }

  DeepData& data_;
  double each_, exact_;
  bool minimal_ = false;
  const Control& control_;
};

}  // namespace

ToRounding to_rounding(const Form& start, DeepData& data, double each, double exact, int rounds,
                       const Control& control) {
  return Towards(data, each, exact, control).run(start, rounds);
}

}  // namespace exhume
