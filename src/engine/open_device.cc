#include "exhume/engine/open_device.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include "engine/module.h"
#include "exhume/base/error.h"

namespace exhume {
namespace {

constexpr const char* kModule = "libexhume_cuda.so";

// Places of the module: beside whatever holds this function, in the library folder next to it, and wherever the
// system looks.
std::vector<std::string> places() {
  std::vector<std::string> out;
  const auto beside = [&](const std::filesystem::path& file) {
    std::error_code ignored;
    const std::filesystem::path folder = std::filesystem::weakly_canonical(file, ignored).parent_path();
    out.push_back((folder / kModule).string());
    out.push_back((folder.parent_path() / kModule).string());
    out.push_back((folder.parent_path() / "lib" / kModule).string());
  };
  Dl_info here;
  if (dladdr(reinterpret_cast<const void*>(&places), &here) != 0 && here.dli_fname != nullptr)
    beside(here.dli_fname);
  beside("/proc/self/exe");  // a program that was found by PATH knows no folder
  out.emplace_back(kModule);
  return out;
}

template <class Function>
Function* symbol(void* module, const char* name) {
  return reinterpret_cast<Function*>(dlsym(module, name));
}

OpenedDevice open_cuda() {
  void* module = nullptr;
  std::string said;
  for (const std::string& place : places()) {
    module = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (module != nullptr) break;
    const char* error = dlerror();
    // What is wrong with a module that is there says more than that others are not.
    std::error_code ignored;
    if (error != nullptr && (said.empty() || std::filesystem::exists(place, ignored))) said = error;
  }
  if (module == nullptr) return {nullptr, fmt::format("the module for CUDA was not loaded ({})", said)};
  auto* const interface = symbol<InterfaceFunction>(module, kInterfaceSymbol);
  auto* const open = symbol<OpenFunction>(module, kOpenSymbol);
  if (interface == nullptr || open == nullptr || interface() != kDeviceInterface)
    return {nullptr, "the module for CUDA is of another version of the library; build both together"};
  std::array<char, 500> why{};
  Device* device = open(why.data(), why.size());
  // The module stays loaded: its code outlives every device.
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
