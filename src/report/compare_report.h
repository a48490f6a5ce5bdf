// What a comparison of two networks has to say: as JSON, as a certificate, as a page.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "exhume/compare.h"
#include "report/report.h"
#include "report/result_files.h"

namespace exhume {

// The keys of `exhume compare --json` (session/documents.h).
[[nodiscard]] Json comparison_json(const CompareResult& found);

// kind "comparison": the same keys, `comparison` in place of `verdict`.
[[nodiscard]] Document make_document(const CompareResult& found);
[[nodiscard]] std::string verdict(const CompareResult& found);
[[nodiscard]] std::vector<Fact> facts(const CompareResult& found);
// Two numbers with as many digits as show that they differ, six at least.
[[nodiscard]] std::pair<std::string, std::string> told_apart(double a, double b);

//   boxes.txt   the tree of boxes behind a proof
[[nodiscard]] std::vector<ResultFile> result_files(const CompareResult& found);

}  // namespace exhume
