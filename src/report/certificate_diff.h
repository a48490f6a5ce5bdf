// Two certificates of one result, key by key: the one that is stated, and the one that its files give again.
//
//     stated, again  ->  sentences, one for every key that differs
//
// Every key of either is compared, whatever it is, and a key that only one of them has is a difference. What
// no file tells is left out, by name: `open_fields()` are those of every certificate, `DiffRules::open` those
// of one kind. docs/certificate.md lists both, and tests/forgeries/run_field_tests.py edits every field there
// is and holds the two lists against each other.
//
// Whole numbers are equal or they differ; other numbers may differ as far as two machines do; what is itself
// rounding error, by a factor. Sentences have the same words, with the same numbers as far as their digits
// go.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace exhume {

struct DiffRules {
  double tolerance = 1e-4;          // relative difference that two machines may make
  bool rounding = false;            // errors are rounding errors
  double deviation = 1;             // of the outputs: what rounding errors are measured by
  bool same_version = true;         // otherwise keys of one of them alone, and sentences, are left out
  std::vector<std::string> open{};  // paths beyond open_fields(): "pictures.units", "assumptions[NAME].value"
  std::vector<std::string> only{};  // where there are some: no other key of the document is compared
  std::vector<std::string>
      checks{};  // that only a search makes: they may be stated although they are not again
};

// Paths that no file tells, or that are compared elsewhere (digests, names of columns, the true network).
[[nodiscard]] const std::vector<std::string>& open_fields();

// At most twenty, and one that counts the rest.
[[nodiscard]] std::vector<std::string> differences(const Json& stated, const Json& again,
                                                   const DiffRules& rules);

}  // namespace exhume
