#include "compare/arithmetic.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "compare/search.h"

namespace exhume {
namespace {

using RowFloats = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Folding batch norm, or another order of sums, moves a weight by a few roundings of the largest in its row.
constexpr double kFolded = 16 * kSingleRoundoff;
// The errors of two evaluations in the same arithmetic, of which one simulates the other: maxima over some
// hundred rows agree within this factor, root mean squares within half of it.
constexpr double kAlike = 8;

double to_float(double v) { return static_cast<double>(static_cast<float>(v)); }
// Rounded once, to nearest, to `bits` digits and exponents from `least` on.
double to_format(double v, int bits, int least) {
  if (v == 0 || !std::isfinite(v)) return v;
  const double unit = std::ldexp(1.0, std::max(std::ilogb(v), least) - bits + 1);
  return std::nearbyint(v / unit) * unit;
}
double to_half(double v) { return to_format(v, 11, -14); }
double to_bfloat(double v) { return to_format(v, 8, -126); }

Matrix on_levels(const Matrix& W, bool per_row) {
  Matrix out = W;
  const auto round = [](auto&& part) {
    const double step = part.size() != 0 ? part.cwiseAbs().maxCoeff() / 127 : 0;
    if (step > 0) part = part.unaryExpr([step](double v) { return std::round(v / step) * step; }).eval();
  };
  if (!per_row) {
    round(out);
  } else {
    for (Index i = 0; i < out.rows(); ++i) {
      Eigen::RowVectorXd row = out.row(i);
      round(row);
      out.row(i) = row;
    }
  }
  return out;
}

Matrix stored(Arithmetic arithmetic, const Matrix& W) {
  switch (arithmetic) {
    case Arithmetic::kFloat32:
    case Arithmetic::kFloat32Weights:
      return W.unaryExpr(&to_float);
    case Arithmetic::kFloat16:
    case Arithmetic::kFloat16Weights:
      return W.unaryExpr(&to_half);
    case Arithmetic::kBfloat16:
    case Arithmetic::kBfloat16Weights:
      return W.unaryExpr(&to_bfloat);
    case Arithmetic::kInt8:
    case Arithmetic::kInt8Weights:
      return on_levels(W, true);
    case Arithmetic::kInt8TensorWeights:
      return on_levels(W, false);
  }
  return W;
}

void round_features(Arithmetic arithmetic, RowFloats& h) {
  if (arithmetic == Arithmetic::kFloat16)
    h = h.unaryExpr([](float v) { return float(Eigen::half(v)); }).eval();
  if (arithmetic == Arithmetic::kBfloat16)
    h = h.unaryExpr([](float v) { return float(Eigen::bfloat16(v)); }).eval();
  if (arithmetic != Arithmetic::kInt8 || h.size() == 0) return;
  const float low = std::min(0.0F, h.minCoeff()), step = (std::max(0.0F, h.maxCoeff()) - low) / 255;
  if (step > 0) h = h.unaryExpr([=](float v) { return std::round((v - low) / step) * step + low; }).eval();
}

// Entries on a grid of at most 8 bits: all whole multiples of one step.
struct Grid {
  double step = 0;      // 0: they are not
  double evidence = 0;  // minus log of the chance that others would be
};
Grid grid_of(const Eigen::Ref<const Vector>& all) {
  constexpr double kOff = 2e-3;  // of a step: float32 storage of the products
  const double most = all.size() != 0 ? all.cwiseAbs().maxCoeff() : 0;
  if (most == 0) return {};
  for (int levels = 1; levels <= 255; ++levels) {
    const double step = most / levels;
    bool on = true;
    for (Index i = 0; i < all.size() && on; ++i)
      on = std::abs(all(i) / step - std::round(all(i) / step)) <= kOff;
    if (!on) continue;
    const auto free = static_cast<double>((all.array() != 0).count() - 1);
    return {step, std::max(0.0, -free * std::log(2 * kOff) - std::log(255.0))};
  }
  return {};
}

// One of the two is the other on a grid: the evidence for it, or nothing.
std::optional<double> on_grid(const Vector& p, const Vector& q) {
  for (const Vector* grid : {&q, &p}) {
    const Grid found = grid_of(*grid);
    if (found.step > 0 && (p - q).cwiseAbs().maxCoeff() <= 0.51 * found.step) return found.evidence;
  }
  return std::nullopt;
}

double median_row(const RowMatrix& gap) {
  Vector rows = gap.cwiseAbs().rowwise().maxCoeff();
  std::nth_element(rows.begin(), rows.begin() + rows.size() / 2, rows.end());
  return rows(rows.size() / 2);
}

bool whole_matrix_on_grid(const Matrix& p, const Matrix& q, bool per_row) {
  constexpr double kSure = 14;  // a chance of one in a million
  if (!per_row) return on_grid(p.reshaped(), q.reshaped()).value_or(0) > kSure;
  double evidence = 0;
  for (Index i = 0; i < p.rows(); ++i) {
    if (p.row(i).isZero(0) && q.row(i).isZero(0)) continue;
    const std::optional<double> row = on_grid(p.row(i), q.row(i));
    if (!row) return false;
    evidence += *row;
  }
  return evidence > kSure;
}

}  // namespace

const char* to_string(Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::kFloat32:
      return "float32";
    case Arithmetic::kFloat16:
      return "float16";
    case Arithmetic::kBfloat16:
      return "bfloat16";
    case Arithmetic::kInt8:
      return "int8";
    case Arithmetic::kFloat32Weights:
      return "weights in float32";
    case Arithmetic::kFloat16Weights:
      return "weights in float16";
    case Arithmetic::kBfloat16Weights:
      return "weights in bfloat16";
    case Arithmetic::kInt8Weights:
      return "weights in int8, a scale per row";
    case Arithmetic::kInt8TensorWeights:
      return "weights in int8, a scale per matrix";
  }
  return "";
}

RowMatrix evaluate_in(Arithmetic arithmetic, const Network& network, const RowMatrix& x, bool biases) {
  if (arithmetic == Arithmetic::kFloat32Weights) {
    Network rounded = network;
    for (Layer& layer : rounded.layers) {
      layer.W = stored(arithmetic, layer.W);
      layer.L = stored(arithmetic, layer.L);
      if (biases) layer.b = stored(arithmetic, layer.b);
    }
    return evaluate(rounded, x);
  }
  const BlockNetwork blocks = to_blocks(network);
  std::vector<RowFloats> h = {x.cast<float>()};
  round_features(arithmetic, h[0]);
  for (std::size_t l = 0; l < blocks.layers.size(); ++l) {
    const BlockLayer& layer = blocks.layers[l];
    const Vector b = biases ? Vector(stored(arithmetic, layer.b)) : layer.b;
    RowFloats z = b.cast<float>().transpose().replicate(x.rows(), 1);
    for (std::size_t s = 0; s <= l; ++s) {
      if (layer.from[s].size() == 0) continue;
      const RowFloats W = stored(arithmetic, layer.from[s]).cast<float>();
      z.noalias() += h[s].lazyProduct(W.transpose());
    }
    if (l + 1 < blocks.layers.size()) {
      z = blocks.sigma
              ? RowFloats(z.unaryExpr([&](float v) { return static_cast<float>((*blocks.sigma)(v)); }))
              : RowFloats(z.cwiseMax(0.0F));
    }
    round_features(arithmetic, z);
    h.push_back(std::move(z));
  }
  return h.back().cast<double>();
}

std::string storage_that_explains(const BlockNetwork& f, const BlockNetwork& g) {
  if (f.layers.size() != g.layers.size() || f.inputs != g.inputs) return "";
  for (std::size_t l = 0; l < f.layers.size(); ++l)
    if (f.layers[l].units() != g.layers[l].units()) return "";
  bool single = true, folded = true, half = true, brain = true, rows = true, matrices = true;
  Index moved = 0, entries = 0;
  const auto look = [&](const Matrix& p, const Matrix& q, double scale) {
    for (Index i = 0; i < p.size(); ++i) {
      const double a = p(i), b = q(i), gap = std::abs(a - b);
      // One of them is in the format, and the other rounds to it; or nearly, where it was rounded twice.
      const auto stored_as = [&](auto&& round, double unit, double least) {
        return (round(a) == a || round(b) == b) &&
               gap <= 1.01 * unit * std::max(std::abs(a), std::abs(b)) + least;
      };
      single = single && stored_as(to_float, kSingleRoundoff, 1e-45);
      folded = folded && gap <= kFolded * scale;
      half = half && stored_as(to_half, 1.0 / 2048, 1.0 / (1 << 25));
      brain = brain && stored_as(to_bfloat, 1.0 / 256, 1e-40);
      if (a == 0 && b == 0) continue;
      ++entries;
      if (gap > 0) ++moved;
    }
  };
  for (std::size_t l = 0; l < f.layers.size(); ++l) {
    const BlockLayer &p = f.layers[l], &q = g.layers[l];
    double step = 0;  // what a bias may move where weights are on a grid
    for (std::size_t s = 0; s <= l; ++s) {
      if ((p.from[s].size() == 0) != (q.from[s].size() == 0)) return "";
      if (p.from[s].size() == 0) continue;
      for (Index i = 0; i < p.units(); ++i) {
        const double scale = p.from[s].row(i).cwiseAbs().maxCoeff();
        step = std::max(step, scale / 100);
        look(p.from[s].row(i), q.from[s].row(i), scale);
      }
      rows = rows && whole_matrix_on_grid(p.from[s], q.from[s], true);
      matrices = matrices && whole_matrix_on_grid(p.from[s], q.from[s], false);
    }
    for (Index i = 0; i < p.units(); ++i) {
      double scale = std::abs(p.b(i));
      for (const Matrix& block : p.from)
        if (block.size() != 0) scale = std::max(scale, block.row(i).cwiseAbs().maxCoeff());
      const bool was_half = half, was_brain = brain;
      look(p.b.segment(i, 1), q.b.segment(i, 1), scale);
      // Biases are often kept in single precision.
      const bool kept = std::abs(p.b(i) - q.b(i)) <= kSingleRoundoff * std::abs(p.b(i));
      half = was_half && (half || kept);
      brain = was_brain && (brain || kept);
      rows = rows && std::abs(p.b(i) - q.b(i)) <= step;
      matrices = matrices && std::abs(p.b(i) - q.b(i)) <= step;
    }
  }
  if (single) return "float32";
  if (half) return "float16";
  if (brain) return "bfloat16";
  if (matrices) return to_string(Arithmetic::kInt8TensorWeights);
  if (rows) return to_string(Arithmetic::kInt8Weights);
  // One weight that was changed is no rounding: rounding moves most of them.
  if (folded && 4 * moved >= entries) return "float32";
  return "";
}

std::string storage_of_pair(const Network& f, const Network& g, const Matching& pair) {
  if (!pair.same_units) return "";
  std::string found = storage_that_explains(to_plain_blocks(f), to_plain_blocks(g));
  const bool folded = !pair.folded_first.empty() || !pair.folded_second.empty();
  if (found.empty() && pair.complete && pair.same_depth && !folded)
    found = storage_that_explains(pair.first, pair.second);
  return found;
}

Explained arithmetic_that_explains(const Network& f, const RowMatrix& x, const RowMatrix& y, bool rough) {
  const RowMatrix plain = evaluate(f, x), size = rounding_size(f, x).cwiseMax(kTiny);
  const auto most = [](const RowMatrix& m) { return m.cwiseAbs().maxCoeff(); };
  const auto share = [&](const RowMatrix& gap) { return (gap.cwiseAbs().array() / size.array()).maxCoeff(); };
  Explained out;
  const RowMatrix gap = y - plain;
  constexpr double kDouble = 64 * std::numeric_limits<double>::epsilon();
  if (share(gap) <= kDouble) {
    out.arithmetic = "double";
    out.share = kDouble;
    return out;
  }
  const RowMatrix single = evaluate_in(Arithmetic::kFloat32, f, x) - plain;
  // Answers may be stored in single precision beside.
  const double noise = std::max(most(single), kSingleRoundoff * most(plain));
  // Whoever computes in single precision answers in it, and errors that are smooth are no rounding.
  const bool stored = y == y.unaryExpr(&to_float);
  if ((rough || stored) && most(gap) <= kAlike * noise &&
      gap.norm() <= kAlike / 2 * std::max(single.norm(), kSingleRoundoff * plain.norm())) {
    out.arithmetic = "float32";
    out.share = 4 * std::max(share(gap), share(single));
    return out;
  }
  for (const bool biases : {false, true}) {
    const RowMatrix left = y - evaluate_in(Arithmetic::kFloat32Weights, f, x, biases);
    if (share(left) > kDouble) continue;
    return {to_string(Arithmetic::kFloat32Weights), Arithmetic::kFloat32Weights, biases, kDouble};
  }
  for (const auto& [weights, biases] :
       {std::pair(Arithmetic::kFloat16Weights, false), std::pair(Arithmetic::kFloat16Weights, true),
        std::pair(Arithmetic::kBfloat16Weights, false), std::pair(Arithmetic::kBfloat16Weights, true),
        std::pair(Arithmetic::kInt8Weights, false), std::pair(Arithmetic::kInt8TensorWeights, false)}) {
    const RowMatrix left = y - evaluate_in(weights, f, x, biases);
    if (most(left) > kAlike * noise) continue;
    out.arithmetic = to_string(weights);
    out.reference = weights;
    out.biases = biases;
    out.share = 4 * std::max(share(left), share(single));
    return out;
  }
  if (!rough) return out;
  // The one whose errors are closest in size.
  double closest = std::numeric_limits<double>::infinity();
  for (const Arithmetic all : {Arithmetic::kFloat16, Arithmetic::kBfloat16, Arithmetic::kInt8}) {
    const RowMatrix same = evaluate_in(all, f, x) - plain;
    const double ratio = gap.norm() / std::max(same.norm(), kTiny);
    if (ratio > kAlike / 2 || ratio < 2 / kAlike || most(gap) > kAlike * most(same)) continue;
    // Rounding is everywhere: one row that is far off is no rounding of the others.
    const double usual = median_row(gap), expected = median_row(same);
    if (usual > kAlike * expected || kAlike * usual < expected) continue;
    if (std::abs(std::log(ratio)) >= closest) continue;
    closest = std::abs(std::log(ratio));
    out.arithmetic = to_string(all);
    out.share = 4 * std::max(share(gap), share(same));
  }
  return out;
}

}  // namespace exhume
