#include "compare/sensitivity.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "compare/arithmetic.h"

namespace exhume {
namespace {

constexpr double kStored = 2 * kSingleRoundoff;  // what storing a weight may move it by, of itself
constexpr double kFactor = 4 * kSingleRoundoff;  // and a common factor of a row
constexpr std::size_t kCandidates = 24, kUnits = 6;

// d f_o / d z_l for all hidden layers l and the outputs, rows x k_l.
std::vector<RowMatrix> back_from(const BlockNetwork& f, const std::vector<RowMatrix>& h,
                                 const std::vector<RowMatrix>& slope, Index output) {
  const Index rows = h[0].rows();
  std::vector<RowMatrix> down(f.layers.size());
  for (std::size_t l = 0; l < f.layers.size(); ++l) down[l] = RowMatrix::Zero(rows, f.layers[l].units());
  down.back().col(output).setOnes();
  for (std::size_t l = f.layers.size(); l-- > 0;) {
    if (l + 1 < f.layers.size()) down[l] = down[l].cwiseProduct(slope[l]).eval();
    for (std::size_t s = 1; s <= l; ++s) {
      const Matrix& block = f.layers[l].from[s];
      if (block.size() != 0) down[s - 1].noalias() += down[l] * block;
    }
  }
  return down;
}

}  // namespace

Sensitivity::Sensitivity(const BlockNetwork& f, const std::vector<Index>& outputs, const RowMatrix& x,
                         const RowMatrix& r, const RowMatrix& size)
    : f_(f), h_(features(f, x)), r_(r) {
  std::vector<RowMatrix> slope;
  for (std::size_t l = 0; l < f.depth(); ++l) slope.push_back(slopes(f, h_, l));
  for (const Index o : outputs) back_.push_back(back_from(f, h_, slope, o));
  const double n = std::sqrt((r.array() / size.array()).square().mean());
  inverse_ = n > 0 ? RowMatrix((n * size.array()).inverse()) : RowMatrix(RowMatrix::Zero(r.rows(), r.cols()));
  if (n > 0) S_.compute(covariance());
}

// Scaled by 1 / (n s) on both sides: 1 on the diagonal from rounding.
Matrix Sensitivity::covariance() const {
  const Index rows = r_.rows(), size = r_.size();
  const auto stacked = [&](const auto& of_output, Index columns) {
    Matrix out(size, columns);
    for (Index o = 0; o < r_.cols(); ++o)
      out.middleRows(o * rows, rows) = inverse_.col(o).asDiagonal() * of_output(o);
    return out;
  };
  Matrix S = Matrix::Identity(size, size);
  for (std::size_t l = 0; l < f_.layers.size(); ++l) {
    const BlockLayer& layer = f_.layers[l];
    const Index units = layer.units();
    const Matrix B =
        stacked([&](Index o) -> const RowMatrix& { return back_[static_cast<std::size_t>(o)][l]; }, units);
    RowMatrix z = layer.b.transpose().replicate(rows, 1);
    Vector squares = layer.b.cwiseAbs2();
    for (std::size_t s = 0; s <= l; ++s) {
      const Matrix& M = layer.from[s];
      if (M.size() == 0) continue;
      z.noalias() += h_[s] * M.transpose();
      const Vector row = M.cwiseAbs2().rowwise().sum() / static_cast<double>(M.cols());
      squares = squares.cwiseMax(row);
      const Matrix units_kernel = B * (kStored * kStored * row).asDiagonal() * B.transpose();
      const Matrix inputs_kernel = h_[s] * h_[s].transpose();
      for (Index p = 0; p < r_.cols(); ++p) {
        for (Index q = 0; q < r_.cols(); ++q) {
          S.block(p * rows, q * rows, rows, rows) +=
              units_kernel.block(p * rows, q * rows, rows, rows).cwiseProduct(inputs_kernel);
        }
      }
    }
    S.noalias() += B * (kStored * kStored * squares).asDiagonal() * B.transpose();
    const Matrix whole = B.cwiseProduct(z.replicate(r_.cols(), 1));
    S.noalias() += kFactor * kFactor * whole * whole.transpose();
  }
  return S;
}

std::vector<Sensitivity::Block> Sensitivity::products(const RowMatrix& v) const {
  std::vector<Block> out;
  for (std::size_t l = 0; l < f_.layers.size(); ++l) {
    RowMatrix pull = RowMatrix::Zero(v.rows(), f_.layers[l].units());
    for (Index o = 0; o < v.cols(); ++o)
      pull += v.col(o).asDiagonal() * back_[static_cast<std::size_t>(o)][l];
    for (std::size_t s = 0; s <= l; ++s) {
      if (f_.layers[l].from[s].size() != 0)
        out.push_back({l, static_cast<Index>(s), Matrix(pull.transpose() * h_[s])});
    }
    out.push_back({l, -1, Matrix(pull.colwise().sum().transpose())});
  }
  return out;
}

RowMatrix Sensitivity::jacobian(std::size_t layer, Index unit, Index source, Index from) const {
  RowMatrix out(r_.rows(), r_.cols());
  for (Index o = 0; o < r_.cols(); ++o) {
    out.col(o) = back_[static_cast<std::size_t>(o)][layer].col(unit);
    if (source >= 0)
      out.col(o) = out.col(o).cwiseProduct(h_[static_cast<std::size_t>(source)].col(from)).eval();
  }
  return out;
}

std::optional<SuspectWeight> Sensitivity::worst() const {
  if (!(inverse_.maxCoeff() > 0)) return std::nullopt;
  const RowMatrix weight = inverse_.cwiseProduct(inverse_);
  const std::vector<Block> with_r = products(r_.cwiseProduct(weight));
  // |J_k|^2 in the same way, from squares.
  std::vector<SuspectWeight> found;
  const double total = r_.cwiseProduct(weight).cwiseProduct(r_).sum();
  for (const Block& block : with_r) {
    const auto source = static_cast<std::size_t>(std::max<Index>(block.source, 0));
    RowMatrix pull = RowMatrix::Zero(r_.rows(), f_.layers[block.layer].units());
    for (Index o = 0; o < r_.cols(); ++o)
      pull += weight.col(o).asDiagonal() * back_[static_cast<std::size_t>(o)][block.layer].cwiseAbs2();
    const Matrix square = block.source < 0 ? Matrix(pull.colwise().sum().transpose())
                                           : Matrix(pull.transpose() * h_[source].cwiseAbs2());
    for (Index i = 0; i < square.rows(); ++i) {
      for (Index j = 0; j < square.cols(); ++j) {
        if (!(square(i, j) > 0)) continue;
        SuspectWeight one{block.layer, i, block.source, block.source < 0 ? -1 : j};
        one.weight =
            block.source < 0 ? f_.layers[block.layer].b(i) : f_.layers[block.layer].from[source](i, j);
        one.change = block.values(i, j) / square(i, j);
        one.t = block.values(i, j) / std::sqrt(square(i, j));
        one.share = one.t * one.t / total;
        found.push_back(one);
      }
    }
  }
  const std::size_t kept = std::min(kCandidates, found.size());
  std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(kept), found.end(),
                    [](const auto& a, const auto& b) { return std::abs(a.t) > std::abs(b.t); });
  found.resize(kept);
  const Vector whole = S_.solve(Vector(r_.cwiseProduct(inverse_).reshaped()));
  std::optional<SuspectWeight> best;
  for (SuspectWeight& one : found) {
    const Vector J = jacobian(one.layer, one.unit, one.source, one.from).cwiseProduct(inverse_).reshaped();
    const double square = J.dot(S_.solve(J)), along = J.dot(whole);
    if (!(square > 0)) continue;
    one.t = along / std::sqrt(square);
    if (!best || std::abs(one.t) > std::abs(best->t)) best = one;
  }
  return best;
}

std::optional<SuspectUnit> Sensitivity::worst_unit() const {
  if (!(inverse_.maxCoeff() > 0)) return std::nullopt;
  const RowMatrix weight = inverse_.cwiseProduct(inverse_);
  const std::vector<Block> with_r = products(r_.cwiseProduct(weight));
  const double total = r_.cwiseProduct(weight).cwiseProduct(r_).sum();
  struct Unit {
    double size;
    std::size_t layer;
    Index unit;
  };
  // By the bias alone first, which is the gradient in z of the unit: then the best few with all of their
  // weights.
  std::vector<Unit> units;
  for (const Block& block : with_r) {
    if (block.source >= 0) continue;
    for (Index i = 0; i < block.values.rows(); ++i) {
      double square = 0;
      for (Index o = 0; o < r_.cols(); ++o)
        square += weight.col(o).dot(back_[static_cast<std::size_t>(o)][block.layer].col(i).cwiseAbs2());
      if (square > 0) units.push_back({block.values(i, 0) * block.values(i, 0) / square, block.layer, i});
    }
  }
  std::stable_sort(units.begin(), units.end(), [](const Unit& a, const Unit& b) { return a.size > b.size; });
  std::optional<SuspectUnit> best;
  for (std::size_t k = 0; k < std::min(kUnits, units.size()); ++k) {
    const BlockLayer& layer = f_.layers[units[k].layer];
    Index columns = 1;
    for (const Matrix& block : layer.from) columns += block.size() != 0 ? block.cols() : 0;
    if (2 * columns > r_.size()) continue;
    Matrix A(r_.size(), columns);
    Vector right(r_.size());
    Index at = 0;
    const auto add = [&](Index source, Index from) {
      A.col(at++) = jacobian(units[k].layer, units[k].unit, source, from).cwiseProduct(inverse_).reshaped();
    };
    for (std::size_t s = 0; s < layer.from.size(); ++s)
      for (Index j = 0; j < layer.from[s].cols(); ++j) add(static_cast<Index>(s), j);
    add(-1, -1);
    right = r_.cwiseProduct(inverse_).reshaped();
    const Vector solved = A.completeOrthogonalDecomposition().solve(right);
    const double left = (right - A * solved).squaredNorm();
    const double share = 1 - left / total;
    if (!best || share > best->share) best = SuspectUnit{units[k].layer, units[k].unit, share};
  }
  return best;
}

}  // namespace exhume
