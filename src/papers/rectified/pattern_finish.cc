#include "exhume/papers/rectified.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/blas.h"
#include "exhume/samples.h"
#include "fit/polish.h"
#include "fit/unit_search.h"
#include "model/rectified_network.h"
#include "moments/moments.h"
#include "moments/standardise.h"
#include "papers/rectified/user_units.h"

namespace exhume {
namespace {

// Two exact units are the same where they are less far apart (unit_distance).
constexpr double kSameUnit = 1e-5;
// A unit belongs to its start where the cosine between them is above this.
constexpr double kSameDirection = 0.8;
// Mean squared residual over variance at which outputs count as reproduced.
constexpr double kPatternReproduced = 1e-18;

// Searches in the residual for units that the starts did not lead to.
constexpr int kSecondLooks = 4;

using Rows = std::vector<Index>;

// At most `count` of them, evenly spread.
Rows thinned(const Rows& rows, Index count) {
  if (static_cast<Index>(rows.size()) <= count) return rows;
  Rows out;
  for (Index i = 0; i < count; ++i) {
    out.push_back(rows[static_cast<size_t>(static_cast<double>(i) * static_cast<double>(rows.size()) /
                                           static_cast<double>(count))]);
  }
  return out;
}

// Is the unit among these?
bool seen(const std::vector<Vector>& units, const Vector& unit) {
  return std::any_of(units.begin(), units.end(),
                     [&](const Vector& other) { return unit_distance(other, unit, false) < kSameUnit; });
}

// One unit on its way from rough to exact.
class UnitFinish {
 public:
  UnitFinish(const Eigen::Ref<const RowMatrix>& x, const Matrix& B1, const Rectifier& rectifier,
             const PatternOptions& options)
      : x_(x), B1_(B1), rectifier_(rectifier), options_(options) {}

  // Improves `unit` (d+1) in place; returns its gap. Both signs are tried, and other margins: larger ones
  // where the start is so rough that rows near the boundary mislead, smaller ones where another unit vanishes
  // on all rows beyond the margin too and makes the null space two-dimensional. What ends at another unit is
  // not taken.
  double run(Vector& unit, const std::vector<Vector>& known) const {
    const Index d = x_.cols();
    double least = 1;
    for (const double wider : {1.0, 0.3, 1.6, 0.1, 2.2}) {
      Attempt best;
      for (const double sign : {1.0, -1.0}) {
        Attempt tried = descend(sign * unit, wider * options_.margin);
        const double cosine = tried.unit.head(d).normalized().dot(unit.head(d).normalized());
        const bool slid = tried.gap <= options_.exact_gap && seen(known, tried.unit);
        if (sign * cosine > kSameDirection && !slid && tried.gap < best.gap) best = std::move(tried);
      }
      least = std::min(least, best.gap);
      if (best.gap <= options_.exact_gap) {
        unit = best.unit;
        break;
      }
    }
    return least;
  }

 private:
  struct Attempt {
    Vector unit;
    double gap = 1;
  };
  struct Null {
    Vector vector;
    double gap = 1;
  };

  // Rounds of choosing rows and solving, for a unit whose sign is taken as given.
  Attempt descend(Vector unit, double margin) const {
    Attempt out{std::move(unit), 1};
    for (int round = 0; round < options_.rounds; ++round) {
      Attempt next = once(out.unit, margin);
      if (next.unit.size() == 0) break;
      const bool settled = next.gap <= 1e-12 || (round > 0 && next.gap > 0.9 * out.gap);
      if (round == 0 || next.gap < out.gap) out = std::move(next);
      if (settled) break;
    }
    return out;
  }

  // The null vector on the rows where z < -margin sd, with less margin where they are too few.
  Null null_on(const Vector& z, double widest, double sd) const {
    const Index least = 2 * B1_.cols();
    Rows rows;
    for (double margin = widest; margin > 0.05; margin /= 1.5) {
      rows.clear();
      for (Index i = 0; i < z.size(); ++i) {
        if (z(i) < -margin * sd) rows.push_back(i);
      }
      if (static_cast<Index>(rows.size()) >= least) break;
    }
    Null out;
    if (static_cast<Index>(rows.size()) < least) return out;
    const Matrix part = B1_(thinned(rows, options_.most_rows), Eigen::all);
    const Eigen::HouseholderQR<Matrix> qr(part);
    const Index q = B1_.cols();
    const Matrix R = qr.matrixQR().topRows(q).triangularView<Eigen::Upper>();
    const Eigen::JacobiSVD<Matrix> svd(R, Eigen::ComputeFullV);
    out.vector = svd.matrixV().col(q - 1);
    out.gap = svd.singularValues()(q - 1) / std::max(svd.singularValues()(q - 2), kTiny);
    return out;
  }

  Attempt once(const Vector& unit, double margin) const {
    const Index d = x_.cols();
    const Vector z = (x_ * unit.head(d)).array() + unit(d);
    const double sd = std::sqrt((z.array() - z.mean()).square().mean());
    const Null best = null_on(z, margin, sd);
    Attempt out;
    if (best.vector.size() == 0) return out;
    out.gap = best.gap;
    Vector h = B1_ * best.vector;
    double balance = 0;
    for (Index i = 0; i < z.size(); ++i) {
      if (z(i) > 0) balance += h(i);
    }
    if (balance < 0) h = -h;
    const double size = h.norm() / std::sqrt(static_cast<double>(h.size()));
    Rows rows;
    for (Index i = 0; i < z.size(); ++i) {
      // Far from 0, where phi^-1 keeps its digits. While the gap is open, rows must also be active by v.
      if (h(i) > 0.1 * size && (best.gap < options_.exact_gap || z(i) > 0)) rows.push_back(i);
    }
    if (static_cast<Index>(rows.size()) < 2 * (d + 1)) return out;
    rows = thinned(
        rows, best.gap < options_.exact_gap ? options_.most_rows : std::min<Index>(options_.most_rows, 1500));
    out.unit = unit_from_output(x_(rows, Eigen::all), h(rows), rectifier_, true);
    if (!out.unit.allFinite() || out.unit.head(d).norm() == 0) out.unit.resize(0);
    return out;
  }

  const Eigen::Ref<const RowMatrix>& x_;
  const Matrix& B1_;
  const Rectifier& rectifier_;
  const PatternOptions& options_;
};

void set_units(const std::vector<Vector>& units, Network& network) {
  const Index d = network.W().cols(), k = static_cast<Index>(units.size());
  network.W().resize(k, d);
  network.b().resize(k);
  for (Index i = 0; i < k; ++i) {
    network.W().row(i) = units[static_cast<size_t>(i)].head(d);
    network.b()(i) = units[static_cast<size_t>(i)](d);
  }
}

// Rough units (rows (v, b), sign open) that explain what `network` leaves of the outputs: by a search that
// stops far from exact, or for other rectifiers than the ReLU, whose kink it relies on, the best candidates.
Matrix residual_units(const Network& network, Index hidden, const Rectifier& rectifier,
                      const Eigen::Ref<const RowMatrix>& x, const Eigen::Ref<const RowMatrix>& y, int round,
                      const Control& control) {
  constexpr Index kRows = 8000, kCandidates = 12;
  constexpr double kRough = 1e-7;  // mean squared residual over variance
  const SamplePtr some = spread_subset(*memory_samples(x, y), kRows);
  const Standardisation coordinates = standardise(second_moments(*some, control));
  const SamplePtr standard = load(*affine(some, coordinates.map));
  Form model = to_signed_form(coordinates.from_user(network));
  const auto seed = static_cast<std::uint64_t>(round) + 1;
  Matrix V;
  if (rectifier.name == "relu") {
    SearchOptions search;
    search.hidden = hidden;
    search.seed = seed;
    search.most_restarts = 2;
    search.exact_relative = kRough;
    V = search_units(model.V[0], *standard, search, control).model.V[0];
  } else {
    model.rectifier = std::make_shared<Rectifier>(rectifier);
    V = candidate_units(model, *standard, kCandidates, seed, control).V;
  }
  return user_units(V, coordinates);
}

}  // namespace

OutputSpace output_space(const Eigen::Ref<const RowMatrix>& y, double tolerance) {
  const Index n = y.rows(), m = y.cols();
  OutputSpace space;
  space.mean = y.colwise().mean();
  Matrix centred = y.rowwise() - space.mean.transpose();
  Matrix R = Matrix::Zero(m, m);
  if (n >= m) {
    const Eigen::HouseholderQR<Matrix> qr(centred);
    R = qr.matrixQR().topRows(m).triangularView<Eigen::Upper>();
  } else {
    R.topRows(n) = centred;
  }
  const Eigen::JacobiSVD<Matrix> svd(R, Eigen::ComputeFullV);
  space.singular_values = svd.singularValues() / std::sqrt(static_cast<double>(std::max<Index>(n, 1)));
  const double floor = tolerance * space.singular_values(0);
  space.rank = (space.singular_values.array() > floor).count();
  space.P =
      svd.matrixV().leftCols(space.rank) * space.singular_values.head(space.rank).cwiseInverse().asDiagonal();
  return space;
}

PatternFinish pattern_finish(const Matrix& V, Index hidden, const Eigen::Ref<const RowMatrix>& x,
                             const Eigen::Ref<const RowMatrix>& y, const Rectifier& rectifier,
                             const PatternOptions& options, const Control& control) {
  const SingleThreadedBlas single;
  const Index d = x.cols();
  PatternFinish out;
  out.network = {Matrix(0, d), Vector(0), Matrix(y.cols(), 0), Vector::Zero(y.cols()), {}};
  const OutputSpace space = output_space(y);
  out.rank = space.rank;
  out.gaps = Vector::Ones(V.rows());
  if (space.rank < hidden) {
    out.outcome = PatternOutcome::kRankDeficient;
    return out;
  }
  if (space.rank > hidden) {
    out.outcome = PatternOutcome::kRankExceeded;
    return out;
  }
  Matrix B1(x.rows(), space.rank + 1);
  B1.leftCols(space.rank) = (y.rowwise() - space.mean.transpose()) * space.P;
  B1.col(space.rank).setOnes();
  std::vector<Vector> units;
  UnitFinish finish(x, B1, rectifier, options);
  for (Index i = 0; i < V.rows(); ++i) {
    control.check();
    control.report("patterns", static_cast<double>(i) / static_cast<double>(V.rows()));
    Vector unit = V.row(i);
    out.gaps(i) = finish.run(unit, units);
    if (out.gaps(i) <= options.exact_gap && !seen(units, unit)) units.push_back(unit);
  }
  set_units(units, out.network);
  regress_outputs(out.network, rectifier, x, y, true);
  // A unit whose start was too rough, or missing, stands out in what the others leave.
  for (int round = 0; round < kSecondLooks && static_cast<Index>(units.size()) < hidden; ++round) {
    const size_t before = units.size();
    const Matrix candidates = residual_units(out.network, hidden, rectifier, x, y, round, control);
    for (Index i = 0; i < candidates.rows() && static_cast<Index>(units.size()) < hidden; ++i) {
      control.check();
      Vector unit = candidates.row(i);
      if (finish.run(unit, units) <= options.exact_gap && !seen(units, unit)) units.push_back(unit);
    }
    if (units.size() == before) continue;
    set_units(units, out.network);
    regress_outputs(out.network, rectifier, x, y, true);
  }
  const Index found = static_cast<Index>(units.size());
  out.relative_mse = relative_error(out.network, rectifier, x, y);
  if (found < hidden) {
    out.outcome = PatternOutcome::kNoNullVector;
  } else {
    out.outcome =
        out.relative_mse <= kPatternReproduced ? PatternOutcome::kExact : PatternOutcome::kNotReproduced;
  }
  return out;
}

}  // namespace exhume
