#include "model/activation.h"

#include "base/vector_clones.h"

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

EXHUME_VECTOR_CLONES
void leaky(double a, const double* z, double* value, Index size) {
  for (Index i = 0; i < size; ++i) value[i] = z[i] > 0 ? z[i] : a * z[i];
}

EXHUME_VECTOR_CLONES
void leaky_slope(double a, const double* z, double* slope, Index size) {
  for (Index i = 0; i < size; ++i) slope[i] = z[i] > 0 ? 1.0 : a;
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
    (activation == Activation::kRelu ? relu_slope : absolute_slope)(Z.col(j).data(), slopes.col(j).data(),
                                                                    Z.rows());
  }
}

void activate_leaky(double slope, const Eigen::Ref<const Matrix>& Z, Eigen::Ref<Matrix> values) {
  for (Index j = 0; j < Z.cols(); ++j) leaky(slope, Z.col(j).data(), values.col(j).data(), Z.rows());
}

void activate_leaky(double slope, const Eigen::Ref<const Matrix>& Z, Eigen::Ref<Matrix> values,
                    Eigen::Ref<Matrix> slopes) {
  activate_leaky(slope, Z, values);
  for (Index j = 0; j < Z.cols(); ++j) leaky_slope(slope, Z.col(j).data(), slopes.col(j).data(), Z.rows());
}

}  // namespace exhume
