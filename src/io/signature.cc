#include "io/signature.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "exhume/error.h"

namespace exhume {
namespace {

constexpr std::size_t kSignatureBytes = 64;
constexpr std::uintmax_t kLargestKey = 1 << 16;

struct FreeBio {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using Bio = std::unique_ptr<BIO, FreeBio>;
using Context = std::unique_ptr<EVP_MD_CTX, FreeContext>;
using Key = std::shared_ptr<void>;

EVP_PKEY* raw(const Key& key) { return static_cast<EVP_PKEY*>(key.get()); }
Key owned(EVP_PKEY* key) {
  return {key, [](void* k) { EVP_PKEY_free(static_cast<EVP_PKEY*>(k)); }};
}

[[noreturn]] void unavailable() { throw std::runtime_error("Ed25519 is not available in this OpenSSL"); }

std::string read_key(const std::filesystem::path& path) {
  std::error_code missing;
  const std::uintmax_t size = std::filesystem::file_size(path, missing);
  if (missing)
    throw DataError(fmt::format("{} cannot be read: {}; give a key file", path.string(), missing.message()));
  if (size > kLargestKey)
    throw DataError(fmt::format("{} has {} bytes, too many for a key; is it one?", path.string(), size));
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) throw DataError(fmt::format("{} cannot be read; check its permissions", path.string()));
  return text;
}

// No password is asked for: programs that sign run unattended.
int no_password(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*data*/) { return -1; }

Key parse_key(const std::filesystem::path& path, bool is_private) {
  const std::string text = read_key(path);
  const Bio bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  if (!bio) throw std::bad_alloc();
  EVP_PKEY* key = is_private ? PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr)
                             : PEM_read_bio_PUBKEY(bio.get(), nullptr, no_password, nullptr);
  if (key == nullptr) {
    const char* wanted = is_private ? "private" : "public";
    const char* other = is_private ? "public" : "private";
    const bool swapped = text.find(is_private ? "PUBLIC KEY" : "PRIVATE KEY") != std::string::npos &&
                         text.find(is_private ? "PRIVATE KEY" : "PUBLIC KEY") == std::string::npos;
    if (swapped)
      throw DataError(fmt::format("{} holds a {} key; give the {} one, NAME.{} of exhume keys", path.string(),
                                  other, wanted, is_private ? "key" : "pub"));
    throw DataError(fmt::format("{} is not a {} key in PEM without a password; make one with exhume keys",
                                path.string(), wanted));
  }
  Key held = owned(key);
  if (EVP_PKEY_get_base_id(key) != EVP_PKEY_ED25519)
    throw DataError(
        fmt::format("{} is a key of another kind than Ed25519; make one with exhume keys", path.string()));
  return held;
}

// A file that does not exist yet, all of it or none.
void write_once(const std::string& path, std::string_view bytes, mode_t mode) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (file < 0) {
    if (errno == EEXIST)
      throw DataError(
          fmt::format("{} exists, and a key that is lost cannot be had again; give another name", path));
    throw DataError(
        fmt::format("{} cannot be written: {}; give a folder that can be", path, std::strerror(errno)));
  }
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  const bool whole = bytes.empty() && ::fsync(file) == 0;
  if (::close(file) != 0 || !whole) {
    ::unlink(path.c_str());
    throw ResourceError(fmt::format("{} could not be written; is the disk full?", path));
  }
}

std::string contents(const Bio& bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

}  // namespace

PrivateKey::PrivateKey(const std::filesystem::path& path) : key_(parse_key(path, true)) {}

std::string PrivateKey::sign(std::string_view bytes) const {
  const Context context(EVP_MD_CTX_new());
  std::array<unsigned char, kSignatureBytes> signature{};
  std::size_t size = signature.size();
  if (!context || EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, raw(key_)) != 1 ||
      EVP_DigestSign(context.get(), signature.data(), &size,
                     reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()) != 1)
    unavailable();
  return {signature.begin(), signature.end()};
}

PublicKey::PublicKey(const std::filesystem::path& path) : key_(parse_key(path, false)) {}

bool PublicKey::verifies(std::string_view signature, std::string_view bytes) const {
  const Context context(EVP_MD_CTX_new());
  if (!context || EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, raw(key_)) != 1)
    unavailable();
  return signature.size() == kSignatureBytes &&
         EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(signature.data()),
                          signature.size(), reinterpret_cast<const unsigned char*>(bytes.data()),
                          bytes.size()) == 1;
}

void write_new_keys(const std::string& name) {
  const Key key = owned(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  const Bio secret(BIO_new(BIO_s_mem())), open(BIO_new(BIO_s_mem()));
  if (!key || !secret || !open ||
      PEM_write_bio_PrivateKey(secret.get(), raw(key), nullptr, nullptr, 0, nullptr, nullptr) != 1 ||
      PEM_write_bio_PUBKEY(open.get(), raw(key)) != 1)
    unavailable();
  write_once(name + ".key", contents(secret), S_IRUSR | S_IWUSR);
  try {
    write_once(name + ".pub", contents(open), 0644);
  } catch (...) {
    ::unlink((name + ".key").c_str());
    throw;
  }
}

}  // namespace exhume
