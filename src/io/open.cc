#include "exhume/io/open.h"

#include <fmt/format.h>

#include <string>

#include "exhume/base/error.h"
#include "exhume/io/csv.h"
#include "exhume/io/npy.h"
#include "exhume/io/npz.h"
#include "exhume/io/safetensors.h"
#include "io/random_access_file.h"

namespace exhume {
namespace {

// The ending in lower case, with its dot. A missing file or a folder is worth saying before the ending is.
std::string ending(const std::filesystem::path& path) {
  const RandomAccessFile exists(path);
  std::string text = path.extension().string();
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& found,
                         std::string_view remedy) {
  const std::string what = found.empty() ? "no file ending" : fmt::format("the ending {}", found);
  throw DataError(fmt::format("{} has {}, so its format is not known; {}", path.string(), what, remedy));
}

}  // namespace

TablePtr open_table(const std::filesystem::path& path, const Control& control) {
  const std::string kind = ending(path);
  if (kind == ".npy") return open_npy(path);
  if (kind == ".csv" || kind == ".tsv" || kind == ".txt") return open_csv(path, control);
  if (kind == ".npz") {
    throw DataError(
        fmt::format("{} is an archive of several arrays; give it alone, with arrays x and y in it, or give "
                    "two .npy or .csv files",
                    path.string()));
  }
  refuse(path, kind, "give a .npy or .csv file");
}

SamplePtr open_samples(const std::filesystem::path& x, const std::filesystem::path& y,
                       const Control& control) {
  TablePtr inputs = open_table(x, control);
  return table_samples(std::move(inputs), open_table(y, control));
}

SamplePtr open_samples(const std::filesystem::path& npz, const Control& control) {
  control.check();
  const std::string kind = ending(npz);
  if (kind == ".npz") return read_samples_npz(npz);
  if (kind == ".npy" || kind == ".csv" || kind == ".tsv" || kind == ".txt") {
    throw DataError(fmt::format(
        "{} holds one table; give a second file with the outputs, or one .npz with arrays x and y",
        npz.string()));
  }
  refuse(npz, kind, "give one .npz with arrays x and y, or two .npy or .csv files");
}

Network open_network(const std::filesystem::path& path) {
  const std::string kind = ending(path);
  if (kind == ".safetensors") return read_network(path);
  if (kind == ".npz") return read_network_npz(path);
  refuse(path, kind, "give a network as .safetensors or .npz");
}

}  // namespace exhume
