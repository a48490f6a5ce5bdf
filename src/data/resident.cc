#include "data/resident.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "base/passes.h"
#include "data/reduce.h"
#include "engine/transfer.h"

namespace exhume {
namespace {

// Multiplications of the moments of order 4 (n m r^4 / 12) from which a device is faster, with what it takes
// to start it.
constexpr double kLeastWork = 2e11;
constexpr double kMostActive = 64;
// Rows and their views take at most this share of a device's memory; moments need the rest.
constexpr double kMostMemory = 0.3;
// Share of a device's memory for the features of a strip.
constexpr double kStripMemory = 0.06;
constexpr Index kSentRows = 1 << 17;

class ResidentSamples final : public SampleView {
 public:
  ResidentSamples(SamplePtr here, DeviceRows there) : SampleView(std::move(here)), rows_(std::move(there)) {}
  void read(Index first, Index count, SampleBlock& block) const override { base_->read(first, count, block); }
  [[nodiscard]] const DeviceRows& there() const { return rows_; }

 private:
  DeviceRows rows_;
};

}  // namespace

DeviceRows DeviceRows::with_outputs(Index outputs) const {
  DeviceRows out = *this;
  out.y = std::make_shared<Doubles>(*device, rows(), outputs);
  return out;
}

void for_strips(const DeviceRows& rows, Index most, const Control& control,
                const std::function<void(const DeviceStrip&)>& use) {
  for (int half = 0; half < 2; ++half) {
    const Index from = half == 0 ? 0 : rows.count[0];
    for (Index first = 0; first < rows.count[half]; first += most) {
      control.check();
      const Index size = std::min(most, rows.count[half] - first);
      use({rows.x->view().block(from + first, 0, size, rows.inputs()),
           rows.y->view().block(from + first, 0, size, rows.outputs()), from + first, half});
    }
  }
}

Index strip_rows(const Device& device, Index numbers, double most_bytes) {
  const double bytes = std::min(most_bytes, kStripMemory * device.bytes_free());
  const auto rows = static_cast<Index>(bytes / (8.0 * static_cast<double>(numbers + 1)));
  return std::max<Index>(256, rows - rows % 64);
}

DeviceRows send_rows(const SampleSource& samples, const Control& control) {
  const Index n = samples.rows(), d = samples.inputs(), m = samples.outputs();
  DeviceRows out;
  out.device = control.device;
  Device& device = *control.device;
  out.count[0] = (n + 1) / 2;
  out.count[1] = n / 2;
  const auto x = std::make_shared<DeviceMatrix<double>>(device, n, d);
  const auto y = std::make_shared<DeviceMatrix<double>>(device, n, m);
  const DeviceMatrix<double> raw(device, std::max(d, m), std::min(n, kSentRows));
  const DeviceMatrix<double> ones_d = sent(device, Matrix::Identity(d, d)),
                             ones_m = sent(device, Matrix::Identity(m, m));
  RowMatrix rows_x(std::min(n, kSentRows), d), rows_y(std::min(n, kSentRows), m);
  for (Index first = 0; first < n; first += kSentRows) {
    const Index count = std::min(kSentRows, n - first), each = kBlockRows;
    parallel_for((count + each - 1) / each, control, [&](Index b) {
      SampleBlock block;
      const Index size = std::min(each, count - b * each);
      samples.read(first + b * each, size, block);
      rows_x.middleRows(b * each, size) = block.x();
      rows_y.middleRows(b * each, size) = block.y();
    });
    const auto place = [&](const RowMatrix& from, const DeviceMatrix<double>& ones,
                           const DeviceMatrix<double>& to) {
      const Index width = from.cols();
      DeviceView<double> turned{raw.data(), width, count, width};
      upload(device, from.data(), width, turned);
      for (Index h = 0; h < 2; ++h) {  // a product with the identity turns rows into columns, exactly
        const Index size = (count + 1 - h) / 2;
        if (size == 0) continue;
        const DeviceView<double> some{raw.data() + h * width, width, size, 2 * width};
        device.product(1, some, true, ones.view(), false, 0,
                       to.view().block(h * out.count[0] + first / 2, 0, size, width));
      }
    };
    place(rows_x, ones_d, *x);
    place(rows_y, ones_m, *y);
  }
  device.synchronise();
  out.x = x;
  out.y = y;
  return out;
}

bool worth_a_device(Index rows, Index inputs, Index outputs) {
  const double r = std::min(static_cast<double>(inputs), kMostActive);
  return static_cast<double>(rows) * static_cast<double>(outputs) * std::pow(r, 4) / 12 >= kLeastWork;
}

SamplePtr resident(const SamplePtr& samples, const Control& control) {
  if (!control.device || control.passes || samples->distant()) return samples;
  const Index n = samples->rows(), d = samples->inputs(), m = samples->outputs();
  if (!worth_a_device(n, d, m)) return samples;
  const double bytes = 8.0 * static_cast<double>(n) * static_cast<double>(d + m);
  if (bytes > kMostMemory * control.device->bytes_free()) return samples;
  return on_device(samples, send_rows(*samples, control));
}

const DeviceRows* rows_on_device(const SampleSource& samples) {
  const auto* there = dynamic_cast<const ResidentSamples*>(&samples);
  return there != nullptr ? &there->there() : nullptr;
}

SamplePtr on_device(SamplePtr here, DeviceRows there) {
  return std::make_shared<ResidentSamples>(std::move(here), std::move(there));
}

}  // namespace exhume
