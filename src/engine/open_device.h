// Devices by name. The code for a kind of device is a module of its own (libexhume_cuda.so), looked for
// beside the program and the library when it is asked for: programs run where there is none.
#pragma once

#include <memory>
#include <string>

#include "engine/device.h"

namespace exhume {

// What was asked for, and what came of it.
struct OpenedDevice {
  std::shared_ptr<Device> device;  // empty: the processor
  std::string why;                 // where a device was looked for and none came: one sentence
};

// "cpu": the processor. "cuda": the first CUDA device; ResourceError with the reason where there is none.
// "auto": that device, or the processor with the reason. Other names: std::invalid_argument.
[[nodiscard]] OpenedDevice open_device(const std::string& name);

}  // namespace exhume
