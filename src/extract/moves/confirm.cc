#include "extract/moves/confirm.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "certify/entry_check.h"
#include "certify/stored_precision.h"
#include "extract/climb.h"
#include "extract/evidence.h"
#include "fit/errors.h"
#include "fit/polish.h"
#include "model/form.h"
#include "oracle/logged_samples.h"

namespace exhume {
namespace {

// Chosen by experience on random and digit-trained networks; not derived, but where said.
struct ConfirmLimits {
  Index deep_fresh =
      1000;  // fresh queries where there are several hidden layers, at least: a unit above others may act
             // on few inputs in a thousand
  Index shown = 500;            // of them, in pictures
  double wished_share = 0.001;  // of the domain that stays unseen: what it would take is said
  double doubt = 0.001;         // one minus the confidence of what fresh queries show, over all attempts
  double seen =
      1e-6;  // smallest singular value of a layer, in units of the outputs' spread, from which on queries
             // determine its weights
  double most_flops =
      1.6e13;  // of the Jacobian's Gram matrix, were no unit ever off: beyond, not all queries
               // are looked at
  double few_for_weight[2] = {1.5, 6};  // equations per weight that are looked at first,
  Index worth_few = 4;                  // where all queries are so many times as many
  double together = 4;                  // queries at which two units are on together
};
constexpr ConfirmLimits kConfirm;

std::vector<double> seen_by(const DeepForm& form, const RowMatrix& x, RowMatrix y, const Control& control) {
  y.rowwise() -= y.colwise().mean().eval();
  const double spread = std::sqrt(y.squaredNorm() / static_cast<double>(std::max<Index>(y.rows(), 1)));
  y /= std::max(spread, kTiny);
  return smallest_singular_values(form, DeepData(x, std::move(y)), control);
}

std::vector<double> seen_by(const DeepForm& form, const SampleSource& some, const Control& control) {
  SampleBlock block;
  some.read(0, some.rows(), block);
  return seen_by(form, block.x(), block.y(), control);
}

// By some of all queries, and those at which weights act that hardly do at these.
std::vector<double> seen_by_few(const DeepForm& form, const SampleSource& queries, Index few,
                                const Control& control) {
  SampleBlock some, every;
  const SamplePtr spread = spread_subset(queries, few);
  spread->read(0, spread->rows(), some);
  queries.read(0, queries.rows(), every);
  // The last ones first: they are random, those of lines lie side by side.
  const RowMatrix last_x = every.x().colwise().reverse(), last_y = every.y().colwise().reverse();
  const std::vector<Index> rare = where_pairs_act(form, last_x, some.x(), kConfirm.together);
  RowMatrix x(spread->rows() + static_cast<Index>(rare.size()), queries.inputs()),
      y(x.rows(), queries.outputs());
  x << some.x(), RowMatrix(last_x(rare, Eigen::all));
  y << some.y(), RowMatrix(last_y(rare, Eigen::all));
  return seen_by(form, x, std::move(y), control);
}

// Of every hidden layer the smallest singular value of the Jacobian at the queries, in units of the outputs'
// spread, rows of unit norm, the last layer projected out (fit/deep/determined.h). The network has no skip
// terms. Where some of the queries show `enough` in every layer the others are not looked at.
std::vector<double> seen_by_queries(const Network& network, const SampleSource& queries, double enough,
                                    const Control& control) {
  const DeepForm form = to_plain_form(network);
  const auto p = static_cast<double>(std::max<Index>(form.unknowns(), 1));
  const auto m = static_cast<double>(queries.outputs());
  const auto most = static_cast<Index>(kConfirm.most_flops / (p * p * m));
  const Index all = std::min(queries.rows(), most);
  // Queries only add to what is seen: a few may be enough, with those at which rare weights act.
  for (const double share : kConfirm.few_for_weight) {
    const Index few = static_cast<Index>(share * p / m) + 1;
    if (few >= all / kConfirm.worth_few) break;
    const std::vector<double> seen = seen_by_few(form, queries, few, control);
    if (std::all_of(seen.begin(), seen.end(), [&](double value) { return value >= enough; })) return seen;
  }
  return seen_by(form, *(all < queries.rows() ? spread_subset(queries, all) : load(queries)), control);
}

// Which unit of a layer the queries say least of: the one that is on, or off, at fewest of them.
std::string least_seen(const DeepForm& form, std::size_t l, const SampleSource& queries) {
  SampleBlock block;
  queries.read(0, queries.rows(), block);
  const FormRows rows(form, block.x());
  Index least = queries.rows() + 1, unit = 0;
  bool on = true;
  for (Index j = 0; j < rows.Q(l).cols(); ++j) {
    const Index many = (rows.Q(l).col(j).array() > 0).count(), few = std::min(many, queries.rows() - many);
    if (few >= least) continue;
    least = few;
    unit = j;
    on = many <= queries.rows() - many;
  }
  return fmt::format("least is known of unit {}, which is {} at {} of {} queries", unit + 1,
                     on ? "on" : "off", least, queries.rows());
}

// A network may answer all queries and still hold a weight that none of them sees: that of a unit on another
// which bends where no query was made.
void check_weights(Checks& checks, const Network& network, bool plain, const SampleSource& logged,
                   const Control& control) {
  checks.require(
      "no skip terms needed", plain ? 1 : 0, 1, plain,
      fmt::format(
          "the answers are reproduced, but only with skip terms. The network has {} units, in hidden layers "
          "of "
          "{}; the signs of some, and the weights that depend on them, are not determined. A likely cause: "
          "units that are on everywhere, or two units with the same hyperplane and opposite signs",
          network.hidden(), fmt::join(network.widths(), ", ")));
  if (!plain) return;
  const DeepForm form = to_plain_form(network);
  const std::vector<double> seen = seen_by_queries(network, logged, kConfirm.seen, control);
  for (std::size_t l = 0; l < seen.size(); ++l) {
    checks.require(fmt::format("weights of layer {} determined", l + 1), seen[l], kConfirm.seen,
                   seen[l] >= kConfirm.seen,
                   seen[l] >= kConfirm.seen
                       ? ""
                       : fmt::format("other weights of layer {} answer all queries as well (smallest "
                                     "singular value {:.1e}): {}",
                                     l + 1, seen[l], least_seen(form, l, logged)));
  }
}

}  // namespace

RowMatrix fresh_inputs(const Frame& frame, double spread, std::uint64_t seed, std::uint64_t first,
                       Index count) {
  return domain_inputs(frame, spread, sub_seed(seed, "fresh"), first, count);
}

Confirmation confirm(Meter& meter, const std::shared_ptr<const Frame>& frame, const Network& network,
                     const ConfirmOptions& options, Certificate& certificate) {
  Confirmation out;
  const bool deep = network.depth() > 1;
  out.fresh = deep ? std::max(options.fresh, kConfirm.deep_fresh) : options.fresh;
  const RowMatrix x = fresh_inputs(*frame, options.spread, options.seed, options.asked_before, out.fresh);
  const RowMatrix y = meter.ask(QueryStage::kFresh, plain_rows(x));
  certificate.held_out = out.fresh;
  // Answers are compared at the oracle's inputs; which weights queries see, in coordinates of one scale.
  const SamplePtr logged = logged_samples(frame, meter.history());
  const SamplePtr fresh = memory_samples(frame->to_inputs(x), y);
  StoredPrecision stored;
  if (!options.logits) stored = stored_precision(*logged, meter.control());
  const Network on_inputs = frame->on_inputs(network);
  const EntryModel model(on_inputs, nullptr, nullptr);
  const auto check = [&](const SampleSource& rows, bool unseen) {
    return check_entries(model, rows, stored, unseen, {}, meter.control());
  };
  const EntryCheck all = check(*logged, false), last = check(*fresh, true);
  out.logged_worst = all.worst;
  out.fresh_worst = last.worst;
  out.precision = stored.coarse() ? stored.words() : double_precision_words(std::max(all.share, last.share));
  if (all.computed_in_single || last.computed_in_single) out.precision = "single precision";
  const RowMatrix f = evaluate(network, x);
  const RowMatrix centred = y.rowwise() - y.colwise().mean();
  out.fresh_relative_mse = (y - f).squaredNorm() / std::max(centred.squaredNorm(), kTiny);
  out.predicted = f.topRows(std::min(kConfirm.shown, f.rows()));
  out.observed = y.topRows(std::min(kConfirm.shown, y.rows()));

  Checks checks;
  checks.require(
      "answers every logged query", all.worst, 1, all.reproduced(),
      fmt::format("query {} is answered {:.3g} off, output {}: {:.1f} times what the oracle's precision "
                  "allows",
                  all.row + 1, all.gap, all.output + 1, all.worst));
  checks.require(
      "answers fresh random queries", last.worst, 1, last.reproduced(),
      fmt::format("of {} fresh queries the worst is {:.3g} off, {:.1f} times what the oracle's precision "
                  "allows",
                  out.fresh, last.gap, last.worst));
  if (deep) {
    const SamplePtr places = logged_places(frame, meter.history());
    check_weights(checks, network, options.signs_identifiable, *places, meter.control());
  }
  if (options.signs_identifiable) checks.note("signs are determined", 1, 1, true);
  std::move(checks).conclude(
      certificate,
      fmt::format("all {} queries are answered to the oracle's precision ({}), {} of them fresh and random",
                  meter.asked(), out.precision, out.fresh));
  const std::string domain =
      frame->domain().bounded()
          ? fmt::format("on inputs {}", frame->domain().words())
          : fmt::format("on normal inputs of standard deviation {:.3g}", options.spread);
  // No fresh query of so many was answered otherwise: how many of the inputs may be, at most.
  // Each of several attempts is judged by fresh queries of its own: the doubt is shared among them.
  const double doubt = deep ? kConfirm.doubt / kMostAttempts : kConfirm.doubt;
  out.unseen_share = 1 - std::pow(doubt, 1 / static_cast<double>(out.fresh));
  // As few as half of it, or a tenth of a percent.
  const double wished = std::min(kConfirm.wished_share, out.unseen_share / 2);
  const auto needed = static_cast<Index>(std::ceil(std::log(doubt) / std::log1p(-wished)));
  certificate.conclusion = fmt::format(
      "{} this network gives the oracle's answer for at least {:.4g}% of them, at {:g}% confidence. It may "
      "be wrong on the other {:.2g}%: hidden units that act only there may be missing, so the numbers of "
      "hidden units are lower bounds. If it also answered {} fresh queries in place of {}, the {:.2g}% would "
      "fall to {:.2g}%{}",
      domain, 100 * (1 - out.unseen_share), 100 * (1 - kConfirm.doubt), 100 * out.unseen_share, needed,
      out.fresh, 100 * out.unseen_share, 100 * wished,
      options.signs_identifiable ? ""
                                 : "; the signs of its units are not determined: others, with another linear "
                                   "term, give the same function");
  certificate.assumed = {
      network.activation != "relu"
          ? fmt::format("the oracle is a network with one hidden layer of {} units", network.activation)
      : deep ? "the oracle is a network of ReLUs with several hidden layers"
             : "the oracle is a network with one hidden layer of piecewise linear units",
      "units that do not switch within the domain cannot be seen: they are linear there",
      "units that switch in a part of the domain where no query was made cannot be seen either: widths are "
      "lower bounds"};
  return out;
}

}  // namespace exhume
