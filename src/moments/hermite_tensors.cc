#include "moments/hermite_tensors.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include "base/blas.h"
#include "data/reduce.h"
#include "linalg/symmetric_matrix.h"
#include "moments/moments.h"
#include "moments/polynomial_fit.h"

namespace exhume {
namespace {

constexpr Index kTensorTile = 256;

// Every product He_alpha of order up to p, each from a shorter one: He_alpha = He_(alpha without j)
// He_{n_j}(x_j), j the largest index of alpha.
struct HermiteProducts {
  struct Step {
    Index shorter;   // column of alpha without j
    Index variable;  // j
    int degree;      // n_j
  };
  std::vector<Step> steps;
  std::vector<Index> first;  // column where every order begins

  HermiteProducts(Index d, int order) {
    for (int p = 0; p <= order; ++p) {
      first.push_back(static_cast<Index>(steps.size()));
      for (std::vector<Index> alpha : symmetric_indices(d, p)) {
        Step step{0, 0, 0};
        if (p > 0) {
          step.variable = alpha.back();
          while (!alpha.empty() && alpha.back() == step.variable) {
            alpha.pop_back();
            ++step.degree;
          }
          step.shorter = first[alpha.size()] + symmetric_tensor_position(alpha);
        }
        steps.push_back(step);
      }
    }
  }

  void fill(const Eigen::Ref<const Matrix>& x, int order, Matrix& products) const {
    std::vector<Matrix> scalar(static_cast<std::size_t>(order) + 1);
    scalar[0] = Matrix::Ones(x.rows(), x.cols());
    if (order > 0) scalar[1] = x;
    for (int p = 2; p <= order; ++p) {
      const auto at = static_cast<std::size_t>(p);
      scalar[at] = x.cwiseProduct(scalar[at - 1]) - static_cast<double>(p - 1) * scalar[at - 2];
    }
    products.resize(x.rows(), static_cast<Index>(steps.size()));
    products.col(0).setOnes();
    for (std::size_t i = 1; i < steps.size(); ++i) {
      const Step& step = steps[i];
      products.col(static_cast<Index>(i)) =
          products.col(step.shorter)
              .cwiseProduct(scalar[static_cast<std::size_t>(step.degree)].col(step.variable));
    }
  }
};

// Sums of orders 5 and 6 over even and over odd rows: products x (m even, m odd).
struct HighSums {
  Matrix sums;
  Index count[2] = {0, 0};
  void merge(const HighSums& other) {
    sums += other.sums;
    for (int h = 0; h < 2; ++h) count[h] += other.count[h];
  }
  auto fields() { return std::tie(sums, count); }
};

HighSums high_sums(const SampleSource& samples, const Control& control) {
  const Index d = samples.inputs(), m = samples.outputs();
  const HermiteProducts table(d, 6);
  const Index from = table.first[5], size = static_cast<Index>(table.steps.size()) - from;
  HighSums empty;
  empty.sums = Matrix::Zero(size, 2 * m);
  return reduce_blocks(samples, empty, control, "moments of orders 5 and 6",
                       [&](HighSums& sums, const SampleBlock& block) {
                         Matrix products;
                         for (Index first = 0; first < block.rows(); first += kTensorTile) {
                           const Index rows = std::min(kTensorTile, block.rows() - first);
                           table.fill(block.x().middleRows(first, rows), 6, products);
                           Matrix halves = Matrix::Zero(rows, 2 * m);
                           for (Index r = 0; r < rows; ++r) {
                             const Index half = (block.first_row() + first + r) % 2;
                             halves.block(r, half * m, 1, m) = block.y().row(first + r);
                             ++sums.count[half];
                           }
                           sums.sums.noalias() += products.rightCols(size).transpose() * halves;
                         }
                       });
}

// From the p x (p m) and p x (d m) matrices of moments.h to one column an output.
SymmetricTensor from_moment_matrix(const Matrix& moment, Index d, Index m, int order) {
  SymmetricTensor out{d, order, Matrix(symmetric_tensor_size(d, order), m)};
  if (order <= 2) {
    out.entries = order == 0 ? Matrix(moment.reshaped(1, m)) : moment;
    if (order == 2) out.entries = symmetric_weights(d, 2).cwiseInverse().asDiagonal() * out.entries;
    return out;
  }
  const Index block = order == 3 ? d : symmetric_size(d);
  const auto weight = [](Index a, Index b) { return a == b ? 1.0 : std::sqrt(2.0); };
  const auto indices = symmetric_indices(d, order);
  for (std::size_t at = 0; at < indices.size(); ++at) {
    const auto& i = indices[at];
    const double scale = weight(i[0], i[1]) * (order == 4 ? weight(i[2], i[3]) : 1.0);
    const Index column = order == 3 ? i[2] : symmetric_position(i[2], i[3]);
    for (Index o = 0; o < m; ++o) {
      out.entries(static_cast<Index>(at), o) =
          moment(symmetric_position(i[0], i[1]), o * block + column) / scale;
    }
  }
  return out;
}

SamplePtr residuals(const SamplePtr& samples, int degree, const Control& control) {
  const PolynomialFit fit = fit_polynomial(*samples, degree, control);
  return with_outputs(samples, [fit](const Eigen::Ref<const RowMatrix>& x, RowMatrix& y) {
    y.topRows(x.rows()) -= fit.evaluate(x);
  });
}

void take(const HermiteMoments& moments, int order, HermiteTensors& out) {
  out.estimate.push_back(from_moment_matrix(moments.estimate(order), out.inputs, out.outputs, order));
  out.noise.push_back(from_moment_matrix(moments.noise(order), out.inputs, out.outputs, order));
}

void take_high(const SampleSource& samples, const Control& control, HermiteTensors& out) {
  const HighSums sums = high_sums(samples, control);
  const Index m = out.outputs;
  Matrix half[2];
  for (int h = 0; h < 2; ++h) {
    half[h] = sums.sums.middleCols(h * m, m) / static_cast<double>(std::max<Index>(sums.count[h], 1));
  }
  Index first = 0;
  for (const int order : {5, 6}) {
    const Index size = symmetric_tensor_size(out.inputs, order);
    const Matrix even = half[0].middleRows(first, size), odd = half[1].middleRows(first, size);
    out.estimate.push_back({out.inputs, order, 0.5 * (even + odd)});
    out.noise.push_back({out.inputs, order, 0.5 * (even - odd)});
    first += size;
  }
}

}  // namespace

double hermite(int p, double z) {
  double before = 0, value = 1;
  for (int r = 0; r < p; ++r) {
    const double next = z * value - r * before;
    before = value;
    value = next;
  }
  return value;
}

double normal_density(double z) { return std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi); }

double normal_distribution(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

HermiteTensors population_hermite_tensors(const Network& network, int order) {
  network.validate();
  const Index d = network.inputs(), k = network.hidden(), m = network.outputs();
  Matrix W = network.W(), A = network.A();
  Vector b = network.b();
  for (Index i = 0; i < k; ++i) {
    const double norm = W.row(i).norm();
    if (!(norm > 0))
      throw std::invalid_argument(fmt::format("unit {} has no weights; drop it (canonical form)", i));
    W.row(i) /= norm;
    b(i) /= norm;
    A.col(i) *= norm;
  }
  HermiteTensors out;
  out.inputs = d;
  out.outputs = m;
  for (int p = 0; p <= order; ++p) {
    Vector factor(k);
    for (Index i = 0; i < k; ++i) {
      const double z = b(i), density = normal_density(z), below = normal_distribution(z);
      factor(i) = p == 0   ? z * below + density
                  : p == 1 ? below
                           : (p % 2 ? -1 : 1) * hermite(p - 2, z) * density;
    }
    const Matrix terms = symmetric_weights(d, p).cwiseInverse().asDiagonal() * rank_one_tensors(W, p);
    SymmetricTensor tensor{d, p, terms * factor.asDiagonal() * A.transpose()};
    if (p == 0) tensor.entries.row(0) += network.c().transpose();
    if (p == 1 && network.has_skip_terms()) tensor.entries += network.L().transpose();
    out.noise.push_back({d, p, Matrix::Zero(tensor.entries.rows(), m)});
    out.estimate.push_back(std::move(tensor));
  }
  return out;
}

void HermiteTensorOptions::validate() const {
  if (order != 4 && order != 6)
    throw std::invalid_argument(fmt::format("order is {}, expected 4 or 6", order));
}

HermiteTensors estimate_hermite_tensors(const SamplePtr& standard, const HermiteTensorOptions& options,
                                        const Control& control) {
  options.validate();
  const SingleThreadedBlas single;
  HermiteTensors out;
  out.inputs = standard->inputs();
  out.outputs = standard->outputs();
  if (options.order == 6 && out.inputs > kMostInputsOfOrder6) {
    throw std::invalid_argument(
        fmt::format("orders 5 and 6 are formed for at most {} inputs, and there are {}", kMostInputsOfOrder6,
                    out.inputs));
  }
  if (!options.residualise) {
    const HermiteMoments moments = hermite_moments(*standard, 4, control);
    for (int p = 0; p <= 4; ++p) take(moments, p, out);
    if (options.order == 6) take_high(*standard, control, out);
    return out;
  }
  // Orders 0 and 1 are what they are; each higher one sees what the next lower degree leaves.
  const HermiteMoments low = hermite_moments(*standard, 1, control);
  for (int p = 0; p <= 1; ++p) take(low, p, out);
  SamplePtr left;
  for (int p = 2; p <= 4; ++p) {
    left = residuals(standard, p - 1, control);
    take(hermite_moments(*left, p, control), p, out);
  }
  if (options.order == 6) take_high(*left, control, out);
  return out;
}

}  // namespace exhume
