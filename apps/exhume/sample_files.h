// Samples as they are named on a command line: X and Y, or one .npz with both.
#pragma once

#include <string>
#include <vector>

#include "exhume/base/control.h"
#include "exhume/report/report.h"
#include "exhume/data/samples.h"

namespace exhume::cli {

// Throws std::invalid_argument unless there are two files, or a single one that ends in .npz.
void check_sample_files(const std::vector<std::string>& files);
[[nodiscard]] SamplePtr open_sample_files(const std::vector<std::string>& files, const Control& control);
// The same as the certificate names them, with their digests; `mirrored` may be empty.
[[nodiscard]] std::vector<Provenance::File> sample_file_roles(const std::vector<std::string>& files,
                                                              const std::string& mirrored,
                                                              const Control& control);

}  // namespace exhume::cli
