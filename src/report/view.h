// A certificate with what only its reader knows: the network that was planted, and the shape of the inputs.
//
//   truth         {path, sha256, comparable, why, parameters, worst_error, rms_error}
//   pictures      truth {true [...], recovered [...]}: parameters of both networks in canonical form, matched
//                 unit by unit; images of the units
//
// The digest is that of the new content.
#pragma once

#include <string>
#include <vector>

#include "certify/certificate_json.h"
#include "io/open.h"

namespace exhume {

// `truth` was read from `file`. Networks of different shape or kind are said not to be comparable.
void add_truth(Document& document, const StoredModel& found, const StoredModel& truth,
               const FileDigest& file);

// Is the truth that a certificate states the one that these networks give? True where it states none.
[[nodiscard]] bool truth_matches(const Document& document, const StoredModel& found,
                                 const StoredModel& truth);

// "8x8": rows and columns. Throws std::invalid_argument for anything else.
[[nodiscard]] std::vector<Index> parse_shape(const std::string& text);

// Throws std::invalid_argument where the shape has another number of places than there are inputs.
void check_shape(const std::vector<Index>& shape, Index inputs);
void add_shape(Document& document, const StoredModel& found, const std::vector<Index>& shape);

}  // namespace exhume
