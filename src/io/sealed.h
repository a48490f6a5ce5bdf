// Bytes with a tag and their SHA-256 in front: files that travel from site to site.
#pragma once

#include <string>
#include <string_view>

namespace exhume {

// tag (8 bytes) | digest (64 hexadecimal digits) | bytes
[[nodiscard]] std::string sealed(std::string_view tag, const std::string& bytes);
// The bytes; throws DataError naming `name` where they are none of this kind, or were changed. `what`:
// "sums".
[[nodiscard]] std::string_view unsealed(std::string_view tag, std::string_view file, const std::string& name,
                                        std::string_view what);

}  // namespace exhume
