#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <memory>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "data/resident.h"
#include "decompose/subspace.h"
#include "engine/open_device.h"
#include "engine/ritz.h"
#include "engine/transfer.h"
#include "fit/form_sums.h"
#include "fit/polish.h"
#include "fit/residuals.h"
#include "linalg/symmetric_matrix.h"
#include "moments/device_moments.h"
#include "moments/device_order4.h"
#include "moments/polynomial_fit.h"
#include "moments/stack.h"
#include "routes/depth2.h"

namespace exhume::device_moments_test {
namespace {

// Relative difference of sums over some thousand rows that differ only in the order of their terms.
constexpr double kRounding = 1e-11;

std::vector<std::shared_ptr<Device>> devices() {
  std::vector<std::shared_ptr<Device>> out{host_device()};
  if (const OpenedDevice cuda = open_device("auto"); cuda.device) out.push_back(cuda.device);
  return out;
}

Form random_model(Index d, Index k, Index m, Activation activation) {
  Form model = one_layer(Stream(5, "V").normal_matrix(k, d + 1));
  model.plain = activation == Activation::kRelu;
  for (Index j = 0; j < k; ++j) model.V[0].row(j) /= model.V[0].row(j).head(d).norm();
  model.V[0].col(d) *= 0.3;
  model.C = Stream(6, "C").normal_matrix(model.features(), m);
  return model;
}

// An odd number of rows, more than a block of the processor.
struct Planted {
  Index d = 6, k = 5, m = 2;
  Form model = random_model(d, k, m, Activation::kAbsolute);
  SamplePtr here;
  Planted() {
    const RowMatrix x = Stream(1, "x").normal_matrix(5001, d);
    here = memory_samples(x, evaluate(model, x));
  }
  [[nodiscard]] static Control control_of(const std::shared_ptr<Device>& device) {
    Control control;
    control.device = device;
    return control;
  }
  [[nodiscard]] SamplePtr there(const std::shared_ptr<Device>& device) const {
    return on_device(here, send_rows(*here, control_of(device)));
  }
};

void expect_close(const Matrix& a, const Matrix& b, double tolerance = kRounding) {
  ASSERT_EQ(a.rows(), b.rows());
  ASSERT_EQ(a.cols(), b.cols());
  EXPECT_LE((a - b).norm(), tolerance * a.norm());
}

TEST(Device, LowMomentsAreTheProcessors) {
  const Planted planted;
  const Control control;
  for (const auto& device : devices()) {
    const SamplePtr there = planted.there(device);
    for (int order = 0; order <= 2; ++order) {
      const HermiteMoments a = hermite_moments(*planted.here, order, control),
                           b = hermite_moments(*there, order, control);
      for (int p = 0; p <= order; ++p) {
        expect_close(a.half(p, 0), b.half(p, 0));
        expect_close(a.half(p, 1), b.half(p, 1));
      }
    }
    expect_close(second_moments(*planted.here, control).covariance_y(),
                 output_covariance_on_device(*rows_on_device(*there)));
  }
}

TEST(Device, PolynomialsAreTheProcessors) {
  const Planted planted;
  const Control control;
  for (const auto& device : devices()) {
    const SamplePtr there = planted.there(device);
    for (int degree = 1; degree <= 3; ++degree) {
      const PolynomialFit a = fit_polynomial(*planted.here, degree, control),
                          b = fit_polynomial(*there, degree, control);
      EXPECT_EQ(a.iterations, b.iterations);
      SampleBlock rows;
      planted.here->read(0, 100, rows);
      expect_close(a.evaluate(rows.x()), b.evaluate(rows.x()), 1e-9);
      // The same outputs are left there: their moments of order 2 say so.
      const SamplePtr left = residualised(planted.here, degree, control),
                      left_there = residualised(there, degree, control);
      ASSERT_NE(rows_on_device(*left_there), nullptr);
      expect_close(second_moments(*left, control).covariance_y(),
                   output_covariance_on_device(*rows_on_device(*left_there)), 1e-9);
    }
  }
}

TEST(Device, HighMomentsAreTheProcessors) {
  const Planted planted;
  const Control control;
  for (const auto& device : devices()) {
    const SamplePtr there = planted.there(device);
    for (int order = 2; order <= 4; ++order) {
      const HermiteMoments moments = hermite_moments(*planted.here, order, control);
      const Matrix T = moments.estimate(order), D = moments.noise(order);
      Index at = 0;
      moments_on_device(*rows_on_device(*there), order, control,
                        [&](const DeviceView<double>& sum, const DeviceView<double>& difference) {
                          expect_close(T.middleCols(at, sum.cols), 0.5 * fetched(*device, sum));
                          expect_close(D.middleCols(at, sum.cols), 0.5 * fetched(*device, difference));
                          at += sum.cols;
                        });
      EXPECT_EQ(at, T.cols());
    }
  }
}

TEST(Device, EveryPlanOfOrder4GivesTheSame) {
  const Planted planted;
  const Control control;
  const HermiteMoments moments = hermite_moments(*planted.here, 4, control);
  const Matrix T = moments.estimate(4), D = moments.noise(4);
  for (const auto& device : devices()) {
    const SamplePtr there = planted.there(device);
    for (const Index parts : {1, 3}) {
      for (const bool ahead : {false, true}) {
        Order4Plan plan;
        plan.narrow = 4;
        plan.parts = parts;
        plan.queues = parts;
        plan.strip_bytes = 1;  // as few rows as there may be
        plan.ahead = ahead;
        Index at = 0;
        order4_on_device(*rows_on_device(*there), plan, control,
                         [&](const DeviceView<double>& sum, const DeviceView<double>& difference) {
                           expect_close(T.middleCols(at, sum.cols), 0.5 * fetched(*device, sum));
                           expect_close(D.middleCols(at, sum.cols), 0.5 * fetched(*device, difference));
                           at += sum.cols;
                         });
        EXPECT_EQ(at, T.cols());
      }
    }
  }
}

TEST(Device, TheStartIsTheProcessors) {
  const Planted planted;
  const Control control;
  Depth2Options options;
  const SpectralStart a = stacked_start(planted.here, options, control);
  EXPECT_GE(a.V.rows(), 4);  // all units but a weak one
  for (const auto& device : devices()) {
    const Control there = Planted::control_of(device);
    const SpectralStart b = stacked_start(planted.there(device), options, there);
    ASSERT_EQ(a.V.rows(), b.V.rows());
    expect_close(a.singular_values, b.singular_values, 1e-7);
    expect_close(a.V, b.V, 1e-4);  // the power method ends where it moves less than 1e-6
    const SpectralStart again = stacked_start(planted.there(device), options, there);
    EXPECT_EQ(b.V, again.V);
  }
}

TEST(Device, ThePowerMethodFindsTheSameThere) {
  const Index d = 24, k = 30;
  Matrix W = Stream(8, "W").normal_matrix(d, k);
  W.colwise().normalize();
  const Eigen::HouseholderQR<Matrix> qr(rank_one_coordinates(W));
  const Matrix basis = qr.householderQ() * Matrix::Identity(symmetric_size(d), k);
  PowerOptions options;
  options.starts_per_unit = 60;
  const RankOneElements a = rank_one_by_restarts(basis, k, options);
  ASSERT_EQ(a.directions.cols(), k);
  for (const auto& device : devices()) {
    const RankOneElements b = rank_one_by_restarts(basis, k, options, device.get());
    EXPECT_EQ(a.starts, b.starts);
    for (Index i = 0; i < k; ++i) EXPECT_TRUE(among_directions(b.directions, a.directions.col(i), 1 - 1e-8));
  }
}

TEST(Device, EndsOfASpectrumStandInAKrylovSpace) {
  const Index p = 300;
  const Matrix Q = Stream(9, "Q").normal_matrix(p, p);
  Vector values = Vector::LinSpaced(p, -1, 1);
  values.tail(5) << 3, 4, 5, 6, 7;
  const Eigen::HouseholderQR<Matrix> qr(Q);
  const Matrix U = qr.householderQ(), A = U * values.asDiagonal() * U.transpose();
  for (const auto& device : devices()) {
    const DeviceMatrix<double> a = sent(*device, A);
    const RitzPairs found = ritz_pairs(*device, a.view(), 8, 20, 1);
    EXPECT_NEAR(found.values(0), -1, 1e-3);
    EXPECT_LT((found.values.tail(5) - values.tail(5)).norm(), 1e-9);
    const Matrix vectors = fetched(*device, found.vectors.view()).bottomRows(5);
    EXPECT_NEAR((vectors * U.rightCols(5)).squaredNorm(), 5, 1e-9);
  }
}

TEST(Device, WhatAModelLeavesIsTheProcessors) {
  const Planted planted;
  const Control control;
  Form model = random_model(planted.d, 3, planted.m, Activation::kAbsolute);
  for (const auto& device : devices()) {
    const SamplePtr left = less_model(planted.there(device), model, control);
    const Matrix there = output_covariance_on_device(*rows_on_device(*left));
    expect_close(second_moments(*less_model(planted.here, model, control), control).covariance_y(), there);
    expect_close(second_moments(*left, control).covariance_y(), there);
    const ResidualSums a = residual_sums(model, *planted.here, kBlockRows, control),
                       b = residual_sums(model, *planted.there(device), kBlockRows, control);
    expect_close(a.squares, b.squares);
    expect_close(a.FR, b.FR);
  }
}

TEST(Device, StepsOfThePolishAreTheProcessors) {
  const Planted planted;
  const Control control;
  const Index block_rows = 2048;
  for (const Activation activation : {Activation::kAbsolute, Activation::kRelu}) {
    Form model = random_model(planted.d, planted.k, planted.m, activation);
    for (const auto& device : devices()) {
      for (const NormalMatrix matrix : {NormalMatrix::kFormed, NormalMatrix::kFree}) {
        const auto here = host_sums(*planted.here, block_rows, 0, matrix),
                   there = device_sums(device, *planted.here, matrix, control);
        const LinearSums a = here->linear(model, control), b = there->linear(model, control);
        expect_close(a.FF, b.FF);
        expect_close(a.FY, b.FY);
        const Residual r = here->residual(model, control), s = there->residual(model, control);
        EXPECT_NEAR(r.squares, s.squares, kRounding * r.squares);
        expect_close(r.FR, s.FR);
        const auto system = here->normal_system(model, a.FF, control),
                   same = there->normal_system(model, a.FF, control);
        for (const double lambda : {1.0, 1e-3})
          expect_close(*system->step(lambda), *same->step(lambda), 1e-6);
      }
    }
  }
}

}  // namespace
}  // namespace exhume::device_moments_test
