#include "engine/load_module.h"

#include <dlfcn.h>

#include <filesystem>
#include <vector>

namespace exhume {
namespace {

std::vector<std::string> places(const std::string& name) {
  std::vector<std::string> out;
  const auto beside = [&](const std::filesystem::path& file) {
    std::error_code ignored;
    const std::filesystem::path folder = std::filesystem::weakly_canonical(file, ignored).parent_path();
    out.push_back((folder / name).string());
    out.push_back((folder.parent_path() / name).string());
    out.push_back((folder.parent_path() / "lib" / name).string());
  };
  Dl_info here;
  if (dladdr(reinterpret_cast<const void*>(&places), &here) != 0 && here.dli_fname != nullptr)
    beside(here.dli_fname);
  beside("/proc/self/exe");  // a program that was found by PATH knows no folder
  out.emplace_back(name);
  return out;
}

}  // namespace

LoadedModule load_module(const std::string& file, bool open_to_others) {
  LoadedModule module;
  for (const std::string& place : places(file)) {
    module.handle = dlopen(place.c_str(), RTLD_NOW | (open_to_others ? RTLD_GLOBAL : RTLD_LOCAL));
    if (module.handle != nullptr) return module;
    const char* error = dlerror();
    // What is wrong with a module that is there says more than that others are not.
    std::error_code ignored;
    if (error != nullptr && (module.why.empty() || std::filesystem::exists(place, ignored)))
      module.why = error;
  }
  return module;
}

void* module_symbol(const LoadedModule& module, const char* name) { return dlsym(module.handle, name); }

}  // namespace exhume
