// What a device's module exports, and the library looks up.
#pragma once

#include <cstddef>

#include "engine/device.h"

namespace exhume {

// Changes with the interface in device.h: a module of another build is refused.
inline constexpr int kDeviceInterface = 3;

// extern "C" names and types of the module.
inline constexpr const char* kInterfaceSymbol = "exhume_device_interface";
inline constexpr const char* kOpenSymbol = "exhume_open_device";
using InterfaceFunction = int();
// A new device, or nullptr and the reason in `why` (at most `size` bytes, ends with 0).
using OpenFunction = Device*(char* why, std::size_t size);

}  // namespace exhume
