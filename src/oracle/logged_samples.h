// The queries and answers of a log as samples: rows (x, y) in the order in which they were asked.
//
// Inputs are made again from the frame's coordinates block by block, so memory holds the log alone.
#pragma once

#include <memory>
#include <vector>

#include "exhume/samples.h"
#include "oracle/frame.h"
#include "oracle/query_log.h"

namespace exhume {

[[nodiscard]] SamplePtr logged_samples(std::shared_ptr<const Frame> frame, std::vector<LoggedBlock> blocks);
// The same with places in coordinates of the frame's box for inputs.
[[nodiscard]] SamplePtr logged_places(std::shared_ptr<const Frame> frame, std::vector<LoggedBlock> blocks);

}  // namespace exhume
