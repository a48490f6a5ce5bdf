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

// Which of `names` an earlier run wrote into the folder: the certificate there names their bytes.
[[nodiscard]] std::vector<std::string> written_by_earlier_run(const std::string& folder,
                                                              const std::vector<std::string>& names);

// Throws WouldOverwrite where one of `inputs`, files that the run reads, is one of `names` in the folder.
void refuse_to_overwrite_inputs(const std::string& folder, const std::vector<std::string>& names,
                                const std::vector<std::string>& inputs);
// Whether two names are those of one file; false where either is none.
[[nodiscard]] bool is_same_file(const std::string& a, const std::string& b);
// Also where they are not there yet.
[[nodiscard]] bool would_be_same_file(const std::string& a, const std::string& b);

// Throws WouldOverwrite where the folder holds a result.
void refuse_result_folder(const std::string& folder);

// Throws WouldOverwrite where the log of queries is one of a result: what is added to it would set it against
// its certificate.
void refuse_log_of_result(const std::string& log);

// One file, whole or not at all. Throws WouldOverwrite where it exists, unless `overwrite`.
void write_new_file(const std::string& path, std::string_view bytes, bool overwrite);

}  // namespace exhume
