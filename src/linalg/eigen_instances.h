// Eigen's decompositions of dense matrices, compiled once for the whole project.
//
// Each costs a compiler two to eight seconds wherever it is used, and most are used in a dozen files. A
// header that is precompiled says that they are compiled elsewhere (eigen_instances.cc); nothing has to
// include it, and nothing changes but the time of a build.
#pragma once

#include <Eigen/Dense>

#ifndef EXHUME_INSTANCE
#define EXHUME_INSTANCE extern template
#endif

namespace Eigen {

EXHUME_INSTANCE class SelfAdjointEigenSolver<MatrixXd>;
EXHUME_INSTANCE SelfAdjointEigenSolver<MatrixXd>& SelfAdjointEigenSolver<MatrixXd>::compute<MatrixXd>(
    const EigenBase<MatrixXd>&, int);
EXHUME_INSTANCE class JacobiSVD<MatrixXd>;
EXHUME_INSTANCE class HouseholderQR<MatrixXd>;
EXHUME_INSTANCE class ColPivHouseholderQR<MatrixXd>;
EXHUME_INSTANCE class CompleteOrthogonalDecomposition<MatrixXd>;
EXHUME_INSTANCE class LLT<MatrixXd>;
EXHUME_INSTANCE LLT<MatrixXd>& LLT<MatrixXd>::compute<MatrixXd>(const EigenBase<MatrixXd>&);
EXHUME_INSTANCE class LDLT<MatrixXd>;
EXHUME_INSTANCE LDLT<MatrixXd>& LDLT<MatrixXd>::compute<MatrixXd>(const EigenBase<MatrixXd>&);
EXHUME_INSTANCE class PartialPivLU<MatrixXd>;

// Least squares with a right side that is a matrix or a vector, not an expression.
#define EXHUME_SOLVES(Decomposition)                                                                        \
  EXHUME_INSTANCE void Decomposition<MatrixXd>::_solve_impl<MatrixXd, MatrixXd>(const MatrixXd&, MatrixXd&) \
      const;                                                                                                \
  EXHUME_INSTANCE void Decomposition<MatrixXd>::_solve_impl<VectorXd, VectorXd>(const VectorXd&, VectorXd&) \
      const;
EXHUME_SOLVES(HouseholderQR)
EXHUME_SOLVES(ColPivHouseholderQR)
EXHUME_SOLVES(CompleteOrthogonalDecomposition)
#undef EXHUME_SOLVES

}  // namespace Eigen
