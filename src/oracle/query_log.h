// Every query and its answer, in the order in which they were asked: an append-only file with checksums.
//
// The records (io/record_log.h) behind the magic EXHUMEQ1:
//
//     HEAD   the options of the extraction, one JSON object           first, once
//     ASK    n, written before n queries leave             their answers may be lost, their number not
//     ANS    stage, queries (oracle/frame.h), answers: n x m        little-endian doubles
//
// An extraction is a function of its options and of the answers. So it goes on from its log without asking
// again (oracle/meter.h), and can be made again without the oracle.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "io/record_log.h"
#include "oracle/frame.h"
#include "oracle/stage.h"

namespace exhume {

struct LoggedBlock {
  QueryStage stage = QueryStage::kProbe;
  Queries queries;
  RowMatrix answers;  // n x m
};

struct LogContents {
  std::string header;  // JSON
  std::vector<LoggedBlock> blocks;
  Index lost = 0;             // queries that left, and whose answers were not written
  Index again = 0;            // that were asked again to see whether the oracle is the same
  std::uint64_t dropped = 0;  // bytes of an unfinished record at the end
  std::uint64_t kept = 0;     // bytes of all whole records
  std::string digest;         // of the last whole record, 64 hexadecimal digits
};
// What a header says: inputs, 0 where it does not; the box, an unbounded one where it does not. Throws
// DataError where it says what cannot be.
[[nodiscard]] Index logged_inputs(const Json& header);
[[nodiscard]] Box logged_box(const Json& header);

// Throws DataError naming `name` where it is no log, was changed, or holds what no extraction writes:
// directions, turns or numbers of inputs that there are none of, answers that are not finite.
[[nodiscard]] LogContents parse_query_log(const std::string& bytes, const std::string& name);
[[nodiscard]] LogContents read_query_log(const std::filesystem::path& path);

class QueryLog {
 public:
  // In memory only.
  explicit QueryLog(const std::string& header);
  // In a new file too, which must not exist yet.
  QueryLog(const std::string& header, const std::filesystem::path& path);
  // Reads a log into `contents` and goes on behind its `kept` bytes; what came after them is cut off. Nobody
  // else can: DataError where another process has it.
  QueryLog(const std::filesystem::path& path, LogContents& contents);

  void asking(Index count);
  void answered(const LoggedBlock& block);

  [[nodiscard]] const std::string& bytes() const { return bytes_; }  // of the whole log
  [[nodiscard]] std::string digest() const;                          // 64 hexadecimal digits

 private:
  void append(std::uint32_t kind, const std::string& payload);

  std::string bytes_;
  RecordWriter writer_;
};

}  // namespace exhume
