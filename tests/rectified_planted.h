// Networks and samples for the tests of the rectified routes: unit rows, no biases, standard normal inputs.
#pragma once

#include <Eigen/Dense>

#include "base/random.h"
#include "model/rectified_network.h"

namespace exhume::testing {

struct PlantedRows {
  Network truth;
  RowMatrix x, y;
};

inline PlantedRows planted_rows(Index d, Index k, Index m, Index n, std::uint64_t seed,
                                const Rectifier& f = rectified_power(1), bool orthonormal = false) {
  PlantedRows out;
  Matrix W = Stream(seed, "planted rows").normal_matrix(k, d);
  if (orthonormal) {
    const Eigen::HouseholderQR<Matrix> qr(Matrix(W.transpose()));
    W = (qr.householderQ() * Matrix::Identity(d, k)).transpose();
  }
  out.truth = {W.rowwise().normalized(),
               Vector::Zero(k),
               Stream(seed, "planted top").normal_matrix(m, k),
               Vector::Zero(m),
               {}};
  out.x = Stream(seed, "planted inputs").normal_matrix(n, d);
  out.y = evaluate(out.truth, f, out.x);
  return out;
}

inline double output_sd(const RowMatrix& y) {
  return std::sqrt((y.rowwise() - y.colwise().mean()).squaredNorm() / static_cast<double>(y.size()));
}

}  // namespace exhume::testing
