#include "linalg/linear_program.h"

#include <ClpSimplex.hpp>
#include <CoinPackedMatrix.hpp>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace exhume {
namespace {

constexpr double kTolerance = 1e-9;

// Clp's own infinity for ours.
Vector bounds(const Vector& from) {
  return from.unaryExpr([](double value) {
    if (std::isinf(value)) return value > 0 ? COIN_DBL_MAX : -COIN_DBL_MAX;
    return value;
  });
}

}  // namespace

std::optional<Vector> solve(const LinearProgram& program) {
  const Index rows = program.M.rows(), columns = program.M.cols();
  if (program.low.size() != rows || program.high.size() != rows || program.bound_low.size() != columns ||
      program.bound_high.size() != columns || program.objective.size() != columns) {
    throw std::invalid_argument("linear program: the bounds do not fit the matrix");
  }
  CoinPackedMatrix matrix(true, 0.0, 0.0);
  matrix.setDimensions(static_cast<int>(rows), 0);
  std::vector<int> at;
  std::vector<double> values;
  for (Index j = 0; j < columns; ++j) {
    at.clear();
    values.clear();
    for (Index i = 0; i < rows; ++i) {
      if (program.M(i, j) == 0) continue;
      at.push_back(static_cast<int>(i));
      values.push_back(program.M(i, j));
    }
    matrix.appendCol(static_cast<int>(at.size()), at.data(), values.data());
  }
  const Vector low = bounds(program.low), high = bounds(program.high);
  const Vector bound_low = bounds(program.bound_low), bound_high = bounds(program.bound_high);
  ClpSimplex clp;
  clp.setLogLevel(0);
  clp.setPrimalTolerance(kTolerance);
  clp.setDualTolerance(kTolerance);
  clp.loadProblem(matrix, bound_low.data(), bound_high.data(), program.objective.data(), low.data(),
                  high.data());
  clp.setOptimizationDirection(-1);
  clp.dual();
  if (clp.status() != 0) return std::nullopt;
  return Vector(Eigen::Map<const Vector>(clp.primalColumnSolution(), columns));
}

}  // namespace exhume
