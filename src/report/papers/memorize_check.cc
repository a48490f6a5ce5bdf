#include "report/papers/memorize_check.h"

#include <fmt/format.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "exhume/error.h"
#include "exhume/memorize.h"
#include "exhume/version.h"
#include "papers/memorize/measure.h"
#include "report/certificate_diff.h"
#include "report/report.h"

namespace exhume {
namespace {

// Rows that were read and perturbed again, of their largest entry.
constexpr double kSameRows = 1e-12;

struct AllRows {
  explicit AllRows(const SamplePtr& samples) {
    SampleBlock block;
    const SamplePtr rows = load(*samples);
    rows->read(0, rows->rows(), block);
    x = block.x();
    y = block.y();
  }
  RowMatrix x, y;
};

bool same_rows(const RowMatrix& a, const RowMatrix& b) {
  return a.rows() == b.rows() && a.cols() == b.cols() &&
         (a.size() == 0 || (a - b).cwiseAbs().maxCoeff() <= kSameRows * b.cwiseAbs().maxCoeff());
}

class MemorizedCheck {
 public:
  MemorizedCheck(const Document& document, const QuadraticNetwork& network, const SamplePtr& memorised,
                 const SamplePtr& given, const Control& control)
      : stated_(document.json), network_(network), memorised_(memorised), given_(given), control_(control) {}

  std::vector<Finding> run() {
    try {
      compare();
    } catch (const DataError& error) {
      bad("certificate", error.what());
    } catch (const std::invalid_argument& error) {
      bad("certificate", error.what());
    }
    return std::move(findings_);
  }

 private:
  void bad(std::string part, std::string what) {
    findings_.push_back({std::move(part), Outcome::kBad, std::move(what)});
  }

  void compare() {
    const std::optional<MemorizeMethod> method = memorize_method(words(at(stated_, "method")));
    const double tolerance = number_of(at(stated_, "tolerance")), perturb = number_of(at(stated_, "perturb"));
    if (!method || !(tolerance > 0) || !(perturb >= 0)) {
      bad("certificate", "it states no method, tolerance or perturbation that is one");
      return;
    }
    MemorizeOptions options;
    options.method = *method;
    options.tolerance = tolerance;
    options.perturb = perturb;
    for (const KernelSolver solver :
         {KernelSolver::kCholesky, KernelSolver::kPivoted, KernelSolver::kConjugateGradients}) {
      if (words(at(stated_, "solver")) == to_string(solver)) options.closed_form.solver = solver;
    }
    const Json& seed = at(stated_, "seed");
    options.seed = seed.is_number_unsigned() ? seed.get<std::uint64_t>() : 0;
    MemorizeResult result;
    result.method = *method;
    result.perturb = perturb;
    result.tolerance = tolerance;
    result.certificate.route = to_string(*method);
    result.certificate.seed = options.seed;
    result.network = network_;
    AllRows rows(memorised_);
    result.inputs = std::move(rows.x);
    result.targets = std::move(rows.y);
    result.certificate.rows = result.certificate.samples = result.inputs.rows();
    for (const Json& descent : at(stated_, "descent")) result.descents.push_back(stated_descent(descent));
    const Json& first = at(stated_, "descent");
    if (first.is_array() && !first.empty()) {
      const double epsilon = number_of(at(at(first[0], "theorem4"), "epsilon"));
      if (epsilon > 0) options.descent.epsilon = epsilon;
    }
    DiffRules rules;
    rules.rounding = true;
    rules.same_version = words(at(stated_, "version")) == kVersion;
    rules.open = {"descent.outcome", "descent.iterations", "descent.perturbations", "descent.seconds"};
    const std::optional<RowMatrix> given = given_rows(result, options);
    if (!given) {
      for (const char* key : {"given_relative_error", "given_accuracy", "classes"})
        rules.open.emplace_back(key);
      if (perturb > 0) rules.open.emplace_back("sections");
    }
    measure_again(result, given.value_or(result.inputs), options, control_);
    const std::vector<std::string> found = differences(stated_, make_document(result).json, rules);
    for (const std::string& what : found) bad("certificate", what);
    if (found.empty()) {
      findings_.push_back(
          {"certificate", Outcome::kGood, "its numbers are those that the network and its rows give"});
    }
  }

  // How it went, as stated; where it ended is measured.
  static Descent stated_descent(const Json& json) {
    Descent descent;
    for (const DescentOutcome outcome : {DescentOutcome::kTarget, DescentOutcome::kLocalMinimum,
                                         DescentOutcome::kIterations, DescentOutcome::kTime}) {
      if (words(at(json, "outcome")) == to_string(outcome)) descent.outcome = outcome;
    }
    const auto count = [&](const char* key) {
      const double value = number_of(at(json, key));
      return value >= 0 && value < 1e9 ? static_cast<int>(value) : 0;
    };
    descent.iterations = count("iterations");
    descent.perturbations = count("perturbations");
    return descent;
  }

  // The rows as they were given, where their files are there: those that were memorised are made of them.
  std::optional<RowMatrix> given_rows(MemorizeResult& result, const MemorizeOptions& options) {
    if (!given_) {
      findings_.push_back(
          {"samples", Outcome::kUnchecked,
           "the rows before they were perturbed are not there: errors on them were not checked"});
      return std::nullopt;
    }
    auto [x, y] = AllRows(given_);
    if (!at(stated_, "classes").is_null()) y = one_hot(y, &result.classes);
    if (!same_rows(y, result.targets)) bad("samples", "the labels memorised are not those that were given");
    for (const bool normalised : {false, true}) {
      const RowMatrix rows = normalised ? unit_rows(x) : x;
      if (same_rows(perturbed(rows, options.perturb, options.seed), result.inputs)) return rows;
    }
    bad("samples", "the rows memorised are not those that were given, perturbed as stated");
    return std::nullopt;
  }

  const Json& stated_;
  const QuadraticNetwork& network_;
  const SamplePtr& memorised_;
  const SamplePtr& given_;
  const Control& control_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> check_memorized_by_rows(const Document& document, const QuadraticNetwork& network,
                                             const SamplePtr& memorised, const SamplePtr& given,
                                             const Control& control) {
  return MemorizedCheck(document, network, memorised, given, control).run();
}

}  // namespace exhume
