// Logs of queries (oracle/query_log.h), one record edited and all digests renewed, as `extract --resume` and
// `verify` read them; what can be read is replayed.
#include <stdexcept>
#include <string>

#include "edited.h"
#include "exhume/error.h"
#include "exhume/extract.h"
#include "exhume/oracle.h"
#include "io/record_log.h"
#include "oracle/query_log.h"
#include "target.h"

namespace exhume::fuzz {
namespace {

constexpr std::size_t kMagicSize = 8;

std::string honest_log() {
  Network network;
  network.W() = Matrix{{1, 2, -0.5}, {-1, 0.5, 0.3}};
  network.b() = Vector{{0.25, 0.1}};
  network.A() = Matrix{{1, -2}};
  network.c() = Vector{{0.5}};
  ExtractOptions options;
  options.fresh = 8;
  Control control;
  control.threads = 1;
  const OraclePtr oracle = function_oracle(
      [network](const Eigen::Ref<const RowMatrix>& x) { return evaluate(network, x); }, network.inputs());
  return extract(oracle, options, control).log;
}

// script: the record (1, 255: the header), then edits.
void log(std::string_view script) {
  static const std::string file = honest_log();
  static const LogRecords records = parse_records(file, "honest.log");
  if (script.empty() || records.list.empty()) return;
  const auto which = static_cast<std::uint8_t>(script[0]);
  const std::size_t chosen = which == 255 ? 0 : which % records.list.size();
  RecordWriter writer;
  std::string bytes = file.substr(0, kMagicSize);
  for (std::size_t i = 0; i < records.list.size(); ++i) {
    std::string payload(records.list[i].payload);
    if (i == chosen) payload = edited(std::move(payload), script.substr(1));
    bytes += writer.append(records.list[i].kind, payload);
  }
  Control control;
  control.threads = 1;
  accepted([&] { (void)parse_query_log(bytes, "edited.log"); });
  accepted([&] {
    try {
      (void)replay_extraction(bytes, control);
    } catch (const std::invalid_argument& error) {
      throw DataError(error.what());  // options of the header that no extraction has
    }
  });
}

const Registration registration("log", log);

}  // namespace
}  // namespace exhume::fuzz
