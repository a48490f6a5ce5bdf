// A certificate against the one that its files give again.
//
//     certificate, model, samples  ->  judged or learnt again  ->  make_document  ->  differences, key by key
//
//     network, any depth   judged again from network and samples (routes/judge_again.h)
//     lowest layer, set    learnt again from the samples (report/papers/layer_check.h)
//     memorized network    measured again on its rows (report/papers/memorize_check.h)
//
// What the model is decides, not what the certificate calls itself. Digests tell that a file was changed;
// whoever renews them as well has to state what this finds. What is compared, and what is not because no file
// tells it, report/certificate_diff.h says.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/module.h"
#include "certify/certificate_check.h"

namespace exhume {

// What lies beside model and samples.
struct Beside {
  std::optional<Network> errors{};  // standard errors of the weights
  SamplePtr given{};               // of a memorized network: the rows that it was given, where they are there
  std::filesystem::path folder{};  // of a lowest layer: where its other files are
};

// Cost: a few passes over the rows; for an estimate also a fit that starts where it ends, for several hidden
// layers a trial without each unit, for a lowest layer what learning it took. Of networks that claim nothing
// only what does not depend on their search is compared.
[[nodiscard]] std::vector<Finding> check_judgement(const Document& document, const StoredModel& model,
                                                   const SamplePtr& samples, const Control& control = {},
                                                   const Beside& beside = {});

// For callers that may have been built without the module papers.
inline Slot<std::vector<Finding>(const Document&, const StoredLayer&, const SamplePtr&,
                                 const std::filesystem::path&, const Control&)>
    check_layer_again{"the check of a lowest layer", "papers"};
inline Slot<std::vector<Finding>(const Document&, const QuadraticNetwork&, const SamplePtr&, const SamplePtr&,
                                 const Control&)>
    check_memorized_again{"the check of a memorized network", "papers"};

}  // namespace exhume
