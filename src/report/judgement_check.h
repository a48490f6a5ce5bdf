// A network's certificate against the one that its samples give when they are judged again.
//
//     certificate, network, samples  ->  judge_again (routes/judge_again.h)  ->  make_document,  key by key
//
// Digests tell that a file was changed; whoever renews them as well has to state what this finds. Compared
// are status, precision, errors, bounds, noise, identifiability, counts, split, every check with its
// threshold, the sentences that follow from them, and the pictures of network and held-out rows. Numbers may
// differ as far as two machines do; what is itself rounding error, by a factor. Sentences are compared where
// the certificate is of this version.
//
// Not compared, since samples and network do not tell: date, host, command, timings, version, routes that
// were tried, pictures of the search, and checks that a route makes while it searches.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "certify/certificate_check.h"

namespace exhume {

// Of networks that are stated to be certified or estimated; nothing otherwise. Cost: a few passes over the
// rows, for an estimate also a fit that starts where it ends. `errors` are the standard errors that lie
// beside the network.
[[nodiscard]] std::vector<Finding> check_judgement(const Document& document, const StoredModel& model,
                                                   const SamplePtr& samples, const Control& control = {},
                                                   const std::optional<Network>& errors = {});

}  // namespace exhume
