#include "fit/unit_search.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "base/blas.h"
#include "base/limits.h"
#include "base/order.h"
#include "base/random.h"
#include "base/remembered.h"
#include "data/reduce.h"
#include "fit/conjugate_gradients.h"
#include "fit/sums.h"
#include "linalg/orthonormal.h"
#include "model/form_shape.h"

namespace exhume {
namespace {

// Factor by which a unit that exists lowers what is nearly nothing but rounding. Errors of a computation have
// structure of their own, of which a unit may explain more than half.
constexpr double kRealUnit = 8;
constexpr Index kRandomDirections = 192;
// Above this many inputs only so many directions of every output's curvature are looked for: the others are
// noise.
constexpr Index kManyInputs = 256, kBendsOfAnOutput = 24;
constexpr Index kSearchBlock = 512;  // rows per task: subsets are small
// Share of the variance above which a unit of an exact fit is certainly not a doubled or idle one.
constexpr double kPlainlyNeeded = 1e-9;
// Rows between the hinges of two units of an exact fit, per unknown of a unit, up to which they are tried as
// one: more rows could not be fitted by two where one is the truth.
constexpr double kBetweenPerUnknown = 2;
// A hinge is seen where as many rows as a unit has unknowns lie within this many standard deviations on
// either side.
constexpr double kNearHinge = 0.1;
// Stalling. Flops (some half a minute on two cores), and a multiple of the longest polish, in which the least
// residual has to fall to kProgress of what it was.
constexpr double kPatientWork = 1e12, kPatientPolishes = 4;
constexpr double kProgress = 0.8;
// Where only an exact fit will do: from this many units on, twice the units have to leave at most this share
// of the residual. Elsewhere a growth goes on while structure is left: half of 64 units leave much.
constexpr Index kManyUnits = 32;
constexpr double kDoublingLeaves = 0.25;
// Where only an exact fit counts: steps, and equations for every unknown on which it is tried first.
constexpr int kTrialSteps = 40;
constexpr double kTrialEquations = 3;
constexpr double kBiases[] = {0.0, 0.6, -0.6, 1.3, -1.3};

// Residual second moments sum r_o x x^T of every output, m matrices d x d.
struct ResidualCurvature {
  std::vector<Matrix> M;
  double squares = 0;
  void merge(const ResidualCurvature& other) {
    for (size_t o = 0; o < M.size(); ++o) M[o] += other.M[o];
    squares += other.squares;
  }
};

ResidualCurvature residual_curvature(const Form& model, const SampleSource& samples, Index block_rows,
                                     const Control& control) {
  const Index d = model.inputs, m = samples.outputs();
  ResidualCurvature empty;
  empty.M.assign(static_cast<size_t>(m), Matrix::Zero(d, d));
  return reduce_blocks(
      samples, empty, control, "",
      [&](ResidualCurvature& to, const SampleBlock& block) {
        const FormBlock rows(model, block, false);
        const Matrix R = rows.Y - rows.F() * model.C;
        const Matrix X = rows.X1().leftCols(d);
        for (Index o = 0; o < m; ++o) {
          to.M[static_cast<size_t>(o)].noalias() +=
              X.transpose() * (X.array().colwise() * R.col(o).array()).matrix();
        }
        to.squares += R.squaredNorm();
      },
      block_rows);
}

// The space of M's eigenvalues of largest size, by subspace iteration: those that stand out of the others are
// right.
Matrix leading_space(const Matrix& M, Index count) {
  constexpr int kIterations = 8;
  Matrix Q = Stream(0, "bends").normal_matrix(M.rows(), 2 * count);
  for (int i = 0; i < kIterations; ++i) Q = orthonormal_columns(M * Q, Q.cols());
  return Q;
}

// Directions in which the residual bends most: leading eigenvectors of every output's
// curvature, at most `count`.
Matrix bending_directions(const std::vector<Matrix>& curvature, Index count) {
  std::vector<std::pair<double, Vector>> found;
  for (const Matrix& M : curvature) {
    const Matrix centred =
        M - Matrix::Identity(M.rows(), M.cols()) * (M.trace() / static_cast<double>(M.rows()));
    const bool many = M.rows() > kManyInputs;
    const Matrix Q = many ? leading_space(centred, kBendsOfAnOutput) : Matrix();
    const Eigen::SelfAdjointEigenSolver<Matrix> eigen(many ? Matrix(Q.transpose() * centred * Q) : centred);
    for (Index i = 0; i < eigen.eigenvalues().size(); ++i) {
      const Vector vector = eigen.eigenvectors().col(i);
      found.emplace_back(std::abs(eigen.eigenvalues()(i)), many ? Vector(Q * vector) : vector);
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  const Index size = std::min<Index>(count, static_cast<Index>(found.size()));
  Matrix out(size, curvature.front().rows());
  for (Index i = 0; i < size; ++i) out.row(i) = found[static_cast<size_t>(i)].second.transpose();
  return out;
}

struct CandidateSums {
  Matrix FF, FP, PR;  // features x features, features x candidates, candidates x outputs
  Vector PP;          // candidates
  double squares = 0;
  void merge(const CandidateSums& other) {
    FF += other.FF;
    FP += other.FP;
    PR += other.PR;
    PP += other.PP;
    squares += other.squares;
  }
};

// Where the hinges lie among the rows.
struct HingeSums {
  Matrix same;  // k x k: rows on the same side of two hinges less those on different sides
  Matrix near;  // k x 2: rows close to a hinge, by side
  void merge(const HingeSums& other) {
    same += other.same;
    near += other.near;
  }
};

HingeSums hinge_sums(const Matrix& V, const SampleSource& samples, const Control& control) {
  const Index k = V.rows(), d = V.cols() - 1;
  const Eigen::RowVectorXd reach = kNearHinge * V.leftCols(d).rowwise().norm().transpose();
  return reduce_blocks(
      samples, HingeSums{Matrix::Zero(k, k), Matrix::Zero(k, 2)}, control, "",
      [&](HingeSums& to, const SampleBlock& block) {
        const Matrix Q = (block.x() * V.leftCols(d).transpose()).rowwise() + V.col(d).transpose();
        const Matrix sides = (Q.array() < 0).select(Matrix::Constant(Q.rows(), k, -1), 1.0);
        to.same.noalias() += sides.transpose() * sides;
        const auto close = Q.array().abs() <= reach.array().replicate(Q.rows(), 1);
        to.near.col(0) += (close && Q.array() >= 0).cast<double>().matrix().colwise().sum().transpose();
        to.near.col(1) += (close && Q.array() < 0).cast<double>().matrix().colwise().sum().transpose();
      },
      kSearchBlock);
}

Matrix drop_row(const Matrix& V, Index row) {
  Matrix out(V.rows() - 1, V.cols());
  out << V.topRows(row), V.bottomRows(V.rows() - row - 1);
  return out;
}

Matrix append_rows(const Matrix& V, const Matrix& more) {
  Matrix out(V.rows() + more.rows(), more.cols());
  out << V, more;
  return out;
}

Matrix random_units(Index count, Index d, std::uint64_t seed, std::uint64_t attempt) {
  RowMatrix W(count, d);
  Stream(seed, "random units").fill_normal(attempt << 20, W);
  W.rowwise().normalize();
  RowMatrix b(count, 1);
  Stream(seed, "random biases").fill_normal(attempt << 20, b);
  Matrix V(count, d + 1);
  V << W, 0.3 * b;
  return V;
}

// With one input there is one direction: kinks at quantiles of the input, as many as `count`.
Matrix kink_grid(const SampleSource& samples, Index count) {
  SampleBlock block;
  samples.read(0, samples.rows(), block);
  Vector x = block.x().col(0);
  std::sort(x.begin(), x.end());
  count = std::min(count, x.size());
  Matrix V(count, 2);
  for (Index i = 0; i < count; ++i) V.row(i) << 1, -x((2 * i + 1) * x.size() / (2 * count));
  return V;
}

// Units to try: the directions in which the residual bends most and random ones, each with every bias. Rows
// (w, b).
Matrix candidate_grid(const Form& model, const SampleSource& samples, std::uint64_t seed,
                      const Control& control) {
  const Index d = model.inputs;
  if (d == 1) return kink_grid(samples, kRandomDirections);
  const ResidualCurvature curvature = residual_curvature(model, samples, kSearchBlock, control);
  const Matrix bends = bending_directions(curvature.M, 2 * d);
  Matrix directions(bends.rows() + kRandomDirections, d);
  directions.topRows(bends.rows()) = bends;
  directions.bottomRows(kRandomDirections) = random_units(kRandomDirections, d, seed, 1).leftCols(d);
  const Index per = static_cast<Index>(std::size(kBiases));
  Matrix V(directions.rows() * per, d + 1);
  for (Index i = 0; i < directions.rows(); ++i) {
    for (Index b = 0; b < per; ++b) {
      V.row(i * per + b).head(d) = directions.row(i);
      V(i * per + b, d) = kBiases[b];
    }
  }
  return V;
}

CandidateSums candidate_sums(const Form& model, const SampleSource& samples, const Matrix& V,
                             const Control& control) {
  const Index q = model.features(), m = samples.outputs(), total = V.rows();
  return reduce_blocks(
      samples,
      CandidateSums{Matrix::Zero(q, q), Matrix::Zero(q, total), Matrix::Zero(total, m), Vector::Zero(total),
                    0},
      control, "",
      [&](CandidateSums& to, const SampleBlock& block) {
        const FormBlock rows(model, block, false);
        const Matrix R = rows.Y - rows.F() * model.C;
        const Matrix P = (rows.X1() * V.transpose()).cwiseAbs();
        to.FF.noalias() += rows.F().transpose() * rows.F();
        to.FP.noalias() += rows.F().transpose() * P;
        to.PR.noalias() += P.transpose() * R;
        to.PP += P.colwise().squaredNorm().transpose();
        to.squares += R.squaredNorm();
      },
      kSearchBlock);
}

// What was spent, and what came of it.
class Work {
 public:
  void add(double flops, double relative_mse) {
    spent_ += flops;
    longest_ = std::max(longest_, flops);
    least_ = std::min(least_, relative_mse);
    history_.emplace_back(spent_, least_);
    if (least_ > kProgress * noted_) return;
    noted_ = least_;
    noted_at_ = spent_;
  }
  [[nodiscard]] bool stalled() const {
    return spent_ - noted_at_ > std::max(kPatientWork, kPatientPolishes * longest_);
  }
  // The least residual over that at half of the work.
  [[nodiscard]] double last_improvement() const {
    for (const auto& [spent, least] : history_) {
      if (2 * spent >= spent_) return least > 0 ? least_ / least : 1;
    }
    return 1;
  }

 private:
  double spent_ = 0, longest_ = 0, least_ = 1e300, noted_ = 1e300, noted_at_ = 0;
  std::vector<std::pair<double, double>> history_;
};

// One search; a class because its steps share a lot.
class Search {
 public:
  Search(const SampleSource& samples, const SearchOptions& options, const Control& control)
      : samples_(samples), options_(options), control_(control) {}

  SearchResult run(const Matrix& start) {
    const Index d = samples_.inputs();
    for (int attempt = 0; attempt <= options_.most_restarts; ++attempt) {
      result_.restarts = attempt;
      Matrix V = start;
      if (attempt > 0 || start.rows() == 0) {
        const Index size =
            options_.hidden.value_or(std::max<Index>(1, attempt % 2 == 0 ? 1 : result_.model.units()));
        V = random_units(size, d, options_.seed, static_cast<std::uint64_t>(attempt));
      }
      if (descend(V)) return finished(false);
      if (control_.out_of_time() || work_.stalled()) break;
    }
    return finished(true);
  }

 private:
  SearchResult finished(bool unfinished) {
    if (result_.model.V.empty()) {  // time ended before the first polish did: the best linear function
      result_.model = one_layer(Matrix(0, samples_.inputs() + 1));
      result_.relative_mse = fit_linear_part(result_.model, samples_, options_.polish, control_);
    }
    result_.out_of_time = unfinished && control_.out_of_time();
    result_.stalled = unfinished && !result_.out_of_time;
    result_.last_improvement = work_.last_improvement();
    return result_;
  }

  // From one start to its best local minimum. True if the search is over.
  bool descend(const Matrix& V) {
    Polished current = polished(one_layer(V), options_.polish.max_iterations);
    const bool exact = current.relative_mse <= options_.exact_relative;
    if (!options_.hidden && !exact && options_.noise_is_final &&
        overdetermined(current.form.units(), kReliable))
      current = tidied(std::move(current));
    if (offer(current)) return true;
    return options_.hidden ? repair(std::move(current), *options_.hidden) : grow(std::move(current));
  }

  // Leaves local minima of `target` units by way of one or two units more.
  bool repair(Polished current, Index target) {
    if (current.relative_mse <= options_.nearly_exact) return settle(std::move(current), 0.5);
    for (int fruitless = 0; fruitless < options_.most_repairs && !given_up();) {
      const Index extra = std::max<Index>(target - current.form.units(), 0) + 1 + fruitless % 2;
      Polished grown = enlarged(current.form, extra, fruitless, 30);
      if (grown.relative_mse <= options_.exact_relative) {
        grown = pruned(grown, target);
        if (offer(grown)) return true;
      }
      Polished smaller = shrunk(std::move(grown), target);
      if (offer(smaller)) return true;
      const bool better = smaller.relative_mse < 0.999 * current.relative_mse;
      fruitless = better ? 0 : fruitless + 1;
      if (better) current = std::move(smaller);
    }
    return false;
  }

  // Adds units while they help; where samples are few, also when they do not help significantly, since only
  // an exact fit can tell.
  bool grow(Polished current) {
    for (int fruitless = 0; fruitless < options_.most_repairs && !given_up();) {
      const Index k = current.form.units(), extra = 1 + k / 12;
      if (k + extra > options_.most_hidden || !overdetermined(k + extra, 1.3)) break;
      if (!options_.noise_is_final && grows_for_nothing(k, current.relative_mse)) break;
      const bool nearly = current.relative_mse <= options_.nearly_exact;
      Polished grown = enlarged(current.form, extra, fruitless, nearly ? 12 : options_.polish.max_iterations);
      const double gain = current.relative_mse / std::max(grown.relative_mse, kTiny);
      if (nearly && gain < kRealUnit) return settle(std::move(current), gain / kRealUnit);
      if (grown.relative_mse <= options_.exact_relative) grown = pruned(grown, 0);
      if (options_.noise_is_final && overdetermined(grown.form.units(), kReliable))
        grown = tidied(std::move(grown));
      if (offer(grown)) return true;
      const bool better = grown.relative_mse < 0.98 * current.relative_mse && grown.form.units() > 0;
      fruitless = better ? 0 : fruitless + 1;
      if (grown.relative_mse < current.relative_mse) current = std::move(grown);
    }
    return false;
  }

  // What is left is the rounding of a computation: sheds units that explain no more than some of it, and ends
  // the search. structure: what a further unit would do, over what a real one does.
  bool settle(Polished current, double structure) {
    while (!options_.hidden && current.form.units() > 0) {
      const Vector worth = unit_worth(current.form, samples_, control_);
      Index weakest = 0;
      worth.minCoeff(&weakest);  // may be large where a unit came out as two: the other has to take its place
      Form smaller = current.form;
      smaller.V[0] = drop_row(current.form.V[0], weakest);
      Polished tried = polished(smaller, options_.polish.max_iterations);
      if (tried.relative_mse > kRealUnit * current.relative_mse) break;
      current = std::move(tried);
    }
    take(current, SearchOutcome::kNoise);
    result_.structure = structure;
    return true;
  }

  [[nodiscard]] bool given_up() const { return control_.out_of_time() || work_.stalled(); }

  // Whether k units leave little less than half of them did, in this descent or an earlier one. By
  // generalised cross-validation, for many units fit few rows whatever these are.
  bool grows_for_nothing(Index k, double relative_mse) {
    const double freedom = 1 - unknowns(k) / static_cast<double>(samples_.rows() * samples_.outputs());
    const double expected = relative_mse / (freedom * freedom);
    least_by_size_.resize(static_cast<size_t>(std::max<Index>(k + 1, std::ssize(least_by_size_))), 1.0);
    double& least = least_by_size_[static_cast<size_t>(k)];
    least = std::min(least, expected);
    if (k < kManyUnits) return false;
    const double half = *std::min_element(least_by_size_.begin(), least_by_size_.begin() + k / 2 + 1);
    return half < 1 && expected > kDoublingLeaves * half;
  }

  Polished enlarged(const Form& model, Index extra, int skip, int iterations) {
    const std::uint64_t seed = options_.seed + static_cast<std::uint64_t>(++result_.repairs) * 7919;
    const Candidates found = candidate_units(model, samples_, 4 * extra + 4, seed, control_);
    Form larger = model;
    larger.V[0] = append_rows(model.V[0], pick(found, extra, skip));
    return polished(larger, iterations);
  }

  Polished polished(const Form& model, int iterations) {
    PolishOptions polish_options = options_.polish;
    polish_options.max_iterations = iterations;
    Form start = model;
    start.plain = start.turned = false;
    Polished summary = polish(start, samples_, polish_options, control_);
    const auto size = static_cast<double>(model.V[0].size());
    // Beyond the limit H is not formed, but multiplied with: 4 flops per weight and product.
    const bool formed = model.V[0].size() <= polish_options.dense_limit;
    const double per_row = size * (formed ? size : 4.0 * kMostProducts);
    const double flops = static_cast<double>(samples_.rows()) * per_row * (1 + summary.iterations);
    work_.add(flops, summary.relative_mse);
    control_.spend(flops);
    return summary;
  }

  // A form that is of use only if it comes to an exact fit: one that does falls fast, and on few rows too.
  Polished still_exact(const Form& model) {
    const Index wanted = static_cast<Index>(kTrialEquations * unknowns(model.units())) / samples_.outputs();
    if (2 * wanted > samples_.rows()) return polished(model, kTrialSteps);
    if (!few_ || few_->rows() < wanted) few_ = spread_subset(samples_, wanted + wanted / 8);
    PolishOptions quick = options_.polish;
    quick.max_iterations = kTrialSteps;
    quick.far = options_.exact_relative;
    Polished tried = polish(model, *few_, quick, control_);
    return tried.relative_mse > options_.exact_relative ? tried : polished(tried.form, kTrialSteps);
  }

  // The best `count` candidates that are not nearly the same unit; after failures, skip the first ones.
  static Matrix pick(const Candidates& found, Index count, int skip) {
    Matrix out(0, found.V.cols());
    const Index d = found.V.cols() - 1;
    Index skipped = 0;
    for (Index i = 0; i < found.V.rows() && out.rows() < count; ++i) {
      bool repeat = false;
      for (Index j = 0; j < out.rows() && d > 1; ++j) {
        repeat = repeat || std::abs(out.row(j).head(d).dot(found.V.row(i).head(d))) > 0.9;
      }
      if (repeat || (skipped < skip / 2 && ++skipped > 0)) continue;
      out = append_rows(out, found.V.row(i));
    }
    if (out.rows() == 0) out = found.V.topRows(1);
    return out;
  }

  // Drops the least worthy units one at a time until `target` are left, with a short polish in between.
  Polished shrunk(Polished current, Index target) {
    while (current.form.units() > target) {
      const Vector worth = unit_worth(current.form, samples_, control_);
      Index weakest = 0;
      worth.minCoeff(&weakest);
      Form smaller = current.form;
      smaller.V[0] = drop_row(current.form.V[0], weakest);
      const bool last = smaller.units() == target;
      if (!last && control_.out_of_time()) {
        current.form = std::move(smaller);
        current.form.C = drop_row(current.form.C, weakest);
        continue;
      }
      current = polished(smaller, last ? options_.polish.max_iterations : 10);
    }
    return current;
  }

  // An exact fit with as few units as keep it exact.
  Polished pruned(Polished current, Index target) {
    Form merged = current.form;
    merged.V[0] = without_doubles(current.form.V[0], 1e-6);
    if (merged.units() < current.form.units()) {
      Polished tried = polished(merged, 20);
      if (tried.relative_mse <= options_.exact_relative) current = std::move(tried);
    }
    while (current.form.units() > target && !control_.out_of_time() &&
           (drop_one(current) || join_pair(current))) {
    }
    return current;
  }

  // A unit may have come out as two so close to each other that no sample lies between their kinks. Finds an
  // exact fit with such a pair as one, if there is one.
  bool join_pair(Polished& current) {
    const Matrix& V = current.form.V[0];
    const Matrix same = hinge_sums(V, samples_, control_).same;
    const double most = kBetweenPerUnknown * static_cast<double>(V.cols());
    for (Index i = 0; i < V.rows(); ++i) {
      for (Index j = 0; j < i; ++j) {
        const double between = (static_cast<double>(samples_.rows()) - std::abs(same(i, j))) / 2;
        if (between > most || control_.out_of_time()) continue;
        const double sign = same(i, j) > 0 ? 1 : -1;
        Form joined = current.form;
        const double wi = current.form.C.row(i).norm(), wj = current.form.C.row(j).norm();
        joined.V[0].row(j) = (wj * V.row(j) + sign * wi * V.row(i)) / std::max(wi + wj, kTiny);
        joined.V[0] = drop_row(joined.V[0], i);
        Polished tried = still_exact(joined);
        if (tried.relative_mse > options_.exact_relative) continue;
        current = std::move(tried);
        return true;
      }
    }
    return false;
  }

  // Rows close to it on either side fix a hinge, whatever values some columns take.
  [[nodiscard]] bool hinges_are_seen(const Matrix& V) const {
    return V.rows() > 0 && hinge_sums(V, samples_, control_).near.minCoeff() >= static_cast<double>(V.cols());
  }

  // Finds an exact fit with one unit less, if there is one close by.
  bool drop_one(Polished& current) {
    const Vector worth = unit_worth(current.form, samples_, control_);
    const std::vector<Index> order = increasing_order(worth);
    const bool thorough = options_.thorough_pruning && !hinges_are_seen(current.form.V[0]);
    const size_t tries = thorough ? std::min<size_t>(order.size(), 4) : 1;
    for (size_t i = 0; i < tries; ++i) {
      // A unit that rounded outputs do not ask for is worth no more than their rounding.
      const bool doubtful = worth(order[i]) <= std::max(kPlainlyNeeded, 100 * options_.exact_relative);
      if (!doubtful && !thorough) return false;
      Form smaller = current.form;
      smaller.V[0] = drop_row(current.form.V[0], order[i]);
      Polished tried = doubtful ? still_exact(smaller) : polished(smaller, options_.polish.max_iterations);
      for (int detour = 0; !doubtful && detour < 3 && tried.relative_mse > options_.exact_relative;
           ++detour) {
        const Index size = smaller.units();
        tried = shrunk(enlarged(tried.form, 1 + detour % 2, detour, 30), size);
      }
      if (tried.relative_mse <= options_.exact_relative) {
        current = std::move(tried);
        return true;
      }
      if (control_.out_of_time()) return false;
    }
    return false;
  }

  // With noise: units that the data do not ask for are dropped, those worth less than Schwarz's price of
  // their d + m free parameters, log(equations) times the variance each.
  Polished tidied(Polished current) {
    const double n = static_cast<double>(samples_.rows() * samples_.outputs());
    const double price = static_cast<double>(samples_.inputs() + samples_.outputs()) * std::log(n);
    while (current.form.units() > 0 && !control_.out_of_time()) {
      const Vector worth = unit_worth(current.form, samples_, control_);
      Index weakest = 0;
      if (worth.minCoeff(&weakest) * n > price * current.relative_mse) break;
      Form smaller = current.form;
      smaller.V[0] = drop_row(current.form.V[0], weakest);
      current = polished(smaller, options_.polish.max_iterations);
    }
    return current;
  }

  // Keeps the model if it is the best so far. True if nothing better can be expected.
  bool offer(const Polished& summary) {
    const Index k = summary.form.units();
    if (options_.hidden && k != *options_.hidden) return false;
    if (summary.relative_mse <= options_.exact_relative) {
      Polished exact = options_.hidden ? summary : pruned(summary, 0);
      // Below the rounding of a computation fewer units may do as well as the outputs allow.
      if (options_.nearly_exact > 0 && exact.relative_mse > SearchOptions().exact_relative)
        return settle(std::move(exact), 0.5);
      take(exact, SearchOutcome::kExact);
      return true;
    }
    if (!result_.model.V.empty() && criterion(k, summary.relative_mse) >= best_) return false;
    take(summary, SearchOutcome::kStuck);
    best_ = criterion(k, summary.relative_mse);
    const Candidates left = candidate_units(summary.form, samples_, 1, options_.seed + 13, control_);
    result_.structure =
        left.scores.size() > 0 ? left.scores(0) / chance_level(samples_.outputs(), left.tested) : 0;
    // The errors of a computation are no noise: whether a unit more is needed, and each of these, settle()
    // says.
    if (summary.relative_mse <= options_.nearly_exact) return false;
    if (result_.structure >= 1) return false;
    result_.outcome = SearchOutcome::kNoise;
    return options_.noise_is_final && overdetermined(k, kReliable);
  }

  void take(const Polished& summary, SearchOutcome outcome) {
    result_.model = summary.form;
    result_.relative_mse = summary.relative_mse;
    result_.descent = summary.descent;
    result_.outcome = outcome;
    control_.best(summary.relative_mse, summary.form.units());
    control_.report("search", 0);
  }

  // Schwarz's criterion: -2 log likelihood of Gaussian noise, and log(rows) for every free parameter.
  [[nodiscard]] double criterion(Index k, double relative_mse) const {
    const double size = static_cast<double>(samples_.rows() * samples_.outputs());
    return size * std::log(std::max(relative_mse, kTiny)) + unknowns(k) * std::log(size);
  }
  [[nodiscard]] double unknowns(Index k) const {
    return static_cast<double>(k * (samples_.inputs() + samples_.outputs()) +
                               samples_.outputs() * (samples_.inputs() + 1));
  }
  [[nodiscard]] bool overdetermined(Index k, double factor) const {
    return static_cast<double>(samples_.rows() * samples_.outputs()) > factor * unknowns(k);
  }

  const SampleSource& samples_;
  const SearchOptions& options_;
  const Control& control_;
  SamplePtr few_;  // of these rows, where only an exact fit counts
  SearchResult result_;
  Work work_;
  std::vector<double> least_by_size_;  // expected residual, by the number of units
  double best_ = 0;
};

}  // namespace

SearchResult search_units(const Matrix& V, const SampleSource& samples, const SearchOptions& options,
                          const Control& control) {
  const SingleThreadedBlas single;
  return remembered(
      control, "search", [&] { return Search(samples, options, control).run(V); },
      [&](const SearchResult& made) { return is_whole(made.model, samples.inputs(), samples.outputs(), 1); });
}

Vector unit_scores(const Form& model, const SampleSource& samples, const Matrix& V, const Control& control) {
  const CandidateSums sums = candidate_sums(model, samples, V, control);
  const Index q = model.features(), m = samples.outputs();
  const double freedom =
      static_cast<double>(samples.rows() * m) - static_cast<double>(model.V[0].size() + q * m);
  const double variance = std::max(sums.squares / std::max(freedom, 1.0), kTiny);
  const Matrix explained = solve_scaled(sums.FF, sums.FP);
  const Vector left = sums.PP - sums.FP.cwiseProduct(explained).colwise().sum().transpose();
  Vector scores(V.rows());
  for (Index i = 0; i < V.rows(); ++i) {
    scores(i) = left(i) > 1e-6 * sums.PP(i) ? sums.PR.row(i).squaredNorm() / (left(i) * variance) : 0;
  }
  return scores;
}

Candidates candidate_units(const Form& model, const SampleSource& samples, Index count, std::uint64_t seed,
                           const Control& control) {
  const Matrix V = candidate_grid(model, samples, seed, control);
  const Vector scores = unit_scores(model, samples, V, control);
  const Index total = V.rows();
  const std::vector<Index> order = increasing_order(-scores);
  Candidates result;
  result.tested = total;
  const Index keep = std::min(count, total);
  result.V.resize(keep, V.cols());
  result.scores.resize(keep);
  for (Index i = 0; i < keep; ++i) {
    result.V.row(i) = V.row(order[static_cast<size_t>(i)]);
    result.scores(i) = scores(order[static_cast<size_t>(i)]);
  }
  return result;
}

Vector unit_worth(const Form& model, const SampleSource& samples, const Control& control) {
  const Index k = model.units();
  const LinearSums sums = linear_sums(model, samples, kSearchBlock, control);
  const Matrix inverse = inverse_scaled(sums.FF);
  Vector worth(k);
  for (Index j = 0; j < k; ++j) worth(j) = model.C.row(j).squaredNorm() / std::max(inverse(j, j), kTiny);
  return worth / static_cast<double>(samples.rows() * samples.outputs());
}

double chance_level(Index outputs, Index tested) {
  return chi_squared_limit(static_cast<double>(outputs), kUnitFalseAlarm, static_cast<double>(tested));
}

Matrix without_doubles(const Matrix& V, double tolerance) {
  Matrix out(0, V.cols());
  for (Index i = 0; i < V.rows(); ++i) {
    bool repeat = false;
    for (Index j = 0; j < out.rows() && !repeat; ++j) {
      const double scale = std::max(1.0, V.row(i).cwiseAbs().maxCoeff());
      repeat = (V.row(i) - out.row(j)).cwiseAbs().maxCoeff() < tolerance * scale ||
               (V.row(i) + out.row(j)).cwiseAbs().maxCoeff() < tolerance * scale;
    }
    if (!repeat) out = append_rows(out, V.row(i));
  }
  return out;
}

}  // namespace exhume
