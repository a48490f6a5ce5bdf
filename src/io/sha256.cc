#include "io/sha256.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace exhume {
namespace {

constexpr std::uint64_t kMostWaiting = std::uint64_t{16} << 20;  // bytes kept until their turn comes
constexpr std::uint64_t kHashed = std::uint64_t{1} << 20;

}  // namespace

Sha256::Sha256() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
  if (!context_ || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1)
    throw std::runtime_error("SHA-256 is not available in this OpenSSL");
}

void Sha256::add(const void* bytes, std::size_t size) { EVP_DigestUpdate(context_.get(), bytes, size); }

std::string Sha256::digits() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_DigestFinal_ex(context_.get(), digest, &size);
  std::string out;
  for (unsigned int i = 0; i < size; ++i) out += fmt::format("{:02x}", digest[i]);
  return out;
}

void RunningDigest::hash_from(std::uint64_t offset, const char* bytes, std::uint64_t size) {
  if (offset + size <= hashed_) return;
  const std::uint64_t known = hashed_ - offset;
  hash_.add(bytes + known, static_cast<std::size_t>(size - known));
  hashed_ = offset + size;
}

void RunningDigest::saw(std::uint64_t offset, const char* bytes, std::uint64_t size) {
  if (finishing_) return;
  const std::lock_guard lock(mutex_);
  if (!digits_.empty() || offset + size <= hashed_) return;
  if (offset > hashed_) {
    if (waiting_bytes_ + size > kMostWaiting || waiting_.contains(offset)) return;
    waiting_.emplace(offset, std::string(bytes, static_cast<std::size_t>(size)));
    waiting_bytes_ += size;
    return;
  }
  hash_from(offset, bytes, size);
  while (!waiting_.empty() && waiting_.begin()->first <= hashed_) {
    const auto next = waiting_.begin();
    hash_from(next->first, next->second.data(), next->second.size());
    waiting_bytes_ -= next->second.size();
    waiting_.erase(next);
  }
}

std::string RunningDigest::finish(std::uint64_t size,
                                  const std::function<void(std::uint64_t, char*, std::uint64_t)>& read) {
  finishing_ = true;
  const std::lock_guard lock(mutex_);
  if (!digits_.empty()) return digits_;
  std::vector<char> chunk(static_cast<std::size_t>(std::min(kHashed, size)));
  while (hashed_ < size) {
    const std::uint64_t count = std::min<std::uint64_t>(chunk.size(), size - hashed_);
    read(hashed_, chunk.data(), count);
    hash_from(hashed_, chunk.data(), count);
    while (!waiting_.empty() && waiting_.begin()->first <= hashed_) {
      hash_from(waiting_.begin()->first, waiting_.begin()->second.data(), waiting_.begin()->second.size());
      waiting_.erase(waiting_.begin());
    }
  }
  waiting_.clear();
  digits_ = hash_.digits();
  return digits_;
}

}  // namespace exhume
