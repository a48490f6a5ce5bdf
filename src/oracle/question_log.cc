#include "exhume/oracle/question_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/json.h"
#include "exhume/base/error.h"
#include "io/sha256.h"

namespace exhume {
namespace {

static_assert(std::endian::native == std::endian::little, "the byte order of the log");

constexpr char kMagic[] = "EXHUMEQ1";
constexpr std::size_t kMagicSize = 8, kDigestSize = 32, kRecordHead = 12;
constexpr std::uint32_t kHead = 0x44414548, kAsk = 0x204b5341,
                        kAnswer = 0x20534e41;  // "HEAD", "ASK ", "ANS "

template <class T>
void put(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
void put_all(std::string& bytes, const T* data, std::size_t count) {
  bytes.append(reinterpret_cast<const char*>(data), count * sizeof(T));
}

// Reads what put() wrote; false once anything is missing.
class Reader {
 public:
  Reader(const char* data, std::size_t size) : at_(data), left_(size) {}
  template <class T>
  bool get(T& value) {
    return get_all(&value, 1);
  }
  template <class T>
  bool get_all(T* data, std::size_t count) {
    if (count > left_ / sizeof(T)) return false;
    if (count > 0) std::memcpy(data, at_, count * sizeof(T));
    at_ += count * sizeof(T);
    left_ -= count * sizeof(T);
    return true;
  }
  [[nodiscard]] std::size_t left() const { return left_; }

 private:
  const char* at_;
  std::size_t left_;
};

std::string chained(const std::string& before, std::string_view record) {
  Sha256 hash;
  hash.add(before.data(), before.size());
  hash.add(record.data(), record.size());
  const std::string hex = hash.digits();
  std::string raw;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    raw.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return raw;
}

std::string hex_of(const std::string& raw) {
  std::string out;
  for (const char c : raw) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

std::string block_bytes(const LoggedBlock& block) {
  const Questions& q = block.questions;
  std::string out;
  put(out, static_cast<std::uint32_t>(block.stage.size()));
  out += block.stage;
  put(out, static_cast<std::uint32_t>((q.plain ? 1 : 0) + (q.direction.empty() ? 0 : 2)));
  put(out, static_cast<std::uint64_t>(q.rows.rows()));
  put(out, static_cast<std::uint64_t>(q.rows.cols()));
  put(out, static_cast<std::uint64_t>(block.answers.cols()));
  put_all(out, q.rows.data(), static_cast<std::size_t>(q.rows.size()));
  put_all(out, q.direction.data(), q.direction.size());
  if (!q.direction.empty()) put_all(out, q.step.data(), static_cast<std::size_t>(q.step.size()));
  put_all(out, block.answers.data(), static_cast<std::size_t>(block.answers.size()));
  return out;
}

bool parse_block(Reader in, LoggedBlock& block) {
  std::uint32_t length = 0, flags = 0;
  if (!in.get(length) || length > in.left()) return false;
  block.stage.resize(length);
  std::uint64_t n = 0, cols = 0, m = 0;
  if (!in.get_all(block.stage.data(), length) || !in.get(flags) || !in.get(n) || !in.get(cols) || !in.get(m))
    return false;
  const std::size_t most = in.left() / sizeof(double);
  if (n == 0 || cols == 0 || m == 0 || n > most || cols > most / n || m > most / n) return false;
  Questions& q = block.questions;
  q.plain = (flags & 1) != 0;
  q.rows.resize(static_cast<Index>(n), static_cast<Index>(cols));
  block.answers.resize(static_cast<Index>(n), static_cast<Index>(m));
  if (!in.get_all(q.rows.data(), n * cols)) return false;
  if ((flags & 2) != 0) {
    q.direction.resize(n);
    q.step.resize(static_cast<Index>(n));
    if (!in.get_all(q.direction.data(), n) || !in.get_all(q.step.data(), n)) return false;
  }
  return in.get_all(block.answers.data(), n * m) && in.left() == 0;
}

}  // namespace

LogContents parse_question_log(const std::string& bytes, const std::string& name) {
  if (bytes.size() < kMagicSize || bytes.compare(0, kMagicSize, kMagic) != 0)
    throw DataError(fmt::format("{} is not a log of questions; give one that an extraction wrote", name));
  LogContents out;
  std::string digest;
  std::size_t at = kMagicSize;
  while (at < bytes.size()) {
    Reader head(bytes.data() + at, bytes.size() - at);
    std::uint32_t kind = 0;
    std::uint64_t size = 0;
    if (!head.get(kind) || !head.get(size) || size > head.left() || head.left() - size < kDigestSize) break;
    const std::string_view record(bytes.data() + at, kRecordHead + size);
    digest = chained(digest, record);
    if (bytes.compare(at + record.size(), kDigestSize, digest) != 0) {
      throw DataError(
          fmt::format("{}: the record at byte {} does not have the digest that stands behind it; the log was "
                      "changed, start "
                      "another",
                      name, at));
    }
    const bool first = out.kept == 0;
    const Reader payload(record.data() + kRecordHead, size);
    bool good = first == (kind == kHead);
    if (kind == kHead) {
      out.header = record.substr(kRecordHead);
    } else if (kind == kAsk) {
      std::uint64_t count = 0;
      Reader in = payload;
      good = good && in.get(count) && count < (std::uint64_t{1} << 62);
      out.lost += static_cast<Index>(count);
    } else {
      LoggedBlock block;
      good = good && kind == kAnswer && parse_block(payload, block);
      if (good) {
        out.lost -= block.questions.count();
        out.blocks.push_back(std::move(block));
      }
    }
    if (!good) throw DataError(fmt::format("{}: the record at byte {} is none of this version", name, at));
    at += record.size() + kDigestSize;
    out.kept = at;
  }
  if (out.kept == 0) throw DataError(fmt::format("{} ends before its header; start another log", name));
  out.dropped = bytes.size() - out.kept;
  out.digest = hex_of(digest);
  return out;
}

LogContents read_question_log(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file) throw DataError(fmt::format("{} cannot be read; give the log of an extraction", path.string()));
  return parse_question_log(bytes, path.string());
}

std::string header_difference(const std::string& logged, const std::string& now) {
  const Json a = Json::parse(logged, nullptr, false), b = Json::parse(now, nullptr, false);
  if (a == b) return "";
  if (!a.is_object() || !b.is_object()) return "the log has no header of this version";
  for (const auto& [key, value] : b.items()) {
    const auto found = a.find(key);
    if (found == a.end()) return fmt::format("the log does not say its {}", key);
    if (*found != value)
      return fmt::format("the log was made with {} {}, now it is {}", key, found->dump(), value.dump());
  }
  return "the log was made by another version";
}

QuestionLog::QuestionLog(const std::string& header) : bytes_(kMagic) { append(kHead, header); }

QuestionLog::QuestionLog(const std::string& header, const std::filesystem::path& path)
    : bytes_(kMagic), path_(path) {
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (descriptor_ < 0) {
    throw DataError(errno == EEXIST
                        ? fmt::format("{} exists; go on from it, or name another log", path.string())
                        : fmt::format("{} cannot be written: {}", path.string(), std::strerror(errno)));
  }
  write_out(kMagic, kMagicSize);
  append(kHead, header);
}

QuestionLog::QuestionLog(const LogContents& contents, const std::filesystem::path& path) : path_(path) {
  std::ifstream file(path, std::ios::binary);
  bytes_.resize(contents.kept);
  file.read(bytes_.data(), static_cast<std::streamsize>(contents.kept));
  if (!file) throw DataError(fmt::format("{} cannot be read", path.string()));
  digest_ = bytes_.substr(bytes_.size() - kDigestSize);
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor_ < 0 || ::ftruncate(descriptor_, static_cast<off_t>(contents.kept)) != 0 ||
      ::lseek(descriptor_, 0, SEEK_END) < 0)
    throw DataError(fmt::format("{} cannot be written: {}", path.string(), std::strerror(errno)));
}

QuestionLog::~QuestionLog() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void QuestionLog::write_out(const char* data, std::size_t size) {
  while (size > 0 && descriptor_ >= 0) {
    const ssize_t done = ::write(descriptor_, data, size);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0)
      throw ResourceError(fmt::format("{} cannot be written: {}", path_.string(), std::strerror(errno)));
    data += done;
    size -= static_cast<std::size_t>(done);
  }
}

void QuestionLog::append(std::uint32_t kind, const std::string& payload) {
  std::string record;
  put(record, kind);
  put(record, static_cast<std::uint64_t>(payload.size()));
  record += payload;
  digest_ = chained(digest_, record);
  record += digest_;
  bytes_ += record;
  write_out(record.data(), record.size());
}

void QuestionLog::asking(Index count) {
  std::string payload;
  put(payload, static_cast<std::uint64_t>(count));
  append(kAsk, payload);
}

void QuestionLog::answered(const LoggedBlock& block) { append(kAnswer, block_bytes(block)); }

std::string QuestionLog::digest() const { return hex_of(digest_); }

}  // namespace exhume
