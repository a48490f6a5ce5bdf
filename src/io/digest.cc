#include "io/digest.h"

#include <algorithm>
#include <vector>

#include "io/named_files.h"
#include "io/random_access_file.h"
#include "io/sha256.h"

namespace exhume {

std::string sha256(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes.data(), bytes.size());
  return hash.digits();
}

std::string sha256_file(const std::filesystem::path& path, const Control& control) {
  const std::vector<std::filesystem::path> files = files_named(path);
  if (files.size() == 1) return RandomAccessFile(files[0]).digest(control);
  std::string lines;
  for (const std::filesystem::path& file : files) lines += RandomAccessFile(file).digest(control) + "\n";
  return sha256(lines);
}

}  // namespace exhume
