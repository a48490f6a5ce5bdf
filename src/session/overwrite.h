// What must not be lost: files that no earlier run wrote, and the certificate of a result.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace exhume {

// A file would be lost; the message says which. The caller may choose another place, or allow it.
struct WouldOverwrite : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// Throws WouldOverwrite where one of `names` lies in the folder and no certificate there speaks of its bytes.
void refuse_to_overwrite(const std::string& folder, const std::vector<std::string>& names);

// Throws WouldOverwrite where the folder holds a result.
void refuse_result_folder(const std::string& folder);

// One file, whole or not at all. Throws WouldOverwrite where it exists, unless `overwrite`.
void write_new_file(const std::string& path, std::string_view bytes, bool overwrite);

}  // namespace exhume
