// SHA-256 piece by piece, and of a file while others read it.
#pragma once

#include <openssl/evp.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace exhume {

class Sha256 {
 public:
  Sha256();
  void add(const void* bytes, std::size_t size);
  // Once, at the end.
  [[nodiscard]] std::string digits();

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

// The digest of a file whose bytes are seen piece by piece, mostly in order, by several threads. A piece that
// follows what was hashed so far is hashed at once; one from further on is kept, up to some memory, until its
// turn comes. What nobody has read by the end, or did not fit, is read then.
class RunningDigest {
 public:
  // Thread-safe.
  void saw(std::uint64_t offset, const char* bytes, std::uint64_t size);
  // The digest of all `size` bytes; `read(offset, out, count)` reads what is missing. Others may go on
  // reading meanwhile: nobody waits for it.
  [[nodiscard]] std::string finish(std::uint64_t size,
                                   const std::function<void(std::uint64_t, char*, std::uint64_t)>& read);

 private:
  void hash_from(std::uint64_t offset, const char* bytes, std::uint64_t size);

  std::mutex mutex_;
  std::atomic<bool> finishing_ = false;
  Sha256 hash_;
  std::uint64_t hashed_ = 0;                      // bytes from the beginning on
  std::map<std::uint64_t, std::string> waiting_;  // pieces from further on, by offset
  std::uint64_t waiting_bytes_ = 0;
  std::string digits_;  // when finished
};

}  // namespace exhume
