#include "io/sealed.h"

#include <fmt/format.h>

#include "exhume/error.h"
#include "io/digest.h"

namespace exhume {
namespace {

constexpr std::size_t kDigits = 64;

}  // namespace

std::string sealed(std::string_view tag, const std::string& bytes) {
  return std::string(tag) + sha256(bytes) + bytes;
}

std::string_view unsealed(std::string_view tag, std::string_view file, const std::string& name,
                          std::string_view what) {
  if (!file.starts_with(tag) || file.size() < tag.size() + kDigits)
    throw DataError(
        fmt::format("{} holds no {} of this version; make it again with 'exhume {}'", name, what, what));
  const std::string_view bytes = file.substr(tag.size() + kDigits);
  if (sha256(bytes) != file.substr(tag.size(), kDigits))
    throw DataError(fmt::format("{} was changed or cut off; copy it again, or make it again", name));
  return bytes;
}

}  // namespace exhume
