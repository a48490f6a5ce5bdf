#include "sample_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <stdexcept>

#include "exhume/io/digest.h"
#include "exhume/io/open.h"

namespace exhume::cli {

void check_sample_files(const std::vector<std::string>& files) {
  if (files.size() == 2) return;
  if (files.size() == 1 && std::filesystem::path(files[0]).extension() == ".npz") return;
  if (files.size() == 1) {
    throw std::invalid_argument(
        fmt::format("{} holds the inputs only; give the outputs too, or both in one .npz", files[0]));
  }
  throw std::invalid_argument(
      fmt::format("{} files are given; give inputs and outputs, or one .npz", files.size()));
}

SamplePtr open_sample_files(const std::vector<std::string>& files, const Control& control) {
  check_sample_files(files);
  return files.size() == 1 ? open_samples(files[0], control) : open_samples(files[0], files[1], control);
}

std::vector<Provenance::File> sample_file_roles(const std::vector<std::string>& files,
                                                const std::string& mirrored, const Control& control) {
  std::vector<Provenance::File> roles;
  if (files.size() == 1) {
    roles.push_back({"samples", files[0], sha256_file(files[0], control)});
  } else {
    roles.push_back({"inputs", files[0], sha256_file(files[0], control)});
    roles.push_back({"outputs", files[1], sha256_file(files[1], control)});
  }
  if (!mirrored.empty()) roles.push_back({"mirrored outputs", mirrored, sha256_file(mirrored, control)});
  return roles;
}

}  // namespace exhume::cli
