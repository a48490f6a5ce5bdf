#include "certify/ordered_residuals.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "base/limits.h"
#include "data/reduce.h"

namespace exhume {
namespace {

constexpr Index kMostStretches = 256, kLeastStretch = 32;
constexpr Index kLags = 64, kTestedLags = 4;
constexpr Index kLeastOrdered = 50;  // rows

struct OrderSums {
  Matrix first, second;  // stretches x m: sums of r and of r^2
  Matrix products,
      squares;  // lags x m: sums of r_i r_{i+l}; and of its squares over the lags that are tested
  void merge(const OrderSums& other) {
    first += other.first;
    second += other.second;
    products += other.products;
    squares += other.squares;
  }
};

// The largest chi-squared of the means of stretches over its limit, `group` of them joined.
double stretches(const OrderSums& sums, Index group, double false_alarm) {
  double largest = 0;
  const Index m = sums.first.cols(), count = sums.first.rows();
  for (Index o = 0; o < m; ++o) {
    double total = 0, freedom = 0;
    for (Index s = 0; s < count; s += group) {
      const Index size = std::min(group, count - s);
      const double second = sums.second.col(o).segment(s, size).sum();
      if (!(second > 0)) continue;
      total += std::pow(sums.first.col(o).segment(s, size).sum(), 2) / second;
      ++freedom;
    }
    if (freedom > 1) {
      largest =
          std::max(largest, total / chi_squared_limit(freedom, false_alarm, static_cast<double>(3 * m)));
    }
  }
  return largest;
}

}  // namespace

OrderedLook look_in_order(const SampleSource& residual, double false_alarm, double doubtful,
                          const Control& control) {
  OrderedLook look;
  const Index n = residual.rows(), m = residual.outputs();
  if (n < kLeastOrdered) return look;
  const Index count = std::clamp<Index>(n / kLeastStretch, 1, kMostStretches);
  const Matrix none = Matrix::Zero(count, m);
  const OrderSums sums = reduce_blocks(
      residual, OrderSums{none, none, Matrix::Zero(kLags, m), Matrix::Zero(1, m)}, control, "",
      [&](OrderSums& to, const SampleBlock& block) {
        const Matrix r = block.y();
        for (Index i = 0; i < r.rows(); ++i) {
          const Index stretch = (block.first_row() + i) * count / n;
          to.first.row(stretch) += r.row(i);
          to.second.row(stretch) += r.row(i).cwiseAbs2();
        }
        for (Index lag = 1; lag <= std::min(kLags, r.rows() - 1); ++lag) {
          const Matrix product = r.topRows(r.rows() - lag).cwiseProduct(r.bottomRows(r.rows() - lag));
          to.products.row(lag - 1) += product.colwise().sum();
          if (lag <= kTestedLags) to.squares += product.colwise().squaredNorm();
        }
      });
  for (const Index group : {Index{1}, Index{8}, Index{64}})
    look.order = std::max(look.order, stretches(sums, group, false_alarm / 2));
  double largest = 0;
  for (Index o = 0; o < m; ++o) {
    const double spread = sums.squares(0, o), energy = sums.second.col(o).sum();
    if (!(spread > 0) || !(energy > 0)) continue;
    const double z = sums.products.col(o).head(kTestedLags).sum() / std::sqrt(spread);
    largest = std::max(largest, std::abs(z));
    const double first = sums.products(0, o) / energy;
    if (std::abs(first) < std::abs(look.correlation)) continue;
    look.correlation = first;
    look.apart = 1;
    while (look.apart < kLags &&
           sums.products(look.apart - 1, o) / energy > 2 / std::sqrt(static_cast<double>(n)))
      ++look.apart;
  }
  const auto tests = static_cast<double>(m);
  look.order = std::max(look.order, largest / normal_limit(false_alarm / 2, tests));
  look.doubt = largest / normal_limit(doubtful, tests);
  return look;
}

}  // namespace exhume
