#include "fit/residuals.h"

#include <Eigen/Dense>
#include <algorithm>
#include <vector>

#include "data/resident.h"
#include "fit/device_features.h"
#include "fit/sums.h"

namespace exhume {
namespace {

struct Worst {
  size_t most = 0;
  std::vector<std::pair<double, Index>> rows;  // squared residual, row number

  void keep() {
    const auto worse = [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    };
    std::sort(rows.begin(), rows.end(), worse);
    if (rows.size() > most) rows.resize(most);
  }
  void merge(const Worst& other) {
    rows.insert(rows.end(), other.rows.begin(), other.rows.end());
    keep();
  }
};

void copy_rows(const SampleSource& from, RowMatrix& x, RowMatrix& y, Index to) {
  SampleBlock block;
  from.read(0, from.rows(), block);
  x.middleRows(to, from.rows()) = block.x();
  y.middleRows(to, from.rows()) = block.y();
}

}  // namespace

Matrix residual_products(const Form& form, const SampleSource& samples, Index block_rows,
                         const Control& control) {
  struct Products {
    Matrix RR;
    void merge(const Products& other) { RR += other.RR; }
  };
  const Index m = samples.outputs();
  return reduce_blocks(
             samples, Products{Matrix::Zero(m, m)}, control, "",
             [&](Products& to, const SampleBlock& block) {
               const FormBlock rows(form, block, false);
               const Matrix R = rows.Y - rows.F() * form.C;
               to.RR.noalias() += R.transpose() * R;
             },
             block_rows)
      .RR;
}

Index search_unknowns(Index inputs, Index hidden, Index outputs) {
  return hidden * (inputs + outputs) + outputs * (inputs + 1);
}

Left measure(const Form& form, const Matrix& products, Index rows) {
  const auto n = static_cast<double>(rows), m = static_cast<double>(products.rows());
  const auto unknowns = static_cast<double>(search_unknowns(form.inputs, form.units(), products.rows()));
  return {products.trace() / (n * m), products / std::max(n - unknowns / m, 1.0), n * m / unknowns};
}

SamplePtr hardest_rows(const Form& form, const SampleSource& samples, Index count, const Control& control) {
  const Worst worst = reduce_blocks(
      samples, Worst{static_cast<size_t>(count), {}}, control, "", [&](Worst& to, const SampleBlock& block) {
        const FormBlock rows(form, block, false);
        const Vector squares = (rows.Y - rows.F() * form.C).rowwise().squaredNorm();
        for (Index i = 0; i < block.rows(); ++i) {
          to.rows.emplace_back(squares(i), block.first_row() + i);
        }
        to.keep();
      });
  std::vector<RowRun> runs;
  for (const auto& [square, row] : worst.rows) runs.push_back({row, 1});
  return gathered(samples, runs);
}

SamplePtr joined(const SampleSource& first, const SampleSource& second) {
  RowMatrix x(first.rows() + second.rows(), first.inputs()), y(first.rows() + second.rows(), first.outputs());
  copy_rows(first, x, y, 0);
  copy_rows(second, x, y, first.rows());
  return memory_samples(std::move(x), std::move(y));
}

SamplePtr less_model(const SamplePtr& samples, const Form& form, const Control& control) {
  SamplePtr here = with_outputs(samples, [form](const Eigen::Ref<const RowMatrix>& x, RowMatrix& y) {
    y -= FormRows(form, x).F() * form.C;
  });
  const DeviceRows* there = rows_on_device(*samples);
  if (there == nullptr) return here;
  DeviceRows left = there->with_outputs(there->outputs());
  const Index strip = std::min(there->rows(), strip_rows(*there->device, 2 * form.features()));
  const DeviceFeatures features(*there->device, form, strip);
  for_strips(*there, strip, control, [&](const DeviceStrip& at) {
    const DeviceView<double> out = left.y->view().block(at.first, 0, at.x.rows, there->outputs());
    there->device->copy(at.y, out);
    features.subtract(at.x, out);
  });
  there->device->synchronise();
  return on_device(std::move(here), std::move(left));
}

OutputMixing unit_noise(const Matrix& covariance) {
  constexpr double kLeast = 1e-24;
  const double floor = std::max(kLeast * covariance.diagonal().mean(), kTiny);
  // Each output at unit variance first: outputs of very different sizes would cost each other digits.
  const Vector scale = covariance.diagonal().cwiseMax(floor).cwiseSqrt();
  const Matrix correlation =
      scale.cwiseInverse().asDiagonal() * covariance * scale.cwiseInverse().asDiagonal();
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(correlation);
  const Vector roots = eigen.eigenvalues().cwiseMax(kLeast).cwiseSqrt();
  const Matrix& U = eigen.eigenvectors();
  OutputMixing out;
  out.Q = U * roots.cwiseInverse().asDiagonal() * U.transpose() * scale.cwiseInverse().asDiagonal();
  out.back = scale.asDiagonal() * U * roots.asDiagonal() * U.transpose();
  return out;
}

SamplePtr mixed_outputs(const SamplePtr& samples, const OutputMixing& mixing) {
  const Matrix right = mixing.Q.transpose();
  return with_outputs(samples,
                      [right](const Eigen::Ref<const RowMatrix>&, RowMatrix& y) { y = (y * right).eval(); });
}

}  // namespace exhume
