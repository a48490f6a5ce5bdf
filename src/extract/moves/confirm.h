// Move: is it the network? Fresh random queries over the domain, of which nothing else depends, and every
// earlier query.
//
//   needs     a network in the result
//   asks      256 fresh queries, or as many as the options say; 1000 at least where there are several hidden
//             layers
//   time      one evaluation of the network per query; for several layers the Gram matrix of the Jacobian, at
//             most 2e12 operations
//   changes   the result: status, reason, checks, precision, confidence
#pragma once

#include <cstdint>
#include <memory>

#include "exhume/extract.h"
#include "oracle/meter.h"

namespace exhume {

// Attempts at several hidden layers: the doubt about what fresh queries show is shared among them.
inline constexpr std::uint32_t kMostAttempts = 3;

// asked_before: fresh queries of earlier attempts. Returns how many were asked now.
Index confirm(Meter& meter, const std::shared_ptr<const Frame>& frame, const ExtractOptions& options,
              std::uint64_t asked_before, ExtractResult& result);

// The fresh queries: count x d, from number `first` on.
[[nodiscard]] RowMatrix fresh_inputs(const Frame& frame, double spread, std::uint64_t seed,
                                     std::uint64_t first, Index count);

}  // namespace exhume
