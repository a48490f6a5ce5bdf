#include "exhume/memorize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>
#include <utility>

#include "base/blas.h"
#include "base/random.h"
#include "base/stage_clock.h"
#include "exhume/error.h"
#include "exhume/papers/memorize.h"
#include "papers/memorize/measure.h"

namespace exhume {
namespace {

constexpr std::size_t kMostClasses = 1000;
constexpr Index kConflictsNamed = 5;

bool whole(double value) { return value == std::round(value) && std::abs(value) <= 0x1p53; }

void require_finite(const Eigen::Ref<const RowMatrix>& values, const char* what) {
  for (Index i = 0; i < values.rows(); ++i) {
    for (Index j = 0; j < values.cols(); ++j) {
      if (!std::isfinite(values(i, j))) {
        throw DataError(fmt::format("{} hold {} in row {}, column {} (counting from 0); remove or replace it",
                                    what, values(i, j), i, j));
      }
    }
  }
}

// "3 layers with features k = 58 and power p = 3", or why there is no such thing.
std::string way_out(Index n, Index d) {
  const std::optional<ThreeLayerSize> size = three_layer_size(n, d);
  if (!size) {
    return fmt::format(
        "with {} input column{} no size would do: every network of this kind is a multiple of one function",
        d, d == 1 ? "" : "s");
  }
  return fmt::format("three layers would do: layers 3, features {} (2 ceil(sqrt n)), power {}",
                     size->features, size->power);
}

// Chooses layers, k and p, or refuses.
struct Shape {
  int layers = 2;
  Index features = 0;
  int power = 1;
  double capacity = 0;
};
Shape choose_shape(Index n, Index d, const MemorizeOptions& options) {
  Shape shape;
  const double rows = static_cast<double>(n);
  shape.layers = options.layers;
  if (shape.layers == 0)
    shape.layers = options.features > 0 || options.power > 0 || rows > two_layer_capacity(d) ? 3 : 2;
  if (shape.layers == 2) {
    shape.capacity = two_layer_capacity(d);
    if (rows > shape.capacity) {
      throw DataError(
          fmt::format("{} rows are more than the {:.0f} = d(d+1)/2 that two quadratic layers on d = {} "
                      "inputs can fit; {}",
                      n, shape.capacity, d, way_out(n, d)));
    }
    return shape;
  }
  const std::optional<ThreeLayerSize> size = three_layer_size(n, d);
  shape.features =
      options.features > 0 ? options.features : 2 * static_cast<Index>(std::ceil(std::sqrt(rows)));
  shape.power = options.power > 0 ? options.power : (size ? size->power : 2);
  shape.capacity = three_layer_capacity(d, shape.features, shape.power);
  if (rows > shape.capacity) {
    throw DataError(
        fmt::format("{} rows are more than the {:.0f} = min(k(k+1)/2, C(d+2p-1, 2p)) that three layers with "
                    "d = {}, k = {} and p = {} can fit; {}",
                    n, shape.capacity, d, shape.features, shape.power, way_out(n, d)));
  }
  return shape;
}

void refuse_conflicts(const Eigen::Ref<const RowMatrix>& x, const Eigen::Ref<const RowMatrix>& y,
                      int degree) {
  const std::vector<Conflict> conflicts = find_conflicts(x, y, degree, kConflictsNamed + 1);
  if (conflicts.empty()) return;
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(conflicts.size(), kConflictsNamed); ++i) {
    text += (i > 0 ? "; " : "") + conflicts[i].describe(y);
  }
  if (conflicts.size() > kConflictsNamed) text += "; and more";
  throw DataError(text +
                  " (rows counted from 0); no network of this kind fits them as they are; perturbed inputs "
                  "can be fitted (perturb 0.01 or so)");
}

}  // namespace

const char* to_string(MemorizeMethod method) {
  switch (method) {
    case MemorizeMethod::kClosedForm:
      return "closed";
    case MemorizeMethod::kPgd:
      return "pgd";
    case MemorizeMethod::kPgdPrinted:
      return "pgd-printed";
    case MemorizeMethod::kAdam:
      return "adam";
  }
  return "";
}

std::optional<MemorizeMethod> memorize_method(std::string_view name) {
  for (const MemorizeMethod method : {MemorizeMethod::kClosedForm, MemorizeMethod::kPgd,
                                      MemorizeMethod::kPgdPrinted, MemorizeMethod::kAdam}) {
    if (name == to_string(method)) return method;
  }
  return std::nullopt;
}

void MemorizeOptions::validate() const {
  if (layers != 0 && layers != 2 && layers != 3)
    throw std::invalid_argument(fmt::format("layers is {}; it must be 2, 3 or 0 for automatic", layers));
  if (hidden < 0 || hidden % 2 != 0) {
    throw std::invalid_argument(
        fmt::format("hidden is {}; it must be even, half of the units have sign +1 and half -1", hidden));
  }
  if (features < 0) {
    throw std::invalid_argument(
        fmt::format("features is {}; it must be positive, or 0 for automatic", features));
  }
  if (power < 0 || power > 64)
    throw std::invalid_argument(fmt::format("power is {}; it must be 1 to 64, or 0 for automatic", power));
  if (layers == 2 && (features > 0 || power > 0)) {
    throw std::invalid_argument(
        fmt::format("features ({}) and power ({}) belong to three layers, but layers is 2", features, power));
  }
  if (!(perturb >= 0) || !std::isfinite(perturb))
    throw std::invalid_argument(fmt::format("perturb is {}; it must be 0 or more", perturb));
  if (!(tolerance > 0))
    throw std::invalid_argument(fmt::format("tolerance is {}; it must be positive", tolerance));
  closed_form.validate();
  descent.validate();
}

LabelKind label_kind(const Eigen::Ref<const RowMatrix>& y) {
  if (y.cols() == 1) {
    return y.unaryExpr([](double v) { return whole(v) ? 0.0 : 1.0; }).sum() == 0 ? LabelKind::kInteger
                                                                                 : LabelKind::kReal;
  }
  for (Index i = 0; i < y.rows(); ++i) {
    Index ones = 0;
    for (Index j = 0; j < y.cols(); ++j) {
      if (y(i, j) == 1) {
        ++ones;
      } else if (y(i, j) != 0) {
        return LabelKind::kReal;
      }
    }
    if (ones != 1) return LabelKind::kReal;
  }
  return LabelKind::kOneHot;
}

double accuracy(LabelKind kind, const Eigen::Ref<const RowMatrix>& values,
                const Eigen::Ref<const RowMatrix>& y) {
  if (kind == LabelKind::kReal || y.rows() == 0) return 1;
  Index right = 0;
  for (Index i = 0; i < y.rows(); ++i) {
    if (kind == LabelKind::kInteger) {
      right += std::round(values(i, 0)) == y(i, 0);
    } else {
      Index best = 0, wanted = 0;
      values.row(i).maxCoeff(&best);
      y.row(i).maxCoeff(&wanted);
      right += best == wanted;
    }
  }
  return static_cast<double>(right) / static_cast<double>(y.rows());
}

RowMatrix one_hot(const Eigen::Ref<const RowMatrix>& y, std::vector<double>* classes) {
  if (y.cols() != 1 || label_kind(y) != LabelKind::kInteger)
    throw DataError("class labels must be one column of whole numbers");
  const std::set<double> distinct(y.data(), y.data() + y.size());
  if (distinct.size() > kMostClasses) {
    throw DataError(fmt::format("the labels have {} distinct values; as classes, at most {} are taken",
                                distinct.size(), kMostClasses));
  }
  const std::vector<double> sorted(distinct.begin(), distinct.end());
  RowMatrix hot = RowMatrix::Zero(y.rows(), static_cast<Index>(sorted.size()));
  for (Index i = 0; i < y.rows(); ++i) {
    hot(i, std::lower_bound(sorted.begin(), sorted.end(), y(i, 0)) - sorted.begin()) = 1;
  }
  if (classes != nullptr) *classes = sorted;
  return hot;
}

namespace {

// The random first layer of three, or none.
void start_network(MemorizeResult& result, const Shape& shape, std::uint64_t seed) {
  const Index n = result.inputs.rows(), d = result.inputs.cols(), m = result.targets.cols();
  Index width = d;
  if (shape.layers == 3) {
    // Scaled so that the entries of R x are of order 1 whatever the units of x.
    const double scale = std::sqrt(result.inputs.squaredNorm() / static_cast<double>(n));
    result.network.R =
        Stream(seed, "memorize first layer").normal_matrix(shape.features, d) / (scale > 0 ? scale : 1);
    result.network.power = shape.power;
    width = shape.features;
  }
  result.network.W = Matrix::Zero(0, width);
  result.network.A = Matrix::Zero(m, 0);
}

DescentOptions::Rule rule_of(MemorizeMethod method) {
  switch (method) {
    case MemorizeMethod::kPgd:
      return DescentOptions::Rule::kPractical;
    case MemorizeMethod::kPgdPrinted:
      return DescentOptions::Rule::kPrinted;
    default:
      return DescentOptions::Rule::kAdam;
  }
}

// One descent an output, each with units of its own.
void descend_outputs(MemorizeResult& result, const RowMatrix& z, const MemorizeOptions& options,
                     const Control& control) {
  const Index k = z.cols(), m = result.targets.cols(),
              units = options.hidden > 0 ? options.hidden : 2 * k + 2;
  DescentOptions descent = options.descent;
  descent.seed = options.seed;
  descent.target = options.tolerance;
  descent.sigma = result.closed_form.sigma_min;
  descent.rule = rule_of(options.method);
  if (descent.rule == DescentOptions::Rule::kPrinted && !(descent.sigma > 0)) {
    throw DataError(fmt::format(
        "the rows are not in general position (rank {} of {}), and Theorem 4 has no constants for "
        "them; perturb the inputs (perturb 0.01 or so)",
        result.closed_form.rank, z.rows()));
  }
  result.network.W = Matrix::Zero(units * m, k);
  result.network.A = Matrix::Zero(m, units * m);
  for (Index o = 0; o < m; ++o) {
    const Vector labels = result.targets.col(o);
    Descent one = descend(z, labels, units, descent, control);
    result.network.W.middleRows(o * units, units) = one.W;
    result.network.A.row(o).segment(o * units, units / 2).setOnes();
    result.network.A.row(o).segment(o * units + units / 2, units / 2).setConstant(-1);
    const QuadraticObjective objective(z, labels, units, 0, control);
    result.stationarity.push_back(
        certify_stationarity(objective, objective.at(one.W), result.closed_form.sigma_min));
    result.descents.push_back(std::move(one));
  }
}

// What would bring the rows into general position. Powers of features make long rows outweigh short ones by
// the ratio of their lengths to the power 2p, more than doubles hold; normalised rows do without.
std::string position_remedy(const MemorizeResult& result, const MemorizeOptions& options) {
  constexpr double kUneven = 1.5;
  const Vector lengths = result.inputs.rowwise().norm();
  if (!options.normalize && lengths.maxCoeff() > kUneven * lengths.minCoeff()) {
    return "dividing the rows by their norms (normalize) or perturbing the inputs (perturb 0.01 or so) would "
           "help";
  }
  return result.layers == 2
             ? "perturbing the inputs (perturb 0.01 or so) or three layers would help"
             : "fewer rows, more inputs, or perturbing the inputs (perturb 0.01 or so) would help";
}

// Why the labels are not met.
std::string shortfall(const MemorizeResult& result, const MemorizeOptions& options) {
  const ClosedForm& closed = result.closed_form;
  if (!closed.full_rank) {
    return fmt::format(
        "the rows are not in general position: only {} of {} columns x (x) x are independent, and the best "
        "fit leaves a relative error of {:.1e}; {}",
        closed.rank, result.inputs.rows(), result.relative_error, position_remedy(result, options));
  }
  if (!closed.in_general_position()) {
    return fmt::format(
        "the rows are not in general position as far as doubles can tell: the kernel's condition number is "
        "{:.1e}, and the fit leaves a relative error of {:.1e}; {}",
        closed.condition, result.relative_error, position_remedy(result, options));
  }
  if (options.method != MemorizeMethod::kClosedForm) {
    return fmt::format(
        "the descent stopped ({}) at a relative error of {:.1e}, above {:g}; more iterations or the closed "
        "form "
        "would go on",
        result.descents.empty() ? "" : to_string(result.descents.front().outcome), result.relative_error,
        options.tolerance);
  }
  return fmt::format(
      "the fit leaves a relative error of {:.1e}, above {:g}: the kernel's condition number is {:.1e}; "
      "perturbing "
      "the inputs makes it smaller",
      result.relative_error, options.tolerance, closed.condition);
}

void judge(MemorizeResult& result, const RowMatrix& given, const MemorizeOptions& options) {
  const RowMatrix values = evaluate(result.network, result.inputs),
                  on_given = evaluate(result.network, given);
  result.relative_error = relative_error(values, result.targets);
  result.given_relative_error = relative_error(on_given, result.targets);
  result.worst_error = (values - result.targets).cwiseAbs().maxCoeff();
  result.accuracy = accuracy(result.labels, values, result.targets);
  result.given_accuracy = accuracy(result.labels, on_given, result.targets);
  const Index n = result.inputs.rows();
  Checks checks;
  checks.note("rows in general position: rank", static_cast<double>(result.closed_form.rank),
              static_cast<double>(n), result.closed_form.in_general_position());
  const std::string otherwise = shortfall(result, options);
  checks.require("labels met: relative error", result.relative_error, options.tolerance,
                 result.relative_error <= options.tolerance, otherwise);
  checks.require("labels right: share", result.accuracy, 1, result.accuracy == 1, otherwise);
  std::move(checks).conclude(result.certificate,
                             fmt::format("{} labels of {} row{} are fitted to a relative error of {:.1e}",
                                         result.targets.size(), n, n == 1 ? "" : "s", result.relative_error));
}

}  // namespace

void measure_again(MemorizeResult& result, const RowMatrix& given, const MemorizeOptions& options,
                   const Control& control) {
  const SingleThreadedBlas single;
  const QuadraticNetwork& network = result.network;
  const Index n = result.inputs.rows(), m = result.targets.cols(), r = network.hidden();
  if (n == 0 || result.targets.rows() != n || given.rows() != n || given.cols() != result.inputs.cols() ||
      network.inputs() != result.inputs.cols() || network.outputs() != m)
    throw DataError("the network and the rows beside it do not fit together");
  result.layers = network.three_layers() ? 3 : 2;
  result.power = network.power;
  result.capacity = network.three_layers()
                        ? three_layer_capacity(network.inputs(), network.features(), network.power)
                        : two_layer_capacity(network.inputs());
  result.labels = label_kind(result.targets);
  const RowMatrix z = first_layer(network, result.inputs);
  result.closed_form = fit_closed_form(z, result.targets, options.closed_form, control);
  result.closed_form.forms.clear();
  if (options.method != MemorizeMethod::kClosedForm) {
    const Index units = r / std::max<Index>(m, 1);
    if (units < 2 || units * m != r || units % 2 != 0 || static_cast<Index>(result.descents.size()) != m) {
      throw DataError(
          "a descent has as many units for every output, half of either sign; this network has not");
    }
    for (Index o = 0; o < m; ++o) {
      const Vector labels = result.targets.col(o);
      const QuadraticObjective objective(z, labels, units, 0, control);
      const QuadraticObjective::Point point = objective.at(network.W.middleRows(o * units, units));
      Descent& descent = result.descents[static_cast<std::size_t>(o)];
      descent.f = point.f;
      if (options.method == MemorizeMethod::kPgdPrinted) {
        descent.constants =
            theorem_constants(z, labels, units, result.closed_form.sigma_min, options.descent.epsilon,
                              options.descent.c, options.descent.delta);
      }
      result.stationarity.push_back(certify_stationarity(objective, point, result.closed_form.sigma_min));
    }
  }
  judge(result, given, options);
}

MemorizeResult memorize(const Eigen::Ref<const RowMatrix>& x, const Eigen::Ref<const RowMatrix>& y,
                        const MemorizeOptions& options, const Control& control) {
  options.validate();
  const StageClock clock;
  if (x.rows() != y.rows())
    throw DataError(fmt::format("there are {} rows of inputs but {} of labels", x.rows(), y.rows()));
  if (x.rows() == 0 || x.cols() == 0 || y.cols() == 0)
    throw DataError("there is nothing to memorise: no rows or no columns");
  require_finite(x, "the inputs");
  require_finite(y, "the labels");
  const SingleThreadedBlas single;
  MemorizeResult result;
  result.method = options.method;
  result.certificate.route = to_string(options.method);
  result.perturb = options.perturb;
  result.tolerance = options.tolerance;
  result.certificate.seed = options.seed;
  result.certificate.rows = result.certificate.samples = x.rows();
  result.targets =
      options.classes && label_kind(y) != LabelKind::kOneHot ? one_hot(y, &result.classes) : RowMatrix(y);
  result.labels = label_kind(result.targets);
  const RowMatrix given = options.normalize ? unit_rows(x) : RowMatrix(x);
  result.inputs = perturbed(given, options.perturb, options.seed);

  const Shape shape = choose_shape(x.rows(), x.cols(), options);
  result.layers = shape.layers;
  result.power = shape.power;
  result.capacity = shape.capacity;
  refuse_conflicts(result.inputs, result.targets, 2 * shape.power);
  start_network(result, shape, options.seed);
  const RowMatrix z = first_layer(result.network, result.inputs);
  result.closed_form = fit_closed_form(z, result.targets, options.closed_form, control);
  if (options.method == MemorizeMethod::kClosedForm) {
    set_quadratic_forms(result.network, result.closed_form.forms);
  } else {
    descend_outputs(result, z, options, control);
  }
  result.closed_form.forms.clear();
  judge(result, given, options);
  result.certificate.tried = {{result.certificate.route, result.certificate.reason}};
  const ClosedForm& c = result.closed_form;
  result.certificate.timings = {{"kernel", c.kernel_seconds},
                                {"factor", c.factor_seconds},
                                {"solve", c.solve_seconds},
                                {"spectrum", c.spectrum_seconds}};
  if (!result.descents.empty()) {
    double seconds = 0;
    for (const Descent& descent : result.descents) seconds += descent.seconds;
    result.certificate.timings.push_back({"descent", seconds});
  }
  result.seconds = clock.seconds();
  return result;
}

}  // namespace exhume
