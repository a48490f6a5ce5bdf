// The certificate of an extraction, checked again from network and log alone: no question is asked.
//
//   log       its records have their digests, the last is the one the certificate states, and it holds
//             as many questions as stated, within the limit
//   network   answers every logged question to the oracle's precision (plain loops in long double beside it)
//   fresh     the last questions are the random ones that the seed draws
//   replay    the extraction made again from the log gives the same network. Questions depend on the last
//             bits of what this machine computes, so on another one this may not be possible, which is said
#pragma once

#include <string>
#include <vector>

#include "certify/certificate_check.h"
#include "exhume/control.h"
#include "exhume/network.h"

namespace exhume {

[[nodiscard]] CertificateCheck check_extraction(const std::string& json, const Network& network,
                                                const std::string& log, const Control& control = {});

}  // namespace exhume
