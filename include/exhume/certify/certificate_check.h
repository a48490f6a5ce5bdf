// A certificate checked again from the files alone.
//
//   certificate   its digest is that of its content; what it requires holds; it is about such a network
//   network       its bytes are those that were certified
//   samples       the files are those that were read
//   rows          the held-out rows, drawn again from the split's period and seed, have the stated error
//
// The errors are computed by verify.h: plain loops in long double, nothing of the solvers. Digests show that
// something was changed, not by whom: whoever rewrites all files together can state anything, but then the
// rows must still agree with the network.
#pragma once

#include <string>
#include <vector>

#include "exhume/model/network.h"
#include "exhume/report/report.h"
#include "exhume/certify/verify.h"

namespace exhume {

// One thing that was checked.
struct Finding {
  std::string part;  // "certificate", "network", or the role of a file: what is to blame where it is not good
  bool good = true;
  std::string words;
};

// What a certificate says of the files it was made from.
struct CertifiedFiles {
  std::string network_sha256;
  std::vector<Provenance::File> samples;
};
// Throws DataError where `json` is no certificate.
[[nodiscard]] CertifiedFiles certified_files(const std::string& json);

// `whole` is verify(network, samples).
[[nodiscard]] std::vector<Finding> check_certificate(const std::string& json, const Network& network,
                                                     const SamplePtr& samples, const Verification& whole,
                                                     const Control& control = {});

}  // namespace exhume
