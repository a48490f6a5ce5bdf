// Checkpoints (passes/journal.h), edited and sealed again, as `recover --resume` reads them: a few passes,
// and what is remembered of a polish.
#include <memory>
#include <vector>

#include "base/packed.h"
#include "certify/stored_precision.h"
#include "edited.h"
#include "exhume/samples.h"
#include "fit/polish.h"
#include "io/record_log.h"
#include "moments/moments.h"
#include "moments/polynomial_fit.h"
#include "passes/journal.h"
#include "target.h"

namespace exhume::fuzz {
namespace {

constexpr const char* kHeader = "{\"command\": \"fuzz\"}";
constexpr std::uint32_t kHead = 0x44414548, kNext = 0x5458454e, kSum = 0x204d5553, kOnce = 0x45434e4f;

SamplePtr rows_of_run() {
  RowMatrix x(300, 2), y(300, 1);
  for (Index i = 0; i < x.rows(); ++i) {
    x.row(i) << static_cast<double>(i % 19) / 4 - 2, static_cast<double>(i % 11) / 3 - 1.5;
    y(i, 0) = std::max(0.0, x(i, 0) + x(i, 1)) - 0.5 * std::max(0.0, x(i, 1) - 0.3);
  }
  return memory_samples(std::move(x), std::move(y));
}

void run(const std::shared_ptr<Passes>& passes) {
  static const SamplePtr samples = rows_of_run();
  Control control;
  control.threads = 1;
  control.passes = passes;
  (void)second_moments(*samples, control);
  const HermiteMoments moments = hermite_moments(*samples, 3, control);
  (void)moments.estimate(3);
  (void)fit_polynomial(*samples, 2, control, 3);
  (void)stored_precision(*samples, control);
  PolishOptions few;
  few.max_iterations = 2;
  const Polished polished = polish(one_layer(Matrix{{1, 1.1, 0}, {0.1, 1, -0.2}}), *samples, few, control);
  SampleBlock block;
  samples->read(0, 8, block);
  (void)evaluate(polished.form, block.x());
}

// Keeps every sum, as a journal whose records cost nothing would.
class Recorder final : public Passes {
 public:
  std::vector<std::pair<std::uint32_t, std::string>> records;

  void pass(std::string_view stage, BlockSum& sum) override {
    const Index number = number_++;
    sum.add(0, sum.blocks());
    const std::string payload = sum.take();
    keep(kSum, number, stage, sum.blocks(), payload);
    sum.absorb(payload);
  }
  [[nodiscard]] std::string once(std::string_view name, const std::function<std::string()>& make) override {
    const Index number = number_++;
    std::string made = make();
    keep(kOnce, number, name, 0, made);
    return made;
  }

 private:
  void keep(std::uint32_t kind, Index number, std::string_view name, Index blocks,
            const std::string& payload) {
    packing::Writer out;
    out.put(number);
    out.put(number_);
    out.put(std::string(name));
    out.put(blocks);
    out.put(0.5);
    out.put(payload);
    records.emplace_back(kind, out.bytes);
  }
  Index number_ = 0;
};

void checkpoint(std::string_view script) {
  static const auto honest = [] {
    const auto recorder = std::make_shared<Recorder>();
    run(recorder);
    return recorder->records;
  }();
  if (script.size() < 2) return;
  // One record is edited, or all of them; of ONCE records those that led to them may be left out.
  const auto which = static_cast<std::uint8_t>(script[0]);
  const bool only_once = (static_cast<std::uint8_t>(script[1]) & 1u) != 0;
  RecordWriter writer;
  std::string file = "EXHUMEC1" + writer.append(kHead, kHeader);
  for (std::size_t i = 0; i < honest.size(); ++i) {
    if (only_once && honest[i].first != kOnce) continue;
    const bool chosen = which == 255 || which % honest.size() == i;
    const std::string payload = chosen ? edited(honest[i].second, script.substr(2)) : honest[i].second;
    file += writer.append(kNext, packed(static_cast<std::uint64_t>(payload.size())));
    file += writer.append(honest[i].first, payload);
  }
  const std::filesystem::path path = file_with(file, "checkpoint");
  accepted([&] { run(std::make_shared<Journal>(path, kHeader, true, nullptr)); });
}

const Registration registration("checkpoint", checkpoint);

}  // namespace
}  // namespace exhume::fuzz
