#include "exhume/io/digest.h"

#include <algorithm>
#include <vector>

#include "io/random_access_file.h"
#include "io/sha256.h"

namespace exhume {

std::string sha256(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes.data(), bytes.size());
  return hash.digits();
}

std::string sha256_file(const std::filesystem::path& path, const Control& control) {
  return RandomAccessFile(path).digest(control);
}

}  // namespace exhume
