#include "passes/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "base/packed.h"
#include "exhume/error.h"
#include "io/record_log.h"

namespace exhume {
namespace {

constexpr std::string_view kMagic = "EXHUMEC1";
constexpr std::uint32_t kHead = 0x44414548, kNext = 0x5458454e, kSum = 0x204d5553,
                        kOnce = 0x45434e4f;  // "HEAD", "NEXT", "SUM ", "ONCE"
constexpr std::size_t kRecordHead = 12,
                      kNextSize = kRecordHead + 8 + 32;  // bytes of a record's head, of a NEXT
constexpr double kBytesPerSecond = 2e8;                  // digest and write
constexpr double kLeastCost = 2e-4;                      // seconds that any record costs
constexpr double kMostSeconds = 1e9;                     // that a run has taken: thirty years
constexpr double kShare = 20;  // a record may cost this share of the time since the last one

struct Entry {
  Index number = 0, behind = 0;  // `behind`: the number after it
  std::string name;              // the stage, or the name of what is kept
  Index blocks = 0;              // 0: not a sum
  double seconds = 0;
  std::string payload;
};

// A lock on a file, for as long as this lives.
class FileLock {
 public:
  explicit FileLock(const std::filesystem::path& path) {
    descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (descriptor_ < 0)
      throw DataError(fmt::format("{} cannot be written: {}", path.string(), std::strerror(errno)));
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      ::close(descriptor_);
      throw DataError(fmt::format("{} is in use by another run; wait for it, or name another folder",
                                  path.parent_path().string()));
    }
  }
  ~FileLock() { ::close(descriptor_); }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace

class Journal::State {
 public:
  State(const std::filesystem::path& path, const std::string& header, bool go_on,
        std::shared_ptr<Passes> others, bool writes)
      : others_(std::move(others)), writing_(writes) {
    if (writes) lock_.emplace(std::filesystem::path(path) += ".lock");
    if (std::filesystem::exists(path)) {
      if (!go_on && writes) {
        throw DataError(fmt::format(
            "{} is the checkpoint of an earlier run; go on from it (resume), or remove it", path.string()));
      }
      if (go_on && read(path, header)) return;
    }
    if (!writes) return;
    writer_ = RecordWriter(path, kMagic);
    writer_.append(kHead, header);
  }

  void pass(std::string_view stage, BlockSum& sum) {
    const Index number = number_++;
    if (const auto entry_at = entries_.find(number); entry_at != entries_.end()) {
      const Entry& entry = entry_at->second;
      check(entry, stage, sum.blocks());
      sum.absorb(entry.payload);
      if (!sum.missing().empty()) {
        throw DataError(
            fmt::format("the checkpoint's sum of '{}' does not hold all rows; start anew", stage));
      }
      entries_.erase(entry_at);
      last_ = Clock::now();
      return;
    }
    if (others_) {
      others_->pass(stage, sum);
    } else {
      sum.add(0, sum.blocks());
    }
    // How large a sum is shows when it is packed; until then it is as large as the last one of its stage.
    const auto last = sizes_.find(stage);
    if (!writing_ || !worth(last == sizes_.end() ? 0 : last->second)) return;
    Entry entry{number, number_, std::string(stage), sum.blocks(), seconds_now(), sum.take()};
    sum.absorb(entry.payload);
    sizes_.insert_or_assign(entry.name, entry.payload.size());
    if (worth(entry.payload.size())) keep(kSum, entry);
  }

  std::string once(std::string_view name, const std::function<std::string()>& make) {
    const Index number = number_++;
    if (const auto entry_at = entries_.find(number);
        entry_at != entries_.end() && entry_at->second.blocks == 0) {
      check(entry_at->second, name, 0);
      number_ = entry_at->second.behind;
      std::string payload = std::move(entry_at->second.payload);
      entries_.erase(entries_.begin(), entries_.lower_bound(number_));  // what led to it
      last_ = Clock::now();
      return payload;
    }
    const Clock::time_point before = Clock::now();
    std::string made = others_ ? others_->once(name, make) : make();
    if (std::chrono::duration<double>(Clock::now() - before).count() >= kShare * cost(made.size()))
      keep(kOnce, {number, number_, std::string(name), 0, seconds_now(), made});
    return made;
  }

  void agree_on_time() {
    if (others_) others_->agree_on_time();
  }
  Clock::time_point now() {
    const Clock::time_point here = others_ ? others_->now() : Clock::now();
    return here + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(before_));
  }

  Index known = 0;
  double before_ = 0;  // seconds that earlier runs took
  std::uint64_t dropped = 0;
  std::string trouble;

 private:
  // False where nothing but an unfinished header is there.
  bool read(const std::filesystem::path& path, const std::string& header) {
    const std::string bytes = read_log(path, "remove it, and start anew");
    const std::string name = path.string();
    // Killed before it had begun: the beginning of what this run writes.
    if ((std::string(kMagic) + RecordWriter().append(kHead, header)).starts_with(bytes) &&
        bytes.size() < kMagic.size() + kRecordHead + header.size() + 32)
      return nothing(path);
    if (!bytes.starts_with(kMagic))
      throw DataError(fmt::format("{} is not a checkpoint of this version; remove it, and start anew", name));
    const LogRecords records = parse_records(bytes, name);
    if (records.list.empty()) {
      throw DataError(
          fmt::format("{}: its header is not whole, or was changed; remove it, and start anew", name));
    }
    std::optional<std::uint64_t> announced;  // size of the record that has to follow
    for (const LogRecord& record : records.list) {
      const bool first = &record == &records.list.front();
      const bool good =
          first       ? record.kind == kHead
          : announced ? record.payload.size() == *announced && (record.kind == kSum || record.kind == kOnce)
                      : record.kind == kNext && record.payload.size() == sizeof(std::uint64_t);
      if (!good) {
        throw DataError(
            fmt::format("{}: the record at byte {} is none of this version, or was changed; start anew", name,
                        record.at));
      }
      if (record.kind == kNext) {
        announced = unpacked<std::uint64_t>(record.payload);
        continue;
      }
      announced.reset();
      if (first) {
        if (!writing_) continue;  // the one that writes has looked
        const std::string other = header_difference(std::string(record.payload), header, "the checkpoint");
        if (!other.empty())
          throw DataError(fmt::format("{}: {}; start anew with another folder", name, other));
        continue;
      }
      auto entry = unpacked<Entry>(record.payload);
      // Numbers that nobody wrote: the clock, and the passes, would follow them.
      if (entry.number < 0 || entry.behind <= entry.number || entry.blocks < 0 ||
          (entry.blocks == 0) != (record.kind == kOnce) ||
          !(entry.seconds >= 0 && entry.seconds <= kMostSeconds)) {
        throw DataError(fmt::format("{}: the record at byte {} was changed; start anew", name, record.at));
      }
      before_ = std::max(before_, entry.seconds);
      const Index number = entry.number;
      entries_.insert_or_assign(number, std::move(entry));
      ++known;
    }
    check_end(std::string_view(bytes).substr(records.kept), announced, name);
    if (announced) {
      // What was announced did not come: neither is kept.
      const std::uint64_t last = records.list.back().at;
      const LogRecords before = parse_records(std::string_view(bytes).substr(0, last), name);
      dropped = bytes.size() - before.kept;
      if (writing_) writer_ = RecordWriter(path, before);
      return true;
    }
    dropped = records.dropped;
    if (writing_) writer_ = RecordWriter(path, records);
    return true;
  }

  // What a kill leaves is the beginning of a record; anything else is a record whose size was changed.
  static void check_end(std::string_view end, std::optional<std::uint64_t> announced,
                        const std::string& name) {
    const std::uint64_t size = announced ? *announced : sizeof(std::uint64_t);
    const auto stated = [&] {
      return unpacked<std::uint64_t>(end.substr(sizeof(std::uint32_t), sizeof size));
    };
    if (end.size() < kRecordHead || (stated() == size && (announced || end.size() < kNextSize))) return;
    throw DataError(fmt::format("{}: the record behind its last whole one was changed; start anew", name));
  }

  [[nodiscard]] bool nothing(const std::filesystem::path& path) const {
    if (writing_) std::filesystem::remove(path);
    return false;
  }

  static void check(const Entry& entry, std::string_view name, Index blocks) {
    if (entry.name == name && entry.blocks == blocks) return;
    throw DataError(
        fmt::format("the checkpoint holds '{}' where this run comes to '{}'; it was made by another program, "
                    "start anew with another folder",
                    entry.name, name));
  }

  void keep(std::uint32_t kind, const Entry& entry) {
    if (!writing_) return;
    try {
      const std::string payload = packed(entry);
      writer_.append(kNext, packed(static_cast<std::uint64_t>(payload.size())));
      writer_.append(kind, payload);
    } catch (const ResourceError& error) {
      // What was kept is whole, and the run does not need it.
      trouble = error.what();
      writing_ = false;
    }
    last_ = Clock::now();
  }

  [[nodiscard]] static double cost(std::size_t bytes) {
    return kLeastCost + static_cast<double>(bytes) / kBytesPerSecond;
  }
  [[nodiscard]] bool worth(std::size_t bytes) const {
    return std::chrono::duration<double>(Clock::now() - last_).count() >= kShare * cost(bytes);
  }
  [[nodiscard]] double seconds_now() const {
    return before_ + std::chrono::duration<double>(Clock::now() - begin_).count();
  }

  std::optional<FileLock> lock_;
  std::shared_ptr<Passes> others_;
  RecordWriter writer_;
  bool writing_;
  std::map<std::string, std::size_t, std::less<>> sizes_;  // of sums, by their stage
  std::map<Index, Entry> entries_;                         // known and not yet used
  Index number_ = 0;
  Clock::time_point begin_ = Clock::now(), last_ = begin_;
};

Journal::Journal(const std::filesystem::path& path, const std::string& header, bool go_on,
                 std::shared_ptr<Passes> others, bool writes)
    : state_(std::make_unique<State>(path, header, go_on, std::move(others), writes)) {}
Journal::~Journal() = default;
void Journal::pass(std::string_view stage, BlockSum& sum) { state_->pass(stage, sum); }
std::string Journal::once(std::string_view name, const std::function<std::string()>& make) {
  return state_->once(name, make);
}
Passes::Clock::time_point Journal::now() { return state_->now(); }
void Journal::agree_on_time() { state_->agree_on_time(); }
Index Journal::known() const { return state_->known; }
double Journal::seconds() const { return state_->before_; }
std::uint64_t Journal::dropped() const { return state_->dropped; }
const std::string& Journal::trouble() const { return state_->trouble; }

}  // namespace exhume
