// Rows that also lie in the memory of a device, so that passes over them may run there.
//
//     X: n x d, Y: n x m, column-major; the even rows of the source first, then the odd ones
//
// Such samples are read as any others: a pass that knows nothing of devices runs on the processor. One that
// does asks for `rows_on_device`. Views of them (projected inputs, residuals as outputs) are made with
// `on_device`: the view that the processor would read, and the same rows as the device holds them.
#pragma once

#include <functional>
#include <memory>

#include "engine/device.h"
#include "exhume/control.h"
#include "exhume/samples.h"

namespace exhume {

struct DeviceRows {
  using Doubles = DeviceMatrix<double>;
  using View = DeviceView<double>;

  std::shared_ptr<Device> device;
  std::shared_ptr<const Doubles> x, y;
  Index count[2] = {0, 0};  // even rows, odd rows

  [[nodiscard]] Index rows() const { return count[0] + count[1]; }
  [[nodiscard]] Index inputs() const { return x->view().cols; }
  [[nodiscard]] Index outputs() const { return y->view().cols; }
  // The same inputs with outputs of their own, not yet filled.
  [[nodiscard]] DeviceRows with_outputs(Index outputs) const;
};

// A run of rows on the device, all of one half.
struct DeviceStrip {
  DeviceView<double> x, y;
  Index first = 0;  // row of DeviceRows
  int half = 0;
};
// Strips of at most so many rows, the even half first. Looks at `control` before each.
void for_strips(const DeviceRows& rows, Index most, const Control& control,
                const std::function<void(const DeviceStrip&)>& use);
// As many rows as fit into the memory that passes take for a strip, with so many numbers each: many, so that
// sums are seldom read and written again.
inline constexpr double kStripBytes = 1.0 * (1ULL << 30U);
[[nodiscard]] Index strip_rows(const Device& device, Index numbers, double most_bytes = kStripBytes);

// The samples, in the memory of control's device too where there is one, nobody shares the passes, so much
// work is worth the way and there is room. Elsewhere the samples as they are.
[[nodiscard]] SamplePtr resident(const SamplePtr& samples, const Control& control);
// The rows in the memory of control's device, whatever it is worth.
[[nodiscard]] DeviceRows send_rows(const SampleSource& samples, const Control& control);
// Whether moments of so many rows are worth the way to a device.
[[nodiscard]] bool worth_a_device(Index rows, Index inputs, Index outputs);

// Where these samples lie on a device; nullptr where they do not.
[[nodiscard]] const DeviceRows* rows_on_device(const SampleSource& samples);
[[nodiscard]] SamplePtr on_device(SamplePtr here, DeviceRows there);

}  // namespace exhume
