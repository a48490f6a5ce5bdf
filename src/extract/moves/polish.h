// What moves polish with: outputs, layers and networks fitted to the sample (extract/form_fit.h), and queries
// at which weights act that hardly did so far. Each says what it changes.
#pragma once

#include "extract/hypothesis.h"

namespace exhume {

// Steps after which a polish must be on its way.
enum class Patience { kFew = 4, kMany = 10, kLong = 40 };

// Random queries, until there are about `count` of them.
void fill_sample(LayerSearch& search, double count);
// The outputs on the features of the layers, by least squares on the sample: sets `fitted` and `left`.
double fit_layer_outputs(LayerSearch& search);
// So little is left of the variance that no unit is taken to be missing: by the layers above the first, since
// rows are known less well from layer to layer. What is missing after all shows when a polish does not end at
// rounding.
[[nodiscard]] double explained_share(const LayerSearch& search);
// The network polished from a start on the sample; false where that does not end at rounding.
bool polish_network(LayerSearch& search, const DeepForm& start, Patience patience = Patience::kMany);
// The last hidden layer first, then all: sooner where its weights are open.
bool polish_last_layer_first(LayerSearch& search, const DeepForm& start);
// Leaves out units of layer l (from 0) without which all queries are answered as well.
void leave_needless_units(LayerSearch& search, std::size_t l);
// Once more on everything that was asked in the space.
void polish_on_all_queries(LayerSearch& search);
// Queries at which pairs of units act that did so at few, or none.
void ask_where_pairs_act(LayerSearch& search);
// Earlier queries that the network answers wrongly join the sample: a unit is missing, or a weight is open.
bool add_surprises(LayerSearch& search);

}  // namespace exhume
