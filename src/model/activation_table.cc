#include "model/activation_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numbers>

namespace exhume {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
const double kRootTwoOverPi = std::sqrt(2 / std::numbers::pi), kRootPi = std::sqrt(std::numbers::pi),
             kRootHalf = std::sqrt(0.5);

double sigmoid(double z) { return z >= 0 ? 1 / (1 + std::exp(-z)) : std::exp(z) / (1 + std::exp(z)); }
double normal_density(double z) { return std::exp(-z * z / 2) * kRootTwoOverPi / 2; }
double normal_distribution(double z) { return std::erfc(-z * kRootHalf) / 2; }

double tanh_value(double z, double) { return std::tanh(z); }
double tanh_slope(double z, double) {
  const double t = std::tanh(z);
  return (1 - t) * (1 + t);
}
double tanh_second(double z, double) { return -2 * std::tanh(z) * tanh_slope(z, 0); }

double sigmoid_value(double z, double) { return sigmoid(z); }
double sigmoid_slope(double z, double) { return sigmoid(z) * sigmoid(-z); }
double sigmoid_second(double z, double) { return sigmoid_slope(z, 0) * (sigmoid(-z) - sigmoid(z)); }

double erf_value(double z, double) { return std::erf(z); }
double erf_slope(double z, double) { return 2 / kRootPi * std::exp(-z * z); }
double erf_second(double z, double) { return -2 * z * erf_slope(z, 0); }

double gelu_value(double z, double) { return z * normal_distribution(z); }
double gelu_slope(double z, double) { return normal_distribution(z) + z * normal_density(z); }
double gelu_second(double z, double) { return (2 - z * z) * normal_density(z); }

// z (1 + tanh u) / 2, u = (2/pi)^(1/2) (z + 0.044715 z^3).
constexpr double kCubic = 0.044715;
double inner(double z) { return kRootTwoOverPi * (z + kCubic * z * z * z); }
double inner_slope(double z) { return kRootTwoOverPi * (1 + 3 * kCubic * z * z); }
double gelu_tanh_value(double z, double) { return z * sigmoid(2 * inner(z)); }
double gelu_tanh_slope(double z, double) {
  const double u = inner(z);
  return sigmoid(2 * u) + 2 * z * sigmoid_slope(2 * u, 0) * inner_slope(z);
}
double gelu_tanh_second(double z, double) {
  const double u = 2 * inner(z), du = 2 * inner_slope(z), ddu = 12 * kRootTwoOverPi * kCubic * z;
  return 2 * sigmoid_slope(u, 0) * du + z * (sigmoid_second(u, 0) * du * du + sigmoid_slope(u, 0) * ddu);
}

double silu_value(double z, double) { return z * sigmoid(z); }
double silu_slope(double z, double) { return sigmoid(z) + z * sigmoid_slope(z, 0); }
double silu_second(double z, double) { return 2 * sigmoid_slope(z, 0) + z * sigmoid_second(z, 0); }

double softplus_value(double z, double) { return std::max(z, 0.0) + std::log1p(std::exp(-std::abs(z))); }
double softplus_slope(double z, double) { return sigmoid(z); }
double softplus_second(double z, double) { return sigmoid_slope(z, 0); }

double elu_value(double z, double p) { return z > 0 ? z : p * std::expm1(z); }
double elu_slope(double z, double p) { return z > 0 ? 1 : p * std::exp(z); }
double elu_second(double z, double p) { return z > 0 ? 0 : p * std::exp(z); }

// The constants of self-normalising networks (Klambauer and others, 2017).
constexpr double kSeluAlpha = 1.6732632423543772, kSeluScale = 1.0507009873554805;
double selu_value(double z, double) { return kSeluScale * elu_value(z, kSeluAlpha); }
double selu_slope(double z, double) { return kSeluScale * elu_slope(z, kSeluAlpha); }
double selu_second(double z, double) { return kSeluScale * elu_second(z, kSeluAlpha); }

double sin_value(double z, double) { return std::sin(z); }
double sin_slope(double z, double) { return std::cos(z); }
double sin_second(double z, double) { return -std::sin(z); }

double gaussian_value(double z, double) { return std::exp(-z * z); }
double gaussian_slope(double z, double) { return -2 * z * std::exp(-z * z); }
double gaussian_second(double z, double) { return (4 * z * z - 2) * std::exp(-z * z); }

double leaky_value(double z, double p) { return z > 0 ? z : p * z; }
double row_leaky_slope(double z, double p) { return z > 0 ? 1 : p; }
double zero(double, double) { return 0; }

double abs_value(double z, double) { return std::abs(z); }
double abs_slope(double z, double) { return z > 0 ? 1 : -1; }

double identity_value(double z, double) { return z; }
double one(double, double) { return 1; }

double relu_value(double z, double) { return std::max(z, 0.0); }
double row_relu_slope(double z, double) { return z > 0 ? 1 : 0; }

std::size_t place(Index i) { return static_cast<std::size_t>(i); }

// Output weights, or whatever stands on the units of layer l, one column per unit.
const Matrix& above(const Network& network, std::size_t l) { return network.layers[l + 1].W; }

Index largest_entry(const Eigen::Ref<const Vector>& of) {
  Index at = 0;
  if (of.size() > 0) of.cwiseAbs().maxCoeff(&at);
  return at;
}

// sin alone has a second symmetry, sin(z + pi) = -sin(z): w with its largest entry above 0, output weights
// too, and the constant in [-pi, pi).
void place_phase(Network& network, std::size_t l, Index i) {
  const double pi = std::numbers::pi;
  Layer& layer = network.layers[l];
  auto a = network.layers[l + 1].W.col(i);
  if (layer.W.row(i).transpose()(largest_entry(layer.W.row(i).transpose())) < 0) {
    layer.W.row(i) *= -1;
    layer.b(i) *= -1;
    a *= -1;
  }
  if (a(largest_entry(a)) < 0) {
    a *= -1;
    layer.b(i) += pi;
  }
  layer.b(i) -= 2 * pi * std::floor((layer.b(i) + pi) / (2 * pi));
}

std::vector<Index> to_be_mirrored(const Network& network, std::size_t l, Symmetry symmetry) {
  std::vector<Index> units;
  const Layer& layer = network.layers[l];
  for (Index i = 0; i < layer.W.rows(); ++i) {
    const Vector looked_at =
        symmetry == Symmetry::kOdd ? Vector(above(network, l).col(i)) : Vector(layer.W.row(i).transpose());
    if (looked_at.size() > 0 && looked_at(largest_entry(looked_at)) < 0) units.push_back(i);
  }
  return units;
}

// Units `order` of layer l alone, in that order.
void reorder(Network& network, std::size_t l, const std::vector<Index>& order) {
  Layer& layer = network.layers[l];
  layer.W = Matrix(layer.W(order, Eigen::all));
  layer.b = Vector(layer.b(order));
  network.layers[l + 1].W = Matrix(network.layers[l + 1].W(Eigen::all, order));
}

}  // namespace

const std::vector<ActivationRow>& activation_table() {
  using S = Symmetry;
  static const std::vector<ActivationRow> kRows = {
      {"relu", relu_value, row_relu_slope, zero, S::kHalf, 1, false, kNone, "max(z, 0)", "Relu", "ReLU",
       "relu", "relu"},
      {"tanh", tanh_value, tanh_slope, tanh_second, S::kOdd, 0, true, kNone, "tanh z", "Tanh", "Tanh", "tanh",
       "tanh"},
      {"sigmoid", sigmoid_value, sigmoid_slope, sigmoid_second, S::kOdd, 0, true, kNone, "1 / (1 + e^-z)",
       "Sigmoid", "Sigmoid", "sigmoid", "logistic"},
      {"gelu", gelu_value, gelu_slope, gelu_second, S::kHalf, 0, true, kNone, "z Phi(z)", "Gelu", "GELU",
       "gelu", ""},
      {"gelu_tanh", gelu_tanh_value, gelu_tanh_slope, gelu_tanh_second, S::kHalf, 0, true, kNone,
       "z (1 + tanh((2/pi)^(1/2) (z + 0.044715 z^3))) / 2", "Gelu", "GELU(approximate='tanh')", "gelu", ""},
      {"silu", silu_value, silu_slope, silu_second, S::kHalf, 0, true, kNone, "z / (1 + e^-z)", "Swish",
       "SiLU", "silu", ""},
      {"softplus", softplus_value, softplus_slope, softplus_second, S::kHalf, 0, true, kNone, "log(1 + e^z)",
       "Softplus", "Softplus", "softplus", ""},
      {"elu", elu_value, elu_slope, elu_second, S::kNone, 0, true, 1, "z above 0, p (e^z - 1) below", "Elu",
       "ELU", "elu", ""},
      {"selu", selu_value, selu_slope, selu_second, S::kNone, 0, true, kNone,
       "1.0507 z above 0, 1.7581 (e^z - 1) below", "Selu", "SELU", "selu", ""},
      {"erf", erf_value, erf_slope, erf_second, S::kOdd, 0, true, kNone, "erf z", "Erf", "", "", ""},
      {"sin", sin_value, sin_slope, sin_second, S::kOdd, 0, true, kNone, "sin z", "Sin", "", "", ""},
      {"gaussian", gaussian_value, gaussian_slope, gaussian_second, S::kEven, 0, true, kNone, "e^(-z^2)", "",
       "", "", ""},
      {"leaky_relu", leaky_value, row_leaky_slope, zero, S::kNone, 1, false, 0.01, "z above 0, p z below",
       "LeakyRelu", "LeakyReLU", "leaky_relu", ""},
      {"abs", abs_value, abs_slope, zero, S::kEven, 1, false, kNone, "|z|", "Abs", "", "", ""},
      {"identity", identity_value, one, zero, S::kOdd, 1, false, kNone, "z", "Identity", "Identity", "linear",
       "identity"},
  };
  return kRows;
}

const ActivationRow* find_activation(std::string_view name) {
  const std::string_view bare = name.substr(0, name.find(':'));
  for (const ActivationRow& row : activation_table()) {
    if (row.name != bare) continue;
    if (bare.size() == name.size()) return &row;
    return std::isfinite(row.parameter) && std::isfinite(activation_parameter(name)) ? &row : nullptr;
  }
  return nullptr;
}

double activation_parameter(std::string_view name) {
  const std::size_t colon = name.find(':');
  if (colon == std::string_view::npos) {
    const ActivationRow* row = find_activation(name);
    return row == nullptr ? kNone : row->parameter;
  }
  double value = 0;
  const std::string_view text = name.substr(colon + 1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : kNone;
}

Rectifier rectifier_of(const ActivationRow& row, std::string_view name) {
  Rectifier out;
  const double p = activation_parameter(name);
  out.name = std::string(name);
  out.phi = [value = row.value, p](double z) { return value(z, p); };
  out.slope = [slope = row.slope, p](double z) { return slope(z, p); };
  out.degree = row.degree;
  out.everywhere = true;
  return out;
}

Network with_units_mirrored(const Network& network, std::size_t l, const std::vector<Index>& units) {
  Network out = network;
  const ActivationRow* row = find_activation(network.activation);
  if (row == nullptr) return out;
  const double twice = 2 * row->value(0, activation_parameter(network.activation));
  for (const Index i : units) {
    out.layers[l].W.row(i) *= -1;
    out.layers[l].b(i) *= -1;
    if (row->symmetry != Symmetry::kOdd) continue;
    Layer& next = out.layers[l + 1];
    next.b += twice * next.W.col(i);
    next.W.col(i) *= -1;
  }
  return out;
}

Network in_tanh_units(const Network& network) {
  if (network.activation != "sigmoid") return network;
  Network out = network;
  out.activation = "tanh";
  for (std::size_t l = 0; l + 1 < out.layers.size(); ++l) {
    out.layers[l].W /= 2;
    out.layers[l].b /= 2;
    Layer& next = out.layers[l + 1];
    next.W /= 2;
    next.b += next.W.rowwise().sum();
  }
  return out;
}

Network in_sigmoid_units(const Network& network) {
  if (network.activation != "tanh") return network;
  Network out = network;
  out.activation = "sigmoid";
  for (std::size_t l = 0; l + 1 < out.layers.size(); ++l) {
    out.layers[l].W *= 2;
    out.layers[l].b *= 2;
    Layer& next = out.layers[l + 1];
    next.b -= next.W.rowwise().sum();
    next.W *= 2;
  }
  return out;
}

Network canonical_units(const Network& network) {
  const Rectifier unit = parse_rectifier(network.activation);
  const ActivationRow* row = find_activation(network.activation);
  Network out = network;
  for (std::size_t l = 0; l + 1 < out.layers.size(); ++l) {
    std::vector<Index> kept;
    for (Index i = 0; i < out.layers[l].W.rows(); ++i) {
      const auto a = out.layers[l + 1].W.col(i);
      if (a.isZero(0)) continue;
      const double size = out.layers[l].W.row(i).norm();
      if (size == 0) {
        out.layers[l + 1].b += unit(out.layers[l].b(i)) * a;
        continue;
      }
      kept.push_back(i);
      if (!unit.multiplicative()) continue;
      out.layers[l].W.row(i) /= size;
      out.layers[l].b(i) /= size;
      out.layers[l + 1].W.col(i) *= std::pow(size, unit.degree);
    }
    reorder(out, l, kept);
    if (row != nullptr && network.activation == "sin") {
      for (Index i = 0; i < out.layers[l].W.rows(); ++i) place_phase(out, l, i);
    } else if (row != nullptr && (row->symmetry == Symmetry::kOdd || row->symmetry == Symmetry::kEven)) {
      out = with_units_mirrored(out, l, to_be_mirrored(out, l, row->symmetry));
    }
  }
  for (std::size_t l = 0; l + 1 < out.layers.size(); ++l) {
    const Vector strength = above(out, l).colwise().norm();
    const Matrix rows = out.layers[l].W;
    std::vector<Index> order(place(strength.size()));
    for (Index i = 0; i < strength.size(); ++i) order[place(i)] = i;
    std::sort(order.begin(), order.end(), [&](Index i, Index j) {
      if (strength(i) != strength(j)) return strength(i) > strength(j);
      for (Index a = 0; a < rows.cols(); ++a)
        if (rows(i, a) != rows(j, a)) return rows(i, a) > rows(j, a);
      return false;
    });
    reorder(out, l, order);
  }
  return out;
}

}  // namespace exhume
