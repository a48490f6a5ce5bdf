// The processes of one job, by their numbers.
#pragma once

#include "base/passes.h"

namespace exhume {

class RankPasses : public Passes {
 public:
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int ranks() const = 0;
  virtual void meet() = 0;  // waits until all ranks have come here
  // Whether all ranks said the same here; all of them come.
  [[nodiscard]] virtual bool agree(std::string_view said) = 0;
  // The last call: all ranks come here, and the job ends well.
  virtual void finish() = 0;
  // Ends all ranks at once, with this exit code. Does not return.
  [[noreturn]] virtual void abort(int code) = 0;
};

}  // namespace exhume
