#include "extract/moves/polish.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "extract/climb.h"
#include "extract/form_fit.h"

namespace exhume {
namespace {

// Chosen by experience on random and digit-trained networks; not derived.
struct PolishLimits {
  double explained[2] = {1e-10, 1e-7};  // of the variance: two hidden layers, and more
  double linear_share = 2;              // equations per unknown of the outputs
  Index spare_queries = 60;             // beyond these
  Index pair_candidates = 60000;        // places among which such are looked for where a pair acts
  double pair_queries = 4;              // at which both units of a weight are on
  Index most_surprises = 60;
  double good_start = 1e-12;  // relative mean square of a last layer alone
};
constexpr PolishLimits kPolish;

}  // namespace

void fill_sample(LayerSearch& search, double count) {
  fill_sample(search.space, search.evidence, search.seed, static_cast<Index>(count) + kPolish.spare_queries);
}

double fit_layer_outputs(LayerSearch& search) {
  Hypothesis& known = search.hypothesis;
  known.fitted = {};
  known.fitted.inputs = search.dimensions();
  known.fitted.V = known.layers;
  fill_sample(search, kPolish.linear_share * static_cast<double>(known.fitted.features()));
  known.left = fit_outputs(known.fitted, search.evidence.u, search.evidence.y, search.space.meter->control());
  return known.left;
}

double explained_share(const LayerSearch& search) {
  return kPolish.explained[search.hypothesis.layers.size() > 2 ? 1 : 0];
}

bool polish_network(LayerSearch& search, const DeepForm& start, Patience patience) {
  FormFitOptions options;
  options.hope = static_cast<int>(patience);
  auto fit = fit_form(start, search.evidence.u, search.evidence.y, options, search.space.meter->control());
  if (!fit) return false;
  Hypothesis& known = search.hypothesis;
  known.network = std::move(fit->form);
  known.left = fit->relative_mse;
  known.exact = true;
  known.plain = known.network.plain;
  return true;
}

bool polish_last_layer_first(LayerSearch& search, const DeepForm& start) {
  DeepForm form = start;
  form.given = form.depth() - 1;
  FormFitOptions options;
  options.hope = static_cast<int>(Patience::kLong);
  options.enough = kPolish.good_start;
  auto fit = fit_form(form, search.evidence.u, search.evidence.y, options, search.space.meter->control());
  if (!fit) return false;
  fit->form.given = start.given;
  return polish_network(search, fit->form);
}

void leave_needless_units(LayerSearch& search, std::size_t l) {
  const DeepForm& network = search.hypothesis.network;
  for (Index j = network.V[l].rows(); j-- > 0 && network.V[l].rows() > 1;) {
    std::vector<Index> kept(static_cast<std::size_t>(network.V[l].rows()));
    std::iota(kept.begin(), kept.end(), Index{0});
    kept.erase(kept.begin() + j);
    (void)polish_network(search, with_units(network, l, kept), Patience::kFew);
  }
}

void polish_on_all_queries(LayerSearch& search) {
  DeepForm& network = search.hypothesis.network;
  if (auto fit = fit_form_to_all(search.space, search.evidence, network)) network = std::move(fit->form);
}

void ask_where_pairs_act(LayerSearch& search) {
  const RowMatrix places =
      places_about(search.space, search.evidence, sub_seed(search.seed, "pairs"), 0, kPolish.pair_candidates);
  const std::vector<Index> chosen =
      where_pairs_act(search.hypothesis.network, places, search.evidence.u, kPolish.pair_queries);
  ask_for_sample(search.space, search.evidence, places(chosen, Eigen::all));
}

bool add_surprises(LayerSearch& search) {
  Hypothesis& known = search.hypothesis;
  const WrongAnswers wrong = wrong_answers(search.space, known.network, spread_of(search.evidence.y),
                                           search.evidence.scale, kPolish.most_surprises);
  if (wrong.u.rows() == 0) return false;
  append_rows(search.evidence.u, wrong.u);
  append_rows(search.evidence.y, wrong.y);
  if (known.plain) known.adopt(known.network);
  known.exact = known.plain = false;
  (void)fit_layer_outputs(search);
  return true;
}

}  // namespace exhume
