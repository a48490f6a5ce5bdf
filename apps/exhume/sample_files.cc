#include "sample_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <stdexcept>

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

std::vector<Provenance::File> sample_file_roles(const std::vector<std::string>& files) {
  if (files.size() == 1) return {{"samples", files[0]}};
  return {{"inputs", files[0]}, {"outputs", files[1]}};
}

}  // namespace exhume::cli
