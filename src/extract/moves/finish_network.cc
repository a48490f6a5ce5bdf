#include "extract/moves/finish_network.h"

#include <algorithm>
#include <utility>

#include "extract/climb.h"
#include "extract/moves/find_always_on_unit.h"
#include "extract/moves/polish.h"
#include "extract/moves/resolve_signs.h"
#include "fit/signs.h"

namespace exhume {
namespace {

// Chosen by experience on random and digit-trained networks; not derived.
struct FinishNetworkLimits {
  double nearly_explained = 2e-3;  // of the variance, where rows are open
  double polish_share = 2;         // equations per unknown
  int lessons = 4;                 // polishes on surprises
  Index climbs = 400;              // before a network is taken for whole
};
constexpr FinishNetworkLimits kFinish;

// Of a unit that was met on two parts of its surface one half is enough.
void leave_twins(LayerSearch& search) {
  const auto doubtful = [](const FoundUnit& unit) { return unit.open > 0; };
  for (std::size_t l = 1; l < search.hypothesis.network.depth(); ++l) {
    const auto& units = search.hypothesis.units[l - 1];
    if (std::any_of(units.begin(), units.end(), doubtful)) leave_needless_units(search, l);
  }
}

// The network that was surprised, fitted to these queries too: weights that were open where nothing was
// asked.
bool learn_from_surprises(LayerSearch& search) {
  for (int round = 0; round < kFinish.lessons && search.hypothesis.nearly; ++round) {
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
  const RowMatrix u = climbs(search.space, search.evidence, search.hypothesis.network,
                             sub_seed(search.seed, "climbs", search.evidence.climbs++), kFinish.climbs);
  if (u.rows() > 0) (void)search.space.ask(QueryStage::kClimbs, u);
}

// Queries for a polish of that form.
double wanted_queries(const LayerSearch& search, const DeepForm& form) {
  return kFinish.polish_share * static_cast<double>(form.unknowns()) / static_cast<double>(search.outputs()) +
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

bool is_nearly_explained(const LayerSearch& search) {
  if (!(search.hypothesis.left < kFinish.nearly_explained)) return false;
  for (const auto& units : search.hypothesis.units)
    for (const FoundUnit& unit : units)
      if (unit.free.rows() > 0) return true;
  return false;
}

bool finish_network(LayerSearch& search, bool last) {
  DeepForm start = network_of_layers(search);
  if (start.V.empty()) start = find_signs(search.hypothesis.fitted).form;
  if (search.hypothesis.start) start = *std::exchange(search.hypothesis.start, std::nullopt);
  fill_sample(search, wanted_queries(search, start));
  // Units that act rarely show among more queries.
  const double left = fit_layer_outputs(search), all = explained_share(search);
  if (!(left < (is_nearly_explained(search) ? kFinish.nearly_explained : all))) return false;
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
