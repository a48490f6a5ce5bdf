// A certificate as a document: what certificate.json holds.
//
//   result --make_document--> Document --to_text--> certificate.json --read_document--> Document
//                                |
//                                +--to_html (report/report.h)--> report.html
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

#include "base/json.h"
#include "exhume/certificate.h"

namespace exhume {

struct Document {
  Certificate certificate;  // what every kind states; of a file, as far as it does
  std::string kind;         // "network", "deep network", "extracted network", "lowest layer", ...
  Json json;                // every key in the order of the file, `digest` last
  bool sealed = false;      // `digest` is that of the content
};

// What one kind of result adds.
struct CertificateParts {
  std::string kind, verdict;
  Json own = Json::object();       // keys of its own, after the route
  Json pictures = Json::object();  // for the eye: numbers rounded, large arrays thinned
  Json sections = Json::array();   // of the page (report/sections.h)
};
[[nodiscard]] Document make_document(const Certificate& certificate, CertificateParts parts);

// The one reader. Throws DataError where `text` is not JSON, is nested too deep, or has no status. Keys that
// are missing or of another type leave their field empty.
[[nodiscard]] Document read_document(const std::string& text);

// The bytes of certificate.json.
[[nodiscard]] std::string to_text(const Document& document);

// The digest anew, after a change to `json`.
void seal(Document& document);

// No file that the certificate speaks of is larger, by the rows and the shape that it states: as text with
// 256 bytes per number, or in an archive with other arrays.
[[nodiscard]] std::uint64_t most_bytes(const Document& document);

// Version, machine and time, for a certificate that is about to be written; `threads` that worked on it, 0
// where nobody counted.
void stamp(Certificate& certificate, int threads = 0);

}  // namespace exhume
