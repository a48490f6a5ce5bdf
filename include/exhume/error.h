// What the library throws. Numerical outcomes (rank deficient, not identifiable, too few samples) are values
// in results, never exceptions.
//
//   std::invalid_argument   the caller's mistake: an option out of range, shapes that do not fit
//   DataError               bad data: one sentence that names the file, the place and the remedy
//   ResourceError           a limit was reached: memory, a size the machine cannot hold
//   Interrupted             the caller's should_stop() said so; nothing was written
#pragma once

#include <stdexcept>
#include <string>

#pragma GCC visibility push(default)
namespace exhume {

class DataError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class ResourceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
};

}  // namespace exhume
#pragma GCC visibility pop
