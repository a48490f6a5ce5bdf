// The matrix types that all layers share.
//
// Samples are stored one per row, row-major, as files and NumPy hold them. Everything else (weights, moments,
// bases) is column-major, as BLAS likes it. Both are double precision.
#pragma once

#include <Eigen/Core>

#pragma GCC visibility push(default)
namespace exhume {

using Index = Eigen::Index;
using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;
using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using ConstRows = Eigen::Map<const RowMatrix>;

// Smallest divisor: keeps 0 / 0 finite and changes nothing that is larger.
inline constexpr double kTiny = 1e-300;

}  // namespace exhume
#pragma GCC visibility pop
