// A certificate checked again from the files alone.
//
//   certificate     its digest is that of its content; what it requires holds, or, where it is uncertified,
//                   something does not; it says which rows were held out; it is about such a model
//   network         every row is reproduced to rounding, where that is stated
//   held-out rows   drawn again from the split's period and seed, they have the stated error, agreement
//                   or activity
//
// Errors are computed by plain loops in long double (certify/verify.h), nothing of the solvers. Digests show
// that something was changed, not by whom: whoever renews them can state anything, but then the rows must
// still agree with the model. What a network's certificate states beyond that, report/judgement_check.h
// computes again; who wrote it, io/signature.h tells. What cannot be checked is said so, in a finding that is
// neither good nor bad.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "certify/certificate_json.h"
#include "certify/verify.h"
#include "io/open.h"

namespace exhume {

struct CertificateCheck {
  std::vector<Finding> findings;
  std::optional<Verification>
      whole;  // over all rows; empty for a lowest layer, which has no outputs of its own
};

// `samples` are those that the certificate is about: the files it names, or, of a memorized network, the rows
// memorised. Throws DataError where the model does not fit the samples.
[[nodiscard]] CertificateCheck check_certificate(const Document& document, const StoredModel& model,
                                                 const SamplePtr& samples, const Control& control = {});

// Over all rows; empty for a lowest layer. Throws DataError where the model does not fit the samples.
[[nodiscard]] std::optional<Verification> verify_model(const StoredModel& model, const SampleSource& samples,
                                                       const Control& control = {});

}  // namespace exhume
