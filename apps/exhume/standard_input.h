// Standard input as a file: several passes are made over samples, so it is copied.
#pragma once

#include <string>

#include "exhume/control.h"

namespace exhume::cli {

class StandardInput {
 public:
  // Reads to the end, into a temporary file. Throws DataError for what is no text, ResourceError where the
  // disk is full, Interrupted.
  explicit StandardInput(const Control& control);
  ~StandardInput();
  StandardInput(const StandardInput&) = delete;
  StandardInput& operator=(const StandardInput&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  void copy(int to, const Control& control);

  std::string path_;
};

}  // namespace exhume::cli
