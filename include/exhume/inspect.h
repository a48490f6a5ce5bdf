// What can be expected of samples before anything is fitted: do they fit the problem, and what would help?
//
//     linear share   how much of the outputs' variance a linear function of the inputs explains
//     most hidden    k of the largest network A max(Wx + b, 0) + c for which the rows are plenty, 12
//                    equations per unknown: 12 (k (d + m) + m (d + 1)) <= n m; at most 200. Exact data may
//                    do with a tenth of them.
//     routes         every automatic one: does its condition hold, and if not, why
//
// Looked at on at most 100,000 rows spread over the samples: seconds, whatever their number.
#pragma once

#include <string>
#include <vector>

#include "exhume/certificate.h"
#include "exhume/control.h"
#include "exhume/samples.h"

#pragma GCC visibility push(default)
namespace exhume {

// How the inputs are distributed, by small tests.
struct Inspection {
  std::vector<Assumption> tests;  // value against threshold, holds, and words in `name`
  bool gaussian = true;
  bool symmetric = true;
  bool discrete = false;         // some input takes only a handful of values
  bool integer_outputs = false;  // every output is a whole number
  bool repeated_rows = false;    // some row (x, y) occurs twice
};

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

  // A route applies and nothing stands in its way.
  [[nodiscard]] bool fits() const;
};

// Names of columns, where the samples have some, go into the sentences. Throws Interrupted.
[[nodiscard]] Outlook inspect(const SamplePtr& samples, const std::vector<std::string>& input_names = {},
                              const std::vector<std::string>& output_names = {}, const Control& control = {});

}  // namespace exhume
#pragma GCC visibility pop
