#include "fit/smooth_search.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

#include "base/parallel.h"
#include "fit/elimination.h"
#include "fit/residuals.h"
#include "fit/smooth_student.h"
#include "model/activation_table.h"

namespace exhume {
namespace {

// Chosen on some twenty planted networks of 10 inputs and 10 units, Gaussian and uniform inputs, of tanh,
// sigmoid, GELU, SiLU, softplus and ELU units.
struct SmoothLimits {
  // Screening: steps, and of the second look, which polishes too.
  Index screen_steps = 600, second_steps = 1500, screen_batch = 256, screen_width = 24;
  int screen_polish = 10;
  // Smooth error over that of ReLUs: below which smooth units made the rows, below which they may have, and
  // above which ReLUs did.
  double clearly = 0.3, rather = 0.8, open = 12;
  double near_kinks = 1e-4;  // that a few smooth units leave of many ReLUs at least: they cannot follow kinks
  // Operations of a step of the polish: with which every screening may end, and at most (fewer units then).
  double cheap_look = 3e9, longest_look = 1e10;
  // Students: rows at most, steps of the short and of the long ones.
  Index student_rows = 60'000, short_steps = 800, long_steps = 4000, batch = 512;
  double worth_going_on = 20;  // error over the best one's, up to which an activation stays in the race
  std::size_t most_in_race = 4;
  int long_polish = 60;  // steps of those that lead
  // Share of the error by which it may rise without the spare units. Where the polish then leaves more than
  // `little_gain` of it, all units of one student are polished, if a step takes so many operations at most.
  double spare = 3, little_gain = 0.5, cheap_step = 3e9;
  // A student met one unit in ten of 30 ELU units the wrong way round, three together none of 150.
  Index students_without_symmetry = 3;
  double race_flops = 2e9;  // that a polish within the race may cost per activation
  Index first_width = 20, most_width = 240;
  // Times the first width: if twice the units become exact under no activation of the table, the function
  // is of another kind (a unit that is none, several layers), and more of them would only approximate it
  // better.
  Index most_widening = 2;
  double equations_per_unknown = 1.6;
  // Rows for a polish: per unknown and output, and at least.
  double rows_per_unknown = 3.5;
  Index least_rows = 1500;
  // Relative mean square at which a fit with units too many counts as exact (a wrong activation left 5e-9
  // at best), and that of the plain network in the end.
  double exact = 1e-18, exact_in_the_end = 1e-22;
  // Below this a fit is made smaller at once: what is left is mostly the slow last steps of units too many.
  double nearly_exact = 1e-11;
  double as_rounded = 3;       // times the rounding of the outputs that an exact fit leaves at most
  double cheap = 100;          // a unit worth less than so many times what is left is dropped on trial
  double tried_singly = 1e-9;  // worth below which a unit of an exact fit is tried for removal
  Index fresh_rows = 20'000, noisy_rows = 8'000;
  double no_gain = 0.7;  // error of twice the units over that of as many, above which none is left to gain
};
constexpr SmoothLimits kSmooth;

// Of the first students, where no width is given.
Index usual_width(Index inputs) { return std::max(kSmooth.first_width, 2 * std::min<Index>(inputs, 40)); }

// sin and Gaussian bumps approximate everything and are rare: tried where the others failed.
std::vector<std::string> smooth_names(bool rare) {
  std::vector<std::string> names;
  for (const ActivationRow& row : activation_table()) {
    const std::string name = row.name;
    if (!row.smooth || name == "sigmoid" || (!rare && (name == "sin" || name == "gaussian"))) continue;
    names.push_back(name);
  }
  return names;
}

Form with_linear_term(const Matrix& V, const std::shared_ptr<const Rectifier>& unit) {
  Form form = one_layer(V);
  form.turned = true;
  form.rectifier = unit;
  return form;
}

Matrix stacked(const Matrix& above, const Matrix& below) {
  Matrix all(above.rows() + below.rows(), below.cols());
  all << above, below;
  return all;
}

Form without(const Form& form, const std::vector<Index>& gone) {
  std::vector<Index> kept;
  for (Index j = 0; j < form.units(); ++j)
    if (std::find(gone.begin(), gone.end(), j) == gone.end()) kept.push_back(j);
  return with_units(form, 0, kept);
}

// What every unit is worth, as a share of the outputs' sum of squares (variance 1).
Vector linearised_worth(const Form& form, const SampleSource& rows, const Control& control) {
  return linearised_units(form, rows, control).worth() / static_cast<double>(rows.rows() * rows.outputs());
}

PolishOptions quick_polish(int iterations, double damping) {
  PolishOptions options;
  options.max_iterations = iterations;
  options.damping = damping;
  options.least_progress = 1e-2;
  options.enough_relative = 1e-29;
  return options;
}

class SmoothSearch {
 public:
  SmoothSearch(const SamplePtr& standard, const SmoothSearchOptions& options, const Control& control)
      : standard_(standard), options_(options), control_(control) {
    const double m = static_cast<double>(standard->outputs());
    // Outputs that were rounded cannot be fitted better than that.
    if (options.rounding) {
      floor_ = std::max(options.rounding->level(static_cast<double>(kSmooth.least_rows) * m),
                        options.rounding->computed);
    }
    exact_ = std::max(kSmooth.exact, kSmooth.as_rounded * floor_);
  }

  SmoothFound run() {
    const UnitStudentData data(*standard_, kSmooth.student_rows, options_.seed);
    std::vector<std::string> names =
        options_.activation == "auto" ? smooth_names(false) : std::vector<std::string>{options_.activation};
    Index width = options_.hidden ? *options_.hidden + std::max<Index>(4, *options_.hidden)
                                  : usual_width(standard_->inputs());
    // As many unknowns as equations would fit anything.
    const double m = static_cast<double>(standard_->outputs()), d = static_cast<double>(standard_->inputs());
    const auto most = static_cast<Index>(static_cast<double>(standard_->rows()) * m /
                                         (kSmooth.equations_per_unknown * (d + 1 + m)));
    const Index wanted = std::min(kSmooth.most_width, kSmooth.most_widening * width);
    const Index most_width = std::min(wanted, most);
    found_.few_rows = most < wanted;
    if (most_width < 2) return std::move(found_);
    width = first_width_ = std::min(width, most_width);
    int starts = 0;  // of this width
    for (std::uint64_t round = 0;; ++round) {
      std::vector<Candidate> candidates = start(train(data, names, width, round));
      ++starts;
      const bool last = starts >= options_.starts;
      // Inexact networks are made smaller only where no other start follows.
      for (Candidate& candidate : candidates) {
        if (candidate.now.relative_mse > std::max(kSmooth.nearly_exact, exact_) && !last) {
          note(candidate);
        } else {
          pursue(candidate);
        }
        if (exact_found_ || control_.out_of_time()) break;
      }
      if (exact_found_ || control_.out_of_time()) break;
      // From an unlucky start the right activation falls behind others: every start asks all of them.
      if (!last) continue;
      if (options_.activation == "auto") names = smooth_names(true);
      if (no_wider_helps(width)) break;
      if (2 * width > most_width) break;
      width *= 2;
      starts = 0;
    }
    finish();
    return std::move(found_);
  }

 private:
  // Units of all students of one activation.
  struct Trained {
    std::string name;
    Matrix V, first;          // all, and those of the first student
    double relative_mse = 1;  // of the best of them
  };

  // A unit that a student meets the wrong way round stays so where turning it is another function: gradient
  // steps build the right one of several wrong ones. Few students meet the same unit so, and least squares
  // over the units of all of them picks the right ones.
  [[nodiscard]] static Index students_of(const std::string& name) {
    return find_activation(name)->symmetry == Symmetry::kNone ? kSmooth.students_without_symmetry : 1;
  }

  [[nodiscard]] std::vector<Trained> students(const UnitStudentData& data,
                                              const std::vector<std::string>& names, Index width, Index steps,
                                              std::uint64_t round) const {
    struct Task {
      std::string name;
      std::uint64_t number;
      UnitStudent student;
    };
    std::vector<Task> tasks;
    for (const std::string& name : names) {
      const auto count = static_cast<std::uint64_t>(students_of(name));
      for (std::uint64_t i = 0; i < count; ++i) tasks.push_back({name, round * count + i, {}});
    }
    parallel_for(static_cast<Index>(tasks.size()), control_, [&](Index i) {
      Task& task = tasks[static_cast<std::size_t>(i)];
      task.student = train_units(task.name, data, lesson(width, steps, task.number), control_);
    });
    std::vector<Trained> out;
    for (const Task& task : tasks) {
      if (out.empty() || out.back().name != task.name)
        out.push_back({task.name, Matrix(0, data.x.rows()), task.student.V, 1});
      Trained& all = out.back();
      all.V = stacked(all.V, task.student.V);
      all.relative_mse = std::min(all.relative_mse, task.student.relative_mse);
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const Trained& a, const Trained& b) { return a.relative_mse < b.relative_mse; });
    control_.spend(6.0 * static_cast<double>(tasks.size() * static_cast<std::size_t>(steps * width) *
                                             static_cast<std::size_t>(kSmooth.batch) *
                                             static_cast<std::size_t>(data.x.rows() + data.y.rows())));
    return out;
  }

  std::vector<Trained> train(const UnitStudentData& data, std::vector<std::string> names, Index width,
                             std::uint64_t round) const {
    if (names.size() > 2) names = raced(data, names, width, round);
    const double size = static_cast<double>(width) / static_cast<double>(kSmooth.first_width);
    const auto steps = static_cast<Index>(static_cast<double>(kSmooth.long_steps) * std::sqrt(size));
    return students(data, names, width, steps, round);
  }

  // The activations that do best. Gradient steps are slower for some kinds than for others (ELU), so short
  // students are compared after their output weights were solved for and, where that is cheap, after a few
  // steps of the polish.
  std::vector<std::string> raced(const UnitStudentData& data, const std::vector<std::string>& names,
                                 Index width, std::uint64_t round) const {
    const SamplePtr rows = rows_for(width);
    const double unknowns = static_cast<double>(width * (standard_->inputs() + 1));
    const double step = unknowns * unknowns * static_cast<double>(rows->rows());
    const int steps = static_cast<int>(std::min(8.0, kSmooth.race_flops / step));
    Control alone = control_;
    alone.threads = 1;
    std::vector<std::pair<double, std::string>> errors(names.size());
    parallel_for(static_cast<Index>(names.size()), control_, [&](Index i) {
      const auto at = static_cast<std::size_t>(i);
      const UnitStudent student =
          train_units(names[at], data, lesson(width, kSmooth.short_steps, round), alone);
      const Form form =
          with_linear_term(student.V, std::make_shared<const Rectifier>(parse_rectifier(names[at])));
      errors[at] = {polish(form, *rows, quick_polish(steps, 1e-4), alone).relative_mse, names[at]};
    });
    std::stable_sort(errors.begin(), errors.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::string> kept;
    for (const auto& [error, name] : errors) {
      if (error <= kSmooth.worth_going_on * errors.front().first && kept.size() < kSmooth.most_in_race)
        kept.push_back(name);
    }
    control_.spend(static_cast<double>(names.size()) * (static_cast<double>(steps) + 1) * step);
    return kept.empty() ? names : kept;
  }

  [[nodiscard]] UnitStudentOptions lesson(Index width, Index steps, std::uint64_t round) const {
    UnitStudentOptions options;
    options.width = width;
    options.steps = steps;
    options.batch = kSmooth.batch;
    options.seed = options_.seed * 1000003u + round;
    return options;
  }

  // Rows for a polish of so many units.
  [[nodiscard]] SamplePtr rows_for(Index units) const {
    const double d = static_cast<double>(standard_->inputs() + 1),
                 m = static_cast<double>(standard_->outputs());
    const double unknowns = static_cast<double>(units) * (d + m) + m * d;
    const auto wanted = static_cast<Index>(kSmooth.rows_per_unknown * unknowns / m);
    return spread_subset(*standard_, std::min(standard_->rows(), std::max(kSmooth.least_rows, wanted)));
  }

  struct Candidate {
    std::string name;
    double trained = 1;
    Matrix first;       // units of the first student
    Form all;           // of all students and of earlier starts
    double solved = 1;  // what their least-squares fit leaves
    SamplePtr rows;
    Polished now;
  };

  // All units without those that the others replace, while the error rises by `spare` of what it is at most.
  // Doubled units would end the polish: their output weights are lost to rounding, and steps are refused.
  [[nodiscard]] Form without_spare_units(const Candidate& one) const {
    const SamplePtr rows = rows_for(one.all.units());
    const double allowed = kSmooth.spare * one.solved * static_cast<double>(rows->rows() * rows->outputs());
    return without(one.all, features_of_units(one.all, *rows, control_).remove_spare(allowed, 1));
  }

  // Kept where it is the first of this candidate, or cheap and better.
  void polish_few(Candidate& one, const Form& form) const {
    const SamplePtr rows = rows_for(form.units());
    const auto unknowns = static_cast<double>(form.unknowns());
    if (one.rows && unknowns * unknowns * static_cast<double>(rows->rows()) > kSmooth.cheap_step) return;
    Polished now = polish(form, *rows, quick_polish(8, 1e-4), control_);
    if (one.rows && !(now.relative_mse < one.now.relative_mse)) return;
    one.rows = rows;
    one.now = std::move(now);
  }

  // A few steps of the polish for every activation: the right one is soon ahead. Units are those of its
  // students and those that earlier starts left.
  std::vector<Candidate> start(const std::vector<Trained>& trained) {
    std::vector<Candidate> list;
    for (const auto& [name, V, first, relative_mse] : trained) {
      const auto unit = std::make_shared<const Rectifier>(parse_rectifier(name));
      const auto earlier = earlier_.find(name);
      Candidate one{name, relative_mse, first, {}, 1, {}, {}};
      one.all = with_linear_term(earlier == earlier_.end() ? V : stacked(earlier->second, V), unit);
      one.solved = fit_linear_part(one.all, *rows_for(one.all.units()), PolishOptions(), control_);
      polish_few(one, without_spare_units(one));
      list.push_back(std::move(one));
      if (list.back().now.relative_mse <= exact_) break;
    }
    std::stable_sort(list.begin(), list.end(), [](const Candidate& a, const Candidate& b) {
      return a.now.relative_mse < b.now.relative_mse;
    });
    // Where the polish gains little, as with noise, the units that went may be missed.
    if (!list.empty() && list.front().now.relative_mse > kSmooth.little_gain * list.front().solved) {
      for (Candidate& one : list) polish_few(one, with_linear_term(one.first, one.all.rectifier));
      std::stable_sort(list.begin(), list.end(), [](const Candidate& a, const Candidate& b) {
        return a.now.relative_mse < b.now.relative_mse;
      });
    }
    // Those that lead go on until they stall.
    const double best = list.empty() ? 1 : list.front().now.relative_mse;
    for (Candidate& one : list) {
      if (one.now.relative_mse <= exact_ || one.now.relative_mse > kSmooth.worth_going_on * best) continue;
      one.now = polish(one.now.form, *one.rows, quick_polish(kSmooth.long_polish, 1e-5), control_);
      if (one.now.relative_mse <= exact_) break;
    }
    std::stable_sort(list.begin(), list.end(), [](const Candidate& a, const Candidate& b) {
      return a.now.relative_mse < b.now.relative_mse;
    });
    return list;
  }

  // An inexact one, as it is; the next start goes on from it.
  void note(const Candidate& candidate) {
    earlier_[candidate.name] = candidate.now.form.V[0];
    found_.trials.push_back(
        {candidate.name, candidate.trained, candidate.now.relative_mse, candidate.now.form.units()});
    keep_best(candidate.name, candidate.now);
  }

  // From there to the smallest exact network that can be reached, or as near as it comes.
  void pursue(Candidate& candidate) {
    shrink(candidate.now, candidate.rows);
    found_.trials.push_back(
        {candidate.name, candidate.trained, candidate.now.relative_mse, candidate.now.form.units()});
    keep_best(candidate.name, candidate.now);
  }

  // Drops units while what is left stays as small or falls.
  void shrink(Polished& now, const SamplePtr& rows) {
    constexpr int kMostRounds = 60;
    int without_success = 0;
    double level = now.relative_mse;  // the least seen: drops must not add up to a rise
    for (int round = 0; round < kMostRounds && !control_.out_of_time(); ++round) {
      control_.best(now.relative_mse, now.form.units());
      level = std::min(level, now.relative_mse);
      const bool exact = now.relative_mse <= exact_;
      const double limit =
          exact ? std::max(kSmooth.tried_singly, kSmooth.cheap * floor_) : kSmooth.cheap * level;
      const std::vector<Index> order =
          linearised_units(now.form, *rows, control_)
              .remove_spare(limit * static_cast<double>(rows->rows() * rows->outputs()), 1);
      if (order.empty()) {
        if (exact) return;
        if (!improve(now, *rows)) return;
        continue;
      }
      if (drop(now, *rows, order, exact, level)) {
        without_success = 0;
        continue;
      }
      if (exact || ++without_success > 2) return;
      if (!improve(now, *rows)) return;
    }
  }

  // All cheap units of an exact fit at once, half of them, or the cheapest alone; in an exact fit every one
  // of them singly.
  bool drop(Polished& now, const SampleSource& rows, const std::vector<Index>& order, bool exact,
            double level) {
    const double allowed = exact ? exact_ : 10 * level;
    const auto try_without = [&](const std::vector<Index>& gone) {
      Polished trial = polish(without(now.form, gone), rows, quick_polish(exact ? 25 : 12, 1e-5), control_);
      if (!(trial.relative_mse <= std::max(allowed, exact_))) return false;
      now = std::move(trial);
      return true;
    };
    if (order.size() > 1 && exact && try_without(order)) return true;
    if (order.size() > 2 || (order.size() == 2 && !exact)) {
      const auto half = static_cast<std::ptrdiff_t>((order.size() + 1) / 2);
      if (try_without({order.begin(), order.begin() + half})) return true;
    }
    for (const Index j : order) {
      if (try_without({j})) return true;
      if (!exact) return false;
    }
    return false;
  }

  bool improve(Polished& now, const SampleSource& rows) {
    const double before = now.relative_mse;
    now = polish(now.form, rows, quick_polish(20, 1e-5), control_);
    return now.relative_mse < before / 2;
  }

  void keep_best(const std::string& name, const Polished& now) {
    const bool exact = now.relative_mse <= exact_;
    if (!found_.activation.empty() && found_.activation != name)
      found_.runner_up = std::max(now.relative_mse, kTiny) / std::max(best_, kTiny);
    if (!found_.activation.empty() && !(now.relative_mse < best_)) return;
    if (!found_.activation.empty() && found_.activation != name)
      found_.runner_up = std::max(best_, kTiny) / std::max(now.relative_mse, kTiny);
    found_.activation = name;
    best_ = now.relative_mse;
    found_.fit.model = now.form;
    exact_found_ = exact;
  }

  // What fresh rows leave of the best form so far.
  [[nodiscard]] double fresh_error() const {
    const Form& form = found_.fit.model;
    const SamplePtr rows = spread_subset(*standard_, std::min<Index>(standard_->rows(), kSmooth.fresh_rows));
    return residual_products(form, *rows, kBlockRows, control_).trace() /
           static_cast<double>(rows->rows() * rows->outputs());
  }

  // Twice the units leave as much on fresh rows: noise, or another kind of function.
  bool no_wider_helps(Index width) {
    const double now = fresh_error();
    const bool helps = !(now > kSmooth.no_gain * fresh_);
    fresh_ = now;
    return !helps && width > first_width_;
  }

  // Units that explain no more than noise does, by Schwarz's criterion.
  void drop_idle_units(Form& form, const SampleSource& rows) const {
    const double entries = static_cast<double>(rows.rows() * rows.outputs());
    const double price = static_cast<double>(form.inputs + 1 + form.C.cols()) * std::log(entries);
    PolishOptions few = quick_polish(12, 1e-4);
    few.least_progress = 1e-4;
    Polished now = polish(form, rows, few, control_);
    while (now.form.units() > 1 && !control_.out_of_time()) {
      Index least = 0;
      const double worth = linearised_worth(now.form, rows, control_).minCoeff(&least);
      const bool too_many = options_.hidden && now.form.units() > *options_.hidden;
      if (!too_many && worth * entries > price * now.relative_mse) break;
      now = polish(without(now.form, {least}), rows, few, control_);
    }
    form = now.form;
  }

  // As many units as were asked for, whether or not time is left.
  void keep_strongest(Form& form, const SampleSource& rows, Index most) const {
    const Vector worth = linearised_worth(form, rows, control_);
    std::vector<Index> order(static_cast<std::size_t>(worth.size()));
    for (std::size_t j = 0; j < order.size(); ++j) order[j] = static_cast<Index>(j);
    std::stable_sort(order.begin(), order.end(), [&](Index i, Index j) { return worth(i) < worth(j); });
    order.resize(static_cast<std::size_t>(worth.size() - most));
    form = polish(without(form, order), rows, quick_polish(12, 1e-4), control_).form;
  }

  // Signs, or no linear term; then all rows.
  void finish() {
    Fit& fit = found_.fit;
    fit.signs.outcome = SignOutcome::kUnique;
    if (fit.model.units() == 0) return;
    const SamplePtr rows = rows_for(2 * fit.model.units());
    if (options_.hidden && fit.model.units() > *options_.hidden) {
      keep_strongest(fit.model, *rows, *options_.hidden);
      exact_found_ = false;
    }
    if (!exact_found_ && !control_.out_of_time()) {
      drop_idle_units(fit.model, *spread_subset(*standard_, std::min(standard_->rows(), kSmooth.noisy_rows)));
      best_ = fresh_error();
    }
    const ActivationRow* row = find_activation(found_.activation);
    const auto unit = fit.model.rectifier;
    const Index k = fit.model.units(), d = fit.model.inputs;
    Form plain;
    if (row->symmetry == Symmetry::kHalf) {
      const Form even = in_even_units(fit.model.V[0], fit.model.C.topRows(k), fit.model.C.bottomRows(d + 1));
      SignOptions signs;
      if (!exact_found_ || floor_ > 0) signs.tolerance = 1e-3;
      fit.signs = decide_signs(even, signs);
      plain = with_signs(even, fit.signs);
    } else {
      plain = fit.model;
      plain.turned = false;
      plain.plain = true;
      plain.C.resize(0, 0);
    }
    plain.rectifier = unit;
    if (plain.plain) {
      const Polished last = polish(plain, exact_found_ ? *rows : *standard_, PolishOptions(), control_);
      const double allowed =
          exact_found_ ? std::max(kSmooth.exact_in_the_end, kSmooth.as_rounded * floor_) : 1.5 * best_;
      if (last.relative_mse <= allowed) {
        fit.model = last.form;
        for (const double value : last.descent) fit.descent.push_back({true, value});
      } else {
        fit.signs.outcome = SignOutcome::kUndecided;
      }
    }
    const Left left =
        measure(fit.model, residual_products(fit.model, *standard_, kBlockRows, control_), standard_->rows());
    fit.relative_mse = left.relative_mse;
    fit.noise_covariance = left.noise_covariance;
    fit.rows_per_unknown = left.rows_per_unknown;
    fit.outcome = exact_found_ && floor_ == 0 ? SearchOutcome::kExact : SearchOutcome::kStuck;
    fit.out_of_time = control_.out_of_time();
    found_.exact = exact_found_ && fit.model.plain;
    if (exact_found_) fit.structure = 0;
    fit.stalled = !exact_found_ && !fit.out_of_time;
  }

  SamplePtr standard_;
  const SmoothSearchOptions& options_;
  const Control& control_;
  double floor_ = 0, exact_ = kSmooth.exact, best_ = 1;
  double fresh_ = 1;
  Index first_width_ = 0;
  bool exact_found_ = false;
  std::map<std::string, Matrix> earlier_;  // units of inexact candidates, by activation
  SmoothFound found_;
};

}  // namespace

bool SmoothScreen::looks_smooth() const { return smooth < kSmooth.rather * piecewise; }
bool SmoothScreen::clearly_smooth() const {
  return smooth < std::min(kSmooth.clearly * piecewise, kSmooth.near_kinks);
}
bool SmoothScreen::open() const { return !clearly_smooth() && smooth < kSmooth.open * piecewise; }

SmoothScreen screen_units(const SampleSource& standard, std::uint64_t seed, const Control& control,
                          bool only_cheap) {
  const UnitStudentData data(standard, kSmooth.student_rows, seed);
  SmoothScreen out;
  UnitStudentOptions options;
  options.width = std::max(kSmooth.screen_width, std::min<Index>(2 * standard.inputs(), 80));
  options.batch = kSmooth.screen_batch;
  options.seed = seed;
  Control alone = control;
  alone.threads = 1;
  const auto look = [&](Index steps, const std::vector<std::string>& names, const SampleSource* polished_on) {
    options.steps = steps;
    std::vector<double> errors(names.size(), 1);
    parallel_for(static_cast<Index>(names.size()), control, [&](Index i) {
      const auto at = static_cast<std::size_t>(i);
      const UnitStudent student = train_units(names[at], data, options, alone);
      errors[at] = student.relative_mse;
      if (polished_on == nullptr) return;
      Form form = one_layer(student.V);
      if (names[at] != "abs")
        form = with_linear_term(student.V, std::make_shared<const Rectifier>(parse_rectifier(names[at])));
      errors[at] = polish(form, *polished_on, quick_polish(kSmooth.screen_polish, 1e-4), alone).relative_mse;
    });
    out.piecewise = errors[0];
    out.smooth = *std::min_element(errors.begin() + 1, errors.end());
  };
  look(kSmooth.screen_steps, {"abs", "tanh", "gelu"}, nullptr);
  // How fast gradient steps fall differs from kind to kind, and a short training may favour the wrong one.
  // Steps of second order tell: the kind that made the rows goes on falling.
  if (!out.open()) return out;
  Index count = 0;
  const auto step = [&] {
    const auto unknowns = static_cast<double>(options.width * (standard.inputs() + 1 + standard.outputs()));
    const auto wanted =
        static_cast<Index>(kSmooth.rows_per_unknown * unknowns / static_cast<double>(standard.outputs()));
    count = std::min(standard.rows(), std::max(kSmooth.least_rows, wanted));
    return static_cast<double>(count) * unknowns * unknowns;
  };
  if (only_cheap && step() > kSmooth.cheap_look) return out;
  while (step() > kSmooth.longest_look && options.width > kSmooth.first_width) --options.width;
  const SamplePtr rows = spread_subset(standard, count);
  look(kSmooth.second_steps, {"abs", "tanh", "gelu", "elu"}, rows.get());
  return out;
}

SmoothFound search_smooth_units(const SamplePtr& standard, const SmoothSearchOptions& options,
                                const Control& control) {
  return SmoothSearch(standard, options, control).run();
}

Index equations_of_widest_smooth_students(Index inputs, Index outputs) {
  const Index width = std::min(kSmooth.most_width, kSmooth.most_widening * usual_width(inputs));
  return static_cast<Index>(kSmooth.equations_per_unknown *
                            static_cast<double>(width * (inputs + 1 + outputs)));
}

Form in_even_units(const Matrix& V, const Matrix& A, const Matrix& L) {
  const Index k = V.rows(), d = V.cols() - 1;
  Form out = one_layer(V);
  out.C.resize(out.features(), A.cols());
  out.C.topRows(k) = A / 2;
  out.C.bottomRows(d + 1) = V.transpose() * out.C.topRows(k) + L;
  return out;
}

}  // namespace exhume
