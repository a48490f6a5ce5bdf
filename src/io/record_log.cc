#include "io/record_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/json.h"
#include "exhume/error.h"
#include "io/random_access_file.h"
#include "io/sha256.h"

namespace exhume {
namespace {

static_assert(std::endian::native == std::endian::little, "the byte order of the log");

constexpr std::size_t kMagicSize = 8, kDigestSize = 32, kRecordHead = 12;

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

template <class T>
T number_at(std::string_view bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

}  // namespace

LogRecords parse_records(std::string_view bytes, const std::string& name) {
  LogRecords out;
  std::size_t at = kMagicSize;
  while (at + kRecordHead <= bytes.size()) {
    const auto kind = number_at<std::uint32_t>(bytes.substr(at));
    const auto size = number_at<std::uint64_t>(bytes.substr(at + sizeof kind));
    const std::uint64_t left = bytes.size() - at - kRecordHead;
    if (size > left || left - size < kDigestSize) break;
    const std::string_view record = bytes.substr(at, kRecordHead + size);
    const std::string digest = chained(out.digest, record);
    if (bytes.substr(at + record.size(), kDigestSize) != digest) {
      throw DataError(
          fmt::format("{}: the record at byte {} does not have the digest that stands behind it; the log was "
                      "changed, start another",
                      name, at));
    }
    out.digest = digest;
    out.list.push_back({kind, at, record.substr(kRecordHead)});
    at += record.size() + kDigestSize;
    out.kept = at;
  }
  out.dropped = bytes.size() - std::max<std::uint64_t>(out.kept, std::min(bytes.size(), kMagicSize));
  return out;
}

std::string read_log(const std::filesystem::path& path, std::string_view remedy) {
  // A log lies in memory: what is larger is none that this machine has written.
  constexpr std::uint64_t kMostLogBytes = std::uint64_t{1} << 36;
  std::error_code none;
  if (!std::filesystem::exists(path, none))
    throw DataError(fmt::format("{} cannot be read; {}", path.string(), remedy));
  const RandomAccessFile file(path);
  const std::string head = file.head(kMagicSize);
  if (file.size() > kMostLogBytes || head.find_first_not_of('\0') == std::string::npos)
    throw DataError(fmt::format("{} is no log ({} bytes); {}", path.string(), file.size(), remedy));
  std::string bytes(static_cast<std::size_t>(file.size()), '\0');
  file.read(0, bytes.data(), bytes.size());
  return bytes;
}

std::string header_difference(const std::string& logged, const std::string& now, std::string_view what) {
  const Json a = parsed(logged), b = parsed(now);
  if (a == b) return "";
  if (!a.is_object() || !b.is_object()) return fmt::format("{} has no header of this version", what);
  for (const auto& [key, value] : b.items()) {
    const auto found = a.find(key);
    if (found == a.end()) return fmt::format("{} does not say its {}", what, key);
    if (*found != value)
      return fmt::format("{} was made with {} {}, now it is {}", what, key, to_line(*found), to_line(value));
  }
  return fmt::format("{} was made by another version", what);
}

std::string hexadecimal(std::string_view raw) {
  std::string out;
  for (const char c : raw) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

RecordWriter::RecordWriter(const std::filesystem::path& path, std::string_view magic) : path_(path) {
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (descriptor_ < 0) {
    throw DataError(errno == EEXIST
                        ? fmt::format("{} exists; go on from it, or name another log", path.string())
                        : fmt::format("{} cannot be written: {}", path.string(), std::strerror(errno)));
  }
  lock();
  write_out(magic);
}

RecordWriter::RecordWriter(const std::filesystem::path& path, const LogRecords& records)
    : RecordWriter(locked(path)) {
  go_on_behind(records);
}

RecordWriter RecordWriter::locked(const std::filesystem::path& path) {
  const RandomAccessFile regular(path);  // says what is wrong with a folder, a pipe, a missing file
  RecordWriter out;
  out.path_ = path;
  out.descriptor_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
  if (out.descriptor_ < 0)
    throw DataError(fmt::format("{} cannot be written: {}", path.string(), std::strerror(errno)));
  out.lock();
  return out;
}

void RecordWriter::go_on_behind(const LogRecords& records) {
  digest_ = records.digest;
  if (::ftruncate(descriptor_, static_cast<off_t>(records.kept)) != 0 ||
      ::lseek(descriptor_, 0, SEEK_END) < 0)
    throw DataError(fmt::format("{} cannot be written: {}", path_.string(), std::strerror(errno)));
}

// Held until the file is closed, or the process ends. A file system without locks has none to give.
void RecordWriter::lock() {
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  ::close(std::exchange(descriptor_, -1));
  throw DataError(
      fmt::format("{} is in use by another process; wait for it, or name another log", path_.string()));
}

RecordWriter::~RecordWriter() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

RecordWriter::RecordWriter(RecordWriter&& other) noexcept
    : path_(std::move(other.path_)),
      digest_(std::move(other.digest_)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

RecordWriter& RecordWriter::operator=(RecordWriter&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(digest_, other.digest_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

void RecordWriter::write_out(std::string_view bytes) {
  if (descriptor_ < 0) return;
  const off_t before = ::lseek(descriptor_, 0, SEEK_CUR);
  while (!bytes.empty()) {
    const ssize_t done = ::write(descriptor_, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) {
      const std::string why = std::strerror(errno);
      if (::ftruncate(descriptor_, before) == 0) ::lseek(descriptor_, before, SEEK_SET);
      throw ResourceError(fmt::format("{} cannot be written: {}", path_.string(), why));
    }
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
}

std::string RecordWriter::append(std::uint32_t kind, std::string_view payload) {
  const std::uint64_t size = payload.size();
  std::string record;
  record.reserve(kRecordHead + payload.size() + kDigestSize);
  record.append(reinterpret_cast<const char*>(&kind), sizeof kind);
  record.append(reinterpret_cast<const char*>(&size), sizeof size);
  record += payload;
  const std::string digest = chained(digest_, record);
  record += digest;
  write_out(record);
  digest_ = digest;
  return record;
}

}  // namespace exhume
