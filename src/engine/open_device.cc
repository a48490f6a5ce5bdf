#include "engine/open_device.h"

#include <fmt/format.h>

#include <array>
#include <stdexcept>

#include "engine/load_module.h"
#include "engine/module.h"
#include "exhume/error.h"

namespace exhume {
namespace {

constexpr const char* kModule = "libexhume_cuda.so";

OpenedDevice open_cuda() {
  const LoadedModule module = load_module(kModule);
  if (module.handle == nullptr)
    return {nullptr, fmt::format("the module for CUDA was not loaded ({})", module.why)};
  auto* const interface = module_function<InterfaceFunction>(module, kInterfaceSymbol);
  auto* const open = module_function<OpenFunction>(module, kOpenSymbol);
  if (interface == nullptr || open == nullptr || interface() != kDeviceInterface)
    return {nullptr, "the module for CUDA is of another version of the library; build both together"};
  std::array<char, 500> why{};
  Device* device = open(why.data(), why.size());
  if (device == nullptr) return {nullptr, why.data()};
  return {std::shared_ptr<Device>(device), ""};
}

}  // namespace

OpenedDevice open_device(const std::string& name) {
  if (name == "cpu") return {};
  if (name != "auto" && name != "cuda")
    throw std::invalid_argument(fmt::format("device is '{}'; it may be auto, cpu or cuda", name));
  OpenedDevice opened = open_cuda();
  if (!opened.device && name == "cuda")
    throw ResourceError(fmt::format("no CUDA device can be used: {}", opened.why));
  return opened;
}

}  // namespace exhume
