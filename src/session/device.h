// Where heavy sums run: the device that was asked for, the one that is there, or the processor.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "engine/device.h"
#include "exhume/control.h"
#include "exhume/error.h"
#include "exhume/samples.h"

namespace exhume {

// By name: auto, cpu or cuda (engine/open_device.h). A device takes its time to start, so `auto` opens none
// for what is done on the processor in less: one hidden layer of few samples. Empty: the processor.
[[nodiscard]] std::shared_ptr<Device> choose_device(const std::string& name, const SampleSource& samples,
                                                    Index hidden_layers);

// work(control), and once more on the processor where a device that was not asked for by name fails for want
// of resources; `on_fall_back` is told why.
template <class Work>
auto with_fall_back(const std::string& device, Control& control,
                    const std::function<void(const std::string&)>& on_fall_back, const Work& work) {
  try {
    return work(static_cast<const Control&>(control));
  } catch (const ResourceError& failure) {
    if (!control.device || device != "auto") throw;
    if (on_fall_back) on_fall_back(failure.what());
  }
  control.device.reset();
  return work(static_cast<const Control&>(control));
}

}  // namespace exhume
