#include "extract/moves/polish.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "extract/climb.h"
#include "extract/form_fit.h"
#include "extract/moves/find_always_on_unit.h"
#include "extract/moves/resolve_signs.h"
#include "fit/deep/prune.h"
#include "fit/deep/signs.h"

namespace exhume {
namespace {

// Chosen by experience on random and digit-trained networks; not derived.
struct PolishLimits {
  double explained[2] = {1e-10, 1e-7};        // of the variance: two hidden layers, and more
  double nearly_explained = 2e-3;             // where rows are open
  double linear_share = 2, polish_share = 2;  // equations per unknown
  Index spare_queries = 60;                   // beyond these
  Index pair_candidates = 60000;              // places among which such are looked for where a pair acts
  double pair_queries = 4;                    // at which both units of a weight are on
  Index most_surprises = 60;
  int lessons = 4;            // polishes on surprises
  Index climbs = 400;         // before a network is taken for whole
  double good_start = 1e-12;  // relative mean square of a last layer alone
};
constexpr PolishLimits kPolish;

// The network that was surprised, fitted to these queries too: weights that were open where nothing was
// asked.
bool learn_from_surprises(LayerSearch& search);

// Of a unit that was met on two parts of its surface one half is enough.
void leave_twins(LayerSearch& search) {
  const auto doubtful = [](const FoundUnit& unit) { return unit.open > 0; };
  for (std::size_t l = 1; l < search.hypothesis.network.depth(); ++l) {
    const auto& units = search.hypothesis.units[l - 1];
    if (std::any_of(units.begin(), units.end(), doubtful)) leave_needless_units(search, l);
  }
}

bool learn_from_surprises(LayerSearch& search) {
  for (int round = 0; round < kPolish.lessons && search.hypothesis.nearly; ++round) {
    const DeepForm start = *search.hypothesis.nearly;
    if (!polish_network(search, start, Patience::kLong)) return false;
    leave_twins(search);
    polish_on_all_queries(search);
    if (!add_surprises(search)) return true;
  }
  return false;
}

// Where units that act rarely would.
void ask_at_climbs(LayerSearch& search) {
  const RowMatrix u = climbs(
      search.space, search.evidence, search.hypothesis.network,
      search.seed ^ (0x428a2f98u + static_cast<std::uint64_t>(search.evidence.climbs++)), kPolish.climbs);
  if (u.rows() > 0) (void)search.space.ask(QueryStage::kClimbs, u);
}

// Queries for a polish of that form.
double wanted_queries(const LayerSearch& search, const DeepForm& form) {
  return kPolish.polish_share * static_cast<double>(form.unknowns()) / static_cast<double>(search.outputs()) +
         static_cast<double>(form.features());
}

// Networks with skip terms, and their signs afterwards.
bool finish_sign_free(LayerSearch& search) {
  fill_sample(search, wanted_queries(search, search.hypothesis.fitted));
  if (!(fit_layer_outputs(search) < explained_share(search))) return false;
  if (!polish_network(search, search.hypothesis.fitted)) return false;
  const DeepForm loose = search.hypothesis.network;
  const DeepSigns second = find_signs(loose);
  if (!polish_network(search, second.form) && !polish_network(search, loose)) return false;
  polish_on_all_queries(search);
  return !add_surprises(search);
}

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

bool is_nearly_explained(const LayerSearch& search) {
  if (!(search.hypothesis.left < kPolish.nearly_explained)) return false;
  for (const auto& units : search.hypothesis.units)
    for (const FoundUnit& unit : units)
      if (unit.free.rows() > 0) return true;
  return false;
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
  if (auto fit =
          fit_form_to_all(search.space, network, search.evidence.u, search.evidence.y, search.evidence.scale))
    network = std::move(fit->form);
}

void ask_where_pairs_act(LayerSearch& search) {
  const RowMatrix places =
      places_about(search.space, search.evidence, search.seed ^ 0x510e527fu, 0, kPolish.pair_candidates);
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

bool finish_network(LayerSearch& search, bool last) {
  DeepForm start = network_of_layers(search);
  if (start.V.empty()) start = find_signs(search.hypothesis.fitted).form;
  if (search.hypothesis.start) start = *std::exchange(search.hypothesis.start, std::nullopt);
  fill_sample(search, wanted_queries(search, start));
  // Units that act rarely show among more queries.
  const double left = fit_layer_outputs(search), all = explained_share(search);
  if (!(left < (is_nearly_explained(search) ? kPolish.nearly_explained : all))) return false;
  // Where much is left, weights of the last hidden layer are open: alone they are found sooner.
  if ((left < all && polish_network(search, start)) ||
      (start.plain && polish_last_layer_first(search, start)) ||
      (left < all && find_unit_that_switches_far_out(search))) {
    leave_twins(search);
    ask_where_pairs_act(search);
    polish_on_all_queries(search);
    if (add_surprises(search) && !learn_from_surprises(search)) return false;
    // In the inputs themselves the last look does so (extract/moves/complete_network.h).
    if (search.space.whole) return true;
    ask_at_climbs(search);
    return !add_surprises(search) || learn_from_surprises(search);
  }
  return last && finish_sign_free(search);
}

}  // namespace exhume
