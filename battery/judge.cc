#include "judge.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "exhume/error.h"
#include "exhume/recover.h"

namespace exhume {
namespace {

constexpr double kBudgetSeconds = 30;
// Weights that are said to be determined better than this are asked for no more.
constexpr double kWeightError = 1e-7;
constexpr double kStandardErrors = 6;
// What the evaluation of two networks in doubles leaves, as a share of the outputs' mean square: rounding of
// some hundred units in the last place.
constexpr double kEvaluation = 1e-27;

double certified_weights_off(const Result& result, const Network& teacher) {
  const Alignment alignment = align(result.network, teacher);
  if (!alignment.comparable) return std::numeric_limits<double>::infinity();
  const Network truth = canonical(teacher);
  const double scale = std::max({1.0, truth.b().cwiseAbs().maxCoeff(), truth.A().cwiseAbs().maxCoeff()});
  const double delta = result.errors.identifiability ? result.errors.identifiability->delta : 0;
  return alignment.worst_error / std::max(delta, kWeightError * scale);
}

// The largest difference of a weight from the truth, in standard errors.
double largest_deviation(const Result& result, const Network& teacher) {
  const Network truth = canonical(teacher), &found = result.network, &errors = result.errors.standard_errors;
  if (errors.W().size() == 0) return 0;  // none stated
  const Alignment order = align(found, truth);
  if (!order.comparable) return std::numeric_limits<double>::infinity();
  double most = 0;
  const auto look = [&](double difference, double error) {
    const double rounding = 1e-12 * std::max(1.0, std::abs(difference));
    most = std::max(most, std::abs(difference) / std::max(error, rounding));
  };
  for (Index i = 0; i < found.hidden(); ++i) {
    const Index j = order.match[0][static_cast<size_t>(i)];
    for (Index a = 0; a < found.inputs(); ++a) look(found.W(i, a) - truth.W()(j, a), errors.W()(i, a));
    look(found.b(i) - truth.b()(j), errors.b()(i));
    for (Index o = 0; o < found.outputs(); ++o) look(found.A(o, i) - truth.A()(o, j), errors.A()(o, i));
  }
  for (Index o = 0; o < found.outputs(); ++o) look(found.c(o) - truth.c()(o), errors.c()(o));
  return most;
}

std::string what_is_untrue(const Kind& kind, const Instance& instance, const Result& result, double error) {
  if (!stands(result.certificate.status)) return "";
  const double mean_square = instance.fresh_f.squaredNorm() / static_cast<double>(instance.fresh_f.rows());
  if (!(error <= result.errors.functional_error_bound + kEvaluation * mean_square))
    return fmt::format("E|f - fhat|^2 {:.3g}, bound {:.3g}", error, result.errors.functional_error_bound);
  const Network& teacher = instance.teacher;
  if (result.certificate.status == Status::kCertified) {
    if (kind.truth == Truth::kOutside) return "no network of ReLUs";
    if (kind.truth == Truth::kNoise) return "there is noise";
    const double off = certified_weights_off(result, teacher);
    return off > 1 ? fmt::format("weights {:.3g} times the stated error", off) : "";
  }
  // With fewer units than the teacher, the assumption is not met: the bound must hold all the same.
  if (kind.truth == Truth::kOutside || result.network.hidden() < teacher.hidden()) return "";
  const double off = largest_deviation(result, teacher);
  return off > kStandardErrors ? fmt::format("weights {:.3g} standard errors off", off) : "";
}

}  // namespace

Judgement judge(const Kind& kind, std::uint64_t seed) {
  Judgement out;
  const Instance instance = kind.make(seed);
  RecoverOptions options;
  options.seed = seed;
  if (instance.hidden) options.widths = {*instance.hidden};
  options.budget_seconds = kBudgetSeconds;
  Control control;
  control.threads = 1;
  const auto start = std::chrono::steady_clock::now();
  const auto stop = [&] {
    out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  try {
    const Result result = recover(memory_samples(instance.x, instance.y), options, control);
    stop();
    out.status = result.certificate.status;
    out.reason = result.certificate.reason;
    for (const Attempt& attempt : result.certificate.tried)
      out.tried += fmt::format("  {}: {}\n", attempt.route, attempt.outcome);
    out.bound = result.errors.functional_error_bound;
    if (result.network.A().size() + result.network.c().size() > 0 &&
        result.certificate.status != Status::kRefused) {
      out.error = (evaluate(result.network, instance.fresh_x) - instance.fresh_f).squaredNorm() /
                  static_cast<double>(instance.fresh_f.rows());
      out.right_units =
          instance.teacher.hidden() > 0 && result.network.hidden() == canonical(instance.teacher).hidden();
    }
    out.untrue = what_is_untrue(kind, instance, result, out.error);
  } catch (const DataError& error) {
    stop();
    out.reason = error.what();
  }
  return out;
}

}  // namespace exhume
