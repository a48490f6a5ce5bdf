#include "certify/inspect.h"

#include <Eigen/Dense>
#include <algorithm>
#include <bit>
#include <cmath>
#include <set>
#include <unordered_set>

#include "base/blas.h"
#include "base/limits.h"
#include "data/reduce.h"

namespace exhume {
namespace {

constexpr Index kRows = 4096;
constexpr std::size_t kMarks = 64 * kRows;
constexpr size_t kFewValues = 16;
// A column about its mean; all zeros where what is left is the rounding of that mean.
Vector centred_column(const Matrix& x, Index a) {
  constexpr double kRounded = 1e-13;  // of the column's size
  const double mean = x.col(a).mean();
  Vector centred = (x.col(a).array() - mean).matrix();
  if (centred.cwiseAbs().maxCoeff() <= kRounded * std::abs(mean)) centred.setZero();
  return centred;
}

// Rows in coordinates of mean 0 and covariance I; directions without variance are dropped.
Matrix whitened(const Matrix& x) {
  Matrix scaled(x.rows(), x.cols());
  for (Index a = 0; a < x.cols(); ++a) {
    scaled.col(a) = centred_column(x, a);
    scaled.col(a) /= std::max(std::sqrt(scaled.col(a).squaredNorm() / static_cast<double>(x.rows())), kTiny);
  }
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(
      Matrix(scaled.transpose() * scaled / static_cast<double>(x.rows())));
  const Index rank = (eigen.eigenvalues().array() > 1e-10).count();
  return scaled * eigen.eigenvectors().rightCols(rank) *
         eigen.eigenvalues().tail(rank).cwiseSqrt().cwiseInverse().asDiagonal();
}

// 64 bits of a row: multiply and fold, number by number. Zeros of either sign are one number.
std::uint64_t row_hash(const double* x, Index inputs, const double* y, Index outputs) {
  std::uint64_t hash = 0x9e3779b97f4a7c15ULL;
  const auto add = [&](double value) {
    hash = (hash ^ std::bit_cast<std::uint64_t>(value + 0.0)) * 0xff51afd7ed558ccdULL;
    hash ^= hash >> 32;
  };
  for (Index i = 0; i < inputs; ++i) add(x[i]);
  for (Index i = 0; i < outputs; ++i) add(y[i]);
  return hash;
}

class ChosenRows final : public SampleView {
 public:
  ChosenRows(SamplePtr base, std::vector<Index> rows) : SampleView(std::move(base)), rows_(std::move(rows)) {}
  Index rows() const override { return static_cast<Index>(rows_.size()); }
  void read(Index first, Index count, SampleBlock& block) const override {
    block.allocate(first, count, inputs(), outputs());
    SampleBlock one;
    for (Index i = 0; i < count; ++i) {
      base_->read(rows_[static_cast<size_t>(first + i)], 1, one);
      block.own_x().row(i) = one.x().row(0);
      block.own_y().row(i) = one.y().row(0);
    }
  }

 private:
  void below(Index first, Index count, std::vector<RowRun>& runs) const override {
    for (Index i = first; i < first + count; ++i) runs.push_back({rows_[static_cast<size_t>(i)], 1});
  }
  std::vector<Index> rows_;  // in ascending order
};

}  // namespace

Inspection inspect(const SampleSource& samples) {
  const SingleThreadedBlas single;
  const SamplePtr some = spread_subset(samples, kRows);
  SampleBlock block;
  some->read(0, some->rows(), block);
  const Matrix x = block.x(), y = block.y();
  const Index rows = x.rows();
  const double n = static_cast<double>(rows);
  const Matrix z = whitened(x);
  const double d = static_cast<double>(z.cols());
  Inspection result;
  const auto test = [&](const char* name, double value, double threshold, bool holds) {
    result.tests.push_back({name, value, threshold, holds});
    return holds;
  };

  // Mardia's skewness needs all pairs; half a million of them are plenty.
  const Index few = std::min<Index>(rows, 1000);
  const Matrix head = z.topRows(few);
  const bool varies = z.cols() > 0;  // without it there is nothing to test
  const double skewness =
      varies ? (head * head.transpose()).array().cube().mean() * static_cast<double>(few) / 6 : 0;
  const double freedom = d * (d + 1) * (d + 2) / 6;
  // A tenth on top: for many inputs the statistic reaches its limit law slowly.
  const double skewness_limit = varies ? 1.1 * chi_squared_limit(freedom, kInspectionFalseAlarm, 1) : 1;
  const bool straight =
      test("Gaussian inputs: skewness", skewness / skewness_limit, 1, skewness <= skewness_limit);
  // Mardia's kurtosis about its mean over its deviation, both for whitening by the same rows.
  const double mean = d * (d + 2) * (n - 1) / (n + 1);
  const double variance = 8 * d * (d + 2) * (n - 3) * std::max(n - d - 1, 1.0) * (n - d + 1) /
                          ((n + 1) * (n + 1) * (n + 3) * (n + 5));
  const double kurtosis =
      varies && variance > 0
          ? (z.rowwise().squaredNorm().array().square().mean() - mean) / std::sqrt(variance)
          : 0;
  const bool even =
      test("Gaussian inputs: kurtosis", std::abs(kurtosis) / normal_limit(kInspectionFalseAlarm, 2), 1,
           std::abs(kurtosis) <= normal_limit(kInspectionFalseAlarm, 2));
  result.gaussian = straight && even;

  double odd = 0;
  for (Index a = 0; a < x.cols(); ++a) {
    const Vector centred = centred_column(x, a);
    const Vector cubes = centred.array().cube();
    const double spread = std::sqrt(cubes.squaredNorm() / n / n);
    if (spread > 0) odd = std::max(odd, std::abs(cubes.mean()) / spread);
  }
  // A sum of symmetric terms over the root of its squares is sub-Gaussian (Efron), however heavy their tails.
  const double odd_limit = normal_limit(kInspectionFalseAlarm, static_cast<double>(x.cols()));
  result.symmetric = test("symmetric inputs: third moments", odd / odd_limit, 1, odd <= odd_limit);

  size_t least_values = kFewValues + 1;
  double heaviest = 0;
  for (Index a = 0; a < x.cols(); ++a) {
    std::set<double> values;
    for (Index i = 0; i < rows && values.size() <= kFewValues; ++i) values.insert(x(i, a));
    least_values = std::min(least_values, values.size());
    const Vector centred = centred_column(x, a);
    const double spread = centred.squaredNorm() / n;
    if (spread > 0) heaviest = std::max(heaviest, centred.array().pow(4).mean() / (spread * spread));
  }
  result.discrete = least_values <= kFewValues && rows > 2 * static_cast<Index>(kFewValues);
  test("continuous inputs: distinct values of an input", static_cast<double>(least_values),
       static_cast<double>(kFewValues), !result.discrete);
  test("light-tailed inputs: largest kurtosis", heaviest, 20, heaviest <= 20);

  std::set<std::uint64_t> seen;
  Index repeated = 0;
  for (Index i = 0; i < rows; ++i) {
    const RowMatrix xi = block.x().row(i), yi = block.y().row(i);
    if (!seen.insert(row_hash(xi.data(), xi.cols(), yi.data(), yi.cols())).second) ++repeated;
  }
  result.repeated_rows = repeated > 0;
  test("distinct rows: share of repetitions", static_cast<double>(repeated) / n, 0, repeated == 0);

  const double whole =
      static_cast<double>((y.array() == y.array().round()).count()) / static_cast<double>(y.size());
  result.integer_outputs = whole == 1;
  test("outputs that are not whole numbers: share of whole ones", whole, 1, !result.integer_outputs);
  return result;
}

bool has_repeated_rows(const SampleSource& samples, const Control& control) {
  const auto hash_of = [](const SampleBlock& block, Index row) {
    const ConstRows x = block.x(), y = block.y();
    return row_hash(x.data() + row * x.cols(), x.cols(), y.data() + row * y.cols(), y.cols());
  };
  const SamplePtr some = spread_subset(samples, kRows);
  SampleBlock block;
  some->read(0, some->rows(), block);
  std::unordered_set<std::uint64_t> known;
  std::vector<bool> marks(kMarks);  // of known rows: few others meet one, so that few are looked up
  for (Index i = 0; i < block.rows(); ++i) {
    const std::uint64_t hash = hash_of(block, i);
    known.insert(hash);
    marks[hash % kMarks] = true;
  }
  if (static_cast<Index>(known.size()) < some->rows()) return true;
  struct Seen {
    Index rows = 0;  // that equal one of those
    void merge(const Seen& other) { rows += other.rows; }
  };
  const Seen seen = reduce_blocks(samples, Seen{}, control, "", [&](Seen& to, const SampleBlock& rows) {
    for (Index i = 0; i < rows.rows(); ++i) {
      const std::uint64_t hash = hash_of(rows, i);
      if (marks[hash % kMarks] && known.contains(hash)) ++to.rows;
    }
  });
  return seen.rows > some->rows();
}

SamplePtr distinct_rows(const SamplePtr& samples, const Control& control) {
  const Index n = samples->rows();
  struct Hashes {
    std::vector<std::uint64_t> of;  // rows in their order
    void merge(const Hashes& other) { of.insert(of.end(), other.of.begin(), other.of.end()); }
  };
  const auto [hashes] =
      reduce_blocks(*samples, Hashes{}, control, "", [](Hashes& to, const SampleBlock& block) {
        const ConstRows x = block.x(), y = block.y();
        for (Index i = 0; i < block.rows(); ++i)
          to.of.push_back(row_hash(x.data() + i * x.cols(), x.cols(), y.data() + i * y.cols(), y.cols()));
      });
  std::set<std::uint64_t> seen;
  std::vector<Index> rows;
  for (Index i = 0; i < n; ++i) {
    if (seen.insert(hashes[static_cast<size_t>(i)]).second) rows.push_back(i);
  }
  if (static_cast<Index>(rows.size()) == n) return samples;
  return std::make_shared<ChosenRows>(samples, std::move(rows));
}

}  // namespace exhume
