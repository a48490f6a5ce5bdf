#include "report/judgement_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/limits.h"
#include "certify/certificate_json.h"
#include "certify/entry_check.h"
#include "exhume/error.h"
#include "exhume/version.h"
#include "report/certificate_diff.h"
#include "report/report.h"
#include "routes/judge_again.h"

namespace exhume {
namespace {

// Of what the route rectified-noise estimates: its fit ends elsewhere within the noise.
constexpr double kSameNoise = 0.05;
// Relative difference that two machines may make, of standard errors.
constexpr double kSame = 1e-4;
// Share of the rows' sum of squares up to which a polish stops, and the least gain that counts: in variances
// of the noise, a standard error in one weight being 1. Sums of squares have kinks: a fit may end beside the
// best one by a part of that.
constexpr double kPolished = 1e-8, kLeastGain = 1;

constexpr const char* kExactOnly = "training rows reproduced to rounding";
constexpr const char* kOfSearch = "no structure left in the rounding errors";
constexpr const char* kOfSigns = "signs decided (least margin, chi-squared)";
constexpr const char* kWidthsAsked = "widths as asked for";
// Checks whose value the route rectified-noise takes from its own search.
constexpr const char* kOwnValues[] = {"samples for every unknown", "no structure left in the residual"};
// What is compared of a result that claims nothing: what its search saw is not known.
constexpr const char* kOfAnyNetwork[] = {"kind",
                                         "inputs",
                                         "hidden_units",
                                         "outputs",
                                         "activation",
                                         "linear_term",
                                         "samples",
                                         "held_out",
                                         "rows",
                                         "searched_rows",
                                         "split",
                                         "seed",
                                         "pictures",
                                         "heldout_relative_mse",
                                         "heldout_mean_square"};
// Of pictures, those of such a result: those of errors are of what it claims.
constexpr const char* kClaimed[] = {"pictures.units", "pictures.intervals", "pictures.residuals"};

class Comparison {
 public:
  Comparison(const Json& stated, const Network& network, const SamplePtr& samples, const Control& control,
             const std::optional<Network>& errors, bool claims)
      : stated_(stated),
        network_(network),
        samples_(samples),
        control_(control),
        errors_(errors),
        claims_(claims) {}

  std::vector<Finding> run(Status status) {
    Claim claim;
    claim.status = status;
    try {
      if (!read(claim)) return std::move(findings_);
      const Judged judged = judge_again(network_, samples_, claim, control_);
      compare(judged);
    } catch (const DataError& error) {
      cannot(error.what());
    } catch (const std::invalid_argument& error) {
      cannot(error.what());
    }
    if (findings_.empty() || unchecked_only()) {
      findings_.push_back(
          {"certificate", Outcome::kGood, "its numbers are those that network and samples give"});
    }
    return std::move(findings_);
  }

 private:
  // Of a result that claims nothing there may be nothing to judge.
  void cannot(std::string what) {
    if (claims_) {
      bad(std::move(what));
    } else {
      leave("certificate", "its numbers were not computed again: " + what);
    }
  }
  void bad(std::string what) { findings_.push_back({"certificate", Outcome::kBad, std::move(what)}); }
  [[nodiscard]] bool unchecked_only() const {
    return std::none_of(findings_.begin(), findings_.end(), [](const Finding& f) { return f.bad(); });
  }

  // False, with a finding, where the certificate lacks what every one has.
  bool read(Claim& claim) {
    claim.route = words(at(stated_, "route"));
    claim.activation = words(at(stated_, "activation"));
    const Json& seed = at(stated_, "seed");
    if (!seed.is_number_unsigned()) {
      bad("it states no seed, without which the held-out rows cannot be drawn again");
      return false;
    }
    claim.seed = seed.get<std::uint64_t>();
    const auto index = [&](const Json& value) {
      const double number = number_of(value);
      return number >= 0 && number <= 1e15 ? static_cast<Index>(number) : Index{0};
    };
    claim.samples = index(at(stated_, "samples"));
    claim.period = index(at(at(stated_, "split"), "period"));
    claim.searched = index(at(stated_, "searched_rows"));
    const Json& list = at(stated_, "assumptions");
    if (!list.is_array()) {
      bad("it lists no checks");
      return false;
    }
    for (const Json& check : list) {
      const std::string name = words(at(check, "name"));
      if (name == kExactOnly) claim.exact_only = true;
      if (name == kOfSearch) claim.structure = number_of(at(check, "value"));
      if (name == kWidthsAsked) claim.widths_asked = true;
      if (name == kOfSigns && claim.route.starts_with("rectified")) {
        claim.by_signs = true;
        rules_.tolerance = kSameNoise;
        rules_.open = {"pictures.units", "pictures.intervals"};
        for (const char* own : kOwnValues) rules_.open.push_back(fmt::format("assumptions[{}].value", own));
      }
    }
    return true;
  }

  void compare(const Judged& judged) {
    Result found = judged.result;
    Certificate& certificate = found.certificate;
    // Names and shape are what the data were called: the pictures follow them.
    for (const Json& name : at(stated_, "input_names")) certificate.input_names.push_back(words(name));
    for (const Json& name : at(stated_, "output_names")) certificate.output_names.push_back(words(name));
    for (const Json& side : at(stated_, "input_shape"))
      certificate.input_shape.push_back(side.is_number_integer() ? side.get<Index>() : 0);
    for (const Json& student : at(stated_, "students")) found.diagnostics.students.push_back(trial(student));
    if (claims_ && words(at(stated_, "status")) != to_string(certificate.status)) {
      bad(fmt::format("it says {}, but the samples make it {}: {}", words(at(stated_, "status")),
                      to_string(certificate.status), certificate.reason));
      return;
    }
    const Json again = make_document(found).json;
    rules_.rounding = is_double_precision(found.precision);
    rules_.deviation = found.errors.heldout_relative_mse > 0
                           ? std::sqrt(found.errors.heldout_mean_square / found.errors.heldout_relative_mse)
                           : 1;
    rules_.same_version = words(at(stated_, "version")) == kVersion;
    rules_.open.emplace_back("students");
    rules_.checks = {kOfSearch, kOfSigns};
    if (!claims_) {
      rules_.only.assign(std::begin(kOfAnyNetwork), std::end(kOfAnyNetwork));
      rules_.open.insert(rules_.open.end(), std::begin(kClaimed), std::end(kClaimed));
    }
    for (std::string& what : differences(stated_, again, rules_)) bad(std::move(what));
    if (!claims_) return;
    say_unchecked(again);
    compare_errors(found.errors.standard_errors);
    compare_fit(judged);
  }

  // A student as the certificate states it: its row of the page must say the same.
  static StudentTrial trial(const Json& student) {
    StudentTrial out;
    for (const Json& width : at(student, "widths"))
      out.widths.push_back(width.is_number_integer() ? width.get<Index>() : 0);
    out.trained = number_of(at(student, "trained"));
    out.polished = number_of(at(student, "polished"));
    return out;
  }

  void leave(std::string part, std::string what) {
    findings_.push_back({std::move(part), Outcome::kUnchecked, std::move(what)});
  }

  void say_unchecked(const Json& again) {
    if (!rules_.same_version) {
      leave("certificate",
            fmt::format("its sentences are those of version {}, this is {}: they were not compared",
                        words(at(stated_, "version")), kVersion));
    }
    const Json& checks = at(again, "assumptions");
    for (const char* own : {kOfSearch, kOfSigns}) {
      const auto named = [&](const Json& list) {
        return std::any_of(list.begin(), list.end(),
                           [&](const Json& check) { return words(at(check, "name")) == own; });
      };
      if (named(at(stated_, "assumptions")) && (own == kOfSearch || !named(checks)))
        leave("certificate", fmt::format("only the search itself can make the check '{}' again", own));
    }
  }

  void compare_fit(const Judged& judged) {
    const Result& found = judged.result;
    if (network_.depth() > 1) {
      if (!judged.removal_tried) {
        leave("network", found.certificate.status == Status::kEstimated
                             ? "that no unit can go was tried when it was estimated, not again"
                             : "whether a unit can go was not tried to the end in time");
      }
      return;
    }
    if (judged.gained) {
      const double entries = static_cast<double>(found.certificate.samples * network_.outputs());
      if (*judged.gained > std::max(kLeastGain, kPolished * entries)) {
        bad(fmt::format(
            "a network close by fits the samples better (by {:.2g} variances of the noise): these "
            "weights are not the estimate",
            *judged.gained));
      }
    } else if (found.certificate.status == Status::kEstimated && rules_.tolerance == kSame) {
      leave("network",
            "the fit from its units did not end in time: whether noise leaves signs open was not "
            "checked again");
    }
  }

  // The standard errors that lie beside the network, weight by weight.
  void compare_errors(const Network& again) {
    if (rules_.tolerance != kSame) return;
    const bool both = errors_ && errors_->layers.size() == again.layers.size();
    bool same = both || (!errors_ && again.layers.empty());
    const auto near = [&](const Matrix& a, const Matrix& b) {
      return a.rows() == b.rows() && a.cols() == b.cols() &&
             (a.size() == 0 || (a - b).cwiseAbs().maxCoeff() <= kSame * b.cwiseAbs().maxCoeff());
    };
    for (std::size_t l = 0; both && l < again.layers.size(); ++l) {
      same = same && near(errors_->layers[l].W, again.layers[l].W) &&
             near(errors_->layers[l].b, again.layers[l].b);
    }
    if (!same) bad("the standard errors beside the network are not those that network and samples give");
  }

  const Json& stated_;
  const Network& network_;
  const SamplePtr& samples_;
  const Control& control_;
  const std::optional<Network>& errors_;
  bool claims_;
  DiffRules rules_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> check_judgement(const Document& document, const StoredModel& model,
                                     const SamplePtr& samples, const Control& control, const Beside& beside) {
  const Json& stated = document.json;
  const std::string status = words(at(stated, "status"));
  if (std::holds_alternative<StoredLayer>(model))
    return check_layer_again(document, std::get<StoredLayer>(model), samples, beside.folder, control);
  if (std::holds_alternative<QuadraticNetwork>(model))
    return check_memorized_again(document, std::get<QuadraticNetwork>(model), samples, beside.given, control);
  const auto* rectified = std::get_if<RectifiedNetwork>(&model);
  const Network& network = rectified != nullptr ? rectified->network : std::get<Network>(model);
  const bool claims = status == to_string(Status::kCertified) || status == to_string(Status::kEstimated);
  const Status as = status == to_string(Status::kEstimated) ? Status::kEstimated : Status::kCertified;
  if (!claims && network.depth() > 1) return {};
  return Comparison(stated, network, samples, control, beside.errors, claims).run(as);
}

}  // namespace exhume
