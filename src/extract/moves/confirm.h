// Move: is it the network? Fresh random queries over the domain, of which nothing else depends, and every
// earlier query.
//
//   needs     a network in the result
//   asks      256 fresh queries, or as many as the options say; 1000 at least where there are several hidden
//             layers
//   time      one evaluation of the network per query; for several layers the Gram matrix of the Jacobian, at
//             most 2e12 operations
//   changes   the certificate: status, reason, checks, conclusion
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "exhume/certificate.h"
#include "exhume/network.h"
#include "oracle/meter.h"

namespace exhume {

// Attempts at several hidden layers: the doubt about what fresh queries show is shared among them.
inline constexpr std::uint32_t kMostAttempts = 3;

struct ConfirmOptions {
  std::uint64_t seed = 0;
  Index fresh = 256;
  std::uint64_t asked_before = 0;  // fresh queries of earlier attempts
  double spread = 1;               // of fresh queries where there is no box: standard deviation
  bool logits = false;             // answers are read as logits
  bool signs_identifiable = true;  // without skip terms, where there are several layers
};

struct Confirmation {
  Index fresh = 0;
  std::string precision;                     // of the oracle
  double logged_worst = 0, fresh_worst = 0;  // largest |y - f| over what is allowed there
  double fresh_relative_mse = 0;
  double unseen_share = 1;        // of the domain on which the oracle may differ, at most
  RowMatrix predicted, observed;  // of fresh queries, some
};

// Concludes the certificate: status, reason, checks, conclusion.
// The network is in coordinates of the frame's box.
[[nodiscard]] Confirmation confirm(Meter& meter, const std::shared_ptr<const Frame>& frame,
                                   const Network& network, const ConfirmOptions& options,
                                   Certificate& certificate);

// The fresh queries: count x d, from number `first` on.
[[nodiscard]] RowMatrix fresh_inputs(const Frame& frame, double spread, std::uint64_t seed,
                                     std::uint64_t first, Index count);

}  // namespace exhume
