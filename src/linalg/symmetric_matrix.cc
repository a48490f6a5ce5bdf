#include "linalg/symmetric_matrix.h"

#include <numbers>

#include "base/vector_clones.h"

namespace exhume {
namespace {

// out[i] = scale * a[i] * b[i]
EXHUME_VECTOR_CLONES
void scaled_product(const double* a, const double* b, double scale, double* out, Index size) {
  for (Index i = 0; i < size; ++i) out[i] = scale * a[i] * b[i];
}

Index dimension(Index size) {
  return static_cast<Index>(std::llround((std::sqrt(8.0 * static_cast<double>(size) + 1) - 1) / 2));
}

}  // namespace

Vector to_coordinates(const Matrix& symmetric) {
  const Index d = symmetric.rows();
  Vector out(symmetric_size(d));
  for (Index b = 0; b < d; ++b) {
    for (Index a = 0; a < b; ++a) {
      out(symmetric_position(a, b)) = (symmetric(a, b) + symmetric(b, a)) * (std::sqrt(2.0) / 2);
    }
    out(symmetric_position(b, b)) = symmetric(b, b);
  }
  return out;
}

Matrix from_coordinates(const Eigen::Ref<const Vector>& coordinates) {
  const Index d = dimension(coordinates.size());
  Matrix out(d, d);
  for (Index b = 0; b < d; ++b) {
    for (Index a = 0; a < b; ++a) {
      out(a, b) = out(b, a) = coordinates(symmetric_position(a, b)) * std::sqrt(0.5);
    }
    out(b, b) = coordinates(symmetric_position(b, b));
  }
  return out;
}

Vector pair_coordinates(const Vector& v, const Vector& w) {
  const Matrix outer = 0.5 * (v * w.transpose() + w * v.transpose());
  return to_coordinates(outer);
}

EXHUME_VECTOR_CLONES
void rank_one_coordinates(const double* v, Index d, double* out) {
  for (Index b = 0; b < d; out += ++b) {
    const double scale = std::numbers::sqrt2 * v[b];
    for (Index a = 0; a < b; ++a) out[a] = scale * v[a];
    out[b] = v[b] * v[b];
  }
}

Matrix rank_one_coordinates(const Eigen::Ref<const Matrix>& V) {
  Matrix out(symmetric_size(V.rows()), V.cols());
  for (Index s = 0; s < V.cols(); ++s) rank_one_coordinates(V.col(s).data(), V.rows(), out.col(s).data());
  return out;
}

void quadratic_features(const Eigen::Ref<const Matrix>& X, Eigen::Ref<Matrix> features) {
  const double root = std::sqrt(2.0);
  for (Index b = 0; b < X.cols(); ++b) {
    for (Index a = 0; a <= b; ++a) {
      scaled_product(X.col(a).data(), X.col(b).data(), a == b ? 1.0 : root,
                     features.col(symmetric_position(a, b)).data(), X.rows());
    }
  }
}

}  // namespace exhume
