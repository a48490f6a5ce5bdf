#include "exhume/activation.h"

#include "vector_clones.h"

namespace exhume {
namespace {

EXHUME_VECTOR_CLONES
void relu(const double* z, double* value, Index size) {
  for (Index i = 0; i < size; ++i) value[i] = z[i] > 0 ? z[i] : 0.0;
}

EXHUME_VECTOR_CLONES
void relu_slope(const double* z, double* slope, Index size) {
  for (Index i = 0; i < size; ++i) slope[i] = z[i] > 0 ? 1.0 : 0.0;
}

EXHUME_VECTOR_CLONES
void absolute(const double* z, double* value, Index size) {
  for (Index i = 0; i < size; ++i) value[i] = z[i] > 0 ? z[i] : -z[i];
}

EXHUME_VECTOR_CLONES
void absolute_slope(const double* z, double* slope, Index size) {
  for (Index i = 0; i < size; ++i) slope[i] = z[i] > 0 ? 1.0 : -1.0;
}

}  // namespace

void activate(Activation activation, const Eigen::Ref<const Matrix>& Z, Eigen::Ref<Matrix> values) {
  for (Index j = 0; j < Z.cols(); ++j) {
    (activation == Activation::kRelu ? relu : absolute)(Z.col(j).data(), values.col(j).data(), Z.rows());
  }
}

void activate(Activation activation, const Eigen::Ref<const Matrix>& Z, Eigen::Ref<Matrix> values,
              Eigen::Ref<Matrix> slopes) {
  activate(activation, Z, values);
  for (Index j = 0; j < Z.cols(); ++j) {
    (activation == Activation::kRelu ? relu_slope : absolute_slope)(Z.col(j).data(), slopes.col(j).data(), Z.rows());
  }
}

}  // namespace exhume
