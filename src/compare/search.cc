#include "compare/search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "base/random.h"
#include "linalg/linear_program.h"

namespace exhume {
namespace {

constexpr int kSteps = 10;            // lengths of step that are tried, each half of the one before
constexpr int kClimbs = 40;           // iterations of an ascent
constexpr int kPrograms = 6;          // linear programs for one unit
constexpr Index kMostRows = 600;      // of a linear program: more take seconds
constexpr double kOn = 1e300;         // z of what is always on
constexpr double kLeastSlope = 0.01;  // of a smooth unit, for the size of rounding
constexpr double kBeside = 1e-6;      // of the width of the box: how far beside a kink

RowMatrix clipped(const RowMatrix& x, const Vector& low, const Vector& high) {
  RowMatrix out = x;
  for (Index i = 0; i < x.cols(); ++i) out.col(i) = x.col(i).cwiseMax(low(i)).cwiseMin(high(i));
  return out;
}

// A function to climb: its values at rows, and its gradient at one.
struct Objective {
  std::function<Vector(const RowMatrix&)> values;
  std::function<Vector(const Vector&)> slope;
};

struct Summit {
  Vector input;
  double value;
  Index looked = 0;
};

// Steps along the gradient and along its signs, as long as they gain.
Summit climb(const Objective& objective, const Vector& x, double value, const Vector& low, const Vector& high,
             int steps) {
  Summit out{x, value, 0};
  const Vector width = high - low;
  for (int step = 0; step < steps; ++step) {
    const Vector g = objective.slope(out.input);
    const double norm = g.norm();
    if (!(norm > 0) || !std::isfinite(norm)) break;
    RowMatrix tries(2 * kSteps, x.size());
    for (int k = 0; k < kSteps; ++k) {
      const double t = std::ldexp(1.0, -k);
      tries.row(2 * k) = out.input.array() + t * g.array().sign() * width.array();
      tries.row(2 * k + 1) = out.input + t * width.norm() / norm * g;
    }
    tries = clipped(tries, low, high);
    const Vector found = objective.values(tries);
    out.looked += tries.rows();
    Index at = 0;
    const double best = found.maxCoeff(&at);
    if (!(best > out.value + 1e-12 * std::abs(out.value))) break;
    out.value = best;
    out.input = tries.row(at);
  }
  return out;
}

Vector differences(const BlockNetwork& f, const BlockNetwork& g, const RowMatrix& x) {
  return (evaluate(g, x) - evaluate(f, x)).cwiseAbs().rowwise().maxCoeff();
}

Objective difference_objective(const BlockNetwork& f, const BlockNetwork& g) {
  return {[&](const RowMatrix& x) { return differences(f, g, x); },
          [&](const Vector& x) {
            const std::vector<RowMatrix> p = features(f, x.transpose()), q = features(g, x.transpose());
            const Vector gap = (q.back() - p.back()).row(0);
            Index worst = 0;
            gap.cwiseAbs().maxCoeff(&worst);
            Vector c = Vector::Zero(gap.size());
            c(worst) = gap(worst) >= 0 ? 1 : -1;
            return Vector(gradient(g, q, 0, g.depth(), c) - gradient(f, p, 0, f.depth(), c));
          }};
}

// z of one unit at rows.
Vector preactivation(const BlockNetwork& network, std::size_t l, Index unit, const RowMatrix& x) {
  const std::vector<RowMatrix> h = features(network, x);
  Vector z = Vector::Constant(x.rows(), network.layers[l].b(unit));
  for (std::size_t s = 0; s <= l; ++s) {
    const Matrix& block = network.layers[l].from[s];
    if (block.size() != 0) z += h[s] * block.row(unit).transpose();
  }
  return z;
}

Vector unit_slope(const BlockNetwork& network, std::size_t l, Index unit, const Vector& x) {
  const std::vector<RowMatrix> h = features(network, x.transpose());
  Vector c = Vector::Zero(network.layers[l].units());
  c(unit) = 1;
  return gradient(network, h, 0, l, c);
}

// The largest z of the unit among inputs of the box that have the same units on below it as x.
std::optional<Vector> same_pattern_best(const BlockNetwork& network, std::size_t l, Index unit,
                                        const Vector& x, const Vector& low, const Vector& high) {
  Index rows = 0;
  for (std::size_t u = 0; u < l; ++u) rows += network.layers[u].units();
  if (rows == 0 || rows > kMostRows) return std::nullopt;
  const std::vector<RowMatrix> h = features(network, x.transpose());
  LinearProgram program;
  program.M.resize(rows, x.size());
  program.low.setConstant(rows, -kUnbounded);
  program.high.setConstant(rows, kUnbounded);
  Index at = 0;
  for (std::size_t u = 0; u < l; ++u) {
    for (Index i = 0; i < network.layers[u].units(); ++i, ++at) {
      Vector c = Vector::Zero(network.layers[u].units());
      c(i) = 1;
      const Vector slope = gradient(network, h, 0, u, c);
      const double z = preactivation(network, u, i, x.transpose())(0);
      const double size = std::max(slope.cwiseAbs().maxCoeff(), kTiny);
      program.M.row(at) = slope / size;
      // z + slope (y - x) >= 0 where it is on, <= 0 where not
      const double limit = (slope.dot(x) - z) / size;
      (z > 0 ? program.low : program.high)(at) = limit;
    }
  }
  program.bound_low = low;
  program.bound_high = high;
  program.objective = unit_slope(network, l, unit, x);
  const double size = program.objective.cwiseAbs().maxCoeff();
  if (!(size > 0)) return std::nullopt;
  program.objective /= size;
  const std::optional<Vector> found = solve(program);
  if (!found || !found->allFinite()) return std::nullopt;
  return Vector(found->cwiseMax(low).cwiseMin(high));
}

Trigger find_trigger(const BlockNetwork& network, std::size_t l, Index unit, const RowMatrix& random,
                     const Vector& low, const Vector& high, Index& looked) {
  Trigger out;
  out.layer = l;
  out.unit = unit;
  const Objective objective = {[&](const RowMatrix& x) { return preactivation(network, l, unit, x); },
                               [&](const Vector& x) { return unit_slope(network, l, unit, x); }};
  const Vector z = objective.values(random);
  looked += random.rows();
  out.share = static_cast<double>((z.array() > 0).count()) / static_cast<double>(random.rows());
  std::vector<Index> order(static_cast<std::size_t>(z.size()));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return z(a) > z(b); });
  constexpr std::size_t kStarts = 24;
  out.z = -std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < std::min(kStarts, order.size()); ++k) {
    // The best ones, and others from all over the box.
    const Index from = k % 2 == 0 ? order[k / 2] : static_cast<Index>((k * 997) % order.size());
    Summit top = climb(objective, random.row(from), z(from), low, high, kClimbs);
    looked += top.looked;
    for (int p = 0; p < kPrograms && l > 0 && top.value <= 0 && k < 4; ++p) {
      const auto next = same_pattern_best(network, l, unit, top.input, low, high);
      if (!next) break;
      const double there = objective.values(next->transpose())(0);
      if (!(there > top.value)) break;
      top = climb(objective, *next, there, low, high, kClimbs);
    }
    if (top.value > out.z) {
      out.z = top.value;
      out.input = top.input;
    }
  }
  out.found = out.z > 0;
  return out;
}

// The lesser of the z of two units: above zero where both are on. An output is always on.
Objective both_on(const BlockNetwork& network, const WatchedUnit& watched) {
  const auto parts = [&network, watched](const RowMatrix& x) {
    RowMatrix z = RowMatrix::Constant(x.rows(), 2, kOn);
    if (watched.layer < network.depth()) z.col(0) = preactivation(network, watched.layer, watched.unit, x);
    if (watched.from >= 0) z.col(1) = preactivation(network, watched.from_layer, watched.from, x);
    return z;
  };
  return {[parts](const RowMatrix& x) { return Vector(parts(x).rowwise().minCoeff()); },
          [parts, &network, watched](const Vector& x) {
            const RowMatrix z = parts(x.transpose());
            if (z.minCoeff() >= kOn) return Vector(Vector::Zero(x.size()));
            return z(0, 1) < z(0, 0) ? unit_slope(network, watched.from_layer, watched.from, x)
                                     : unit_slope(network, watched.layer, watched.unit, x);
          }};
}

// Coordinates to the ends of the box, one after the other, as long as that gains.
Summit to_corners(const Objective& objective, Summit top, const Vector& low, const Vector& high) {
  for (int round = 0; round < 3; ++round) {
    RowMatrix tries(2 * low.size(), low.size());
    for (Index i = 0; i < low.size(); ++i) {
      tries.row(2 * i) = tries.row(2 * i + 1) = top.input;
      tries(2 * i, i) = low(i);
      tries(2 * i + 1, i) = high(i);
    }
    Index at = 0;
    const double best = objective.values(tries).maxCoeff(&at);
    if (!(best > top.value)) break;
    top.value = best;
    top.input = tries.row(at);
  }
  return top;
}

}  // namespace

RowMatrix uniform_inputs(const Vector& low, const Vector& high, Index rows, std::uint64_t seed,
                         const char* purpose) {
  RowMatrix x(rows, low.size());
  Stream(seed, purpose).fill_uniform(0, x);
  for (Index i = 0; i < x.cols(); ++i) x.col(i) = low(i) + (high(i) - low(i)) * x.col(i).array();
  return clipped(x, low, high);
}

RowMatrix corner_inputs(const Vector& low, const Vector& high, Index rows, std::uint64_t seed,
                        const char* purpose) {
  RowMatrix x(rows, low.size());
  Stream(seed, purpose).fill_uniform(0, x);
  for (Index i = 0; i < x.cols(); ++i) {
    x.col(i) =
        (x.col(i).array() < 0.5).select(Vector::Constant(rows, low(i)), Vector::Constant(rows, high(i)));
  }
  return x;
}

RowMatrix kink_inputs(const BlockNetwork& f, const RowMatrix& from, const Vector& low, const Vector& high,
                      Index units_per_row) {
  if (!f.piecewise_linear()) return RowMatrix(0, low.size());
  std::vector<std::pair<std::size_t, Index>> units;
  for (std::size_t l = 0; l < f.depth(); ++l)
    for (Index i = 0; i < f.layers[l].units(); ++i) units.emplace_back(l, i);
  if (units.empty()) return RowMatrix(0, low.size());
  std::vector<Vector> found;
  const double step = kBeside * (high - low).norm();
  std::size_t next = 0;
  for (Index row = 0; row < from.rows(); ++row) {
    const RowMatrix x = from.row(row);
    const std::vector<RowMatrix> h = features(f, x);
    for (Index k = 0; k < units_per_row; ++k) {
      const auto [l, i] = units[next++ % units.size()];
      Vector c = Vector::Zero(f.layers[l].units());
      c(i) = 1;
      const Vector slope = gradient(f, h, 0, l, c);
      const double size = slope.squaredNorm();
      if (!(size > 0)) continue;
      const double z = preactivation(f, l, i, x)(0);
      const Vector place = x.row(0).transpose() - z / size * slope;
      const Vector beside = step / std::sqrt(size) * slope;
      for (const double side : {-1.0, 1.0}) {
        const Vector there = place + side * beside;
        if ((there.array() >= low.array()).all() && (there.array() <= high.array()).all())
          found.push_back(there);
      }
    }
  }
  RowMatrix out(static_cast<Index>(found.size()), low.size());
  for (std::size_t k = 0; k < found.size(); ++k) out.row(static_cast<Index>(k)) = found[k];
  return out;
}

RowMatrix extreme_inputs(const BlockNetwork& f, const Vector& low, const Vector& high, Index rows,
                         std::uint64_t seed) {
  const RowMatrix from = uniform_inputs(low, high, rows, seed, "compare extremes");
  RowMatrix out = from;
  if (f.depth() == 0) return out;
  const Stream stream(seed, "compare extreme combinations");
  for (Index r = 0; r < rows; ++r) {
    const std::size_t layer = static_cast<std::size_t>(r) % f.depth();
    RowMatrix drawn(1, f.layers[layer].units());
    stream.fill_normal(static_cast<std::uint64_t>(r), drawn);
    const Vector c = drawn.row(0);
    const Objective objective = {[&](const RowMatrix& x) { return Vector(features(f, x)[layer + 1] * c); },
                                 [&](const Vector& x) {
                                   const std::vector<RowMatrix> h = features(f, x.transpose());
                                   return gradient(f, h, 0, layer, slopes(f, h, 0, layer).cwiseProduct(c));
                                 }};
    out.row(r) = climb(objective, from.row(r), objective.values(from.row(r))(0), low, high, kClimbs).input;
  }
  return out;
}

RowMatrix acting_inputs(const BlockNetwork& f, const RowMatrix& seen, const Vector& low, const Vector& high,
                        Index most) {
  constexpr double kSeldom = 3;
  constexpr Index kStarts = 512;
  constexpr int kTries = 2;
  if (!f.piecewise_linear() || f.depth() == 0 || seen.rows() == 0) return RowMatrix(0, low.size());
  // How often a unit is on, and how often with each unit right below it.
  std::vector<Matrix> together(f.depth());
  const auto count = [&](const RowMatrix& x) {
    const std::vector<RowMatrix> h = features(f, x);
    for (std::size_t l = 0; l < f.depth(); ++l) {
      const RowMatrix on = (h[l + 1].array() > 0).cast<double>();
      const RowMatrix below =
          l == 0 ? RowMatrix(RowMatrix::Ones(x.rows(), 1)) : RowMatrix((h[l].array() > 0).cast<double>());
      const Matrix both = on.transpose() * below;
      together[l] = together[l].size() == 0 ? both : Matrix(together[l] + both);
    }
  };
  count(seen);
  const RowMatrix starts = seen.topRows(std::min(kStarts, seen.rows()));
  std::vector<Vector> found;
  Index climbs = 0;
  const auto look = [&](const WatchedUnit& watched) {
    const Objective both = both_on(f, watched);
    const Vector z = both.values(starts);
    std::vector<Index> order(static_cast<std::size_t>(z.size()));
    std::iota(order.begin(), order.end(), Index{0});
    std::partial_sort(order.begin(), order.begin() + std::min<std::ptrdiff_t>(kTries, z.size()), order.end(),
                      [&](Index a, Index b) { return z(a) > z(b); });
    for (std::size_t k = 0; k < std::min<std::size_t>(kTries, order.size()); ++k) {
      ++climbs;
      const Summit top = climb(both, starts.row(order[k]), z(order[k]), low, high, kClimbs);
      if (!(top.value > 0)) continue;
      found.push_back(top.input);
      count(top.input.transpose());
      return true;
    }
    return false;
  };
  const auto full = [&] { return static_cast<Index>(found.size()) >= most || climbs >= 2 * most; };
  for (std::size_t l = 0; l < f.depth(); ++l) {
    for (Index i = 0; i < f.layers[l].units() && !full(); ++i) {
      if (together[l].row(i).maxCoeff() < kSeldom && !look({l, i, 0, -1}))
        continue;  // off as far as is known
      if (l == 0 || f.layers[l].from[l].size() == 0) continue;
      for (Index j = 0; j < together[l].cols() && !full(); ++j) {
        if (together[l](i, j) >= kSeldom || f.layers[l].from[l](i, j) == 0) continue;
        if (together[l - 1].row(j).maxCoeff() == 0) continue;
        (void)look({l, i, l - 1, j});
      }
    }
  }
  RowMatrix out(static_cast<Index>(found.size()), low.size());
  for (std::size_t k = 0; k < found.size(); ++k) out.row(static_cast<Index>(k)) = found[k];
  return out;
}

RowMatrix rounding_size(const Network& network, const RowMatrix& x) {
  // E_l = |W| E_{l-1} + |W| |h_{l-1}| + |b|, with E_0 = 0; times the slope of the unit at most, and its own
  // rounding.
  const BlockNetwork blocks = to_blocks(network);
  const std::vector<RowMatrix> h = features(blocks, x);
  std::vector<RowMatrix> E = {RowMatrix::Zero(x.rows(), x.cols())};
  for (std::size_t l = 0; l < blocks.layers.size(); ++l) {
    const BlockLayer& layer = blocks.layers[l];
    RowMatrix sum = layer.b.cwiseAbs().transpose().replicate(x.rows(), 1);
    for (std::size_t s = 0; s <= l; ++s) {
      if (layer.from[s].size() != 0)
        sum.noalias() += (E[s] + h[s].cwiseAbs()) * layer.from[s].cwiseAbs().transpose();
    }
    if (blocks.sigma && l < blocks.depth()) {
      sum =
          2 * (slopes(blocks, h, l).cwiseAbs().cwiseMax(kLeastSlope).cwiseProduct(sum) + h[l + 1].cwiseAbs());
    }
    E.push_back(std::move(sum));
  }
  return E.back();
}

Vector sure_difference(const Network& f, const Network& g, const RowMatrix& x) {
  // (longest sum + 4) roundings on every path, twice the unit roundoff each: room for the second order.
  const auto share = [](const Network& network) {
    Index longest = 0;
    for (const Layer& layer : network.layers) longest = std::max(longest, layer.W.cols() + layer.L.cols());
    return static_cast<double>(longest + 4) * std::numeric_limits<double>::epsilon();
  };
  const RowMatrix gap = (evaluate(g, x) - evaluate(f, x)).cwiseAbs() - share(f) * rounding_size(f, x) -
                        share(g) * rounding_size(g, x);
  return gap.rowwise().maxCoeff().cwiseMax(0.0);
}

DifferenceResult find_difference(const BlockNetwork& f, const BlockNetwork& g, const Vector& low,
                                 const Vector& high, const DifferenceOptions& options,
                                 const Control& control) {
  DifferenceResult out;
  double weights = 0;
  for (const BlockNetwork* network : {&f, &g}) {
    for (const BlockLayer& layer : network->layers)
      for (const Matrix& block : layer.from) weights += static_cast<double>(block.size());
  }
  const double row_cost = 2 * std::max(weights, 1.0);
  const auto random = static_cast<Index>(
      std::max(256.0, std::min(static_cast<double>(options.random), options.work / (8 * row_cost))));
  const Objective objective = difference_objective(f, g);
  const RowMatrix inside = uniform_inputs(low, high, random, options.seed, "compare inputs");
  std::vector<RowMatrix> sets = {inside,
                                 corner_inputs(low, high, random / 2, options.seed, "compare corners")};
  const Index near = std::min<Index>(64, random / 8);
  sets.push_back(kink_inputs(f, inside.topRows(near), low, high, 8));
  sets.push_back(kink_inputs(g, inside.topRows(near), low, high, 8));
  if (options.rows.rows() > 0) {
    sets.push_back(clipped(options.rows, low, high));
    RowMatrix moved = options.rows.topRows(std::min<Index>(options.rows.rows(), random));
    RowMatrix shift(moved.rows(), moved.cols());
    Stream(options.seed, "compare neighbours").fill_normal(0, shift);
    for (Index i = 0; i < moved.cols(); ++i) moved.col(i) += 0.02 * (high(i) - low(i)) * shift.col(i);
    sets.push_back(clipped(moved, low, high));
  }
  std::vector<std::pair<double, Vector>> starts;
  for (std::size_t k = 0; k < sets.size(); ++k) {
    control.check();
    if (sets[k].rows() == 0) continue;
    const Vector found = differences(f, g, sets[k]);
    if (k == 0) out.random_differences = found;
    if (k == 4) out.row_differences = found;
    out.inputs += found.size();
    std::vector<Index> order(static_cast<std::size_t>(found.size()));
    std::iota(order.begin(), order.end(), Index{0});
    const std::size_t kept = std::min<std::size_t>(12, order.size());
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(),
                      [&](Index a, Index b) { return found(a) != found(b) ? found(a) > found(b) : a < b; });
    for (std::size_t i = 0; i < kept; ++i) starts.emplace_back(found(order[i]), sets[k].row(order[i]));
  }
  const bool rectified = f.piecewise_linear() && g.piecewise_linear();
  for (std::size_t l = 0; l < f.depth() && rectified; ++l) {
    for (Index i = 0; i < f.layers[l].units(); ++i) {
      const bool in_f = f.layers[l].rows[static_cast<std::size_t>(i)] >= 0;
      const bool in_g = g.layers[l].rows[static_cast<std::size_t>(i)] >= 0;
      if (in_f == in_g) continue;
      control.check();
      Trigger trigger = find_trigger(in_g ? g : f, l, i, inside, low, high, out.inputs);
      trigger.of_second = in_g;
      if (trigger.found) starts.emplace_back(differences(f, g, trigger.input.transpose())(0), trigger.input);
      out.triggers.push_back(std::move(trigger));
    }
  }
  for (const WatchedUnit& watched : options.watched) {
    control.check();
    if (!rectified) break;
    const Objective both = both_on(g, watched);
    const Vector z = both.values(inside);
    std::vector<Index> order(static_cast<std::size_t>(z.size()));
    std::iota(order.begin(), order.end(), Index{0});
    std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return z(a) > z(b); });
    for (std::size_t k = 0; k < std::min<std::size_t>(6, order.size()); ++k) {
      const Index from = k % 2 == 0 ? order[k / 2] : static_cast<Index>((k * 997) % order.size());
      const Summit top = climb(both, inside.row(from), z(from), low, high, kClimbs);
      out.inputs += top.looked;
      if (top.value > 0) starts.emplace_back(differences(f, g, top.input.transpose())(0), top.input);
    }
  }
  std::stable_sort(starts.begin(), starts.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  const auto climbs = static_cast<std::size_t>(
      std::max(4.0, std::min(48.0, options.work / (2 * row_cost * kClimbs * 2 * kSteps))));
  for (std::size_t k = 0; k < std::min(climbs, starts.size()); ++k) {
    control.check();
    Summit top = climb(objective, starts[k].second, starts[k].first, low, high, kClimbs);
    if (low.size() <= 64) top = to_corners(objective, std::move(top), low, high);
    out.inputs += top.looked;
    if (top.value > out.worst || out.input.size() == 0) {
      out.worst = top.value;
      out.input = top.input;
    }
  }
  return out;
}

Vector simplest_input(const Vector& x, const Vector& base,
                      const std::function<Vector(const RowMatrix&)>& difference, double least) {
  Vector out = x;
  std::vector<Index> order(static_cast<std::size_t>(x.size()));
  std::iota(order.begin(), order.end(), Index{0});
  // Those first whose return costs least.
  RowMatrix tries = x.transpose().replicate(x.size(), 1);
  for (Index i = 0; i < x.size(); ++i) tries(i, i) = base(i);
  const Vector alone = difference(tries);
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return alone(a) > alone(b); });
  for (const Index i : order) {
    if (out(i) == base(i)) continue;
    Vector next = out;
    next(i) = base(i);
    if (difference(next.transpose())(0) >= least) out = next;
  }
  return out;
}

void add_simple_input(const RowMatrix& rows, const std::function<Vector(const RowMatrix&)>& difference,
                      CompareResult& out) {
  constexpr Index kNamed = 12;
  const bool data = rows.rows() > 0;
  const Vector base = data ? Vector(rows.row(0).transpose()) : Vector((out.low + out.high) / 2);
  const double least = std::max(out.tolerance.value_or(0), 0.5 * out.worst_difference);
  out.simple_input = simplest_input(out.worst_input, base, difference, least);
  out.simple_difference = difference(out.simple_input.transpose())(0);
  std::string inputs;
  Index changed = 0;
  for (Index i = 0; i < base.size(); ++i) {
    if (out.simple_input(i) == base(i)) continue;
    if (++changed <= kNamed) inputs += (inputs.empty() ? "" : ", ") + std::to_string(i + 1);
  }
  if (changed > kNamed) inputs += " and " + std::to_string(changed - kNamed) + " more";
  out.simple_words = data ? "the first row of data" : "the middle of the domain";
  if (changed > 0) out.simple_words += (changed == 1 ? " except input " : " except inputs ") + inputs;
}

}  // namespace exhume
