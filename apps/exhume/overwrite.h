// Files that nobody wants to lose: a command replaces what an earlier run of Exhume wrote, and nothing else.
#pragma once

#include <string>
#include <vector>

namespace exhume::cli {

// Throws std::invalid_argument where one of `names` lies in `folder` and no certificate beside it speaks of these
// bytes: the truth that samples were made from, a network from elsewhere, data. The remedies are another folder and
// --force.
void refuse_to_overwrite(const std::string& folder, const std::vector<std::string>& names);

// Throws where `folder` holds a result: files of another kind would stand under its certificate.
void refuse_result_folder(const std::string& folder);

}  // namespace exhume::cli
