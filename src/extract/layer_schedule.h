// Which move comes next in the search for several hidden layers within one space.
//
//     find planes -> [tell by jumps] -> grow layers -> polish -> done
//          ^                               ^    |         |
//          |                               |    v         v
//          +----- nothing was found -----  find missing unit
//
// It ends with an exact network, after ten rounds of lines, or when so many queries brought it no further
// that another attempt in another subspace is better. Nothing in it depends on the clock or on the limit of
// queries.
#pragma once

#include "extract/hypothesis.h"
#include "extract/moves/move.h"

namespace exhume {

// Changes evidence and hypothesis of the search, which may hold planes and evidence of an earlier one; adds
// to the log.
void search_layers(LayerSearch& search, MoveLog& log);

}  // namespace exhume
