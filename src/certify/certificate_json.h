// A certificate as text: certificate.json.
//
// Keys that every certificate has, in this order, with those of its own kind between them:
//
//   status (certified | uncertified | refused), reason, verdict, kind, route, ..., input_names [...],
//   output_names [...], input_shape [rows, columns], samples, held_out, rows, split {period, seed},
//   target [...], remarks [...], conclusion, assumed [...],
//   assumptions [{name, value, threshold, holds, required}], tried [{route, outcome}],
//   timings {stage: seconds}, seed, options {name: value}, version, host, date, command,
//   files [{role, path, sha256}], written [{role, path, sha256}], ..., digest
//
// `digest` is the SHA-256 of the document without it, written with an indent of two: it tells whether the
// certificate was changed by accident, not by whom. Numbers that are not finite are null. docs/certificate.md
// says what each key means.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exhume/certificate.h"

namespace exhume {

// Does the certificate carry the digest of its own content? False where it has none.
[[nodiscard]] bool digest_matches(const std::string& text);

// Version, machine and time, for a certificate that is about to be written; `threads` that worked on it, 0
// where nobody counted.
void stamp(Certificate& certificate, int threads = 0);

// What a certificate says of the files it is about.
struct CertifiedFiles {
  std::string kind;                 // of result: "network", "lowest layer", "halfspaces", "memorized network"
  std::vector<FileDigest> samples;  // read
  std::vector<FileDigest> written;  // beside the certificate
  std::vector<Index> target;        // of one table: the columns that are outputs, from 0
  // No file of these is larger, by the rows and the shape that are stated: as text with 256 bytes a number,
  // or in an archive with other arrays.
  std::uint64_t most_bytes = 0;
};
// Throws DataError where `text` is no certificate.
[[nodiscard]] CertifiedFiles certified_files(const std::string& text);

}  // namespace exhume
