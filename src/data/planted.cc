#include "data/planted.h"

#include <fmt/format.h>

#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "data/reduce.h"
#include "data/require.h"
#include "exhume/activation.h"
#include "linalg/orthonormal.h"

namespace exhume {
namespace {

constexpr Index kScaleRows = 65536;

// S, or nothing where it is the identity.
Matrix spread(Index d, double condition, std::uint64_t seed) {
  if (condition == 1) return {};
  const Matrix Q = orthonormal_basis(Stream(seed, "covariance axes").normal_matrix(d, d));
  Vector scale(d);
  for (Index j = 0; j < d; ++j) {
    const double place = static_cast<double>(j) / static_cast<double>(d - 1) - 0.5;
    scale(j) = std::pow(condition, place / 2);  // a standard deviation: the root of an eigenvalue
  }
  return Q * scale.asDiagonal() * Q.transpose();
}

// rows x cols with random orthonormal factors and the singular values of PlantedOptions::orthonormal.
Matrix conditioned(Index rows, Index cols, double condition, std::uint64_t seed, const std::string& purpose) {
  const Index k = std::min(rows, cols);
  const auto factor = [&](Index size, const char* side) {
    return orthonormal_columns(Stream(seed, purpose + side).normal_matrix(size, k), k);
  };
  Vector values = Vector::Ones(k);
  for (Index i = 1; i < k; ++i) {
    values(i) = std::pow(condition, -static_cast<double>(i) / static_cast<double>(k - 1));
  }
  return factor(rows, " left") * values.asDiagonal() * factor(cols, " right").transpose();
}

// The products are written as sums of columns, not handed to BLAS: a row's bits must not depend on how many
// other rows are made in the same call.
class PlantedSamples final : public SampleSource {
 public:
  PlantedSamples(const Network& network, const SamplingOptions& options, double noise,
                 std::string_view purpose)
      : network_(network),
        rows_(options.samples),
        mean_(options.mean),
        noise_(noise),
        spread_(spread(network.inputs(), options.condition, options.seed)),
        z_(options.distribution, network.inputs(), options.perturb_inputs, options.rows, options.seed,
           purpose),
        e_(options.seed, std::string(purpose) + " noise") {
    if (network.activation != "relu") unit_ = parse_rectifier(network.activation);
  }

  Index rows() const override { return rows_; }
  Index inputs() const override { return network_.inputs(); }
  Index outputs() const override { return network_.outputs(); }

  void read(Index first, Index count, SampleBlock& block) const override {
    block.allocate(first, count, inputs(), outputs());
    RowMatrix& x = block.own_x();
    RowMatrix& y = block.own_y();
    z_.fill(static_cast<std::uint64_t>(first), x.topRows(count));
    if (noise_ > 0) e_.fill_normal(static_cast<std::uint64_t>(first), y.topRows(count));
    Vector z(inputs());
    Values values(network_.layers.size() + 1);
    for (Index r = 0; r < count; ++r) {
      if (spread_.size() != 0) {
        z.setZero();
        for (Index j = 0; j < inputs(); ++j) z += x(r, j) * spread_.col(j);
        x.row(r) = z;
      }
      if (mean_ != 0) x.row(r).array() += mean_;
      values[0] = x.row(r);
      for (std::size_t l = 0; l < network_.layers.size(); ++l) fill_layer(l, values);
      if (noise_ > 0) values.back() += noise_ * y.row(r).transpose();
      y.row(r) = values.back();
    }
  }

 private:
  using Values = std::vector<Vector>;  // x, h_1, ..., h_D, f of one row; hidden ones before their ReLU

  // Layer l from those below it. What a ReLU holds at zero is left out.
  void fill_layer(std::size_t l, Values& values) const {
    const Layer& layer = network_.layers[l];
    Vector& out = values[l + 1];
    out = layer.b;
    add_columns(l, values, layer.W, 0, out);
    Index column = 0;
    for (std::size_t low = 0; layer.L.size() != 0 && low < l; ++low) {
      add_columns(low, values, layer.L, column, out);
      column += values[low].size();
    }
  }
  void add_columns(std::size_t from, const Values& values, const Matrix& weights, Index first,
                   Vector& out) const {
    const Vector& v = values[from];
    for (Index j = 0; j < v.size(); ++j) {
      if (from > 0 && unit_) {
        out += (*unit_)(v(j)) * weights.col(first + j);
      } else if (from == 0 || v(j) > 0) {
        out += v(j) * weights.col(first + j);
      }
    }
  }

  Network network_;
  std::optional<Rectifier> unit_;  // of other units than ReLUs
  Index rows_;
  double mean_, noise_;
  Matrix spread_;  // S, or empty for the identity
  InputDistribution z_;
  Stream e_;
};

// Count, mean and summed squared deviation of every output, merged by the rule of Chan, Golub and LeVeque.
struct Spread {
  double count = 0;
  Vector mean, squares;

  void add(const SampleBlock& block) {
    const auto y = block.y();
    Spread part;
    part.count = static_cast<double>(y.rows());
    part.mean = y.colwise().mean();
    part.squares = (y.rowwise() - part.mean.transpose()).colwise().squaredNorm();
    merge(part);
  }
  void merge(const Spread& other) {
    if (count == 0) {
      *this = other;
      return;
    }
    const double total = count + other.count;
    const Vector step = other.mean - mean;
    mean += step * (other.count / total);
    squares += other.squares + step.cwiseAbs2() * (count * other.count / total);
    count = total;
  }
};

}  // namespace

Amplitudes parse_amplitudes(std::string_view name) {
  if (name == "normal") return Amplitudes::kNormal;
  if (name == "signs") return Amplitudes::kSigns;
  throw std::invalid_argument(fmt::format("amplitudes is '{}', but must be normal or signs", name));
}

void PlantedOptions::validate() const {
  require_count("inputs", inputs);
  require_count("hidden", hidden);
  require_count("outputs", outputs);
  require_not_negative("bias", bias);
  require(std::isfinite(centre), "centre", centre, "finite");
  require(weights_condition >= 1 && std::isfinite(weights_condition), "weights_condition", weights_condition,
          "a finite number of at least 1");
  require(amplitudes_condition >= 1 && std::isfinite(amplitudes_condition), "amplitudes_condition",
          amplitudes_condition, "a finite number of at least 1");
  require(orthonormal || (weights_condition == 1 && amplitudes_condition == 1), "orthonormal", 0,
          "set where the condition of W or A is given");
  require(!orthonormal || (hidden <= inputs && hidden <= outputs), "hidden", static_cast<double>(hidden),
          "no more than the inputs and the outputs where W and A are orthonormal");
  require_not_negative("perturb_weights", perturb_weights);
  require(leak >= 0 && leak < 1, "leak", leak, "in [0, 1)");
}

void SamplingOptions::validate() const {
  require_count("samples", samples);
  require(std::isfinite(mean), "mean", mean, "finite");
  require(condition >= 1 && std::isfinite(condition), "condition", condition,
          "a finite number of at least 1");
  require(perturb_inputs >= 0 && perturb_inputs <= 1, "perturb_inputs", perturb_inputs, "between 0 and 1");
  require_not_negative("noise", noise);
  require_not_negative("noise_relative", noise_relative);
}

Network plant(const PlantedOptions& options) {
  options.validate();
  const Index d = options.inputs, k = options.hidden, m = options.outputs;
  Network network;
  network.W() = Stream(options.seed, "planted W").normal_matrix(k, d);
  network.W().rowwise().normalize();
  if (options.orthonormal)
    network.W() = conditioned(k, d, options.weights_condition, options.seed, "planted W");
  if (options.perturb_weights > 0) {
    network.W() += options.perturb_weights * Stream(options.seed, "perturbation of W").normal_matrix(k, d);
  }
  network.b() = Stream(options.seed, "planted b").uniform_vector(k, -options.bias, options.bias);
  network.b() -= options.centre * network.W().rowwise().sum();
  if (options.amplitudes == Amplitudes::kNormal) {
    network.A() = Stream(options.seed, "planted A").normal_matrix(m, k);
  } else {
    RowMatrix u(m, k);
    Stream(options.seed, "planted A").fill_uniform(0, u);
    // u below 1/2 gives a size in [0.5, 1.5] with a minus, u above it the same with a plus.
    network.A() = u.unaryExpr([](double v) { return v < 0.5 ? -(0.5 + 2 * v) : 0.5 + 2 * (v - 0.5); });
  }
  if (options.orthonormal)
    network.A() = conditioned(m, k, options.amplitudes_condition, options.seed, "planted A");
  network.c() = Vector::Zero(m);
  if (options.leak > 0) {
    network.L() = options.leak * network.A() * network.W();
    network.c() = options.leak * network.A() * network.b();
    network.A() *= 1 - options.leak;
  }
  return network;
}

double output_scale(const Network& network, const SamplingOptions& options, const Control& control) {
  SamplingOptions probe = options;
  probe.samples = kScaleRows;
  const PlantedSamples source(network, probe, 0, "scale");
  const Spread spread =
      reduce_blocks(source, Spread{}, control, "", [](Spread& s, const SampleBlock& b) { s.add(b); });
  return std::sqrt(spread.squares.mean() / spread.count);
}

SamplePtr planted_samples(const Network& network, const SamplingOptions& options, const Control& control) {
  options.validate();
  network.validate();
  if (options.condition != 1 && network.inputs() < 2) {
    throw std::invalid_argument(
        fmt::format("condition is {}, but must be 1 where there is a single input", options.condition));
  }
  double noise = options.noise;
  if (options.noise_relative > 0) noise += options.noise_relative * output_scale(network, options, control);
  return std::make_shared<PlantedSamples>(network, options, noise, "planted");
}

}  // namespace exhume
