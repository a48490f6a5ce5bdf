// Move: kinks of a unit that is missing, where the others explain nearly all.
//
//   needs     layers whose outputs are fitted to the sample (fit_layer_outputs)
//   asks      about 20 + 2 (s + 2) queries per kink, three kinks at most in one go; where no query is
//             answered wrongly, climbs to where units would switch that are on at all queries so far
//   time      30 reweighted least-squares fits of the outputs to the sample; a polish where rows are
//             sharpened
//   changes   kinks and sample of the evidence. Where only weights of known units were open: the rows, or the
//             network from which the next polish starts
//
// The wrong answers show once those few are left out of the fit, by trimming, or by least absolute deviations
// where the signs of all layers but the last are known: then several units may be missing. The first kink on
// the way from a right answer to a wrong one belongs to a missing unit.
#pragma once

#include <cstdint>

#include "extract/hypothesis.h"

namespace exhume {

// True where there are new kinks, or sharper rows. look: how often it was tried.
bool find_missing_unit(LayerSearch& search, std::uint64_t look);

}  // namespace exhume
