// Modules: parts of the library and of the command line that a program may be built without.
//
// A module is every source below a folder of its name (cmake/modules.cmake); what lies in none of them is the
// core. The core knows a module by what it registers, and by nothing else: rows of the table of routes
// (routes/route.h), commands, and functions that fill a Slot. The core declares the slot and calls it like a
// function; where the module was not built, the call throws MissingModule, whose sentence says how to get it.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace exhume {

class MissingModule : public std::invalid_argument {
 public:
  MissingModule(std::string_view what, std::string_view module);
};

// Names of the modules that this program was built with. Written by cmake/modules.cmake, as is
[[nodiscard]] const std::vector<std::string>& modules();
// this, which lets each of them register what it has: once, whoever calls first. Whoever looks something up
// calls it.
void register_modules();

template <class Signature>
class Slot;

template <class Result, class... Arguments>
class Slot<Result(Arguments...)> {
 public:
  using Function = Result (*)(Arguments...);

  // what: the subject of the sentence where the module is missing ("the check of an extraction").
  constexpr Slot(const char* what, const char* module) : what_(what), module_(module) {}
  void fill(Function function) { function_ = function; }
  [[nodiscard]] Result operator()(Arguments... arguments) const {
    register_modules();
    if (function_ == nullptr) throw MissingModule(what_, module_);
    return function_(std::forward<Arguments>(arguments)...);
  }

 private:
  const char* what_;
  const char* module_;
  Function function_ = nullptr;
};

}  // namespace exhume
