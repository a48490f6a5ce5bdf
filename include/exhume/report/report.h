// What a recovery has to say, as a file for programs and as a page for people.
//
//   RecoverResult --to_json--> certificate.json --to_html--> report.html
//
// The JSON comes first and holds all that the page shows, so the page can be made again from it alone. Its
// keys are stable:
//
//   status (certified | uncertified | refused), reason, route, inputs, hidden_units, outputs, samples,
//   held_out, heldout_relative_mse, training_relative_mse, noise_sd, max_standard_error,
//   functional_error_bound, confidence, bound_from, signs_identifiable, identifiability {smallest_singular,
//   epsilon, delta}, conclusion, assumed [...], assumptions [{name, value, threshold, holds, required}],
//   tried [{route, outcome}], timings {stage: seconds}, seed, version, command, files [{role, path, sha256}],
//   network_sha256, rows, split {period, seed}, heldout_mean_square, pictures {...}, digest
//
// docs/certificate.md says what each means. `digest` is the SHA-256 of the document without it, written with
// an indent of two: it tells whether the certificate was changed by accident, not by whom.
//
// Numbers that are not finite become null. Under `pictures` numbers are rounded to seven digits and large
// arrays thinned: they are for the eye; the network itself is in network.safetensors.
//
// The page is one file without scripts or requests: inline SVG, light and dark, fit for a phone and for
// paper. Every string that comes from the user is escaped.
#pragma once

#include <string>
#include <vector>

#include "exhume/recover.h"

namespace exhume {

// What the result itself does not know: where the samples came from and how to do it again.
struct Provenance {
  using File = FileDigest;
  std::vector<File> files;
  std::string command;           // as typed; empty where there was none
  std::string network_sha256{};  // of network.safetensors; empty where none is written
};

[[nodiscard]] std::string to_json(const RecoverResult& result, const Provenance& provenance = {});

// Does the certificate carry the digest of its own content? False where it has none.
[[nodiscard]] bool digest_matches(const std::string& json);

// Throws DataError where `json` is not JSON or not a certificate. Missing keys leave their part of the page
// out.
[[nodiscard]] std::string to_html(const std::string& json);

// The verdict in one sentence, as page and terminal open with it.
[[nodiscard]] std::string verdict(const RecoverResult& result);

}  // namespace exhume
