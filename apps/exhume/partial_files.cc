#include "partial_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>
#include <stdexcept>

#include "exhume/error.h"
#include "io/atomic_file.h"
#include "io/digest.h"
#include "io/named_files.h"
#include "io/record_log.h"

namespace exhume::cli {
namespace {

template <class Part>
Part merged(const std::vector<std::string>& names) {
  std::optional<Part> all;
  std::set<std::string> seen;
  for (const std::string& name : names) {
    for (const std::filesystem::path& file : files_named(name)) {
      const std::string bytes = read_log(file, "check the path");
      if (!seen.insert(sha256(bytes)).second) {
        throw DataError(fmt::format("{} is there twice; give the sums of every site once", file.string()));
      }
      Part part = Part::deserialise(bytes, file.string());
      if (all) {
        all->merge(part);
      } else {
        all = std::move(part);
      }
    }
  }
  return std::move(*all);
}

}  // namespace

std::string with_ending(const std::string& name, const std::string& ending) {
  return name.ends_with(ending) ? name : name + ending;
}

void write_new_file(const std::string& path, const std::string& bytes, bool force) {
  if (!force && std::filesystem::exists(path))
    throw std::invalid_argument(fmt::format("{} exists; name another file, or add --force", path));
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

PartialMoments read_moments(const std::string& file) {
  return PartialMoments::deserialise(read_log(file, "check the path"), file);
}
PartialMoments read_moments(const std::vector<std::string>& files) { return merged<PartialMoments>(files); }
PartialSums read_sums(const std::vector<std::string>& files) { return merged<PartialSums>(files); }

}  // namespace exhume::cli
