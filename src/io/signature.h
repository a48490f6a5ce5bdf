// Who wrote a certificate: Ed25519 signatures over the bytes of a file.
//
// Digests show that something was changed; samples show what they can; only a signature shows the rest. A
// certificate holds the digests of all files beside it, so one signature over certificate.json covers them.
//
//     NAME.key                  private, PEM (PKCS #8), readable by its owner only
//     NAME.pub                  public, PEM
//     certificate.json.sig      64 bytes, Ed25519 as RFC 8032 has it
//
// OpenSSL checks the same files without Exhume:
//     openssl pkeyutl -verify -rawin -pubin -inkey NAME.pub -in certificate.json
//             -sigfile certificate.json.sig
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace exhume {

inline constexpr const char* kSignatureFile = "certificate.json.sig";

// Both keys are read when they are made. Throws DataError naming the file where it cannot be read, is not a
// key in PEM, is protected by a password, or is not of Ed25519.
class PrivateKey {
 public:
  explicit PrivateKey(const std::filesystem::path& path);
  [[nodiscard]] std::string sign(std::string_view bytes) const;  // 64 bytes

 private:
  std::shared_ptr<void> key_;
};

class PublicKey {
 public:
  explicit PublicKey(const std::filesystem::path& path);
  [[nodiscard]] bool verifies(std::string_view signature, std::string_view bytes) const;

 private:
  std::shared_ptr<void> key_;
};

// A new pair, as NAME.key and NAME.pub. Throws DataError where one of them exists, since a key that is lost
// cannot be had again, or cannot be written.
void write_new_keys(const std::string& name);

}  // namespace exhume
