#include "fit/deep/smooth_layers.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/blas.h"
#include "base/order.h"
#include "base/parallel.h"
#include "fit/deep/prune.h"
#include "fit/smooth_student.h"
#include "fit/student.h"
#include "fit/sums.h"
#include "model/activation_table.h"

namespace exhume {
namespace {

struct SmoothLayersLimits {
  double wider = 1.5;                        // than the network, where its widths are known
  Index first_width = 12, most_width = 96;   // of a student's layers, otherwise
  Index most_rows = 60'000;                  // that are looked at
  Index short_steps = 2000, steps = 12'000;  // of students
  std::size_t in_race = 3;                   // activations of which long students are trained
  double worth_going_on = 10;                // error over the best one's, up to which one stays in the race
  double polish_equations = 8;               // per unknown
  int first_polish = 40, long_polish = 300;  // steps
  double promising = 1e-4;                   // after the first steps of the polish, to go on
  int students_per_width = 3;
  double folds = 1e-7;    // cost below which units of an exact network are folded on trial
  int trial_steps = 40;   // of the polish after a fold
  double enough = 1e-27;  // relative mean square at which a polish stops
  Index regression_rows = 4000;
};
constexpr SmoothLayersLimits kLayers;

// Rows of the table that are raced; sigmoids are tanh, and sin and bumps approximate everything.
constexpr std::array<const char*, 8> kRaced = {"tanh", "gelu", "silu",      "softplus",
                                               "elu",  "erf",  "gelu_tanh", "selu"};

// Any row of the table as a student's unit, which is made of plain functions: one pair per place in a list.
constexpr std::array<const char*, 11> kUnits = {"tanh",      "gelu", "silu", "softplus", "elu",    "erf",
                                                "gelu_tanh", "selu", "sin",  "gaussian", "sigmoid"};
template <std::size_t I>
StudentUnit unit_at() {
  using Given = StudentUnit::Given;
  using Values = StudentUnit::Values;
  return {[](const Given& q, Values p) {
            Eigen::MatrixXf slopes(q.rows(), q.cols()), values(q.rows(), q.cols());
            const Eigen::MatrixXf at = q;
            unit_values(kUnits[I], at.data(), values.data(), slopes.data(), at.size());
            p = values;
          },
          [](const Given& q, Values g) {
            Eigen::MatrixXf slopes(q.rows(), q.cols()), values(q.rows(), q.cols());
            const Eigen::MatrixXf at = q;
            unit_values(kUnits[I], at.data(), values.data(), slopes.data(), at.size());
            g.array() *= slopes.array();
          },
          std::nullopt};
}
template <std::size_t... I>
const StudentUnit* unit_in(const std::string& name, std::index_sequence<I...>) {
  static const std::array<StudentUnit, sizeof...(I)> kMade = {unit_at<I>()...};
  for (std::size_t i = 0; i < sizeof...(I); ++i)
    if (name == kUnits[i]) return &kMade[i];
  return nullptr;
}
const StudentUnit* student_unit(const std::string& name) {
  return unit_in(name, std::make_index_sequence<kUnits.size()>());
}

class SmoothLayers {
 public:
  SmoothLayers(const SampleSource& standard, const std::string& activation, const DeepSearchOptions& options,
               const Control& control)
      : options_(options),
        control_(control),
        data_(read(standard)),
        students_(standard, options.seed, control) {
    if (activation == "auto") {
      names_.assign(kRaced.begin(), kRaced.end());
    } else {
      names_ = {activation == "sigmoid" ? "tanh" : activation};
    }
  }

  DeepFound run() {
    std::vector<Index> widths(static_cast<std::size_t>(options_.depth), kLayers.first_width);
    if (options_.widths)
      for (std::size_t l = 0; l < widths.size(); ++l) widths[l] = wider((*options_.widths)[l]);
    int tried = 0;
    for (std::uint64_t number = 0; !control_.out_of_time(); ++number) {
      if (attempt(widths, number)) break;
      if (++tried < kLayers.students_per_width) continue;
      tried = 0;
      if (2 * widths.front() > kLayers.most_width || too_wide(widths)) break;
      for (Index& width : widths) width *= 2;
    }
    found_.out_of_time = control_.out_of_time();
    return std::move(found_);
  }

 private:
  static Index wider(Index width) {
    return std::max<Index>(width + 2, static_cast<Index>(kLayers.wider * static_cast<double>(width)));
  }

  static DeepData read(const SampleSource& standard) {
    const SamplePtr some = spread_subset(standard, std::min(standard.rows(), kLayers.most_rows));
    SampleBlock block;
    some->read(0, some->rows(), block);
    return {block.x(), block.y()};
  }

  // Twice as wide, as many unknowns as equations.
  [[nodiscard]] bool too_wide(const std::vector<Index>& widths) const {
    double unknowns = 0, below = static_cast<double>(data_.x.cols());
    for (const Index width : widths) {
      unknowns += 2 * static_cast<double>(width) * (below + 1);
      below = 2 * static_cast<double>(width);
    }
    return 1.5 * unknowns > static_cast<double>(data_.y.size());
  }

  [[nodiscard]] Form random_network(const std::string& name, const std::vector<Index>& widths,
                                    std::uint64_t number) const {
    constexpr double kSlope = 1.2, kConstant = 0.4;
    Form form;
    form.plain = true;
    form.inputs = data_.x.cols();
    form.rectifier = std::make_shared<const Rectifier>(parse_rectifier(name));
    Index columns = form.inputs + 1;
    for (std::size_t l = 0; l < widths.size(); ++l) {
      const Stream stream(options_.seed * 1000003u + number, fmt::format("smooth layers {} {}", name, l));
      Matrix V = stream.normal_matrix(widths[l], columns);
      V.leftCols(columns - 1) *= kSlope / std::sqrt(static_cast<double>(columns - 1));
      V.rightCols(1) *= kConstant;
      form.V.push_back(std::move(V));
      columns = widths[l] + 1;
    }
    form.C = Matrix::Zero(columns, data_.y.cols());
    return form;
  }

  [[nodiscard]] Student taught(const std::string& name, const std::vector<Index>& widths, Index steps,
                               std::uint64_t number, const Control& control) const {
    StudentOptions lesson;
    lesson.steps = steps;
    lesson.unit = student_unit(name);
    lesson.hard_rows = false;
    lesson.rate = 5e-3;
    lesson.seed = options_.seed + number;
    Student student = train(random_network(name, widths, number), students_, lesson, control);
    student.form.rectifier = std::make_shared<const Rectifier>(parse_rectifier(name));
    return student;
  }

  // Short students of every activation that is still in the race.
  void race(const std::vector<Index>& widths, std::uint64_t number) {
    std::vector<double> errors(names_.size(), 1);
    Control alone = control_;
    alone.threads = 1;
    parallel_for(static_cast<Index>(names_.size()), control_, [&](Index i) {
      const auto at = static_cast<std::size_t>(i);
      errors[at] = taught(names_[at], widths, kLayers.short_steps, number, alone).relative_mse;
    });
    const std::vector<Index> order =
        increasing_order(Eigen::Map<const Vector>(errors.data(), static_cast<Index>(errors.size())));
    std::vector<std::string> kept;
    for (const Index i : order) {
      const auto at = static_cast<std::size_t>(i);
      if (kept.size() < kLayers.in_race &&
          errors[at] <= kLayers.worth_going_on * errors[static_cast<std::size_t>(order.front())])
        kept.push_back(names_[at]);
    }
    names_ = kept;
  }

  // A student of every activation in the race; true where one became an exact network.
  bool attempt(const std::vector<Index>& widths, std::uint64_t number) {
    if (names_.size() > 2) race(widths, number);
    std::vector<Student> students(names_.size());
    Control alone = control_;
    alone.threads = names_.size() > 1 ? 1 : control_.threads;
    parallel_for(static_cast<Index>(names_.size()), control_, [&](Index i) {
      const auto at = static_cast<std::size_t>(i);
      students[at] = taught(names_[at], widths, kLayers.steps, number, alone);
    });
    std::stable_sort(students.begin(), students.end(),
                     [](const Student& a, const Student& b) { return a.relative_mse < b.relative_mse; });
    for (const Student& student : students) {
      if (control_.out_of_time()) return false;
      if (pursue(student, widths)) return true;
    }
    return false;
  }

  [[nodiscard]] PolishOptions polishing(int steps) const {
    DeepPolishOptions options;
    options.max_iterations = steps;
    options.enough_relative = kLayers.enough;
    return options;
  }

  bool pursue(const Student& student, const std::vector<Index>& widths) {
    const DeepData rows = enough_rows(data_, student.form, kLayers.polish_equations);
    Polished now = polish(student.form, rows, polishing(kLayers.first_polish), control_);
    if (now.relative_mse > options_.exact && now.relative_mse < kLayers.promising)
      now = polish(now.form, rows, polishing(kLayers.long_polish), control_);
    found_.attempts.push_back({widths, student.relative_mse, now.relative_mse});
    control_.best(now.relative_mse, now.form.units());
    now.relative_mse = relative_error(now.form, data_, control_);
    if (now.relative_mse < found_.relative_mse) keep(now);
    if (!(now.relative_mse <= options_.exact)) return false;
    fold(now);
    PruneOptions pruning;
    pruning.exact = options_.exact;
    const Pruned pruned = prune(now, data_, pruning, control_);
    now = polish_all(pruned.fit.form, data_, 2 * kLayers.polish_equations, options_.exact,
                     polishing(kLayers.trial_steps), control_);
    keep(now.relative_mse <= options_.exact ? now : pruned.fit);
    found_.minimal = pruned.minimal;
    return true;
  }

  void keep(const Polished& now) {
    found_.form = now.form;
    found_.relative_mse = now.relative_mse;
    found_.exact = now.relative_mse <= options_.exact;
    found_.plain = found_.signs_determined = true;
  }

  struct Fold {
    Form form;  // without the unit
    double cost = 0;
  };

  // What it costs to replace every unit of layer l by the others, and the weights that do.
  struct Regressions {
    Vector cost;   // k
    Matrix alpha;  // (k+1) x k: column j expresses h_j by the others, 0 at j, and the constant
  };
  [[nodiscard]] Regressions regressions(const Form& form, std::size_t l) const {
    const Index n = std::min(data_.rows(), kLayers.regression_rows), k = form.units(l);
    const FormRows rows(form, data_.x.topRows(n));
    const auto [first, units] = rows.layout().hidden[l];
    Matrix H(n, k + 1);
    H << rows.P().middleCols(first, units), Vector::Ones(n);
    const Matrix inverse = inverse_scaled(gram_with_ridge(H));
    Regressions out{Vector::Zero(k), Matrix::Zero(k + 1, k)};
    // Regression of one column on the others, from the inverse of the Gram matrix.
    for (Index j = 0; j < k; ++j) {
      out.alpha.col(j) = -inverse.col(j) / inverse(j, j);
      out.alpha(j, j) = 0;
    }
    const Matrix left = H.leftCols(k) - H * out.alpha;
    for (Index o = 0; o < data_.y.cols(); ++o) {
      Matrix slope;
      if (l + 1 == form.depth()) {
        slope = form.C.col(o).head(k).transpose().replicate(n, 1);
      } else {
        slope = rows.slopes(form.C.col(o))[l + 1] * form.V[l + 1].leftCols(k);
      }
      out.cost += slope.cwiseProduct(left).colwise().squaredNorm().transpose();
    }
    out.cost *= static_cast<double>(data_.rows()) / (static_cast<double>(n) * data_.variation);
    return out;
  }

  static Matrix gram_with_ridge(const Matrix& H) {
    constexpr double kRidge = 1e-12;
    Matrix gram = H.transpose() * H;
    gram.diagonal() *= 1 + kRidge;
    return gram;
  }

  static Form folded_unit(const Form& form, std::size_t l, Index j, const Vector& alpha) {
    Form out = form;
    if (l + 1 < form.depth()) {
      out.V[l + 1] += form.V[l + 1].col(j) * alpha.transpose();
    } else {
      out.C += alpha * form.C.row(j);
    }
    std::vector<Index> kept;
    for (Index i = 0; i < form.units(l); ++i)
      if (i != j) kept.push_back(i);
    return with_units(out, l, kept);
  }

  // Folds units of an exact network while it stays exact.
  void fold(Polished& now) {
    for (bool changed = true; changed && !control_.out_of_time();) {
      changed = false;
      for (std::size_t l = now.form.depth(); l-- > 0 && !changed;) {
        if (now.form.units(l) < 2) continue;
        const Regressions all = regressions(now.form, l);
        for (const Index j : increasing_order(all.cost)) {
          if (!(all.cost(j) < kLayers.folds) || control_.out_of_time()) break;
          const Form fewer = folded_unit(now.form, l, j, all.alpha.col(j));
          Polished trial = polish(fewer, enough_rows(data_, fewer, kLayers.polish_equations),
                                  polishing(kLayers.trial_steps), control_);
          if (!(trial.relative_mse <= options_.exact)) continue;
          now = std::move(trial);
          changed = true;
          break;
        }
      }
    }
    now.relative_mse = relative_error(now.form, data_, control_);
  }

  const DeepSearchOptions& options_;
  const Control& control_;
  DeepData data_;
  StudentData students_;
  std::vector<std::string> names_;
  DeepFound found_;
};

}  // namespace

DeepFound search_smooth_layers(const SampleSource& standard, const std::string& activation,
                               const DeepSearchOptions& options, const Control& control) {
  const SingleThreadedBlas single;
  return SmoothLayers(standard, activation, options, control).run();
}

}  // namespace exhume
