// The certificate of an extraction, checked again from network and log alone: no query is made.
//
//   log       its records have their digests, the last is the one the certificate states, and it holds
//             as many queries as stated, within the limit
//   network   answers every logged query to the oracle's precision (plain loops in long double beside it)
//   fresh     the last queries are the random ones that the seed draws
//   replay    the extraction made again from the log gives the same network, and its certificate is the one
//             that is stated, key by key (report/certificate_diff.h)
//
// What cannot be replayed is bad. But two honest folders cannot: one of a version whose queries for a seed
// were others, and one of a machine whose last bits are others, since queries depend on those. Both are told
// by what the certificate says of itself, and said; the first three are checked of them all the same.
#pragma once

#include <string>
#include <vector>

#include "base/module.h"
#include "certify/certificate_check.h"
#include "exhume/control.h"
#include "exhume/network.h"

namespace exhume {

[[nodiscard]] CertificateCheck check_extraction_from_log(const Document& document, const Network& network,
                                                         const std::string& log, const Control& control);

// The same for callers that may have been built without the module extract.
inline Slot<CertificateCheck(const Document&, const Network&, const std::string&, const Control&)>
    check_extraction{"the check of an extraction", "extract"};

}  // namespace exhume
