#include "papers/threshold/models.h"

#include <fmt/format.h>

#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/parallel.h"
#include "base/random.h"
#include "data/require.h"
#include "linalg/orthonormal.h"

namespace exhume {
namespace {

constexpr std::pair<const char*, UnitActivation> kActivations[] = {
    {"relu", UnitActivation::kRelu},       {"sign", UnitActivation::kSign},
    {"sigmoid", UnitActivation::kSigmoid}, {"exponential", UnitActivation::kExponential},
    {"square", UnitActivation::kSquare},   {"absolute", UnitActivation::kAbsolute}};

constexpr std::pair<const char*, UpperKind> kUppers[] = {
    {"linear", UpperKind::kLinear}, {"products", UpperKind::kProducts},
    {"pairs", UpperKind::kPairs},   {"powers", UpperKind::kPowers},
    {"union", UpperKind::kUnion},   {"intersection", UpperKind::kIntersection},
    {"deep", UpperKind::kDeep}};

template <class Table>
auto parse(const Table& table, std::string_view name, std::string_view what) {
  std::string list;
  for (const auto& [text, value] : table) {
    if (name == text) return value;
    list += (list.empty() ? "" : ", ") + std::string(text);
  }
  throw std::invalid_argument(fmt::format("{} is '{}', but must be one of {}", what, name, list));
}

double sigmoid(double a) { return 1 / (1 + std::exp(-a)); }

double power(double base, int exponent) {
  double value = 1;
  for (int i = 0; i < exponent; ++i) value *= base;
  return value;
}

// Sums over columns, never BLAS: a row's bits must not depend on the rows made with it.
class ModelSamples final : public SampleSource {
 public:
  ModelSamples(const ThresholdModel& model, const ThresholdSampling& options)
      : model_(model),
        options_(options),
        x_(options.seed, "threshold inputs"),
        noise_(options.seed, "threshold noise"),
        flips_(options.seed, "threshold flips") {}
  Index rows() const override { return options_.samples; }
  Index inputs() const override { return model_.inputs(); }
  Index outputs() const override { return 1; }
  void read(Index first, Index count, SampleBlock& block) const override {
    block.allocate(first, count, inputs(), 1);
    RowMatrix& x = block.own_x();
    x_.fill_normal(static_cast<std::uint64_t>(first), x);
    for (Index r = 0; r < count; ++r) {
      const auto row = static_cast<std::uint64_t>(first + r);
      double f = model_(x.row(r).transpose());
      if (options_.flips > 0 && flips_.uniforms(row, 0).first < options_.flips) f = 1 - f;
      if (options_.noise > 0) f += options_.noise * noise_.normals(row, 0).first;
      block.own_y()(r, 0) = f;
    }
  }

 private:
  ThresholdModel model_;
  ThresholdSampling options_;
  Stream x_, noise_, flips_;
};

}  // namespace

UnitActivation parse_unit_activation(std::string_view name) {
  return parse(kActivations, name, "activation");
}

UpperKind parse_upper(std::string_view name) { return parse(kUppers, name, "upper"); }

const char* to_string(UnitActivation activation) {
  for (const auto& [text, value] : kActivations) {
    if (value == activation) return text;
  }
  return "";
}

double activate(UnitActivation activation, double a) {
  switch (activation) {
    case UnitActivation::kRelu:
      return std::max(a, 0.0);
    case UnitActivation::kSign:
      return a > 0 ? 1 : 0;
    case UnitActivation::kSigmoid:
      return sigmoid(a);
    case UnitActivation::kExponential:
      return std::exp(a);
    case UnitActivation::kSquare:
      return a * a;
    case UnitActivation::kAbsolute:
      return std::abs(a);
  }
  return 0;
}

void ThresholdModel::validate() const {
  if (W.rows() < 1 || W.cols() < 1 || t.size() != W.rows() || !W.allFinite() || !t.allFinite()) {
    throw std::invalid_argument(fmt::format(
        "threshold model: W is {} x {} and t has {} entries; one finite threshold a row is needed", W.rows(),
        W.cols(), t.size()));
  }
  if (const auto* polynomial = std::get_if<PolynomialTop>(&upper)) {
    for (const Monomial& term : polynomial->terms) {
      for (const auto& [unit, exponent] : term.factors) {
        if (unit < 0 || unit >= hidden() || exponent < 1) {
          throw std::invalid_argument(fmt::format(
              "threshold model: a term has unit {} to the power {}; units go from 0 to {}, powers from 1",
              unit, exponent, hidden() - 1));
        }
      }
    }
  } else if (const auto* layers = std::get_if<LayersTop>(&upper)) {
    Index width = hidden();
    for (std::size_t l = 0; l < layers->W.size(); ++l) {
      if (layers->W[l].cols() != width || layers->b.size() != layers->W.size() ||
          layers->b[l].size() != layers->W[l].rows()) {
        throw std::invalid_argument(
            fmt::format("threshold model: layer {} does not fit the one below it", l + 2));
      }
      width = layers->W[l].rows();
    }
    if (layers->W.empty() || width != 1)
      throw std::invalid_argument("threshold model: the last layer needs one row");
  }
}

double ThresholdModel::top(const Eigen::Ref<const Vector>& X) const {
  if (const auto* polynomial = std::get_if<PolynomialTop>(&upper)) {
    double f = polynomial->constant;
    for (const Monomial& term : polynomial->terms) {
      double product = term.coefficient;
      for (const auto& [unit, exponent] : term.factors) {
        if (X(unit) == 0) {
          product = 0;
          break;
        }
        product *= power(X(unit), exponent);
      }
      f += product;
    }
    return f;
  }
  if (const auto* gate = std::get_if<GateTop>(&upper)) {
    const bool any = (X.array() > 0).any();
    return any == (*gate == GateTop::kUnion) ? 1 : 0;
  }
  const auto& layers = std::get<LayersTop>(upper);
  Vector h = X;
  for (std::size_t l = 0; l < layers.W.size(); ++l) {
    Vector next = layers.b[l];
    for (Index j = 0; j < h.size(); ++j) next += h(j) * layers.W[l].col(j);
    h = next.unaryExpr([](double a) { return sigmoid(a); });
  }
  return h(0);
}

double ThresholdModel::operator()(const Eigen::Ref<const Vector>& x) const {
  Vector X = -t;
  for (Index j = 0; j < W.cols(); ++j) X += x(j) * W.col(j);
  X = X.unaryExpr([this](double a) { return activate(activation, a); });
  return top(X);
}

Vector evaluate(const ThresholdModel& model, const Eigen::Ref<const RowMatrix>& x) {
  Vector f(x.rows());
  for (Index r = 0; r < x.rows(); ++r) f(r) = model(x.row(r).transpose());
  return f;
}

Matrix orthonormal_directions(Index k, Index d, std::uint64_t seed) {
  if (k > d || k < 1)
    throw std::invalid_argument(fmt::format("{} orthonormal directions do not exist in R^{}", k, d));
  const Matrix G = Stream(seed, "threshold directions").normal_matrix(d, d);
  return orthonormal_basis(G).leftCols(k).transpose();
}

Matrix spread_directions(Index k, Index d, double least_angle, std::uint64_t seed) {
  constexpr std::uint64_t kMostDraws = 100000;
  const Stream stream(seed, "threshold directions");
  const double most = std::cos(least_angle);
  Matrix W(k, d);
  RowMatrix draw(1, d);
  std::uint64_t row = 0;
  for (Index i = 0; i < k; ++i) {
    const std::uint64_t last = row + kMostDraws;
    while (true) {
      if (row == last) {
        throw std::invalid_argument(
            fmt::format("no place for direction {} of {} in R^{} with pairwise angles of at least {:.3g} "
                        "radians; ask for "
                        "fewer directions or a smaller angle",
                        i + 1, k, d, least_angle));
      }
      stream.fill_normal(row++, draw);
      draw.row(0).normalize();
      if (i == 0 || (W.topRows(i) * draw.row(0).transpose()).maxCoeff() <= most) break;
    }
    W.row(i) = draw.row(0);
  }
  return W;
}

void ThresholdPlan::validate() const {
  require(inputs >= 1, "inputs", static_cast<double>(inputs), "at least 1");
  require(hidden >= 1, "hidden", static_cast<double>(hidden), "at least 1");
  require(width >= 1, "width", static_cast<double>(width), "at least 1");
  require(std::isfinite(threshold), "threshold", threshold, "finite");
  require(threshold_spread >= 0 && std::isfinite(threshold_spread), "threshold_spread", threshold_spread,
          "a finite number of at least 0");
  require(least_angle < 3.15, "least_angle", least_angle, "at most pi");
  require(linear_low <= linear_high, "linear_low", linear_low, "at most linear_high");
  if (least_angle < 0) {
    require(hidden <= inputs, "hidden", static_cast<double>(hidden),
            "at most inputs where rows are orthonormal");
  }
}

ThresholdModel plant(const ThresholdPlan& plan) {
  plan.validate();
  const Index k = plan.hidden;
  ThresholdModel model;
  model.activation = plan.activation;
  model.W = plan.least_angle < 0 ? orthonormal_directions(k, plan.inputs, plan.seed)
                                 : spread_directions(k, plan.inputs, plan.least_angle, plan.seed);
  model.t =
      Stream(plan.seed, "thresholds")
          .uniform_vector(k, plan.threshold - plan.threshold_spread, plan.threshold + plan.threshold_spread);
  if (plan.threshold_spread == 0) model.t.setConstant(plan.threshold);
  if (plan.upper == UpperKind::kUnion) {
    model.upper = GateTop::kUnion;
    return model;
  }
  if (plan.upper == UpperKind::kIntersection) {
    model.upper = GateTop::kIntersection;
    return model;
  }
  if (plan.upper == UpperKind::kDeep) {
    LayersTop layers;
    const Stream stream(plan.seed, "upper layers");
    layers.W.push_back(stream.normal_matrix(plan.width, k));
    layers.b.push_back(Stream(plan.seed, "upper biases").uniform_vector(plan.width, -0.5, 0.5));
    layers.W.push_back(Stream(plan.seed, "output weights").normal_matrix(1, plan.width));
    layers.b.emplace_back(Vector::Zero(1));
    model.upper = layers;
    return model;
  }
  PolynomialTop top;
  if (plan.upper != UpperKind::kPairs) {
    const Vector linear =
        Stream(plan.seed, "linear terms").uniform_vector(k, plan.linear_low, plan.linear_high);
    for (Index i = 0; i < k; ++i) top.terms.push_back({linear(i), {{i, 1}}});
  }
  if (plan.upper == UpperKind::kPowers) {
    const Vector second = Stream(plan.seed, "squares").uniform_vector(k, 0, 1);
    const Vector third = Stream(plan.seed, "cubes").uniform_vector(k, 0, 1);
    for (Index i = 0; i < k; ++i) {
      top.terms.push_back({second(i), {{i, 2}}});
      top.terms.push_back({third(i), {{i, 3}}});
    }
  }
  if (plan.upper != UpperKind::kLinear) {
    const Vector c = Stream(plan.seed, "products").uniform_vector(k * k, -1, 1);
    for (Index i = 0; i < k; ++i) {
      for (Index j = i + 1; j < k; ++j) {
        top.terms.push_back({plan.upper == UpperKind::kPairs ? 1.0 : c(i * k + j), {{i, 1}, {j, 1}}});
      }
    }
  }
  model.upper = top;
  return model;
}

void ThresholdSampling::validate() const {
  require(samples >= 1, "samples", static_cast<double>(samples), "at least 1");
  require(noise >= 0 && std::isfinite(noise), "noise", noise, "a finite number of at least 0");
  require(flips >= 0 && flips < 0.5, "flips", flips, "at least 0 and below 0.5");
}

SamplePtr threshold_samples(const ThresholdModel& model, const ThresholdSampling& options) {
  model.validate();
  options.validate();
  if (options.flips > 0 && !std::holds_alternative<GateTop>(model.upper)) {
    throw std::invalid_argument(
        fmt::format("flips is {}, but must be 0 unless the outputs are labels", options.flips));
  }
  return std::make_shared<ModelSamples>(model, options);
}

double output_bound(const ThresholdModel& model) {
  const bool bounded =
      model.activation == UnitActivation::kSign || model.activation == UnitActivation::kSigmoid;
  if (std::holds_alternative<PolynomialTop>(model.upper)) {
    if (!bounded) return std::numeric_limits<double>::infinity();
    const auto& top = std::get<PolynomialTop>(model.upper);
    double bound = std::abs(top.constant);
    for (const Monomial& term : top.terms) bound += std::abs(term.coefficient);
    return bound;
  }
  return 1;  // labels, and sigmoids of the last layer
}

SamplePtr biased_samples(const ThresholdModel& model, Index keep, std::uint64_t seed, double bound,
                         const Control& control) {
  constexpr double kMostDraws = 1e9;
  constexpr Index kEarly = 10000000;
  model.validate();
  require(keep >= 1, "keep", static_cast<double>(keep), "at least 1");
  if (bound <= 0) bound = output_bound(model);
  require(std::isfinite(bound), "bound", bound, "finite: biased samples need sign or sigmoid units");
  const Stream inputs(seed, "biased inputs"), coins(seed, "biased coins");
  RowMatrix x(keep, model.inputs()), y(keep, 1);
  RowMatrix draw(kBlockRows, model.inputs());
  Index kept = 0;
  for (Index first = 0; kept < keep; first += kBlockRows) {
    control.check();
    control.report("keeping rows", static_cast<double>(kept) / static_cast<double>(keep));
    // Said early, once it can be foreseen.
    const double hoped = static_cast<double>(kept + 3) / static_cast<double>(first + 1) * kMostDraws;
    if (first >= kEarly && hoped < static_cast<double>(keep)) {
      throw std::invalid_argument(fmt::format(
          "biased samples: {} of {} draws were kept, too few for {} in {:.0e}; ask for fewer rows, or "
          "lower the threshold",
          kept, first, keep, kMostDraws));
    }
    inputs.fill_normal(static_cast<std::uint64_t>(first), draw);
    for (Index r = 0; r < kBlockRows && kept < keep; ++r) {
      const double f = model(draw.row(r).transpose());
      if (f < 0 || f > bound) {
        throw std::invalid_argument(
            fmt::format("biased samples: f is {} at a sample, outside of [0, {}]", f, bound));
      }
      if (coins.uniforms(static_cast<std::uint64_t>(first + r), 0).first * bound >= f) continue;
      x.row(kept) = draw.row(r);
      y(kept++, 0) = f;
    }
  }
  return memory_samples(std::move(x), std::move(y));
}

}  // namespace exhume
