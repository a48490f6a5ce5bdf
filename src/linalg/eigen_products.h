// Eigen's product of two matrices of doubles, as one function that is compiled once.
//
//     C = A B,   C += A B,   C -= A B          dynamic sizes, any expressions A and B
//
// Eigen compiles for every pair of expressions a loop for small sizes, two products with vectors for shapes
// that turn out to be vectors, and the call of dgemm: a fifth of the time of a build. Here the operands
// become pointers, strides and "transposed or not", and one function takes the same decisions when it runs.
// Like eigen_instances.h it comes with the precompiled header: nothing has to include it, and without it
// everything works as well. Small products are summed in the order of the inner index; Eigen's loops take
// other orders for some expressions, so last bits can differ.
#pragma once

#include <Eigen/Dense>

namespace exhume::products {

// rows x cols, at(i, j) = data[i + j stride], or data[i stride + j] where turned.
struct Operand {
  const double* data = nullptr;
  Eigen::Index stride = 0;
  bool turned = false;
};

// C (m x n, columns c_stride apart, or rows where c_turned) += alpha A B, with k the inner size; `fresh`
// takes C as zero.
void multiply(Eigen::Index m, Eigen::Index n, Eigen::Index k, double alpha, Operand a, Operand b, bool fresh,
              double* c, Eigen::Index c_stride, bool c_turned);

template <class T>
concept Doubles = std::is_same_v<typename T::Scalar, double>;

template <class T>
[[nodiscard]] Operand operand(const T& x) {
  return {x.data(), x.outerStride(), bool(T::Flags & Eigen::RowMajorBit)};
}

}  // namespace exhume::products

namespace Eigen::internal {

template <class Lhs, class Rhs>
requires exhume::products::Doubles<Lhs> && exhume::products::Doubles<Rhs>
struct generic_product_impl<Lhs, Rhs, DenseShape, DenseShape, GemmProduct> {
  template <class Dst>
  static void evalTo(Dst& dst, const Lhs& lhs, const Rhs& rhs) {
    run(dst, lhs, rhs, 1.0, true);
  }
  template <class Dst>
  static void addTo(Dst& dst, const Lhs& lhs, const Rhs& rhs) {
    run(dst, lhs, rhs, 1.0, false);
  }
  template <class Dst>
  static void subTo(Dst& dst, const Lhs& lhs, const Rhs& rhs) {
    run(dst, lhs, rhs, -1.0, false);
  }
  template <class Dst>
  static void scaleAndAddTo(Dst& dst, const Lhs& lhs, const Rhs& rhs, const double& alpha) {
    run(dst, lhs, rhs, alpha, false);
  }

 private:
  template <class Dst>
  static void run(Dst& dst, const Lhs& lhs, const Rhs& rhs, double alpha, bool fresh) {
    using Left = blas_traits<Lhs>;
    using Right = blas_traits<Rhs>;
    static_assert(inner_stride_at_compile_time<Dst>::ret == 1, "a product is written into columns or rows");
    eigen_assert(dst.rows() == lhs.rows() && dst.cols() == rhs.cols());
    typename add_const_on_value_type<typename Left::DirectLinearAccessType>::type a = Left::extract(lhs);
    typename add_const_on_value_type<typename Right::DirectLinearAccessType>::type b = Right::extract(rhs);
    exhume::products::multiply(dst.rows(), dst.cols(), lhs.cols(), combine_scalar_factors(alpha, lhs, rhs),
                               exhume::products::operand(a), exhume::products::operand(b), fresh, dst.data(),
                               dst.outerStride(), bool(Dst::Flags & RowMajorBit));
  }
};

}  // namespace Eigen::internal
