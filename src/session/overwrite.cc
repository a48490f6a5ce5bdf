#include "session/overwrite.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "exhume/error.h"
#include "io/atomic_file.h"
#include "io/digest.h"
#include "io/output_folder.h"
#include "session/certificate_file.h"

namespace exhume {
namespace {

namespace fs = std::filesystem;

// What the certificate in the folder says was written with it.
std::vector<FileDigest> written_before(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::exists(folder / kCertificateFile, ignored)) return {};
  try {
    return read_document_in(folder).certificate.written;
  } catch (const DataError&) {
    return {};  // not a certificate
  }
}

// Whether a certificate of the folder names the bytes of the file as they are.
bool is_ours(const fs::path& path, const std::vector<FileDigest>& ours) {
  std::error_code ignored;
  const std::string name = path.filename().string();
  const auto it =
      std::find_if(ours.begin(), ours.end(), [&](const FileDigest& file) { return file.path == name; });
  if (it == ours.end() || !fs::is_regular_file(path, ignored)) return false;
  try {
    return sha256_file(path) == it->sha256;
  } catch (const DataError&) {
    return false;  // gone meanwhile
  }
}

// The first of `names` that lies in the folder and whose bytes no certificate there speaks of; or a
// certificate or a page that is none of ours. Empty where there is none.
fs::path first_foreign(const fs::path& folder, const std::vector<std::string>& names) {
  std::error_code ignored;
  const std::vector<FileDigest> ours = written_before(folder);
  for (const std::string& name : names) {
    const fs::path path = folder / name;
    if (fs::exists(path, ignored) && !is_ours(path, ours)) return path;
  }
  bool certified = false;
  try {
    (void)read_document_in(folder);
    certified = true;
  } catch (const DataError&) {
    // None, or something else of that name.
  }
  for (const char* name : {kCertificateFile, kReportFile})
    if (!certified && fs::exists(folder / name, ignored)) return folder / name;
  return {};
}

}  // namespace

void refuse_to_overwrite(const std::string& folder, const std::vector<std::string>& names) {
  constexpr int kLooks = 4;
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) return;
  fs::path foreign;
  for (int look = 0; look < kLooks; ++look) {
    // Waits for a program that is writing, and takes the steps of one that was killed; another may begin
    // while we look, so one look that finds something foreign is not enough.
    settle_folder(folder);
    foreign = first_foreign(folder, names);
    if (foreign.empty()) return;
  }
  throw WouldOverwrite(fmt::format("{} was not written by an earlier run into this folder and would be lost",
                                   foreign.string()));
}

std::vector<std::string> written_by_earlier_run(const std::string& folder,
                                                const std::vector<std::string>& names) {
  const std::vector<FileDigest> ours = written_before(folder);
  std::vector<std::string> out;
  for (const std::string& name : names)
    if (is_ours(fs::path(folder) / name, ours)) out.push_back(name);
  return out;
}

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code none;
  return fs::equivalent(a, b, none) && !none;
}

bool would_be_same_file(const std::string& a, const std::string& b) {
  std::error_code none, other;
  const fs::path at = fs::weakly_canonical(fs::absolute(a), none),
                 to = fs::weakly_canonical(fs::absolute(b), other);
  return is_same_file(a, b) || (!none && !other && at == to);
}

void refuse_to_overwrite_inputs(const std::string& folder, const std::vector<std::string>& names,
                                const std::vector<std::string>& inputs) {
  for (const std::string& name : names) {
    const std::string path = (fs::path(folder) / name).string();
    for (const std::string& input : inputs) {
      if (!input.empty() && is_same_file(path, input))
        throw WouldOverwrite(fmt::format("{} is read by this run and would be overwritten", path));
    }
  }
}

void refuse_result_folder(const std::string& folder) {
  std::error_code ignored;
  const fs::path path = fs::path(folder) / kCertificateFile;
  if (!fs::exists(path, ignored)) return;
  throw WouldOverwrite(
      fmt::format("{} belongs to a result whose network would be overwritten", path.string()));
}

void refuse_log_of_result(const std::string& log) {
  if (log.empty()) return;
  const fs::path path(log);
  const std::string folder = path.has_parent_path() ? path.parent_path().string() : ".";
  if (written_by_earlier_run(folder, {path.filename().string()}).empty()) return;
  throw WouldOverwrite(fmt::format(
      "{} belongs to a result, which would no longer agree with it once more was added: copy it first", log));
}

void write_new_file(const std::string& path, std::string_view bytes, bool overwrite) {
  if (!overwrite && fs::exists(path)) throw WouldOverwrite(fmt::format("{} exists", path));
  write_file(path, bytes);
}

}  // namespace exhume
