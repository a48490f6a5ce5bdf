// What can be expected of samples before anything is fitted: do they fit the problem, and what would help?
//
//     shape, repeats, stored precision, distribution of the inputs     certify/inspect.h, certify/stored_precision.h
//     linear share   how much of the outputs' variance a linear function of the inputs explains
//     most hidden    k of the largest network A max(Wx + b, 0) + c for which the rows are plenty, 12 equations per
//                    unknown: 12 (k (d + m) + m (d + 1)) <= n m; at most 200. Exact data may do with a tenth of them.
//     routes         every automatic one: does its condition hold, and if not, why
//
// Looked at on at most 100,000 rows spread over the samples: seconds, whatever their number.
#pragma once

#include <string>
#include <vector>

#include "certify/inspect.h"
#include "exhume/control.h"
#include "exhume/samples.h"

namespace exhume {

struct RouteOutlook {
  std::string route;
  bool applies = true;
  std::string why{};  // it does not
};

struct Outlook {
  Index rows = 0, looked_at = 0, distinct = 0;  // of the rows looked at, those that differ
  Index inputs = 0, outputs = 0;
  std::string precision;  // of the outputs, in words
  Inspection inspection;
  double linear_share = 0;  // of the outputs' variance; 1: there is nothing else
  Index most_hidden = 0;
  double memory_bytes = 0;  // of all rows in double precision
  std::vector<RouteOutlook> routes;
  std::vector<std::string> obstacles;  // recover refuses these samples; each a sentence without its full stop
  std::vector<std::string> advice;     // what would help, likewise
};

[[nodiscard]] Outlook outlook(const SamplePtr& samples, const Control& control);

// Columns of x (numbered from 0) that count their rows: 0, 1, 2, ... or 1, 2, 3, ...
[[nodiscard]] std::vector<Index> index_columns(const SampleSource& samples);

}  // namespace exhume
