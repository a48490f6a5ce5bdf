// Modules that are loaded when somebody asks for them, so that programs run where what they need is not
// installed.
#pragma once

#include <string>

namespace exhume {

struct LoadedModule {
  void* handle = nullptr;  // stays loaded: its code outlives everything made by it
  std::string why;         // why there is none
};

// `file` from beside whatever holds this library or the program, from the library folder next to it, or from
// wherever the system looks. `open_to_others`: what the module links with is seen by modules that are loaded
// later.
[[nodiscard]] LoadedModule load_module(const std::string& file, bool open_to_others = false);

// A function of the module; nullptr where it has none of that name.
[[nodiscard]] void* module_symbol(const LoadedModule& module, const char* name);

template <class Function>
[[nodiscard]] Function* module_function(const LoadedModule& module, const char* name) {
  return reinterpret_cast<Function*>(module_symbol(module, name));
}

}  // namespace exhume
