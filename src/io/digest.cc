#include "exhume/io/digest.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

#include "exhume/base/error.h"

namespace exhume {
namespace {

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    if (!context_ || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1)
      throw std::runtime_error("SHA-256 is not available in this OpenSSL");
  }
  void add(const void* bytes, std::size_t size) { EVP_DigestUpdate(context_.get(), bytes, size); }
  [[nodiscard]] std::string digits() {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    EVP_DigestFinal_ex(context_.get(), digest, &size);
    std::string out;
    for (unsigned int i = 0; i < size; ++i) out += fmt::format("{:02x}", digest[i]);
    return out;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace

std::string sha256(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes.data(), bytes.size());
  return hash.digits();
}

std::string sha256_file(const std::filesystem::path& path, const Control& control) {
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  const auto fail = [&] {
    throw DataError(fmt::format("{} cannot be read: {}", path.string(), std::strerror(errno)));
  };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) fail();
  Sha256 hash;
  std::vector<char> chunk(kChunk);
  while (const std::size_t size = std::fread(chunk.data(), 1, kChunk, file.get())) {
    hash.add(chunk.data(), size);
    control.check();
  }
  if (std::ferror(file.get()) != 0) fail();
  return hash.digits();
}

}  // namespace exhume
