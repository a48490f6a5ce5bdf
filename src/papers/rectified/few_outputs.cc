#include "exhume/papers/rectified.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "base/blas.h"
#include "base/parallel.h"
#include "base/random.h"
#include "exhume/samples.h"
#include "model/rectified_network.h"

namespace exhume {
namespace {

constexpr double kFewReproduced = 1e-18;  // mean squared residual over variance
constexpr double kLinear = 1e-8;   // misfit of phi^-1(h) to a linear function, up to which a group is a unit
constexpr Index kMostRows = 6000;  // of a group that a unit is computed from

// One unit with its column of A.
struct Unit {
  Vector wb;      // d + 1
  Vector column;  // m
  double misfit = 1;
};

Matrix chosen_rows(const Eigen::Ref<const RowMatrix>& x, const std::vector<Index>& rows) {
  return x(rows, Eigen::all);
}

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The unit that is active alone on `rows`, on which the residuals r are multiples of its column.
Unit unit_of_group(const Eigen::Ref<const RowMatrix>& x, const RowMatrix& r, std::vector<Index> rows,
                   const Rectifier& rectifier) {
  if (static_cast<Index>(rows.size()) > kMostRows) {
    // The largest outputs carry the most digits.
    std::vector<std::pair<double, Index>> sized;
    sized.reserve(rows.size());
    for (const Index row : rows) sized.emplace_back(-r.row(row).squaredNorm(), row);
    std::nth_element(sized.begin(), sized.begin() + kMostRows, sized.end());
    rows.clear();
    for (Index i = 0; i < kMostRows; ++i) rows.push_back(sized[static_cast<size_t>(i)].second);
    std::sort(rows.begin(), rows.end());
  }
  const Matrix X = chosen_rows(x, rows);
  const Matrix R = chosen_rows(r, rows);
  const Vector h = R.rowwise().norm();
  const Vector direction = (R.transpose() * h).normalized();
  Unit best;
  for (const bool bias : {false, true}) {
    if (bias && (best.misfit < kLinear || X.rows() < x.cols() + 3)) break;
    Unit unit;
    unit.wb = unit_from_output(X, h, rectifier, bias);
    const Vector z = (X * unit.wb.head(x.cols())).array() + unit.wb(x.cols());
    std::vector<double> ratios;
    for (Index i = 0; i < z.size(); ++i) {
      if (z(i) > 0) ratios.push_back(h(i) / rectifier(z(i)));
    }
    if (ratios.empty()) continue;
    const double scale = median_of(std::move(ratios));
    double squares = 0;
    for (Index i = 0; i < z.size(); ++i) squares += std::pow(h(i) - scale * rectifier(z(i)), 2);
    unit.misfit = std::sqrt(squares) / h.norm();
    unit.column = scale * direction;
    if (unit.misfit < best.misfit) best = unit;
  }
  return best;
}

// (probe . r_i / |r_i|, i) of the rows that are longer than `shortest` and lie in a bucket of keys that has,
// with a neighbour, at least `least` of them. With as many buckets as rows only chance and equal directions
// put so many together, so that few rows are left to be sorted.
std::vector<std::pair<double, Index>> keys_in_company(const Eigen::Ref<const RowMatrix>& r,
                                                      const Vector& probe, Index least, double shortest) {
  const Index n = r.rows(), m = r.cols();
  const auto key_of = [&](Index i) {
    const double* row = r.data() + i * r.outerStride();
    double dot = 0, square = 0;
    for (Index o = 0; o < m; ++o) {
      dot += row[o] * probe(o);
      square += row[o] * row[o];
    }
    const double size = std::sqrt(square);
    return size > shortest ? std::clamp(dot / size, -1.0, 1.0) : 2.0;
  };
  const double buckets = static_cast<double>(n);
  const auto bucket_of = [&](double key) { return static_cast<size_t>((key + 1) / 2 * buckets) + 1; };
  std::vector<std::uint32_t> count(static_cast<size_t>(n) + 3, 0);
  for (Index i = 0; i < n; ++i) {
    const double key = key_of(i);
    if (key <= 1) ++count[bucket_of(key)];
  }
  std::vector<std::pair<double, Index>> keyed;
  for (Index i = 0; i < n; ++i) {
    const double key = key_of(i);
    if (key > 1) continue;
    const size_t b = bucket_of(key);
    const std::uint32_t company = count[b] + std::max(count[b - 1], count[b + 1]);
    if (static_cast<Index>(company) >= least) keyed.emplace_back(key, i);
  }
  return keyed;
}

// left -= f(x.w + b) column^T, block by block.
void subtract(const Unit& unit, const Rectifier& rectifier, const Eigen::Ref<const RowMatrix>& x,
              RowMatrix& left) {
  const Index d = x.cols();
  const Matrix w = unit.wb.head(d).transpose();
  for (Index first = 0; first < x.rows(); first += kBlockRows) {
    const Index size = std::min(kBlockRows, x.rows() - first);
    left.middleRows(first, size).noalias() -=
        hidden_outputs(w, unit.wb.tail(1), rectifier, x.middleRows(first, size)) * unit.column.transpose();
  }
}

}  // namespace

std::vector<std::vector<Index>> equal_directions(const Eigen::Ref<const RowMatrix>& r, Index least,
                                                 double shortest, double tolerance, std::uint64_t seed) {
  const Index m = r.cols();
  const Vector probe = Stream(seed, "directions").normal_matrix(m, 1).col(0).normalized();
  std::vector<std::pair<double, Index>> keyed = keys_in_company(r, probe, least, shortest);
  std::sort(keyed.begin(), keyed.end());
  std::vector<std::vector<Index>> groups;
  std::vector<std::vector<Index>> open;  // groups of the current run of nearly equal keys
  const auto close = [&] {
    for (auto& group : open) {
      if (static_cast<Index>(group.size()) >= least) groups.push_back(std::move(group));
    }
    open.clear();
  };
  for (size_t i = 0; i < keyed.size(); ++i) {
    if (i > 0 && keyed[i].first - keyed[i - 1].first > tolerance) close();
    const Index row = keyed[i].second;
    const auto same = std::find_if(open.begin(), open.end(), [&](const std::vector<Index>& group) {
      const Index first = group.front();
      const double a = 1 / r.row(row).norm(), b = 1 / r.row(first).norm();
      return (a * r.row(row) - b * r.row(first)).norm() <= 4 * tolerance;
    });
    if (same != open.end()) {
      same->push_back(row);
    } else {
      open.push_back({row});
    }
  }
  close();
  std::sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
  return groups;
}

FewOutputs recover_few_outputs(const Eigen::Ref<const RowMatrix>& x, const Eigen::Ref<const RowMatrix>& y,
                               const Rectifier& rectifier, const FewOutputsOptions& options,
                               const Control& control) {
  const SingleThreadedBlas single;
  const Index d = x.cols(), m = y.cols();
  FewOutputs out;
  out.network = {Matrix(0, d), Vector(0), Matrix(m, 0), Vector::Zero(m), {}};
  if (m < 2) {
    out.outcome = FewOutputsOutcome::kOneOutput;
    return out;
  }
  RowMatrix left = y;
  const double scale = y.norm() / std::sqrt(static_cast<double>(std::max<Index>(y.rows(), 1)));
  std::vector<Unit> units;
  out.smallest_group = x.rows();
  const auto wanted = [&] {
    return options.hidden == 0 || static_cast<Index>(units.size()) < options.hidden;
  };
  for (int round = 0; wanted() && left.squaredNorm() > kFewReproduced * y.squaredNorm(); ++round) {
    control.check();
    control.report("groups", options.hidden > 0
                                 ? static_cast<double>(units.size()) / static_cast<double>(options.hidden)
                                 : 0);
    // Before anything is subtracted every row has all its digits; afterwards only what is well above
    // rounding.
    const double shortest = round == 0 ? 1e-9 * scale : 1e-3 * scale;
    const double tolerance = round == 0 ? options.tolerance : 10 * options.tolerance;
    std::vector<Unit> found;
    for (const auto& group : equal_directions(left, d + 2, shortest, tolerance,
                                              options.seed + static_cast<std::uint64_t>(round))) {
      if (options.hidden > 0 && static_cast<Index>(units.size() + found.size()) >= options.hidden) break;
      Unit unit = unit_of_group(x, left, group, rectifier);
      if (unit.misfit > kLinear) continue;
      out.smallest_group = std::min(out.smallest_group, static_cast<Index>(group.size()));
      found.push_back(std::move(unit));
      // Later rounds go one by one: with fewer units open, the next group is larger and its unit more exact.
      if (round > 0) break;
    }
    if (found.empty()) break;
    if (round == 0) out.first_groups = static_cast<Index>(found.size());
    for (const Unit& unit : found) {
      subtract(unit, rectifier, x, left);
      units.push_back(unit);
    }
  }
  const Index k = static_cast<Index>(units.size());
  out.network.W().resize(k, d);
  out.network.b().resize(k);
  for (Index i = 0; i < k; ++i) {
    out.network.W().row(i) = units[static_cast<size_t>(i)].wb.head(d);
    out.network.b()(i) = units[static_cast<size_t>(i)].wb(d);
  }
  if (k == 0) return out;
  regress_outputs(out.network, rectifier, x, y, false);
  out.relative_mse = relative_error(out.network, rectifier, x, y);
  if (out.relative_mse <= kFewReproduced) {
    out.outcome = FewOutputsOutcome::kExact;
  } else {
    out.outcome = wanted() ? FewOutputsOutcome::kNoGroups : FewOutputsOutcome::kNotReproduced;
  }
  return out;
}

}  // namespace exhume
