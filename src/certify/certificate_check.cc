#include "certify/certificate_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>
#include <utility>

#include "base/counted.h"
#include "certify/certificate_json.h"
#include "certify/certify.h"
#include "certify/entry_check.h"
#include "certify/inspect.h"
#include "data/reduce.h"
#include "exhume/error.h"

namespace exhume {
namespace {

// Mean squared error over the variance that two ways of adding up rounding errors may differ by.
constexpr double kRounding = 1e-24;
// Factor between two sums of squares of rounding errors.
constexpr double kSameRounding = 100;
// Relative difference of two ways of adding up anything else.
constexpr double kSameSum = 1e-6;

// What the roundings of one output come to, of its standard deviation, where inputs lie about zero.
constexpr double kRoundings = 8 * 0x1p-53;

// The route whose held-out rows are of outputs that it cleaned.
constexpr const char* kCleaned = "rectified-sparse-noise";

struct Shape {
  Index inputs = 0, hidden = 0, outputs = 0;
  std::vector<Index> widths{};  // of several hidden layers
};
Shape shape_of(const StoredModel& model) {
  return std::visit(
      [](const auto& m) -> Shape {
        using Model = std::decay_t<decltype(m)>;
        if constexpr (std::is_same_v<Model, RectifiedNetwork>) {
          return {m.network.inputs(), m.network.hidden(), m.network.outputs()};
        } else if constexpr (std::is_same_v<Model, StoredLayer>) {
          return {m.W.cols(), m.W.rows(), 1};
        } else if constexpr (std::is_same_v<Model, Network>) {
          return {m.inputs(), m.hidden(), m.outputs(), m.depth() > 1 ? m.widths() : std::vector<Index>{}};
        } else {
          return {m.inputs(), m.hidden(), m.outputs()};
        }
      },
      model);
}

// What a layer does on rows, by plain loops: activity where no unit is active, and all of it; labels met.
struct LayerSums {
  long double none = 0, all = 0;
  Index rows = 0, met = 0;
  void merge(const LayerSums& other) {
    none += other.none;
    all += other.all;
    rows += other.rows;
    met += other.met;
  }
};
struct LayerClaim {
  double rest = 0, tolerance = 0;  // outputs within the tolerance of the rest level are at rest
  double labels[2] = {0, 1};       // on no halfspace's far side, on some halfspace's far side
};
LayerSums sum_layer(const StoredLayer& layer, const LayerClaim& claim, const SampleSource& rows,
                    const Control& control) {
  return reduce_blocks(rows, LayerSums{}, control, "verify", [&](LayerSums& to, const SampleBlock& block) {
    for (Index r = 0; r < block.rows(); ++r) {
      bool active = false;
      for (Index i = 0; i < layer.W.rows() && !active; ++i) {
        long double z = 0;
        for (Index j = 0; j < layer.W.cols(); ++j)
          z += static_cast<long double>(layer.W(i, j)) * block.x()(r, j);
        active = z > layer.t(i);
      }
      const double y = block.y()(r, 0);
      to.met += claim.labels[active ? 1 : 0] == y;
      const long double activity = std::fabs(static_cast<long double>(y) - claim.rest);
      if (activity <= claim.tolerance) continue;
      to.all += activity;
      if (!active) to.none += activity;
    }
    to.rows += block.rows();
  });
}

// How far the inputs lie from zero, in standard deviations, the column that lies furthest: rounding errors of
// w.x are as many times larger than those of inputs about zero.
struct RowSums {
  Vector sum, squares;
  void merge(const RowSums& other) {
    sum += other.sum;
    squares += other.squares;
  }
};
double input_offset(const SampleSource& samples, const Control& control) {
  const Index d = samples.inputs();
  if (samples.rows() == 0) return 0;
  SampleBlock first;
  const RowRun one{0, 1};
  samples.announce({&one, 1});
  samples.read(0, 1, first);
  const Vector origin = first.x().row(0);
  const RowSums sums = reduce_blocks(samples, RowSums{Vector::Zero(d), Vector::Zero(d)}, control, "verify",
                                     [&](RowSums& to, const SampleBlock& block) {
                                       const Matrix x = block.x().rowwise() - origin.transpose();
                                       to.sum += x.colwise().sum().transpose();
                                       to.squares += x.colwise().squaredNorm().transpose();
                                     });
  double most = 0;
  const auto n = static_cast<double>(samples.rows());
  for (Index j = 0; j < d; ++j) {
    const double mean = sums.sum(j) / n, variance = sums.squares(j) / n - mean * mean;
    if (variance > 0) most = std::max(most, std::abs(origin(j) + mean) / std::sqrt(variance));
  }
  return most;
}

class Check {
 public:
  Check(const Document& document, const StoredModel& model, const SamplePtr& samples, const Control& control)
      : document_(document), json_(document.json), model_(model), samples_(samples), control_(control) {}

  CertificateCheck run() {
    const bool intact = document_.sealed;
    find("certificate", intact,
         intact ? "its digest is that of its content"
                : "its digest is not that of its content: it was edited");
    shapes();
    kinds();
    required();
    check_.whole = verify_model(model_, *samples_, control_);
    // What lies in the folder decides what is looked at, not what the certificate calls itself.
    if (std::holds_alternative<QuadraticNetwork>(model_)) {
      memorized();
    } else if (check_.whole) {
      every_row();
      held_out_error();
    } else {
      layer(!at(json_, "set").is_null());
    }
    return std::move(check_);
  }

 private:
  void find(std::string part, bool good, std::string what) {
    check_.findings.push_back({std::move(part), good ? Outcome::kGood : Outcome::kBad, std::move(what)});
  }
  void leave(std::string part, std::string what) {
    check_.findings.push_back({std::move(part), Outcome::kUnchecked, std::move(what)});
  }
  [[nodiscard]] double stated(const char* key) const { return number_of(at(json_, key)); }
  // Certified or estimated: what is stated is claimed.
  [[nodiscard]] bool claims() const { return certified() || words(at(json_, "status")) == "estimated"; }
  [[nodiscard]] bool certified() const { return words(at(json_, "status")) == "certified"; }

  void shapes() {
    const Shape shape = shape_of(model_);
    const bool layer = std::holds_alternative<StoredLayer>(model_);
    const Json& hidden = at(json_, "hidden_units");
    const bool same = stated("inputs") == static_cast<double>(shape.inputs) &&
                      (shape.widths.empty() ? number_of(hidden) == static_cast<double>(shape.hidden)
                                            : hidden == Json(shape.widths)) &&
                      (layer || stated("outputs") == static_cast<double>(shape.outputs));
    find("network", same,
         same ? fmt::format("{}, {} and {}, as stated", counted(shape.inputs, "input"),
                            counted(shape.hidden, "hidden unit"), counted(shape.outputs, "output"))
              : "its shape is not the one that the certificate states");
    const double rows = stated("rows");
    if (std::isnan(rows)) return;
    const bool count = rows == static_cast<double>(samples_->rows());
    find("samples", count,
         count
             ? counted(samples_->rows(), "row") + ", as stated"
             : fmt::format("{}, but the certificate states {:.0f}", counted(samples_->rows(), "row"), rows));
  }

  // The certificate is about a model of this kind.
  void kinds() {
    const std::string kind = words(at(json_, "kind")), activation = words(at(json_, "activation"));
    const auto* layer = std::get_if<StoredLayer>(&model_);
    const auto* rectified = std::get_if<RectifiedNetwork>(&model_);
    const auto* network = std::get_if<Network>(&model_);
    const bool memorized = std::holds_alternative<QuadraticNetwork>(model_);
    // Certificates of version 0.1 were about networks of one hidden layer, and had no kind.
    const bool same =
        layer != nullptr ? kind == (at(json_, "set").is_null() ? "lowest layer" : "halfspaces")
        : memorized      ? kind == "memorized network"
        : shape_of(model_).widths.empty()
            ? kind == "network" || (kind.empty() && words(at(json_, "version")).starts_with("0.1"))
            : kind == "deep network";
    if (!same)
      find("certificate", false, fmt::format("it is about a result of kind '{}', which this is not", kind));
    const std::string of_model = rectified != nullptr ? rectified->activation
                                 : layer != nullptr   ? layer->activation
                                 : network != nullptr ? network->activation
                                                      : "relu";
    if (!memorized && !activation.empty() && activation != of_model) {
      find("certificate", false,
           fmt::format("it states units of activation {}, but the file has {}", activation, of_model));
    }
  }

  // A certificate claims that all it requires holds, and one that is none names what does not.
  void required() {
    const std::string status = words(at(json_, "status"));
    if (!claims()) {
      if (status != to_string(Status::kUncertified)) {
        find("certificate", false, fmt::format("its status '{}' is none", status));
        return;
      }
      const Json& list = at(json_, "assumptions");
      const bool failed = list.is_array() && std::any_of(list.begin(), list.end(), [](const Json& a) {
                            return is_true(at(a, "required")) && !is_true(at(a, "holds"));
                          });
      find("certificate", failed,
           failed ? "a check that it requires is stated not to hold"
                  : "it says uncertified, but every check that it requires is stated to hold");
      return;
    }
    std::string broken;
    const Json& list = at(json_, "assumptions");
    if (list.is_array()) {
      for (const Json& a : list) {
        if (broken.empty() && is_true(at(a, "required")) && !is_true(at(a, "holds")))
          broken = words(at(a, "name"));
      }
    }
    find("certificate", broken.empty(),
         broken.empty() ? "all that it requires is stated to hold"
                        : fmt::format("it says {}, but '{}' does not hold", status, broken));
  }

  // Without noise the samples are the network's to rounding, every one of them.
  void every_row() {
    if (!certified()) return;
    if (at(json_, "support_entries").is_number()) {
      leave("samples", "some entries were hit by noise, so not every row can agree");
      return;
    }
    const Verification& whole = *check_.whole;
    const std::string precision = words(at(json_, "precision"));
    if (!precision.empty() && !is_double_precision(precision)) {
      leave("samples", fmt::format("relative mse {:.1e} over all rows: judged entry by entry, to {}",
                                   whole.relative_mse, precision));
      return;
    }
    const double rounding = kRoundings * (1 + input_offset(*samples_, control_));
    const bool exact = whole.relative_mse <= kReproduced + rounding * rounding;
    find("samples", exact,
         exact ? fmt::format("reproduced to rounding: relative mse {:.1e} over all rows", whole.relative_mse)
               : fmt::format("relative mse {:.1e} over all rows, worst in row {}: not those of this network",
                             whole.relative_mse, whole.worst_row + 1));
  }

  // The rows that were held out, drawn again; empty where they cannot be, and a finding says why.
  SamplePtr held_out_rows() {
    const Json& split_of = at(json_, "split");
    if (!split_of.is_object() && claims() && words(at(json_, "route")) != kCleaned) {
      find("certificate", false, "it does not say which rows were held out");
      return nullptr;
    }
    if (!split_of.is_object()) {
      leave("held-out rows",
            "none are stated as the files have them (too few rows, or outputs that were cleaned first): "
            "errors were not checked again");
      return nullptr;
    }
    const double period = number_of(at(split_of, "period"));
    const Json& seed = at(split_of, "seed");
    if (!(period >= 2 && period <= 1e9) || !seed.is_number_unsigned()) {
      find("certificate", false, "its split is not one");
      return nullptr;
    }
    SamplePtr distinct = samples_;
    if (stated("samples") < static_cast<double>(samples_->rows()))
      distinct = distinct_rows(samples_, control_);
    SamplePtr rows = split(distinct, static_cast<Index>(period), seed.get<std::uint64_t>()).held_out;
    if (static_cast<double>(rows->rows()) != stated("held_out")) {
      find("certificate", false,
           fmt::format("its split holds out {} rows, not as many as it states", rows->rows()));
      return nullptr;
    }
    return rows;
  }

  void held_out_error() {
    const double claimed = stated("heldout_mean_square");
    const SamplePtr rows = held_out_rows();
    if (!rows) return;
    if (std::isnan(claimed)) {
      find("certificate", false, "it states no error on the rows it holds out");
      return;
    }
    const Verification held_out = *verify_model(model_, *rows, control_);
    const double found =
        held_out.rms_error * held_out.rms_error * static_cast<double>(shape_of(model_).outputs);
    const double variance = held_out.relative_mse > 0 ? found / held_out.relative_mse : 0;
    // Of rows that are reproduced to rounding the error is that of the evaluation, here with more digits.
    const bool rounding = certified() && is_double_precision(words(at(json_, "precision"))) &&
                          std::max(found, claimed) <= kSameRounding * std::min(found, claimed);
    const bool same =
        rounding || std::abs(found - claimed) <= kSameSum * std::max(found, claimed) + kRounding * variance;
    find("held-out rows", same,
         same
             ? fmt::format("mean squared error {:.3e} on {}, as stated", found, counted(held_out.rows, "row"))
             : fmt::format("mean squared error {:.3e} on {} rows, but the certificate states {:.3e}", found,
                           held_out.rows, claimed));
  }

  void memorized() {
    const double claimed = stated("relative_error"), found = check_.whole->relative_mse;
    const bool within = found <= std::max(stated("tolerance"), claimed * (1 + kSameSum) + kRounding);
    find("samples", within,
         within
             ? fmt::format("relative error {:.1e} on the rows memorised, within the {:.1e} stated", found,
                           stated("tolerance"))
             : fmt::format("relative error {:.1e} on the rows memorised, but the certificate states {:.1e}",
                           found, claimed));
  }

  void layer(bool halfspaces) {
    const StoredLayer& layer = std::get<StoredLayer>(model_);
    if (layer.activation == "sigmoid") {
      leave("held-out rows",
            "what lies above a layer of sigmoids is not known, so its errors cannot be checked again");
      return;
    }
    const SamplePtr rows = held_out_rows();
    if (!rows) return;
    LayerClaim claim{stated("rest_level"), stated("rest_tolerance"), {0, 1}};
    const Json& labels = at(json_, "labels");
    for (std::size_t i = 0; i < 2 && labels.is_array() && labels.size() == 2; ++i)
      claim.labels[i] = number_of(labels[i]);
    const LayerSums sums = sum_layer(layer, claim, *rows, control_);
    const auto agree = [&](const char* what, double found, double claimed) {
      const bool same = std::abs(found - claimed) <= kSameSum * std::max(std::abs(found), 1.0);
      find("held-out rows", same,
           same ? fmt::format("{} {:.4g} on {} rows, as stated", what, found, sums.rows)
                : fmt::format("{} {:.4g} on {} rows, but the certificate states {:.4g}", what, found,
                              sums.rows, claimed));
    };
    if (halfspaces) {
      const auto count = static_cast<double>(std::max<Index>(1, sums.rows));
      agree("share of labels met", static_cast<double>(sums.met) / count, stated("agreement"));
    }
    const double none = sums.all > 0 ? static_cast<double>(sums.none / sums.all) : 0;
    agree("share of the activity on rows without an active unit", none, stated("unexplained_share"));
  }

  const Document& document_;
  const Json& json_;
  const StoredModel& model_;
  const SamplePtr& samples_;
  const Control& control_;
  CertificateCheck check_;
};

}  // namespace

std::optional<Verification> verify_model(const StoredModel& model, const SampleSource& samples,
                                         const Control& control) {
  const Shape shape = shape_of(model);
  if (samples.inputs() != shape.inputs || samples.outputs() != shape.outputs) {
    throw DataError(
        fmt::format("the model has {} and {}, but the samples have {} and {}; are they of another network?",
                    counted(shape.inputs, "input"), counted(shape.outputs, "output"), samples.inputs(),
                    samples.outputs()));
  }
  if (const auto* network = std::get_if<Network>(&model)) return verify(*network, samples, control);
  if (const auto* network = std::get_if<QuadraticNetwork>(&model)) return verify(*network, samples, control);
  if (const auto* rectified = std::get_if<RectifiedNetwork>(&model))
    return verify(rectified->network, parse_rectifier(rectified->activation), samples, control);
  return std::nullopt;
}

CertificateCheck check_certificate(const Document& document, const StoredModel& model,
                                   const SamplePtr& samples, const Control& control) {
  return Check(document, model, samples, control).run();
}

}  // namespace exhume
