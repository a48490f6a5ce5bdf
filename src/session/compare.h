// What `compare` does, from names to files written.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "exhume/compare.h"
#include "report/compare_report.h"
#include "session/delivery.h"

namespace exhume {

struct CompareFiles {
  std::string first{}, second{};  // files; the second empty where a command is given, both where two are
  std::vector<std::string> commands{};  // programs that answer queries (oracle/command_oracle.h)
  bool text = false;                    // they speak text
  Index inputs = 0;                     // of two programs
  double timeout = 60;                  // seconds for one batch
  std::string domain{};                 // a table of inputs; empty: none
  std::vector<double> low{}, high{};    // of the domain; empty: none
  CompareOptions options{};
};

// Throws DataError, std::invalid_argument, Interrupted.
[[nodiscard]] CompareResult compare(const CompareFiles& files, const Control& control);

// The files that were compared, role and path, with their digests into the certificate.
void add_files(const std::vector<std::pair<std::string, std::string>>& files, CompareResult& found);

// Certificate and page into the folder.
Delivered finish(Delivery& delivery, CompareResult& found, const Control& control);

}  // namespace exhume
