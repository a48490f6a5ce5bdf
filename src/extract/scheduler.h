// Which move comes next in an extraction, from the first query to the verdict.
//
//     probe -> find single layer -+-> fill columns -> [average] -> find missed units -> sign -> confirm
//                                 |
//                                 +-> several layers, up to three attempts:
//                                     search layers -> [fill deep columns] -> complete -> confirm
#pragma once

#include <string>

#include "exhume/extract.h"
#include "oracle/query_log.h"

namespace exhume {

// The oracle is empty for a replay; `earlier` is what a log holds that is gone on from.
[[nodiscard]] ExtractResult run_extraction(OraclePtr oracle, Index inputs, std::string name,
                                           const ExtractOptions& options, QueryLog& log, LogContents earlier,
                                           const Control& control);

}  // namespace exhume
