#include "report/judgement_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/limits.h"
#include "certify/certificate_json.h"
#include "exhume/error.h"
#include "exhume/version.h"
#include "report/report.h"
#include "routes/judge_again.h"

namespace exhume {
namespace {

// Relative difference that two machines may make.
constexpr double kSame = 1e-4;
// Of singular values, which Lanczos' iteration finds to a thousandth.
constexpr double kSameSingular = 5e-3;
// Of what the route rectified-noise estimates: its fit ends elsewhere within the noise.
constexpr double kSameNoise = 0.05;
// Factor between two numbers that are rounding errors, and the size below which they say nothing (of the
// outputs' standard deviation).
constexpr double kSameRounding = 100, kRoundingSize = 1e-16;
// Numbers within sentences have two digits or three.
constexpr double kSameDigits = 0.06;
// Share of the rows' sum of squares up to which a polish stops, and the least gain that counts: in variances
// of the noise, a standard error in one weight being 1. Sums of squares have kinks: a fit may end beside the
// best one by a part of that.
constexpr double kPolished = 1e-8, kLeastGain = 1;

constexpr const char* kExactOnly = "training rows reproduced to rounding";
constexpr const char* kOfSearch = "no structure left in the rounding errors";
constexpr const char* kOfSigns = "signs decided (least margin, chi-squared)";
// Checks whose value the route rectified-noise takes from its own search.
constexpr const char* kOwnValues[] = {"samples for every unknown", "no structure left in the residual"};
constexpr const char* kKeys[] = {
    "hidden_units",       "inputs",      "outputs",    "activation",         "linear_term",     "noise_sd",
    "max_standard_error", "unseen_unit", "confidence", "signs_identifiable", "support_entries", "samples",
    "held_out",           "rows",        "split"};
// What a number is, hence how two of them may differ.
enum class Like {
  kSum,        // of many terms
  kSingular,   // a singular value
  kShare,      // of the outputs' variance; this and those below may be rounding errors
  kConverted,  // the same, of weights that went through other coordinates: at most kReproduced
  kRoot,       // in the outputs' units
  kSquare,     // in their squares
};
struct Error {
  const char* key;
  Like like;
};
constexpr Error kErrors[] = {{"heldout_relative_mse", Like::kShare},
                             {"training_relative_mse", Like::kConverted},
                             {"heldout_mean_square", Like::kSquare},
                             {"functional_error_bound", Like::kSquare}};
constexpr Error kOfWeights[] = {
    {"smallest_singular", Like::kSingular}, {"epsilon", Like::kRoot}, {"delta", Like::kRoot}};
constexpr const char* kSentences[] = {"reason", "verdict", "bound_from", "conclusion", "assumed"};

std::string shown(const Json& value) {
  if (value.is_null()) return "nothing";
  if (value.is_string()) return fmt::format("'{}'", words(value));
  if (value.is_number_float()) return fmt::format("{:.4g}", value.get<double>());
  return to_text(value).substr(0, 80);
}

// The same words with the same numbers between them, as far as their digits go.
bool same_sentence(const std::string& a, const std::string& b, bool rounding) {
  const char *p = a.c_str(), *q = b.c_str();
  while (*p != '\0' && *q != '\0') {
    if (std::isdigit(static_cast<unsigned char>(*p)) != 0 &&
        std::isdigit(static_cast<unsigned char>(*q)) != 0) {
      char *p_end = nullptr, *q_end = nullptr;
      const double u = std::strtod(p, &p_end), v = std::strtod(q, &q_end);
      const double larger = std::max(u, v), smaller = std::min(u, v);
      const bool both_rounding = rounding && larger < 1e-10;
      if (larger - smaller > kSameDigits * larger && !(both_rounding && larger <= kSameRounding * smaller))
        return false;
      p = p_end;
      q = q_end;
    } else if (*p++ != *q++) {
      return false;
    }
  }
  return *p == *q;
}

class Comparison {
 public:
  Comparison(const Json& stated, const Network& network, const SamplePtr& samples, const Control& control,
             const std::optional<Network>& errors)
      : stated_(stated), network_(network), samples_(samples), control_(control), errors_(errors) {}

  std::vector<Finding> run(Status status) {
    Claim claim;
    claim.status = status;
    try {
      if (!read(claim)) return std::move(findings_);
      const Judged judged = judge_again(network_, samples_, claim, control_);
      compare(judged);
    } catch (const DataError& error) {
      bad(error.what());
    } catch (const std::invalid_argument& error) {
      bad(error.what());
    }
    if (findings_.empty() || unchecked_only())
      findings_.push_back(
          {"certificate", Outcome::kGood, "its numbers are those that network and samples give"});
    return std::move(findings_);
  }

 private:
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
    const Json& list = at(stated_, "assumptions");
    if (!list.is_array()) {
      bad("it lists no checks");
      return false;
    }
    for (const Json& check : list) {
      const std::string name = words(at(check, "name"));
      if (name == kExactOnly) claim.exact_only = true;
      if (name == kOfSearch) claim.structure = number_of(at(check, "value"));
      if (name == kOfSigns && claim.route.starts_with("rectified")) {
        claim.by_signs = true;
        tolerance_ = kSameNoise;
      }
    }
    return true;
  }

  void compare(const Judged& judged) {
    Result found = judged.result;
    // Names and shape are what the data were called: the pictures follow them.
    for (const Json& name : at(stated_, "input_names")) found.certificate.input_names.push_back(words(name));
    for (const Json& side : at(stated_, "input_shape"))
      found.certificate.input_shape.push_back(side.is_number_integer() ? side.get<Index>() : 0);
    if (words(at(stated_, "status")) != to_string(found.certificate.status)) {
      bad(fmt::format("it says {}, but the samples make it {}: {}", words(at(stated_, "status")),
                      to_string(found.certificate.status), found.certificate.reason));
      return;
    }
    again_ = make_document(found).json;
    rounding_ = found.precision == "double precision";
    deviation_ = found.errors.heldout_relative_mse > 0
                     ? std::sqrt(found.errors.heldout_mean_square / found.errors.heldout_relative_mse)
                     : 1;
    for (const char* key : kKeys) compare_key(key, at(stated_, key), at(again_, key), Like::kSum);
    for (const auto& [key, like] : kErrors) compare_key(key, at(stated_, key), at(again_, key), like);
    const Json &weights = at(stated_, "identifiability"), &weights_again = at(again_, "identifiability");
    if (weights.is_null() != weights_again.is_null())
      bad("what it states of identifiability is not what network and samples give");
    for (const auto& [key, like] : kOfWeights)
      compare_key(fmt::format("identifiability.{}", key), at(weights, key), at(weights_again, key), like);
    compare_checks();
    compare_sentences();
    compare_pictures();
    compare_errors(found.errors.standard_errors);
    if (judged.gained) {
      const double entries = static_cast<double>(found.certificate.samples * network_.outputs());
      if (*judged.gained > std::max(kLeastGain, kPolished * entries)) {
        bad(fmt::format(
            "a network close by fits the samples better (by {:.2g} variances of the noise): these "
            "weights are not the estimate",
            *judged.gained));
      }
    } else if (found.certificate.status == Status::kEstimated && tolerance_ == kSame) {
      findings_.push_back(
          {"network", Outcome::kUnchecked,
           "the fit from its units did not end in time: whether noise leaves signs open was not "
           "checked again"});
    }
  }

  [[nodiscard]] bool same_number(double a, double b, Like like) const {
    if (a == b || (std::isnan(a) && std::isnan(b))) return true;
    const double larger = std::max(std::abs(a), std::abs(b)), smaller = std::min(std::abs(a), std::abs(b));
    const double allowed = like == Like::kSingular ? std::max(tolerance_, kSameSingular) : tolerance_;
    if (std::abs(a - b) <= allowed * larger) return true;
    if (!rounding_ || like == Like::kSum || like == Like::kSingular || a * b < 0) return false;
    if (like == Like::kConverted && larger <= kReproduced) return true;
    const double root = kRoundingSize * (like == Like::kRoot || like == Like::kSquare ? deviation_ : 1);
    return larger <= (like == Like::kRoot ? root : root * root) || larger <= kSameRounding * smaller;
  }

  void compare_key(const std::string& name, const Json& stated, const Json& again, Like like) {
    const bool same = stated.is_number() && again.is_number()
                          ? same_number(stated.get<double>(), again.get<double>(), like)
                          : stated == again;
    if (!same)
      bad(fmt::format("it states {} for {}, but network and samples give {}", shown(stated), name,
                      shown(again)));
  }

  void compare_checks() {
    const Json &stated = at(stated_, "assumptions"), &again = at(again_, "assumptions");
    const auto named = [](const Json& list, const std::string& name) {
      return std::count_if(list.begin(), list.end(),
                           [&](const Json& c) { return words(at(c, "name")) == name; });
    };
    for (const Json& check : again) {
      const std::string name = words(at(check, "name"));
      if (named(stated, name) == 0) bad(fmt::format("it leaves out the check '{}'", name));
    }
    std::string own;
    for (const Json& check : stated) {
      const std::string name = words(at(check, "name"));
      const auto same = std::find_if(again.begin(), again.end(),
                                     [&](const Json& c) { return words(at(c, "name")) == name; });
      if (same == again.end()) {
        if (is_true(at(check, "required"))) own += (own.empty() ? "'" : ", '") + name + "'";
        continue;
      }
      compare_check(name, check, *same);
    }
    if (!own.empty()) {
      findings_.push_back({"certificate", Outcome::kUnchecked,
                           fmt::format("only the search itself can make the check {} again", own)});
    }
  }

  void compare_check(const std::string& name, const Json& stated, const Json& again) {
    const bool own_value = tolerance_ != kSame && std::any_of(std::begin(kOwnValues), std::end(kOwnValues),
                                                              [&](const char* own) { return name == own; });
    // Of entries that are reproduced the value is a rounding error, but never the threshold.
    const Like of_value = name == kExactOnly                                    ? Like::kConverted
                          : name.find("reproduced to") != std::string::npos     ? Like::kShare
                          : name.find("smallest singular") != std::string::npos ? Like::kSingular
                                                                                : Like::kSum;
    const auto differ = [&](std::string_view key) {
      const Json &a = at(stated, key.data()), &b = at(again, key.data());
      if (!a.is_number() || !b.is_number()) return a != b;
      return !same_number(a.get<double>(), b.get<double>(), key == "value" ? of_value : Like::kSum);
    };
    for (const char* key : {"holds", "required", "threshold", "value"}) {
      if ((own_value && std::string_view(key) == "value") || !differ(key)) continue;
      bad(fmt::format("its check '{}' has {} for {}, but network and samples give {}", name,
                      shown(at(stated, key)), key, shown(at(again, key))));
    }
  }

  void compare_sentences() {
    compare_words("precision");
    if (words(at(stated_, "version")) != kVersion) {
      findings_.push_back(
          {"certificate", Outcome::kUnchecked,
           fmt::format("its sentences are those of version {}, this is {}: they were not compared",
                       words(at(stated_, "version")), kVersion)});
      return;
    }
    for (const char* key : kSentences) compare_words(key);
  }

  void compare_words(const char* key) {
    const Json &stated = at(stated_, key), &again = at(again_, key);
    bool same = stated.type() == again.type();
    if (same && stated.is_array()) {
      same = stated.size() == again.size();
      for (std::size_t i = 0; same && i < stated.size(); ++i)
        same = same_sentence(words(stated[i]), words(again[i]), rounding_);
    } else if (same) {
      same = same_sentence(words(stated), words(again), rounding_);
    }
    if (!same) bad(fmt::format("its {} is not what follows from network and samples: {}", key, shown(again)));
  }

  // Those of the network and of the held-out rows.
  void compare_pictures() {
    for (const char* key : {"intervals", "effects"}) {
      if (tolerance_ == kSame && !same_picture(at(stated_, key), at(again_, key)))
        bad(fmt::format("its {} are not those of network and samples", key));
    }
    const Json &stated = at(stated_, "pictures"), &again = at(again_, "pictures");
    for (const char* key :
         {"heldout", "weights", "output_weights", "units", "residuals", "images", "intervals"}) {
      if (rounding_ && std::string_view(key) == "residuals") continue;
      const bool with_errors = std::string_view(key) == "units" || std::string_view(key) == "intervals";
      if (tolerance_ != kSame && with_errors) continue;
      if (!same_picture(at(stated, key), at(again, key)))
        bad(fmt::format("its picture '{}' is not that of network and samples", key));
    }
  }

  // The standard errors that lie beside the network, weight by weight.
  void compare_errors(const Network& again) {
    if (!errors_ || tolerance_ != kSame) return;
    const auto same = [&](const Matrix& a, const Matrix& b) {
      return a.rows() == b.rows() && a.cols() == b.cols() &&
             (a.size() == 0 || (a - b).cwiseAbs().maxCoeff() <= kSame * b.cwiseAbs().maxCoeff());
    };
    if (!same(errors_->W(), again.W()) || !same(errors_->b(), again.b()) || !same(errors_->A(), again.A()) ||
        !same(errors_->c(), again.c()))
      bad("the standard errors beside the network are not those that network and samples give");
  }

  [[nodiscard]] static double size_of(const Json& value) {
    double size = std::abs(value.is_number() ? value.get<double>() : 0.0);
    if (value.is_structured()) {
      for (const Json& part : value) size = std::max(size, size_of(part));
    }
    return size;
  }
  [[nodiscard]] static bool same_picture(const Json& a, const Json& b) {
    return same_parts(a, b, size_of(b));
  }
  [[nodiscard]] static bool same_parts(const Json& a, const Json& b, double size) {
    if (a.is_number() && b.is_number())
      return std::abs(a.get<double>() - b.get<double>()) <= kSame * std::abs(b.get<double>()) + 1e-9 * size;
    if (a.is_array() && b.is_array()) {
      return a.size() == b.size() &&
             std::equal(a.begin(), a.end(), b.begin(),
                        [&](const Json& u, const Json& v) { return same_parts(u, v, size); });
    }
    if (a.is_object() && b.is_object()) {
      if (a.size() != b.size()) return false;
      for (const auto& [key, value] : b.items()) {
        const auto other = a.find(key);
        if (other == a.end() || !same_parts(*other, value, size_of(value))) return false;
      }
      return true;
    }
    return a == b;
  }

  const Json& stated_;
  const Network& network_;
  const SamplePtr& samples_;
  const Control& control_;
  const std::optional<Network>& errors_;
  double tolerance_ = kSame;
  bool rounding_ = false;  // are the errors rounding errors?
  double deviation_ = 1;   // of the outputs
  Json again_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> check_judgement(const Document& document, const StoredModel& model,
                                     const SamplePtr& samples, const Control& control,
                                     const std::optional<Network>& errors) {
  const Json& stated = document.json;
  std::optional<Status> status;
  for (const Status one : {Status::kCertified, Status::kEstimated}) {
    if (words(at(stated, "status")) == to_string(one)) status = one;
  }
  if (!status || words(at(stated, "kind")) != "network") return {};
  const Network* network = std::get_if<Network>(&model);
  if (const auto* rectified = std::get_if<RectifiedNetwork>(&model)) network = &rectified->network;
  if (network == nullptr) return {};
  return Comparison(stated, *network, samples, control, errors).run(*status);
}

}  // namespace exhume
