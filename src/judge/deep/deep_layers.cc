#include "judge/deep/deep_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/blas.h"
#include "base/ended.h"
#include "base/stage_clock.h"
#include "certify/certify.h"
#include "fit/errors.h"
#include "judge/deep/deep_noise.h"

namespace exhume {
namespace {

// Smallest singular value of a layer, in units of the outputs' spread, from which on its weights count as
// determined.
constexpr double kDetermined = 1e-6;
constexpr double kEquationsInNoise = 3;   // for every weight, below which noise is not told from units
constexpr double kMostError = 0.1;        // standard error of an entry of a hidden unit, of unit norm
constexpr double kCurvatureFlops = 2e11;  // that the Jacobian of the verdict may cost

// Some training rows in standardised coordinates, enough to see every weight.
DeepData curvature_rows(Prepared& data, const DeepForm& form) {
  const SamplePtr& standard = data.standard();
  const auto p = static_cast<double>(std::max<Index>(form.unknowns(), 1));
  const double rows = kCurvatureFlops / (p * p * static_cast<double>(standard->outputs()));
  const auto count =
      std::min(standard->rows(), std::max<Index>(static_cast<Index>(rows), 12 * form.unknowns()));
  const SamplePtr some = count < standard->rows() ? spread_subset(*standard, count) : load(*standard);
  SampleBlock block;
  some->read(0, some->rows(), block);
  return {block.x(), block.y()};
}

class DeepLayers final : public JudgedNetwork {
 public:
  explicit DeepLayers(const Case& under)
      : data_(under.data),
        found_(*under.found.deep),
        options_(under.options),
        control_(under.control),
        spent_(under.spent),
        stored_(under.as_stored ? &*under.found.network : nullptr) {}

  void place(Result& result) override {
    result.network =
        stored_ != nullptr
            ? *stored_
            : without_empty_layers(canonical(data_.coordinates().to_user(to_network(found_.form))));
    result.plain = !result.network.has_skip_terms() && found_.plain;
    result.minimal = found_.minimal;
    result.signs_identifiable = found_.signs_determined;
    // Of standardised outputs: every one over its own variance.
    result.errors.training_relative_mse =
        check_held_out([&](const Eigen::Ref<const RowMatrix>& x) { return evaluate(found_.form, x); },
                       *data_.standard(), Vector::Zero(data_.standard()->outputs()), control_)
            .relative_mse;
    for (const DeepAttempt& attempt : found_.attempts)
      result.diagnostics.students.push_back({attempt.student, attempt.trained, attempt.polished});
  }

  [[nodiscard]] RowMatrix predict(const Result& result, const Eigen::Ref<const RowMatrix>& x) const override {
    return evaluate(result.network, x);
  }

  void measure(HeldOutCheck& held_out, Result& result) override {
    result.errors.functional_error_bound = bound_mean_square(held_out, result.certificate.held_out);
  }

  [[nodiscard]] Verdict check(const HeldOutCheck& held_out, Result& result, Checks& checks) override {
    const std::vector<Index> widths = result.network.widths();
    if (found_.left > 0) {
      checks.require(
          "rows left over", static_cast<double>(found_.left), 0, false,
          fmt::format("all rows but {} of {} are reproduced to rounding by {} units; a unit bends among "
                      "those, too few to tell its weights: more rows would",
                      found_.left, data_.training()->rows(), fmt::join(found_.form.widths(), "-")));
    } else if (found_.exact) {
      check_entries_of(result, checks);
      check_structure(result, checks);
    } else if (found_.noise) {
      check_noise(held_out, result, checks);
      check_structure(result, checks);
      return {Status::kEstimated,
              fmt::format("{} hidden layers of {} units leave what looks like noise of standard deviation "
                          "{:.3g}, and no unit can go",
                          widths.size(), fmt::join(widths, " and "), result.errors.noise_sd)};
    } else {
      say_not_found(checks);
    }
    return {Status::kCertified,
            fmt::format("{} hidden layers of {} units reproduce every row; no unit can go, no skip term is "
                        "needed, and all weights are determined",
                        widths.size(), fmt::join(widths, " and "))};
  }

  void conclude(Result& result) override {
    Certificate& certificate = result.certificate;
    const std::vector<Index> widths = result.network.widths();
    const std::string behind =
        fmt::format("the network behind the samples has {} hidden layers of at most {} units", widths.size(),
                    fmt::join(widths, " and "));
    if (certificate.status == Status::kEstimated) {
      certificate.conclusion = fmt::format(
          "If the outputs are those of a network of {} units near this one plus independent noise, every "
          "weight is known to a standard error of {:.2g} or less",
          fmt::join(widths, "-"), result.errors.max_standard_error);
      certificate.assumed = {behind,
                             "the noise has mean zero wherever the inputs are, and rows are independent",
                             "the fit is at the best network, not at another one that is nearly as good"};
      return;
    }
    const bool smooth = found_.form.rectifier && !found_.form.scale_is_free();
    certificate.conclusion = fmt::format(
        "The samples are those of this network; any network of {} units near it that agrees with it on the "
        "input distribution to within {:.2g} (root mean square) has these weights, up to the order and the "
        "{} of its units",
        fmt::join(widths, "-"), std::sqrt(result.errors.functional_error_bound), smooth ? "signs" : "scale");
    if (smooth) {
      certificate.assumed = {
          behind,
          fmt::format("its units are {}: networks of tanh units that have the same function and no unit too "
                      "many, whatever their number of layers, are the same up to the order and the signs of "
                      "their units (Fefferman 1994; it asks for functions that are equal everywhere, and "
                      "for weights in general position)",
                      result.network.activation == "tanh" ? "tanh (or sigmoids: the same networks)"
                                                          : result.network.activation),
          "rows are independent draws of the input distribution that the conclusion is about"};
      if (result.network.activation != "tanh") {
        certificate.assumed.push_back(fmt::format(
            "no network of {} units of these widths that is far from this one has the same outputs: the "
            "theorem is about tanh",
            result.network.activation));
      }
      return;
    }
    certificate.assumed = {
        behind,
        "no network of these widths that is far from this one has the same outputs: no theorem says so",
        "rows are independent draws of the input distribution that the conclusion is about",
        "units that are linear or dead on all samples, if any, are not part of the problem"};
  }

 private:
  void say_not_found(Checks& checks) const {
    // Where time ended the search the check compares no numbers.
    constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
    const std::vector<Index> widths = found_.form.widths();
    const std::string left = fmt::format("{:.1e} of the variance is left", found_.relative_mse);
    if (searches_ended(control_)) {
      checks.require(
          "search not interrupted", kNothing, kNothing, false,
          fmt::format("interrupted after {:.3g} s with {} units, {}", spent_, fmt::join(widths, "-"), left));
    } else if (found_.out_of_time) {
      checks.require("search finished within its budget", kNothing, kNothing, false,
                     fmt::format("stopped after {:.3g} s with {} units, {}; a larger budget may help", spent_,
                                 fmt::join(widths, "-"), left));
    } else {
      checks.require("rows reproduced", found_.relative_mse, 0, false,
                     fmt::format("no network of {} hidden layers was found that reproduces the rows: {}",
                                 widths.size(), left));
    }
  }

  // What the rounding of the training rows does to the fit, on average over rows: in the outputs' own units.
  [[nodiscard]] FitErrors rounding_errors(const Result& result) {
    const StoredPrecision& stored = data_.precision();
    if (!stored.coarse()) return {};
    const double n = static_cast<double>(data_.training()->rows() * result.network.outputs());
    const double share = std::sqrt(std::min(1.0, 4 * static_cast<double>(result.network.parameters()) / n));
    const Eigen::RowVectorXd errors = share * stored.mean_square.cwiseSqrt().transpose();
    return [errors](const Eigen::Ref<const RowMatrix>& x) { return Matrix(errors.replicate(x.rows(), 1)); };
  }

  void check_entries_of(Result& result, Checks& checks) {
    const EntryModel model(result.network, nullptr, &data_.coordinates());
    const FitErrors errors = rounding_errors(result);
    const auto require = [&](const char* name, const SamplePtr& rows, bool unseen) {
      const EntryCheck check = check_entries(model, *rows, data_.precision(), unseen, errors, control_);
      checks.require(name, check.worst, 1, check.reproduced(),
                     fmt::format("{} is not met: output {} of row {} is {:.6g} and differs by {:.2g}", name,
                                 check.output, check.row, check.value, check.gap));
      return check;
    };
    const EntryCheck training = require("training entries reproduced", data_.training(), false);
    const EntryCheck unseen = require("held-out entries reproduced", data_.held_out(), true);
    const bool coarse = training.rounded || unseen.rounded;
    result.precision = !coarse ? double_precision_words(std::max(training.share, unseen.share))
                               : fmt::format("{}{}, {:.0e}", data_.precision().words(),
                                             training.computed_in_single ? " (computed in it)" : "",
                                             std::sqrt(result.errors.heldout_relative_mse));
  }

  // What is left has to look like noise, on rows that were fitted and on those that were not.
  void check_noise(const HeldOutCheck& held_out, Result& result, Checks& checks) {
    const ResidualLook look = look_at_deep_residual(found_.form, data_.standard(), control_);
    const auto entries = static_cast<double>(data_.training()->rows() * result.network.outputs());
    const auto weights = static_cast<double>(result.network.parameters());
    checks.require(
        "samples for every unknown", entries / weights, kEquationsInNoise,
        entries >= kEquationsInNoise * weights,
        fmt::format("{:.1f} equations for every weight are too few to tell noise from missing units: "
                    "give more rows",
                    entries / weights));
    check_residual(look, checks);
    checks.require(
        "no structure left in the residual", look.units, 1, look.units <= 1,
        "a unit of one hidden layer explains more of what is left than chance does: more units, or "
        "another kind of function, are behind the data");
    const HeldOutCheck fitted =
        check_held_out([&](const Eigen::Ref<const RowMatrix>& x) { return evaluate(result.network, x); },
                       *data_.training(), data_.moments().mean_y(), control_);
    const double ratio = held_out.mean_square / std::max(fitted.mean_square, kTiny);
    const double spread =
        1 + 5 * std::sqrt(std::max(look.kurtosis - 1, 2.0) /
                          static_cast<double>(std::max<Index>(result.certificate.held_out, 1)));
    const double allowed = spread * (1 + 2 * weights / entries);
    checks.require(
        "held-out error as large as the noise", ratio, allowed, ratio <= allowed,
        fmt::format(
            "the mean squared error on held-out rows is {:.2f} times that on the training rows: overfitted",
            ratio));
    const double taken = entries / std::max(entries - weights, 1.0);
    result.errors.noise_sd =
        std::sqrt(taken * fitted.mean_square / static_cast<double>(result.network.outputs()));
    if (!found_.plain) return;
    result.errors.standard_errors = errors_in_noise(result.network, data_, control_);
    double units = result.errors.standard_errors.layers.empty() ? 1 : 0;
    for (std::size_t l = 0; l < result.errors.standard_errors.layers.size(); ++l) {
      const Layer& layer = result.errors.standard_errors.layers[l];
      const double largest = std::max(layer.W.maxCoeff(), layer.b.maxCoeff());
      result.errors.max_standard_error = std::max(result.errors.max_standard_error, largest);
      if (l + 1 < result.errors.standard_errors.layers.size()) units = std::max(units, largest);
    }
    checks.require("weights determined at the size of the noise: largest error of a unit", units, kMostError,
                   units <= kMostError,
                   fmt::format("the noise leaves an entry of a unit of norm 1 uncertain by {:.2g}: give more "
                               "rows",
                               units));
  }

  void check_structure(Result& result, Checks& checks) {
    const std::vector<Index> widths = found_.form.widths();
    const Index least = *std::min_element(widths.begin(), widths.end());
    checks.require("every layer has units", static_cast<double>(least), 1, least >= 1,
                   fmt::format("{} units reproduce the rows: fewer hidden layers suffice, ask for those",
                               fmt::join(widths, "-")));
    checks.require("no unit can be removed", found_.minimal ? 1 : 0, 1, found_.minimal,
                   "time ended before it was tried whether a unit can go; a larger budget may help");
    checks.require(
        "no skip terms needed", found_.plain ? 1 : 0, 1, found_.plain,
        "the function needs terms that pass a layer by: a unit that is linear on all rows, or one that "
        "bends among too few of them, leaves the plain network open");
    if (!options_.widths.empty()) {
      checks.require("widths as asked for", 0, 0, options_.widths == widths,
                     fmt::format("{} units reproduce the rows, {} were asked for", fmt::join(widths, "-"),
                                 fmt::join(options_.widths, "-")));
    }
    if (!found_.plain || least < 1) return;
    const double at_kink = data_.precision().coarse() ? kAtKinkOfSingles : kAtKink;
    const Determined determined =
        how_determined(found_.form, curvature_rows(data_, found_.form), control_, at_kink);
    result.errors.smallest_singular = determined.smallest;
    const double spread = std::sqrt(data_.coordinates().map.D.cwiseInverse().cwiseAbs2().sum());
    const double epsilon = std::sqrt(result.errors.functional_error_bound) / std::max(spread, kTiny);
    if (!found_.noise) result.errors.weights_within = epsilon * determined.largest_error;
    for (std::size_t l = 0; l < determined.smallest.size(); ++l) {
      const double value = determined.smallest[l];
      checks.require(
          fmt::format("weights of layer {} determined", l + 1), value, kDetermined, value >= kDetermined,
          fmt::format("other weights of layer {} reproduce the rows as well (smallest singular value "
                      "{:.1e}): a unit bends among too few rows, or stands for several",
                      l + 1, value));
    }
  }

  Prepared& data_;
  const DeepFound& found_;
  const RecoverOptions& options_;
  const Control& control_;
  double spent_ = 0;                 // seconds until the search ended
  const Network* stored_ = nullptr;  // the network as it was read, where it was
};

}  // namespace

Network without_empty_layers(const Network& network) {
  Network out = network;
  Index passed = 0;  // inputs and units below layer l - 1
  for (std::size_t l = 0; l + 1 < out.layers.size() && out.depth() > 1;) {
    const Index below = out.layers[l].W.cols();
    if (out.layers[l].W.rows() > 0) {
      passed += below;
      ++l;
      continue;
    }
    Layer& above = out.layers[l + 1];
    const Matrix skips = above.L.size() > 0 ? above.L : Matrix::Zero(above.W.rows(), passed + below);
    above.W = skips.rightCols(below);
    above.L = skips.leftCols(passed).isZero(0) ? Matrix() : Matrix(skips.leftCols(passed));
    out.layers.erase(out.layers.begin() + static_cast<std::ptrdiff_t>(l));
  }
  return out.depth() < network.depth() ? canonical(out) : out;
}

std::unique_ptr<JudgedNetwork> deep_layers(const Case& under) { return std::make_unique<DeepLayers>(under); }

}  // namespace exhume
