#include "papers/threshold/alone.h"

#include <algorithm>
#include <cmath>

#include "data/reduce.h"

namespace exhume {
namespace {

constexpr Index kLevelRows = 65536;
constexpr double kAtomShare = 0.2;

double middle(std::vector<double>& values) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// Row-major rows in one vector, so that joining blocks is an append.
struct Gathered {
  std::vector<std::vector<double>> x, y;
  void merge(const Gathered& other) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i].insert(x[i].end(), other.x[i].begin(), other.x[i].end());
      y[i].insert(y[i].end(), other.y[i].begin(), other.y[i].end());
    }
  }
};

}  // namespace

RestLevel rest_level(const SampleSource& samples) {
  const SamplePtr part = spread_subset(samples, kLevelRows);
  SampleBlock block;
  part->read(0, part->rows(), block);
  const auto y = block.y().col(0);
  std::vector<double> values(y.begin(), y.end());
  RestLevel rest;
  rest.value = middle(values);
  const double low = *std::min_element(values.begin(), values.end());
  const double high = *std::max_element(values.begin(), values.end());
  const double atom = 1e-12 * std::max({high - low, std::abs(low), std::abs(high)});
  for (double& v : values) v = std::abs(v - rest.value);
  rest.share =
      static_cast<double>(std::count_if(values.begin(), values.end(), [&](double v) { return v <= atom; })) /
      static_cast<double>(values.size());
  rest.exact = rest.share >= kAtomShare;
  rest.noise_sd = rest.exact ? 0 : 1.4826 * middle(values);
  rest.tolerance = rest.exact ? atom : 5 * rest.noise_sd;
  return rest;
}

std::vector<AloneRows> alone_rows(const SampleSource& samples, const LowestUnits& units, double below,
                                  double guard, const Control& control) {
  const Index k = units.W.rows(), d = samples.inputs();
  const auto count = static_cast<std::size_t>(k);
  const Matrix W = units.W;
  const Gathered all = reduce_blocks(
      samples, Gathered{std::vector<std::vector<double>>(count), std::vector<std::vector<double>>(count)},
      control, "rows of single units", [&](Gathered& to, const SampleBlock& block) {
        const RowMatrix Z = block.x() * W.transpose();
        const auto x = block.x();
        for (Index r = 0; r < block.rows(); ++r) {
          // The row belongs to unit i if every other unit is safely off: at most one unit may be above its
          // guard.
          Index above = -1;
          bool crowded = false;
          for (Index j = 0; j < k && !crowded; ++j) {
            if (Z(r, j) < units.t(j) - guard) continue;
            crowded = above >= 0;
            above = j;
          }
          if (crowded) continue;
          for (Index i = 0; i < k; ++i) {
            if ((above >= 0 && above != i) || Z(r, i) < units.t(i) - below) continue;
            const auto s = static_cast<std::size_t>(i);
            to.x[s].insert(to.x[s].end(), x.data() + r * d, x.data() + (r + 1) * d);
            to.y[s].push_back(block.y()(r, 0));
          }
        }
      });
  std::vector<AloneRows> rows(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto size = static_cast<Index>(all.y[i].size());
    rows[i].x = ConstRows(all.x[i].data(), size, d);
    rows[i].y = Eigen::Map<const Vector>(all.y[i].data(), size);
  }
  return rows;
}

}  // namespace exhume
