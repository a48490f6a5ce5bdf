#include "oracle/query_log.h"

#include <fmt/format.h>

#include <cstring>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "exhume/error.h"

namespace exhume {
namespace {

constexpr char kMagic[] = "EXHUMEQ1";
constexpr std::size_t kMagicSize = 8;
constexpr std::uint32_t kHead = 0x44414548, kAsk = 0x204b5341,
                        kAnswer = 0x20534e41;  // "HEAD", "ASK ", "ANS "

// Flags of a block; above them stands the frame's turn.
constexpr std::uint32_t kPlain = 1, kDirections = 2, kTurnBits = 8;

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

std::string block_bytes(const LoggedBlock& block) {
  const Queries& q = block.queries;
  std::string out;
  const std::string_view stage = to_string(block.stage);
  put(out, static_cast<std::uint32_t>(stage.size()));
  out += stage;
  put(out, (q.plain ? kPlain : 0u) + (q.direction.empty() ? 0u : kDirections) + (q.turn << kTurnBits));
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
  std::string name(length, '\0');
  std::uint64_t n = 0, cols = 0, m = 0;
  if (!in.get_all(name.data(), length) || !in.get(flags) || !in.get(n) || !in.get(cols) || !in.get(m))
    return false;
  const std::optional<QueryStage> stage = query_stage(name);
  if (!stage) return false;
  block.stage = *stage;
  const std::size_t most = in.left() / sizeof(double);
  if (n == 0 || cols == 0 || m == 0 || n > most || cols > most / n || m > most / n) return false;
  Queries& q = block.queries;
  q.plain = (flags & kPlain) != 0;
  q.turn = flags >> kTurnBits;
  q.rows.resize(static_cast<Index>(n), static_cast<Index>(cols));
  block.answers.resize(static_cast<Index>(n), static_cast<Index>(m));
  if (!in.get_all(q.rows.data(), n * cols)) return false;
  if ((flags & kDirections) != 0) {
    q.direction.resize(n);
    q.step.resize(static_cast<Index>(n));
    if (!in.get_all(q.direction.data(), n) || !in.get_all(q.step.data(), n)) return false;
  }
  return in.get_all(block.answers.data(), n * m) && in.left() == 0;
}

constexpr Index kMostLoggedInputs = Index{1} << 28;

// Whether a block is one of an extraction with so many inputs (0: not known) and outputs.
bool possible(const LoggedBlock& block, Index inputs, Index outputs) {
  const Queries& q = block.queries;
  if (outputs > 0 && block.answers.cols() != outputs) return false;
  if (!q.rows.allFinite() || !q.step.allFinite() || !block.answers.allFinite()) return false;
  if (q.plain && (!q.direction.empty() || q.turn != 0)) return false;
  for (const std::int32_t i : q.direction)
    if (i < 0 || (inputs > 0 && i >= inputs)) return false;
  return inputs == 0 || (q.plain ? q.rows.cols() == inputs : q.rows.cols() <= inputs);
}

}  // namespace

Index logged_inputs(const Json& header) {
  const Json& inputs = at(header, "inputs");
  if (inputs.is_null()) return 0;
  if (!inputs.is_number_integer() || inputs.get<std::int64_t>() < 1 ||
      inputs.get<std::int64_t>() > kMostLoggedInputs)
    throw DataError(fmt::format("the log's header says {} inputs", to_line(inputs).substr(0, 40)));
  return static_cast<Index>(inputs.get<std::int64_t>());
}

Box logged_box(const Json& header) {
  const Json &low = at(header, "low"), &high = at(header, "high");
  Box box;
  const auto vector = [](const Json& list) {
    Vector out(static_cast<Index>(list.size()));
    for (Index n = 0; n < out.size(); ++n) out(n) = number_of(list[static_cast<std::size_t>(n)]);
    return out;
  };
  if (low.is_array() && high.is_array()) {
    box.lows = vector(low);
    box.highs = vector(high);
  } else if (low.is_number() || high.is_number()) {
    box = {number_of(low), number_of(high)};
  }
  try {
    box.validate();
  } catch (const std::invalid_argument& error) {
    throw DataError(fmt::format("the log's header has no domain: {}", error.what()));
  }
  return box;
}

LogContents parse_query_log(const std::string& bytes, const std::string& name) {
  if (bytes.size() < kMagicSize || bytes.compare(0, kMagicSize, kMagic) != 0)
    throw DataError(fmt::format("{} is not a log of queries; give one that an extraction wrote", name));
  const LogRecords records = parse_records(bytes, name);
  LogContents out;
  Index inputs = 0, outputs = 0;
  for (const LogRecord& record : records.list) {
    const bool first = &record == &records.list.front();
    Reader in(record.payload.data(), record.payload.size());
    bool good = first == (record.kind == kHead);
    if (record.kind == kHead) {
      out.header = record.payload;
      inputs = logged_inputs(parsed(out.header));
    } else if (record.kind == kAsk) {
      std::uint64_t count = 0;
      good = good && in.get(count) && count < (std::uint64_t{1} << 40);
      out.lost += static_cast<Index>(count);
    } else {
      LoggedBlock block;
      good = good && record.kind == kAnswer && parse_block(in, block);
      // The first queries of an extraction are plain, which bounds the number of inputs by the file's size.
      good = good && possible(block, inputs, outputs) &&
             (inputs == 0 || outputs > 0 || block.queries.plain) && block.queries.count() <= out.lost;
      if (good) {
        outputs = block.answers.cols();
        out.lost -= block.queries.count();
        if (block.stage == QueryStage::kAgain) {
          out.again += block.queries.count();
        } else {
          out.blocks.push_back(std::move(block));
        }
      }
    }
    if (!good)
      throw DataError(fmt::format("{}: the record at byte {} is none of this version", name, record.at));
  }
  if (records.list.empty())
    throw DataError(fmt::format("{} ends before its header; start another log", name));
  out.kept = records.kept;
  out.dropped = records.dropped;
  out.digest = hexadecimal(records.digest);
  return out;
}

LogContents read_query_log(const std::filesystem::path& path) {
  return parse_query_log(read_log(path, "give the log of an extraction"), path.string());
}

QueryLog::QueryLog(const std::string& header) : bytes_(kMagic) { append(kHead, header); }

QueryLog::QueryLog(const std::string& header, const std::filesystem::path& path)
    : bytes_(kMagic), writer_(path, kMagic) {
  append(kHead, header);
}

QueryLog::QueryLog(const std::filesystem::path& path, LogContents& contents) {
  writer_ = RecordWriter::locked(path);
  bytes_ = read_log(path, "give the log of an extraction");
  contents = parse_query_log(bytes_, path.string());
  bytes_.resize(contents.kept);
  writer_.go_on_behind(parse_records(bytes_, path.string()));
}

void QueryLog::append(std::uint32_t kind, const std::string& payload) {
  bytes_ += writer_.append(kind, payload);
}

void QueryLog::asking(Index count) {
  std::string payload;
  put(payload, static_cast<std::uint64_t>(count));
  append(kAsk, payload);
}

void QueryLog::answered(const LoggedBlock& block) { append(kAnswer, block_bytes(block)); }

std::string QueryLog::digest() const { return hexadecimal(writer_.digest()); }

}  // namespace exhume
