// An append-only file of records with checksums: what a killed program leaves is whole up to its last record.
//
//     magic (8 bytes) | record | record | ...   record: kind (u32) | size (u64) | payload | digest (32 bytes)
//
// digest_i = SHA-256(digest_{i-1}, kind, size, payload), so the last one vouches for all. Whatever ends in
// the middle of a record is dropped, and said; a record whose digest is wrong is refused. Numbers are
// little-endian.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace exhume {

struct LogRecord {
  std::uint32_t kind = 0;
  std::uint64_t at = 0;  // byte of the file where it begins
  std::string_view payload;
};

struct LogRecords {
  std::vector<LogRecord> list;  // pointing into the bytes that were parsed
  std::uint64_t kept = 0;       // bytes up to the end of the last whole record
  std::uint64_t dropped = 0;    // bytes of an unfinished record behind them
  std::string digest;           // of the last whole record, 32 bytes
};

// Throws DataError naming `name` where a record was changed. `bytes` begin with the magic.
[[nodiscard]] LogRecords parse_records(std::string_view bytes, const std::string& name);

// The bytes of a file; throws DataError with `remedy` where it cannot be read.
[[nodiscard]] std::string read_log(const std::filesystem::path& path, std::string_view remedy);

// What a log was made with against what is asked for now, both JSON objects: empty where it is the same, or a
// sentence that names the first difference. `what` is the log: "the log", "the checkpoint".
[[nodiscard]] std::string header_difference(const std::string& logged, const std::string& now,
                                            std::string_view what);

[[nodiscard]] std::string hexadecimal(std::string_view raw);

// Appends records to a file, or to nothing but their chain of digests.
class RecordWriter {
 public:
  RecordWriter() = default;  // no file
  // A new file, which must not exist yet; DataError where it does. No other process can write it meanwhile.
  RecordWriter(const std::filesystem::path& path, std::string_view magic);
  // Behind the whole records of a file that was parsed; what came after them is cut off.
  RecordWriter(const std::filesystem::path& path, const LogRecords& records);
  // A file that is there, which no other process can write from now on; DataError where one does. Nothing can
  // be appended before go_on_behind().
  [[nodiscard]] static RecordWriter locked(const std::filesystem::path& path);
  // The whole records of this file, as parsed; what came after them is cut off.
  void go_on_behind(const LogRecords& records);
  ~RecordWriter();
  RecordWriter(RecordWriter&& other) noexcept;
  RecordWriter& operator=(RecordWriter&& other) noexcept;

  // Returns the bytes of the record. Where they cannot be written (a full disk), the file is cut back to the
  // record before, and ResourceError says why.
  std::string append(std::uint32_t kind, std::string_view payload);
  [[nodiscard]] const std::string& digest() const { return digest_; }  // 32 bytes

 private:
  void write_out(std::string_view bytes);
  void lock();

  std::filesystem::path path_;
  std::string digest_;
  int descriptor_ = -1;
};

}  // namespace exhume
