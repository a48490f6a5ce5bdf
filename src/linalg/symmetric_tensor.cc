#include "linalg/symmetric_tensor.h"

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "linalg/symmetric_matrix.h"

namespace exhume {
namespace {

Index choose(Index n, Index k) {
  Index out = 1;
  for (Index j = 1; j <= k; ++j) out = out * (n - k + j) / j;
  return out;
}

double permutations(const std::vector<Index>& sorted) {
  double count = 1;
  Index run = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    run = i > 0 && sorted[i] == sorted[i - 1] ? run + 1 : 1;
    count *= static_cast<double>(i + 1) / static_cast<double>(run);
  }
  return std::round(count);
}

void append(Index dimension, int order, std::vector<Index>& tail, std::vector<std::vector<Index>>& out) {
  if (order == 0) {
    out.emplace_back(tail.rbegin(), tail.rend());
    return;
  }
  for (Index last = 0; last < dimension; ++last) {  // the largest index of what is left
    tail.push_back(last);
    append(last + 1, order - 1, tail, out);
    tail.pop_back();
  }
}

}  // namespace

Index symmetric_tensor_size(Index dimension, int order) { return choose(dimension + order - 1, order); }

std::vector<std::vector<Index>> symmetric_indices(Index dimension, int order) {
  std::vector<std::vector<Index>> out;
  std::vector<Index> tail;
  append(dimension, order, tail, out);
  return out;
}

Index symmetric_tensor_position(std::vector<Index> indices) {
  std::sort(indices.begin(), indices.end());
  Index position = 0;
  for (std::size_t j = 0; j < indices.size(); ++j) {
    position += choose(indices[j] + static_cast<Index>(j), static_cast<Index>(j) + 1);
  }
  return position;
}

Vector symmetric_weights(Index dimension, int order) {
  const auto indices = symmetric_indices(dimension, order);
  Vector weights(static_cast<Index>(indices.size()));
  for (std::size_t i = 0; i < indices.size(); ++i) {
    weights(static_cast<Index>(i)) = std::sqrt(permutations(indices[i]));
  }
  return weights;
}

Matrix rank_one_tensors(const Eigen::Ref<const Matrix>& W, int order) {
  const auto indices = symmetric_indices(W.cols(), order);
  Matrix out(static_cast<Index>(indices.size()), W.rows());
  for (std::size_t at = 0; at < indices.size(); ++at) {
    Vector product = Vector::Constant(W.rows(), std::sqrt(permutations(indices[at])));
    for (const Index i : indices[at]) product.array() *= W.col(i).array();
    out.row(static_cast<Index>(at)) = product;
  }
  return out;
}

Matrix flatten(const SymmetricTensor& T, int l1, Index output) {
  const auto rows = symmetric_indices(T.dimension, l1);
  const auto cols = symmetric_indices(T.dimension, T.order - l1);
  Matrix out(static_cast<Index>(rows.size()), static_cast<Index>(cols.size()));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < cols.size(); ++j) {
      std::vector<Index> all = rows[i];
      all.insert(all.end(), cols[j].begin(), cols[j].end());
      out(static_cast<Index>(i), static_cast<Index>(j)) =
          T.entries(symmetric_tensor_position(std::move(all)), output);
    }
  }
  return symmetric_weights(T.dimension, l1).asDiagonal() * out *
         symmetric_weights(T.dimension, T.order - l1).asDiagonal();
}

std::vector<Matrix> flatten_to_slices(const SymmetricTensor& T, int l) {
  const int rest = T.order - 2 * l;
  if (l < 1 || rest < 1) {
    throw std::invalid_argument(fmt::format(
        "a tensor of order {} cannot be flattened to modes of order {}, {} and at least 1", T.order, l, l));
  }
  const auto modes = symmetric_indices(T.dimension, l);
  const auto third = symmetric_indices(T.dimension, rest);
  const Vector weights = symmetric_weights(T.dimension, l),
               third_weights = symmetric_weights(T.dimension, rest);
  const auto size = static_cast<Index>(modes.size());
  std::vector<Matrix> slices;
  for (Index o = 0; o < T.entries.cols(); ++o) {
    for (std::size_t s = 0; s < third.size(); ++s) {
      Matrix slice(size, size);
      for (Index i = 0; i < size; ++i) {
        for (Index j = 0; j <= i; ++j) {
          std::vector<Index> all = third[s];
          for (const Index mode : {i, j}) {
            const auto& more = modes[static_cast<std::size_t>(mode)];
            all.insert(all.end(), more.begin(), more.end());
          }
          slice(i, j) = slice(j, i) = weights(i) * weights(j) * third_weights(static_cast<Index>(s)) *
                                      T.entries(symmetric_tensor_position(std::move(all)), o);
        }
      }
      slices.push_back(std::move(slice));
    }
  }
  return slices;
}

Vector rank_one_root(const Eigen::Ref<const Vector>& coordinates, Index dimension, int order) {
  if (coordinates.size() != symmetric_tensor_size(dimension, order) || order < 1 || order > 2) {
    throw std::invalid_argument(
        fmt::format("a root of order {} over {} dimensions does not have {} coordinates", order, dimension,
                    coordinates.size()));
  }
  if (order == 1) return coordinates.normalized();
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(from_coordinates(coordinates));
  Index largest = 0;
  eigen.eigenvalues().cwiseAbs().maxCoeff(&largest);
  return eigen.eigenvectors().col(largest);
}

}  // namespace exhume
