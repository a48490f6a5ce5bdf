// Memoises an expensive computation with a small result: a journal of passes (passes/journal.h) keeps the
// result, and the work that it took (Control::spend), which counts again where the result is only read.
//
//     const Student student = remembered(control, "student", [&] { return train(...); });
//
// Without a journal this is a call of `make`. What a journal holds may have been changed: `fits` says whether
// it can be what `make` makes.
#pragma once

#include <string_view>
#include <utility>

#include "base/inside_parallel.h"
#include "base/packed.h"
#include "base/passes.h"
#include "exhume/control.h"
#include "exhume/error.h"

namespace exhume {

template <class Make, class Fits>
[[nodiscard]] auto remembered(const Control& control, std::string_view name, const Make& make,
                              const Fits& fits) {
  if (!control.passes || inside_parallel_for()) return make();
  using Kept = std::pair<decltype(make()), double>;
  const double before = control.spent();
  auto [made, work] = unpacked<Kept>(control.passes->once(name, [&] {
    return packed(Kept{make(), control.spent() - before});
  }));
  if (!fits(made) || !(work >= 0))
    throw DataError("what the checkpoint remembers is not of these samples; it was changed, start anew");
  control.spend(before + work - control.spent());  // nothing where it was made here
  return std::move(made);
}

}  // namespace exhume
