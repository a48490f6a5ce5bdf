#include "fit/smooth_student.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "base/blas.h"
#include "base/random.h"
#include "base/vector_clones.h"
#include "model/activation_table.h"

namespace exhume {
namespace {

// Loops below are written so that compilers vectorise them: no calls, no branches.

// 2^f for |f| <= 1/2 by its Taylor series, exponent by bits.
inline float exp_of(float x) {
  constexpr float kLog2e = 1.44269504f, kRound = 12582912.0f;  // 1.5 2^23: adding it rounds
  float t = x * kLog2e;
  t = t < -125.0f ? -125.0f : t;
  t = t > 126.0f ? 126.0f : t;
  const float whole = (t + kRound) - kRound, f = t - whole;
  const float p =
      1.0f +
      f * (0.693147180f +
           f * (0.240226507f +
                f * (0.0555041087f + f * (0.00961812911f + f * (0.00133335581f + f * 0.000154035304f)))));
  const auto bits = static_cast<std::int32_t>(static_cast<std::int32_t>(whole) + 127) << 23;
  return p * std::bit_cast<float>(bits);
}
inline float sigmoid_of(float z) { return 1.0f / (1.0f + exp_of(-z)); }
// Abramowitz and Stegun 7.1.26, error 1.5e-7.
inline float erf_of(float z, float e) {
  const float a = std::fabs(z), t = 1.0f / (1.0f + 0.3275911f * a);
  const float tail =
      t * (0.254829592f + t * (-0.284496736f + t * (1.421413741f + t * (-1.453152027f + t * 1.061405429f))));
  return std::copysign(1.0f - tail * e, z);
}
// log(1 + u), 0 <= u <= 1, by the series of atanh.
inline float log1p_of(float u) {
  const float w = u / (2.0f + u), q = w * w;
  return 2.0f * w *
         (1.0f +
          q * (1.0f / 3 + q * (1.0f / 5 + q * (1.0f / 7 + q * (1.0f / 9 + q * (1.0f / 11 + q / 13))))));
}

EXHUME_VECTOR_CLONES
void tanh_values(const float* z, float* value, float* slope, Index size) {
  for (Index i = 0; i < size; ++i) {
    const float t = 1.0f - 2.0f / (1.0f + exp_of(2.0f * z[i]));
    value[i] = t;
    slope[i] = 1.0f - t * t;
  }
}
EXHUME_VECTOR_CLONES
void sigmoid_values(const float* z, float* value, float* slope, Index size) {
  for (Index i = 0; i < size; ++i) {
    const float s = sigmoid_of(z[i]);
    value[i] = s;
    slope[i] = s * (1.0f - s);
  }
}
EXHUME_VECTOR_CLONES
void erf_values(const float* z, float* value, float* slope, Index size) {
  for (Index i = 0; i < size; ++i) {
    const float e = exp_of(-z[i] * z[i]);
    value[i] = erf_of(z[i], e);
    slope[i] = 1.12837917f * e;
  }
}
EXHUME_VECTOR_CLONES
void gelu_values(const float* z, float* value, float* slope, Index size) {
  for (Index i = 0; i < size; ++i) {
    const float r = 0.707106781f * z[i], e = exp_of(-r * r), p = 0.5f + 0.5f * erf_of(r, e);
    value[i] = z[i] * p;
    slope[i] = p + 0.398942280f * z[i] * e;
  }
}
EXHUME_VECTOR_CLONES
void gelu_tanh_values(const float* z, float* value, float* slope, Index size) {
  constexpr float kScale = 1.59576912f;  // 2 (2/pi)^(1/2)
  for (Index i = 0; i < size; ++i) {
    const float q = z[i] * z[i], s = sigmoid_of(kScale * z[i] * (1.0f + 0.044715f * q));
    value[i] = z[i] * s;
    slope[i] = s + z[i] * s * (1.0f - s) * kScale * (1.0f + 3 * 0.044715f * q);
  }
}
EXHUME_VECTOR_CLONES
void silu_values(const float* z, float* value, float* slope, Index size) {
  for (Index i = 0; i < size; ++i) {
    const float s = sigmoid_of(z[i]);
    value[i] = z[i] * s;
    slope[i] = s * (1.0f + z[i] * (1.0f - s));
  }
}
EXHUME_VECTOR_CLONES
void softplus_values(const float* z, float* value, float* slope, Index size) {
  for (Index i = 0; i < size; ++i) {
    value[i] = (z[i] > 0 ? z[i] : 0.0f) + log1p_of(exp_of(-std::fabs(z[i])));
    slope[i] = sigmoid_of(z[i]);
  }
}
EXHUME_VECTOR_CLONES
void elu_values(float above, float below, const float* z, float* value, float* slope, Index size) {
  for (Index i = 0; i < size; ++i) {
    const float e = exp_of(z[i] > 0 ? 0.0f : z[i]);
    value[i] = z[i] > 0 ? above * z[i] : below * (e - 1.0f);
    slope[i] = z[i] > 0 ? above : below * e;
  }
}
// sin and cos of z = r + n pi, |r| <= pi/2, by their Taylor series.
EXHUME_VECTOR_CLONES
void sin_values(const float* z, float* value, float* slope, Index size) {
  constexpr float kRound = 12582912.0f;
  for (Index i = 0; i < size; ++i) {
    const float whole = (z[i] * 0.318309886f + kRound) - kRound;
    const float r = (z[i] - whole * 3.140625f) - whole * 9.67653590e-4f, q = r * r;
    const float turn = 1.0f - 2.0f * static_cast<float>(static_cast<std::int32_t>(whole) & 1);
    value[i] =
        turn * r *
        (1.0f + q * (-1.0f / 6 + q * (1.0f / 120 + q * (-1.0f / 5040 + q * (1.0f / 362880 - q / 39916800)))));
    slope[i] =
        turn * (1.0f + q * (-0.5f + q * (1.0f / 24 + q * (-1.0f / 720 + q * (1.0f / 40320 - q / 3628800)))));
  }
}
EXHUME_VECTOR_CLONES
void gaussian_values(const float* z, float* value, float* slope, Index size) {
  for (Index i = 0; i < size; ++i) {
    const float e = exp_of(-z[i] * z[i]);
    value[i] = e;
    slope[i] = -2.0f * z[i] * e;
  }
}
EXHUME_VECTOR_CLONES
void absolute_values(const float* z, float* value, float* slope, Index size) {
  for (Index i = 0; i < size; ++i) {
    value[i] = std::fabs(z[i]);
    slope[i] = z[i] > 0 ? 1.0f : -1.0f;
  }
}

// Any row of the table, entry by entry.
void table_values(const std::string& activation, const float* z, float* value, float* slope, Index size) {
  const Rectifier unit = parse_rectifier(activation);
  for (Index i = 0; i < size; ++i) {
    const auto at = static_cast<double>(z[i]);
    value[i] = static_cast<float>(unit(at));
    slope[i] = unit.everywhere || at > 0 ? static_cast<float>(unit.slope(at)) : 0.0f;
  }
}

// Adam's moments of one matrix of weights, and its step.
struct Moments {
  explicit Moments(const Eigen::MatrixXf& of)
      : first(Eigen::MatrixXf::Zero(of.rows(), of.cols())), second(first) {}
  void step(Eigen::MatrixXf& weights, const Eigen::MatrixXf& gradient, float rate, double t) {
    constexpr float kFirst = 0.9f, kSecond = 0.99f, kLeast = 1e-8f;
    first = kFirst * first + (1 - kFirst) * gradient;
    second = kSecond * second + (1 - kSecond) * gradient.cwiseAbs2();
    const auto scale = static_cast<float>(1 / (1 - std::pow(kFirst, t)));
    const auto root = static_cast<float>(1 / std::sqrt(1 - std::pow(kSecond, t)));
    weights.array() -= rate * scale * first.array() / (root * second.array().sqrt() + kLeast);
  }
  Eigen::MatrixXf first, second;
};

}  // namespace

void unit_values(const std::string& activation, const float* z, float* value, float* slope, Index size) {
  if (activation == "tanh") return tanh_values(z, value, slope, size);
  if (activation == "sigmoid") return sigmoid_values(z, value, slope, size);
  if (activation == "erf") return erf_values(z, value, slope, size);
  if (activation == "gelu") return gelu_values(z, value, slope, size);
  if (activation == "gelu_tanh") return gelu_tanh_values(z, value, slope, size);
  if (activation == "silu") return silu_values(z, value, slope, size);
  if (activation == "softplus") return softplus_values(z, value, slope, size);
  if (activation == "elu") return elu_values(1.0f, 1.0f, z, value, slope, size);
  if (activation == "selu") return elu_values(1.05070099f, 1.75809934f, z, value, slope, size);
  if (activation == "sin") return sin_values(z, value, slope, size);
  if (activation == "gaussian") return gaussian_values(z, value, slope, size);
  if (activation == "abs") return absolute_values(z, value, slope, size);
  table_values(activation, z, value, slope, size);
}

UnitStudentData::UnitStudentData(const SampleSource& samples, Index most_rows, std::uint64_t seed) {
  const SamplePtr rows = spread_subset(samples, std::min(most_rows, samples.rows()));
  SampleBlock block;
  rows->read(0, rows->rows(), block);
  const Index n = rows->rows(), d = samples.inputs();
  std::vector<Index> order(static_cast<std::size_t>(n));
  for (Index i = 0; i < n; ++i) order[static_cast<std::size_t>(i)] = i;
  const Stream stream(seed, "order of a unit student");
  for (Index i = n - 1; i > 0; --i) {
    const auto other = static_cast<std::size_t>(
        stream.below(static_cast<std::uint64_t>(i + 1), static_cast<std::uint64_t>(i)));
    std::swap(order[static_cast<std::size_t>(i)], order[other]);
  }
  x.resize(d + 1, n);
  y.resize(samples.outputs(), n);
  for (Index i = 0; i < n; ++i) {
    const Index from = order[static_cast<std::size_t>(i)];
    x.col(i).head(d) = block.x().row(from).transpose().cast<float>();
    x(d, i) = 1;
    y.col(i) = block.y().row(from).transpose().cast<float>();
  }
}

UnitStudent train_units(const std::string& activation, const UnitStudentData& data,
                        const UnitStudentOptions& options, const Control& control) {
  const SingleThreadedBlas single;
  constexpr float kFlat = 1e-4f;               // least rate, of the first
  constexpr double kMemory = 0.02;             // of the running error
  constexpr double kSlope = 1.5, kBias = 0.5;  // sizes of random w (standardised inputs) and b
  const Index n = data.x.cols(), width = data.x.rows(), m = data.y.rows(), K = options.width;
  const Index batch = std::min(options.batch, n);
  Eigen::MatrixXf V =
      Stream(options.seed, "unit student " + activation).normal_matrix(K, width).cast<float>();
  V.leftCols(width - 1) *= static_cast<float>(kSlope / std::sqrt(std::max<double>(1, width - 1)));
  V.rightCols(1) *= static_cast<float>(kBias);
  Eigen::MatrixXf C = Eigen::MatrixXf::Zero(K, m), L = Eigen::MatrixXf::Zero(width, m);
  Moments of_V(V), of_C(C), of_L(L);
  Eigen::MatrixXf Z(K, batch), H(K, batch), S(K, batch), E(m, batch), gV, gC, gL;
  UnitStudent out;
  const Index windows = std::max<Index>(1, n / batch);
  for (Index t = 1; t <= options.steps; ++t) {
    if (t % 64 == 0) {
      control.check();
      if (control.out_of_time()) break;
    }
    // Another offset in every epoch, so that windows differ.
    const Index epoch = (t - 1) / windows, spare = n - windows * batch;
    const Index at = ((t - 1) % windows) * batch + (spare > 0 ? (epoch * 7919) % (spare + 1) : 0);
    const auto x = data.x.middleCols(at, batch);
    Z.noalias() = V * x;
    unit_values(activation, Z.data(), H.data(), S.data(), Z.size());
    E.noalias() = C.transpose() * H;
    E.noalias() += L.transpose() * x;
    E -= data.y.middleCols(at, batch);
    const double error = static_cast<double>(E.squaredNorm()) / static_cast<double>(E.size());
    out.relative_mse = t == 1 ? error : (1 - kMemory) * out.relative_mse + kMemory * error;
    if (!std::isfinite(out.relative_mse)) break;
    E *= 2.0f / static_cast<float>(batch);
    gC.noalias() = H * E.transpose();
    gL.noalias() = x * E.transpose();
    Z.noalias() = C * E;
    Z.array() *= S.array();
    gV.noalias() = Z * x.transpose();
    const double phase = std::numbers::pi * static_cast<double>(t) / static_cast<double>(options.steps);
    const auto rate =
        static_cast<float>(options.rate) * (0.5f * (1 + static_cast<float>(std::cos(phase))) + kFlat);
    const auto count = static_cast<double>(t);
    of_V.step(V, gV, rate, count);
    of_C.step(C, gC, rate, count);
    of_L.step(L, gL, rate, count);
  }
  out.V = V.cast<double>();
  return out;
}

}  // namespace exhume
